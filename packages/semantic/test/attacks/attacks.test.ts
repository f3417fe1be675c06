/**
 * Hostile SQL and JSON against two tenants, on every engine: each is refused, or answered, as it was decided; and what comes of it is the same,
 * letter by letter, whatever the data that the user may not see are. A text that came to another answer, or another error, would tell
 * of them.
 */
import { describe, expect, test } from 'vitest';
import { type CompiledQuery, compileParsed, compileSql } from '../../src/compile-sql.ts';
import type { Dialect } from '../../src/dialects/dialect.ts';
import { rightsOf } from '../../src/policy/rights.ts';
import { parseLoadQuery } from '../../src/query/load-query.ts';
import { planLoad } from '../../src/query/load-statement.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { engineNames, type TestEngine, useEngine } from '../engines.ts';
import type { Attack } from './attack.ts';
import { json } from './json.ts';
import { members } from './members.ts';
import { reach } from './reach.ts';
import { texts } from './texts.ts';
import { fill, forbidden, model, sets, thief } from './world.ts';

/** One hostile text or JSON query. */
interface Hostile {
  readonly tries: string;
  readonly ends: string;
  readonly text: string;
  readonly isOrdered: boolean;
  compile(dialect: Dialect): CompiledQuery;
}

const now = new Date('2024-04-01T00:00:00Z');
const corpus: readonly Attack[] = [...reach, ...members, ...texts];
const ofSql = corpus.flatMap(({ tries, ends, sql }) =>
  sql.map(
    (text): Hostile => ({
      ...{ tries, ends, text },
      // Without an ORDER BY the order is any.
      isOrdered: /ORDER BY/.test(text),
      compile: (dialect) => compileSql(text, model, thief, dialect, { now }),
    }),
  ),
);
const ofJson = json.flatMap(({ tries, ends, queries }) =>
  queries.map(
    (query): Hostile => ({
      ...{ tries, ends, text: JSON.stringify(query), isOrdered: false },
      compile(dialect) {
        const rights = rightsOf(model, thief);
        const [first] = parseLoadQuery(query, { now });
        if (first === undefined) throw new Error('no query');
        return compileParsed(planLoad(first, model, rights).statement, model, thief, dialect, { now, rights });
      },
    }),
  ),
);
const all = [...ofSql, ...ofJson];

/** What comes of it: rows, or an error with all that is told. */
async function outcomeOf(engine: TestEngine, it: Hostile): Promise<{ readonly ends: string; readonly told: string }> {
  try {
    const { sql, parameters, columns } = it.compile(engine.dialect);
    const rows = (await engine.run(sql, parameters)).map((row) => JSON.stringify(row));
    return { ends: 'answered', told: JSON.stringify([columns, it.isOrdered ? rows : rows.sort()]) };
  } catch (error) {
    if (!(error instanceof SemanticError))
      throw new Error(`${it.text.slice(0, 500)}: ${String(error)}`, { cause: error });
    return { ends: error.code, told: `${error.message} ${error.hint}` };
  }
}

test('the corpus is large, and no text stands in it twice', () => {
  expect(all.length).toBeGreaterThan(430);
  expect(new Set(all.map(({ text }) => text)).size).toBe(all.length);
});

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('what comes of every text is decided, and tells nothing of what is hidden', { timeout: 120_000 }, async () => {
    const [first, second] = sets;
    const told: string[][] = [];
    for (const set of [first, second]) {
      await fill(engine(), set);
      const outcomes: string[] = [];
      for (const it of all) {
        const { text, ends, tries } = it;
        const outcome = await outcomeOf(engine(), it);
        expect(outcome.ends, `${tries}: ${text.slice(0, 300)} ${outcome.told.slice(0, 300)}`).toBe(ends);
        // What the text itself says may come back.
        for (const found of forbidden)
          if (!found.test(text)) expect(outcome.told, text.slice(0, 300)).not.toMatch(found);
        outcomes.push(`${text.slice(0, 300)} ${outcome.told}`);
      }
      told.push(outcomes);
    }
    expect(told[1]).toEqual(told[0]);
  });

  test('the tables hold what is looked for', async () => {
    await fill(engine(), sets[0]);
    const rows = JSON.stringify(await engine().run('SELECT * FROM orders, people, items, vault'));
    for (const found of forbidden.filter((it) => it.test('zqx 770077'))) expect(rows).toMatch(found);
  });
});
