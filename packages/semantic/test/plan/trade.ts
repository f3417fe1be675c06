/** A trading house for tests of the planner: two facts over shared customers, a diamond, a table without a key, employees with bosses. */
import { createTable, type TestEngine } from '../engines.ts';

/** The model: no policies. */
export const tradeYaml = `
cubes:
  - name: cities
    sql_table: cities
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: city, sql: city, type: string }
    measures:
      - { name: cities_count, type: count }
  - name: customers
    sql_table: customers
    joins:
      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }
      - { name: orders, relationship: one_to_many, sql: "{CUBE}.id = {orders}.customer_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string }
      - { name: place, type: geo, latitude: { sql: "{CUBE}.lat" }, longitude: { sql: "{CUBE}.lon" } }
      - { name: since, sql: since, type: time }
      - { name: orders_made, sql: "{orders.orders_count}", type: number, sub_query: true }
      - { name: spent, sql: "{orders.amount}", type: number, sub_query: true, propagate_filters_to_sub_query: true }
    segments:
      - { name: northern, sql: "{CUBE}.lat > 50" }
    measures:
      - { name: customers_count, type: count }
      - { name: orders_each, sql: "{orders_made}", type: avg }
  - name: warehouses
    sql_table: warehouses
    joins:
      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
  - name: orders
    sql_table: orders
    joins:
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
      - { name: warehouses, relationship: many_to_one, sql: "{CUBE}.warehouse_id = {warehouses.id}" }
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: status, sql: status, type: string }
      - { name: created_at, sql: created_at, type: time }
      - { name: measured_as, type: switch, values: [gross, net] }
    segments:
      - { name: big, sql: "{CUBE}.amount > 25" }
    measures:
      - { name: orders_count, type: count }
      - { name: amount, sql: amount, type: sum }
      - { name: largest, sql: amount, type: max }
      - { name: price, sql: "1.0 * SUM({CUBE}.amount) / NULLIF(SUM({CUBE}.weight), 0)", type: number_agg }
      - { name: paid_price, sql: "1.0 * SUM({CUBE}.amount) / NULLIF(SUM({CUBE}.weight), 0)", type: number_agg, filters: [{ sql: "{status} = 'paid'" }] }
      - { name: average, sql: "{amount} / {orders_count}", type: number }
      - { name: share, sql: "{orders_count} / {items.lines}", type: number }
      - { name: net, sql: "{amount} - {refunds.refunded}", type: number }
      - { name: is_large, sql: "{largest} > 25", type: boolean }
      - { name: latest, sql: "MAX({CUBE}.created_at)", type: time }
      - { name: first_status, sql: "MIN({CUBE}.status)", type: string }
      - { name: label, sql: "'n' || {orders_count}", type: string }
  - name: items
    sql_table: items
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: sku, sql: sku, type: string }
    measures:
      - { name: lines, type: count }
      - { name: quantity, sql: qty, type: sum }
      - { name: per_line, sql: "1.0 * SUM({CUBE}.qty) / COUNT(*)", type: number_agg }
  - name: refunds
    sql_table: refunds
    joins:
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: reason, sql: reason, type: string }
    measures:
      - { name: refunded, sql: amount, type: sum }
      - { name: refunds_count, type: count }
  - name: visits
    sql_table: visits
    joins:
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
    dimensions:
      - { name: page, sql: page, type: string }
    measures:
      - { name: visits_count, type: count }
      - { name: seconds, sql: seconds, type: sum }
      - { name: longest, sql: seconds, type: max }
  - name: bosses
    sql_table: employees
    joins:
      - { name: top_bosses, relationship: many_to_one, sql: "{CUBE}.boss_id = {top_bosses.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string }
      - { name: top, sql: "{top_bosses.name}", type: string }
  - name: top_bosses
    sql_table: employees
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string }
  - name: employees
    sql_table: employees
    joins:
      - { name: bosses, relationship: many_to_one, sql: "{CUBE}.boss_id = {bosses.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string }
    measures:
      - { name: heads, type: count }
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*", excludes: [id, net] }
      - { join_path: orders.items, includes: [sku, lines, quantity, per_line] }
      - { join_path: orders.customers, includes: [name, place, orders_made, spent, customers_count, orders_each] }
      - { join_path: orders.customers.cities, includes: [city, cities_count], prefix: true, alias: home }
      - { join_path: orders.warehouses.cities, includes: [city], prefix: true, alias: depot }
  - name: trade
    cubes:
      - { join_path: orders, includes: [status, created_at, amount, orders_count, net, average] }
      - { join_path: orders.customers, includes: [name] }
      - { join_path: refunds, includes: [reason, refunded, refunds_count] }
      - { join_path: visits, includes: [page, visits_count, seconds] }
  - name: web
    cubes:
      - { join_path: visits, includes: [page, visits_count, seconds, longest] }
      - { join_path: visits.customers, includes: [name] }
      - { join_path: visits.customers.orders, includes: [status, orders_count] }
  - name: staff
    cubes:
      - { join_path: employees, includes: [name, heads] }
      - { join_path: employees.bosses, includes: [name, top], prefix: true }
`;

