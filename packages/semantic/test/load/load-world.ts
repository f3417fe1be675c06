/** Asking JSON queries in tests. */
import { compileParsed } from '../../src/compile-sql.ts';
import type { DataModel } from '../../src/model/data-model.ts';
import { rightsOf } from '../../src/policy/rights.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { parseLoadQuery } from '../../src/query/load-query.ts';
import { planLoad } from '../../src/query/load-statement.ts';
import { createTable, type TestEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';

/** A Friday. */
export const now = new Date('2024-03-15T10:20:30Z');

/** One cube of everything that a filter can be on, of which nobody is kept from a row; and one that others may not see. */
export const things = loadModel(`
cubes:
  - name: things
    sql_table: things
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: word, sql: "{CUBE}.word", type: string }
      - { name: size, sql: "{CUBE}.size", type: number }
      - { name: flag, sql: "{CUBE}.flag", type: boolean }
      - { name: at, sql: "{CUBE}.placed", type: time }
      - { name: hidden, sql: "{CUBE}.size", type: number, public: false }
    measures:
      - { name: count, type: count }
      - { name: total, sql: "{CUBE}.size", type: sum }
      - { name: large, type: count, filters: [{ sql: "{CUBE}.size > 2" }] }
      - { name: large_total, sql: "{CUBE}.size", type: sum, filters: [{ sql: "{CUBE}.size > 2" }] }
    segments:
      - { name: short, sql: "{CUBE}.size < 3" }
  - name: apart
    sql_table: things
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
`);

/** Sees all of it. */
export const anybody: Subject = {
  groups: [],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: true,
};

/** A row of the table: no value may be there. */
export interface Thing {
  readonly id: number;
  readonly word: string | null;
  readonly size: number | null;
  readonly flag: boolean | null;
  /** `2024-01-31 13:45:00` */
  readonly at: string | null;
}

export async function createThings(engine: TestEngine, rows: readonly Thing[]): Promise<void> {
  const columns = { id: 'integer', word: 'text', size: 'double', flag: 'boolean', placed: 'timestamp' } as const;
  await createTable(
    engine,
    'things',
    columns,
    rows.map(({ id, word, size, flag, at }) => [id, word, size, flag, at]),
  );
}

/** The rows of a JSON query, of all its ranges; and its totals. @throws SemanticError */
export async function ask(
  engine: TestEngine,
  json: unknown,
  { model = things, subject = anybody, timezone }: { model?: DataModel; subject?: Subject; timezone?: string } = {},
): Promise<{ readonly rows: Value[][]; readonly totals: Value[] }> {
  const rows: Value[][] = [];
  const totals: Value[] = [];
  for (const query of parseLoadQuery(json, { now, timezone })) {
    const { statement, total } = planLoad(query, model, rightsOf(model, subject));
    const run = async (it: typeof statement): Promise<Value[][]> => {
      const { sql, parameters } = compileParsed(it, model, subject, engine.dialect, { timezone: query.timezone, now });
      return engine.run(sql, parameters);
    };
    rows.push(...(await run(statement)));
    if (total !== null) totals.push((await run(total))[0]?.[0] ?? null);
  }
  return { rows, totals };
}
