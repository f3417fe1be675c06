/**
 * Runs numbered cases: the compiled SQL of each is held in a golden file per dialect (INLAY_GOLDEN=write rewrites them), and executed on
 * every engine that is there; the rows expected are written by hand.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CompiledQuery, compileParsed, compileSql } from '../../src/compile-sql.ts';
import { clickhouse } from '../../src/dialects/clickhouse.ts';
import type { Dialect } from '../../src/dialects/dialect.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { postgres } from '../../src/dialects/postgres.ts';
import type { DataModel } from '../../src/model/data-model.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { SemanticError, type SemanticErrorCode } from '../../src/semantic-error.ts';
import { parseSql } from '../../src/sql/parse-sql.ts';
import { engineNames, type TestEngine, useEngine, type Value } from '../engines.ts';
import { fillWorld, tenant, model as worldModel } from './world.ts';

/** One question of a case. */
export interface Case {
  /** Begins with the number of the case. */
  readonly name: string;
  readonly sql: string;
  readonly as?: Subject;
  readonly timezone?: string;
  /** Missing units of time are filled in. */
  readonly isFilled?: boolean;
  /** Left out: that of world.ts. One model per dialect where the model's own SQL differs. */
  readonly model?: DataModel | ((dialect: Dialect['name']) => DataModel);
  /** In this order where the SQL has one, else in any. */
  readonly rows?: readonly (readonly Value[])[];
  readonly refused?: readonly [SemanticErrorCode, RegExp];
}

const now = new Date('2024-06-15T12:00:00Z');

function compile(it: Case, dialect: Dialect): CompiledQuery {
  const { sql, as = tenant, timezone = 'UTC', model = worldModel } = it;
  const asked = typeof model === 'function' ? model(dialect.name) : model;
  if (it.isFilled !== true) return compileSql(sql, asked, as, dialect, { timezone, now });
  const statement = parseSql(sql);
  if (statement.body.kind !== 'select') throw new Error('only a SELECT is filled');
  return compileParsed({ ...statement, body: { ...statement.body, fill: true } }, asked, as, dialect, {
    timezone,
    now,
  });
}

/** Doubles without their last digits. */
const rounded = (rows: readonly (readonly Value[])[]) =>
  rows.map((row) => row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(12)) : cell)));
const sorted = (rows: readonly (readonly Value[])[]) => rows.map((row) => JSON.stringify(row)).sort();

const folder = new URL('../golden/', import.meta.url);

/** What the golden file of a dialect says about these cases. */
function golden(cases: readonly Case[], dialect: Dialect): string {
  return cases
    .filter(({ rows }) => rows !== undefined)
    .map((it) => {
      const { sql, parameters } = compile(it, dialect);
      const values = parameters.map((value) => (typeof value === 'bigint' ? `${value}` : JSON.stringify(value)));
      return `-- ${it.name}\n-- ${it.sql.replaceAll(/\s+/g, ' ')}\n-- [${values.join(', ')}]\n${sql};\n`;
    })
    .join('\n');
}

/**
 * Declares the tests of a group of cases.
 * @param group the name of its golden files
 * @param prepare makes further tables
 */
export function runCases(
  group: string,
  cases: readonly Case[],
  prepare: (engine: TestEngine) => Promise<void> = async () => {},
): void {
  test.each([duckdb, postgres, clickhouse])('the SQL for $name is as it was', (dialect) => {
    const file = new URL(`${group}.${dialect.name}.sql`, folder);
    const text = golden(cases, dialect);
    if (process.env['INLAY_GOLDEN'] === 'write') {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  describe.each(engineNames)('%s', (name) => {
    const engine = useEngine(name);
    let isFilled = false;
    test.each(cases)('$name', async (it) => {
      if (!isFilled) {
        isFilled = true;
        await fillWorld(engine());
        await prepare(engine());
      }
      if (it.refused !== undefined) {
        const [code, message] = it.refused;
        let error: unknown;
        try {
          compile(it, engine().dialect);
        } catch (thrown) {
          error = thrown;
        }
        if (!(error instanceof SemanticError)) throw new Error(`not refused: ${String(error)}`);
        expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
        return;
      }
      const { sql, parameters } = compile(it, engine().dialect);
      const rows = rounded(await engine().run(sql, parameters));
      const expected = rounded(it.rows ?? []);
      if (/ORDER BY [^()]*$/.test(it.sql)) expect(rows).toEqual(expected);
      else expect(sorted(rows)).toEqual(sorted(expected));
    });
  });
}