/** Order 4 has no customer, order 2 and 4 no items, item 5 no order, refund 4 no customer; Cid has refunds and no orders. */
export async function fillTrade(engine: TestEngine): Promise<void> {
  await createTable(engine, 'cities', { id: 'integer', city: 'text' }, [
    [1, 'Oslo'],
    [2, 'Rome'],
  ]);
  await createTable(
    engine,
    'customers',
    { id: 'integer', name: 'text', city_id: 'integer', lat: 'integer', lon: 'integer', since: 'timestamp' },
    [
      [1, 'Ann', 1, 59, 10, '2023-05-01 08:00:00'],
      [2, 'Bob', 2, 41, 12, '2023-05-20 09:30:00'],
      [3, 'Cid', null, null, 1, null],
    ],
  );
  await createTable(engine, 'warehouses', { id: 'integer', city_id: 'integer' }, [
    [1, 2],
    [2, 1],
  ]);
  await createTable(
    engine,
    'orders',
    {
      id: 'integer',
      customer_id: 'integer',
      warehouse_id: 'integer',
      status: 'text',
      amount: 'decimal(12,2)',
      weight: 'integer',
      created_at: 'timestamp',
    },
    [
      [1, 1, 1, 'open', 10, 1, '2024-01-05 10:00:00'],
      [2, 1, 2, 'paid', 20, 3, '2024-01-20 10:00:00'],
      [3, 2, 1, 'paid', 30, 2, '2024-02-01 10:00:00'],
      [4, null, 2, 'open', 40, 9, '2024-02-02 10:00:00'],
    ],
  );
  await createTable(engine, 'items', { id: 'integer', order_id: 'integer', sku: 'text', qty: 'integer' }, [
    [1, 1, 'a', 1],
    [2, 1, 'b', 2],
    [3, 1, 'a', 3],
    [4, 3, 'a', 4],
    [5, 9, 'b', 9],
  ]);
  await createTable(
    engine,
    'refunds',
    { id: 'integer', customer_id: 'integer', reason: 'text', amount: 'decimal(12,2)' },
    [
      [1, 1, 'late', 5],
      [2, 3, 'late', 7],
      [3, 3, 'bad', 1],
      [4, null, 'lost', 2],
    ],
  );
  await createTable(engine, 'visits', { customer_id: 'integer', page: 'text', seconds: 'integer' }, [
    [1, 'home', 3],
    [1, 'home', 3],
    [1, 'shop', 4],
    [2, 'home', 5],
  ]);
  await createTable(engine, 'employees', { id: 'integer', name: 'text', boss_id: 'integer' }, [
    [1, 'Eva', null],
    [2, 'Fay', 1],
    [3, 'Gus', 2],
    [4, 'Hal', 2],
  ]);
}
