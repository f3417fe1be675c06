/** Times of every type that a column may have, compared with what a query writes: one answer, and an engine's index serves. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { engineNames, useEngine } from '../engines.ts';
import { load, platform } from '../shop.ts';

const types = {
  duckdb: ['TIMESTAMP', 'TIMESTAMPTZ', 'TIMESTAMP_NS', 'DATE', 'VARCHAR'],
  postgres: ['timestamp', 'timestamptz', 'date'],
  clickhouse: ["DateTime64(6, 'UTC')", "DateTime('Europe/Berlin')", 'Date32'],
} as const;
/** Days, so that a date holds them, too. */
const days = ['2024-01-31', '2024-02-01', '2024-02-02', '2024-03-31'];

const modelOf = (table: string) =>
  load(`
cubes:
  - name: ${table}
    sql_table: ${table}
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, public: true }
      - { name: happened, sql: happened, type: time }
    access_policy:
      - group: platform_team
        row_level: { filters: [{ member: happened, operator: beforeDate, values: ["2024-03-31"] }] }
`);

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  const tables = types[name].map((type, at) => [type, `t${at}`] as const);

  beforeAll(async () => {
    const { exec } = engine();
    for (const [type, table] of tables) {
      const storage = name === 'clickhouse' ? ' ENGINE = MergeTree ORDER BY id' : '';
      await exec(`CREATE TABLE ${table} (id INTEGER, happened ${type})${storage}`);
      const zone = type.includes('Berlin') ? ' 01:00:00' : '';
      const values = days.map((day, at) => `(${at + 1}, '${day}${zone}')`);
      await exec(`INSERT INTO ${table} VALUES ${values.join(', ')}`);
    }
    // No time, and none that a cast fails on.
    if (name === 'duckdb') await exec(`INSERT INTO t4 VALUES (9, 'not a time')`);
  });

  describe.each(tables)('a column of %s', (_type, table) => {
    test.each([
      ["happened >= '2024-02-01'", [2, 3]],
      ["happened > '2024-02-01 00:00:00.000001' AND happened <= '2024-02-02'", [3]],
      ["'2024-02-01' >= happened", [1, 2]],
      ["happened = '2024-02-01'", [2]],
      ["happened <> '2024-02-01'", [1, 3]],
      ["happened = '2024-02-01 12:00:00'", []],
      ["happened BETWEEN '2024-01-31 00:00:01' AND '2024-02-01'", [2]],
      ["happened NOT BETWEEN '2024-01-31 00:00:01' AND '2024-02-01'", [1, 3]],
      ["happened IN ('2024-01-31', '2024-02-02')", [1, 3]],
      ["happened NOT IN ('2024-01-31', '2024-02-02')", [2]],
      ["NOT (happened >= '2024-02-01') OR happened = '2024-02-02'", [1, 3]],
      ['id < 9', [1, 2, 3]],
    ])('%s', async (condition, ids) => {
      const { run, dialect } = engine();
      const { sql, parameters } = compileSql(
        `SELECT id FROM ${table} WHERE ${condition} ORDER BY id`,
        modelOf(table),
        platform,
        dialect,
      );
      expect(await run(sql, parameters)).toEqual(ids.map((id) => [id]));
    });
  });

  if (name !== 'postgres') return;
  test.each(tables)('an index of a %s is used', async (_type, table) => {
    const { exec, run, dialect } = engine();
    await exec(`CREATE TABLE large_${table} AS SELECT i AS id, happened + i * interval '1 minute' AS happened
      FROM generate_series(1, 50000) AS i, (SELECT happened FROM ${table} WHERE id = 1) AS o`);
    if (table === 't2') await exec(`ALTER TABLE large_${table} ALTER happened TYPE date`);
    await exec(`CREATE INDEX ON large_${table} (happened)`);
    await exec(`ANALYZE large_${table}`);
    const { sql, parameters } = compileSql(
      `SELECT id FROM large_${table} WHERE happened >= '2024-02-02' AND happened < '2024-02-03'`,
      modelOf(`large_${table}`),
      platform,
      dialect,
    );
    const plan = (await run(`EXPLAIN ${sql}`, parameters)).flat().join('\n');
    expect(plan).toContain(`large_${table}_happened_idx`);
  });
});
