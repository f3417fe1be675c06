/** Kept results: shared where SQL and values are the same, and nowhere else; kept as long as the cubes allow. */
import { compileSql } from '@inlay/semantic/compile-sql.ts';
import { duckdb } from '@inlay/semantic/dialects/duckdb.ts';
import { loadDataModel } from '@inlay/semantic/model/load-data-model.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import { describe, expect, test } from 'vitest';
import { createKeptResults, type KeptResults } from '../src/query/kept-results.ts';
import type { WarehouseResult } from '../src/warehouse/warehouse.ts';

const policy = `access_policy:
      - group: shop
        row_level: { filters: [{ member: shop_id, operator: equals, values: ["{ userAttributes.shop }"] }] }
      - group: team
        row_level: { allow_all: true }`;
const loaded = loadDataModel([
  {
    path: 'model.yml',
    text: `
cubes:
  - name: orders
    sql_table: orders
    refresh_key: { every: 1 hour }
    joins: [{ name: shops, relationship: many_to_one, sql: "{CUBE}.shop_id = {shops}.id" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: shop_id, sql: shop_id, type: number }
      - { name: channel, sql: channel, type: string }
    measures: [{ name: count, type: count }]
    ${policy}
  - name: shops
    sql_table: shops
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: shop_id, sql: id, type: number }
      - { name: city, sql: city, type: string }
    ${policy}
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: [channel, count] }
      - { join_path: orders.shops, includes: [city] }
`,
  },
]);
if ('issues' in loaded) throw new Error(JSON.stringify(loaded.issues));
const { dataModel } = loaded;

const user = (shop: number | string, groups = ['shop']): Subject => ({
  groups,
  userAttributes: { shop },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
});
const resultOf = (text: string): WarehouseResult => ({
  columns: [{ name: 'a', column_type: 'String' }],
  rowCount: 1,
  bytes: 100,
  async *rows() {
    yield [[text]];
  },
});
const never = new AbortController().signal;
const byChannel = 'SELECT channel, MEASURE(count) FROM sales GROUP BY 1';

/** Asks as a user; gives the number of the reading that answered. */
function asker(results: KeptResults) {
  let readings = 0;
  return async (sql: string, as: Subject, version = 1): Promise<string> => {
    const compiled = compileSql(sql, dataModel, as, duckdb);
    const read = async () => resultOf(String(++readings));
    const result = await results.get({ version, dataModel }, compiled, never, read);
    const [[row] = []] = await Array.fromAsync(result.rows());
    return String(row?.[0]);
  };
}
const kept = (seconds = 60) => createKeptResults({ resultCacheBytesMax: 1_000_000, resultCacheSeconds: seconds });

describe('kept results', () => {
  test('are shared by users whose SQL and values are the same', async () => {
    const ask = asker(kept());
    expect(await ask(byChannel, user(1))).toBe('1');
    expect(await ask(byChannel, user(1))).toBe('1');
    expect(await ask(byChannel, user('1'))).toBe('1');
    expect(await ask(byChannel, user(1, ['shop', 'others']))).toBe('1');
  });

  test('are nobody else’s: another value, other policies, no attribute, another query', async () => {
    const ask = asker(kept());
    const answers = [
      await ask(byChannel, user(1)),
      await ask(byChannel, user(2)),
      await ask(byChannel, user('')),
      await ask(byChannel, user(1, ['team'])),
      await ask(`${byChannel} LIMIT 5`, user(1)),
      await ask(`SELECT channel, MEASURE(count) FROM sales WHERE channel = '1' GROUP BY 1`, user(1)),
      await ask(`SELECT channel, MEASURE(count) FROM sales WHERE channel = '2' GROUP BY 1`, user(1)),
    ];
    expect(answers).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  });

  test('belong to one loaded data model: another branch, commit or warehouse has its own', async () => {
    const ask = asker(kept());
    expect([await ask(byChannel, user(1), 1), await ask(byChannel, user(1), 2)]).toEqual(['1', '2']);
    expect(await ask(byChannel, user(1), 1)).toBe('1');
  });

  test('are kept as long as the cube says that says least; where none does, as the setting says', async () => {
    // The setting says: not at all. The cube orders says: an hour; shops says nothing.
    const ask = asker(kept(0));
    expect([await ask(byChannel, user(1)), await ask(byChannel, user(1))]).toEqual(['1', '1']);
    const withShops = 'SELECT city, MEASURE(count) FROM sales GROUP BY 1';
    expect([await ask(withShops, user(1)), await ask(withShops, user(1))]).toEqual(['2', '3']);
  });

  test('are off with a size of 0', async () => {
    const ask = asker(createKeptResults({ resultCacheBytesMax: 0, resultCacheSeconds: 60 }));
    expect([await ask(byChannel, user(1)), await ask(byChannel, user(1))]).toEqual(['1', '2']);
  });
});
