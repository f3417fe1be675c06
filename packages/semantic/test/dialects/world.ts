/** A small table with the values that engines differ in, on every engine, and a way to ask for expressions over it. */
import { compileSql } from '../../src/compile-sql.ts';
import type { DataModel } from '../../src/model/data-model.ts';
import { type ColumnType, createTable, type TestEngine, type Value } from '../engines.ts';
import { load, platform } from '../shop.ts';

/** A data model with one cube over a table, each column a dimension of its own name. */
export function modelOf(table: string, columns: Readonly<Record<string, ColumnType>>, measures = ''): DataModel {
  const type = (column: ColumnType): string => {
    if (column === 'timestamp' || column === 'date') return 'time';
    return column === 'text' ? 'string' : column === 'boolean' ? 'boolean' : 'number';
  };
  const dimensions = Object.entries(columns).map(
    ([name, column]) =>
      `      - { name: ${name}, sql: "{CUBE}.${name}", type: ${type(column)}, primary_key: ${name === 'id'}, public: true }`,
  );
  return load(`
cubes:
  - name: ${table}
    sql_table: ${table}
    dimensions:
${dimensions.join('\n')}
    measures:
      - { name: many, type: count }
${measures}
    access_policy: [{ group: platform_team, row_level: { allow_all: true } }]
`);
}

/** The columns of the table `v`. */
export const columns = {
  id: 'integer',
  a: 'integer',
  big: 'bigint',
  d: 'decimal(12,2)',
  x: 'double',
  s: 'text',
  b: 'boolean',
  at: 'timestamp',
  day: 'date',
} as const satisfies Readonly<Record<string, ColumnType>>;

/** Its rows. */
const rows: readonly (readonly (Value | bigint)[])[] = [
  [1, 7, 9223372036854775807n, '10.10', 0.5, 'Añ😀b', true, '2024-02-29 23:30:15.5', '2024-12-30'],
  [2, null, null, null, null, null, null, null, null],
  [3, -5, -9223372036854775808n, '-2.35', -2.5, ' a,b,,c ', false, '2021-01-01 00:00:00', '2021-01-03'],
  [4, 0, 0n, '0.00', 1e12, '', false, '1969-12-31 23:59:59.999999', '1970-01-01'],
];

/** The data model of the table `v`. */
export const model = modelOf('v', columns);

/** Makes the table `v`. */
export const createValues = (engine: TestEngine): Promise<void> => createTable(engine, 'v', columns, rows);

/** Runs semantic SQL as somebody who may see all. */
export async function ask(
  engine: TestEngine,
  sql: string,
  of: DataModel = model,
  options: { readonly timezone?: string; readonly now?: Date } = {},
): Promise<Value[][]> {
  const compiled = compileSql(sql, of, platform, engine.dialect, options);
  try {
    return await engine.run(compiled.sql, compiled.parameters);
  } catch (error) {
    throw new Error(`${engine.name}: ${String(error).slice(0, 500)}\n${compiled.sql.slice(0, 3000)}`);
  }
}

/** The values of an expression in the rows of `v`, by id. */
export const valuesOf = async (engine: TestEngine, expression: string, timezone = 'UTC'): Promise<Value[]> =>
  (await ask(engine, `SELECT id, ${expression} AS value FROM v ORDER BY id`, model, { timezone })).map(
    ([, value = null]) => value,
  );
