/**
 * A shop small enough to add up in the head, for the numbered cases of the semantic layer. All tables have rows of two tenants; those of
 * the second are large, so that one of them in an answer is seen. Keys that lead nowhere, nulls and an empty table are among them.
 */
import type { Subject } from '../../src/policy/subject.ts';
import { createTable, type TestEngine } from '../engines.ts';
import { loadModel } from '../load-model.ts';

const own =
  '[{ group: tenant, row_level: { filters: [{ member: owner, operator: equals, values: ["{ userAttributes.owner }"] }] } }, { group: boss }]';
const owner = '{ name: owner, sql: owner, type: number }';
const id = '{ name: id, sql: id, type: number, primary_key: true }';

/** Orders with items, products, customers and shops; visits of customers; refunds without a key; hours; staff. */
export const model = loadModel(`
cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
      - { name: shops, relationship: many_to_one, sql: "{CUBE}.shop_id = {shops.id}" }
    dimensions:
      - ${id}
      - ${owner}
      - { name: channel, sql: channel, type: string }
      - name: at
        sql: at
        type: time
        granularities: [{ name: fiscal_year, interval: 1 year, origin: "2024-04-01" }]
    measures:
      - { name: orders_count, type: count }
      - { name: amount, type: sum, sql: amount }
      - { name: mean, type: avg, sql: amount }
      - { name: buyers, type: count_distinct, sql: customer_id }
      - { name: web_amount, type: sum, sql: amount, filters: [{ sql: "{channel} = 'web'" }] }
      - { name: none, type: count, filters: [{ sql: "{CUBE}.id < 0" }] }
      - { name: per_order, type: number, sql: "1.0 * {amount} / {orders_count}" }
      - { name: per_none, type: number, sql: "{amount} / {none}" }
      - { name: of_two_months, type: sum, sql: amount, rolling_window: { trailing: 2 month } }
      - { name: of_two_months_before, type: sum, sql: amount, rolling_window: { trailing: 2 month, offset: start } }
      - { name: buyers_of_two_months, type: count_distinct, sql: customer_id, rolling_window: { trailing: 2 month } }
      - name: of_two_months_ago
        type: number
        multi_stage: true
        sql: "{of_two_months}"
        time_shift: [{ time_dimension: at, interval: 1 month, type: prior }]
      - { name: buyers_of_all, type: number, multi_stage: true, sql: "{buyers}", group_by: [] }
    segments:
      - { name: online, sql: "{channel} = 'web'" }
    access_policy: ${own}
  - name: items
    sql_table: items
    joins:
      - { name: products, relationship: many_to_one, sql: "{CUBE}.product_id = {products.id}" }
    dimensions: [${id}, ${owner}]
    measures:
      - { name: quantity, type: sum, sql: quantity }
    access_policy: ${own}
  - name: products
    sql_table: products
    dimensions: [${id}, ${owner}, { name: category, sql: category, type: string }]
    access_policy: ${own}
  - name: customers
    sql_table: customers
    joins:
      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }
    dimensions: [${id}, ${owner}, { name: name, sql: name, type: string }]
    measures:
      - { name: customers_count, type: count }
    access_policy: ${own}
  - name: shops
    sql_table: shops
    joins:
      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }
    dimensions: [${id}, ${owner}]
    access_policy: ${own}
  - name: cities
    sql_table: cities
    dimensions: [${id}, { name: city, sql: city, type: string }]
    access_policy: [{ group: "*", embed_tenants: true }]
  - name: visits
    sql_table: visits
    joins:
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
    dimensions: [${id}, ${owner}]
    measures:
      - { name: pages, type: sum, sql: pages }
    access_policy: ${own}
  - name: bare
    sql_table: orders
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
    dimensions: [${owner}, { name: channel, sql: channel, type: string }]
    measures: [{ name: amount, type: sum, sql: amount }]
    access_policy: ${own}
  - name: hours
    sql_table: hours
    dimensions: [{ name: at, sql: at, type: time, primary_key: true }]
    measures: [{ name: hours_count, type: count }]
    access_policy: [{ group: "*", embed_tenants: true }]
  - name: staff
    sql_table: staff
    joins:
      - { name: chiefs, relationship: many_to_one, sql: "{CUBE}.chief_id = {chiefs.id}" }
    dimensions: [${id}, ${owner}, { name: name, sql: name, type: string }]
    measures: [{ name: staff_count, type: count }]
    access_policy: ${own}
  - name: chiefs
    sql_table: staff
    dimensions: [${id}, ${owner}, { name: name, sql: name, type: string }]
    access_policy: ${own}
  - name: nothing
    sql_table: nothing
    dimensions: [${id}, ${owner}, { name: word, sql: word, type: string }, { name: at, sql: at, type: time }]
    measures:
      - { name: rows_count, type: count }
      - { name: total, type: sum, sql: "{id}" }
      - { name: words, type: count_distinct, sql: word }
      - { name: running, type: sum, sql: "{id}", rolling_window: { trailing: unbounded } }
    access_policy: ${own}
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*", excludes: [owner] }
      - { join_path: orders.items, includes: [quantity] }
      - { join_path: orders.items.products, includes: [category] }
      - { join_path: orders.customers, includes: [name, customers_count] }
  - name: reach
    cubes:
      - { join_path: orders, includes: [channel, orders_count, amount, per_order] }
      - { join_path: orders.customers, includes: [name] }
      - { join_path: visits, includes: [pages] }
  - name: places
    cubes:
      - { join_path: orders, includes: [orders_count] }
      - { join_path: orders.customers.cities, alias: home, prefix: true, includes: [city] }
      - { join_path: orders.shops.cities, alias: shop, prefix: true, includes: [city] }
  - name: bare_sales
    cubes:
      - { join_path: bare, includes: [channel, amount] }
      - { join_path: bare.items, includes: [quantity] }
      - { join_path: bare.items.products, includes: [category] }
  - name: team
    cubes:
      - { join_path: staff, includes: [name, staff_count] }
      - { join_path: staff.chiefs, includes: [{ name: name, alias: chief }] }
`);

