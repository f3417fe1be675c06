import { beforeAll, describe, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { compileSql } from '../src/compile-sql.ts';
import { engineNames, useEngine, createTable } from './engines.ts';
import { loadModel } from './load-model.ts';
import { anybody } from './plan/ask.ts';
import { fillTrade, tradeYaml } from './plan/trade.ts';

const names = (process.env.ENG ?? 'duckdb,postgres,clickhouse').split(',');
describe.each(engineNames.filter((n) => names.includes(n)))('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(() => fillTrade(engine()));
  test('hunt', async () => {
    const spec = JSON.parse(readFileSync('/tmp/hunt.json', 'utf8'));
    const out: string[] = [];
    for (const t of spec.tables ?? []) await createTable(engine(), t.name, t.columns, t.rows);
    const model = loadModel(tradeYaml.replace('views:', (spec.cubes ?? '') + '\nviews:') + (spec.yaml ?? ''));
    for (const q of spec.queries) {
      const [sql, subject, show] = Array.isArray(q) ? q : [q, {}, false];
      let compiled;
      try {
        compiled = compileSql(sql, model, { ...anybody, ...subject }, engine().dialect, spec.options ?? {});
        const rows = await engine().run(compiled.sql, compiled.parameters);
        out.push(`${sql}\n   ${JSON.stringify(rows)}${show || spec.show ? `\n   ${compiled.sql}` : ''}`);
      } catch (e) {
        out.push(`${sql}\n   ERR ${(e as Error).message} ${compiled === undefined ? '' : compiled.sql}`);
      }
    }
    console.log(`${name}\n${out.join('\n')}`);
  }, 100000);
});