/** A user of the first tenant. */
export const tenant: Subject = {
  groups: ['tenant'],
  userAttributes: { owner: 1 },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
};
/** Who sees all rows. */
export const boss: Subject = { ...tenant, groups: ['boss'] };
/** Who has the group, and nothing that the filters compare with. */
export const stranger: Subject = { ...tenant, userAttributes: {} };

/** Makes the tables. */
export async function fillWorld(engine: TestEngine): Promise<void> {
  const money = 'decimal(12,2)';
  await createTable(
    engine,
    'orders',
    {
      id: 'bigint',
      owner: 'bigint',
      customer_id: 'bigint',
      shop_id: 'bigint',
      channel: 'text',
      at: 'timestamp',
      amount: money,
    },
    [
      [1, 1, 1, 1, 'web', '2023-12-31 23:30:00', 10],
      [2, 1, 1, 1, 'web', '2024-01-15 12:00:00', 20],
      [3, 1, 2, 2, 'store', '2024-03-10 08:00:00', '30.50'],
      [4, 1, null, null, null, '2024-03-31 00:30:00', null],
      [5, 1, 9, 2, 'store', '2024-10-27 01:30:00', '5.25'],
      [6, 2, 3, 3, 'web', '2024-01-20 00:00:00', 1000],
    ],
  );
  await createTable(
    engine,
    'items',
    { id: 'bigint', owner: 'bigint', order_id: 'bigint', product_id: 'bigint', quantity: 'integer' },
    [
      [1, 1, 1, 1, 1],
      [2, 1, 1, 1, 2],
      [3, 1, 1, 2, 1],
      [4, 1, 3, 2, 4],
      // One's own item of a product of the other tenant.
      [5, 1, 2, 3, 1],
      [6, 2, 6, 3, 1000],
    ],
  );
  await createTable(engine, 'products', { id: 'bigint', owner: 'bigint', category: 'text' }, [
    [1, 1, 'shoes'],
    [2, 1, 'hats'],
    [3, 2, 'shoes'],
  ]);
  await createTable(engine, 'customers', { id: 'bigint', owner: 'bigint', name: 'text', city_id: 'bigint' }, [
    [1, 1, 'Ann', 1],
    [2, 1, 'Bob', 2],
    [3, 2, 'Zed', 1],
    [4, 1, 'Dan', null],
  ]);
  await createTable(engine, 'shops', { id: 'bigint', owner: 'bigint', city_id: 'bigint' }, [
    [1, 1, 2],
    [2, 1, 1],
    [3, 2, 1],
  ]);
  await createTable(engine, 'cities', { id: 'bigint', city: 'text' }, [
    [1, 'Oslo'],
    [2, 'Rome'],
  ]);
  await createTable(engine, 'visits', { id: 'bigint', owner: 'bigint', customer_id: 'bigint', pages: 'integer' }, [
    [1, 1, 1, 3],
    [2, 1, 4, 5],
    [3, 1, null, 7],
    [4, 2, 3, 1000],
  ]);
  await createTable(engine, 'staff', { id: 'bigint', owner: 'bigint', name: 'text', chief_id: 'bigint' }, [
    [1, 1, 'Ada', null],
    [2, 1, 'Ben', 1],
    [3, 1, 'Cem', 1],
    // Of another tenant's chief.
    [4, 1, 'Dag', 5],
    [5, 2, 'Eve', null],
  ]);
  await createTable(engine, 'nothing', { id: 'bigint', owner: 'bigint', word: 'text', at: 'timestamp' }, []);
  await createTable(engine, 'hours', { at: 'timestamp' }, hours);
}

/** Each hour around the two days of 2024 on which clocks in Berlin change, and two days at the turn of 2020. */
const hours = [
  ...['2024-03-30T00:00Z', '2024-10-26T00:00Z'].flatMap((start) =>
    Array.from({ length: 72 }, (_, hour) => [Date.parse(start) + hour * 3_600_000]),
  ),
  [Date.parse('2020-12-31T12:00Z')],
  [Date.parse('2021-01-03T23:59Z')],
  [Date.parse('2021-01-04T00:00Z')],
].map(([at = 0]) => [new Date(at).toISOString().slice(0, 19).replace('T', ' ')]);
