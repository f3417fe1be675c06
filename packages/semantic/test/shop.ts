/** A small shop for tests: its data model, its data in DuckDB, and a way to ask it something as somebody. */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import type { DataModel } from '../src/model/data-model.ts';
import { loadDataModel } from '../src/model/load-data-model.ts';
import type { Subject } from '../src/policy/subject.ts';

const policy = (member: string, more = '') => `
    access_policy:
      - group: merchant
        row_level: { filters: [{ member: ${member}, operator: equals, values: ["{ userAttributes.merchant_id }"] }] }
        ${more}
      - group: platform_team
        row_level: { allow_all: true }`;

/** The model: everyone's rows by merchant, one view over all cubes; no cube is public. */
export const shopYaml = `
cubes:
  - name: orders
    sql_table: orders
    public: false
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items.order_id}" }
      - { name: refunds, relationship: one_to_many, sql: "{CUBE}.id = {refunds}.order_id" }
      - { name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}" }
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: merchant_id, sql: "{CUBE}.merchant_id", type: number, public: false }
      - { name: channel, sql: "{CUBE}.channel", type: string, title: Channel, meta: { synonyms: [sales channel, touchpoint] } }
      - { name: created_at, sql: "{CUBE}.created_at", type: time }
    measures:
      - { name: orders_count, type: count, title: Orders }
      - { name: shipping, sql: "{CUBE}.shipping", type: sum }
      - { name: average_shipping, sql: "{CUBE}.shipping", type: avg }
      - { name: web_orders, type: count, filters: [{ sql: "{CUBE}.channel = 'web'" }] }
      - { name: buyers, sql: "{CUBE}.customer_id", type: count_distinct }
      - { name: order_value, sql: "1.0 * {items.revenue} / NULLIF({orders_count}, 0)", type: number }
${policy('merchant_id')}
  - name: items
    sql_table: items
    public: false
    joins:
      - { name: products, relationship: many_to_one, sql: "{CUBE}.product_id = {products.id}" }
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: order_id, sql: "{CUBE}.order_id", type: number, public: false }
      - { name: merchant_id, sql: "{CUBE}.merchant_id", type: number, public: false }
      - { name: quantity, sql: "{CUBE}.quantity", type: number }
    measures:
      - { name: revenue, sql: "{CUBE}.amount", type: sum, description: Net of discounts }
      - { name: sold, sql: "{quantity}", type: sum }
      - { name: largest, sql: "{CUBE}.amount", type: max }
      - { name: lines, sql: "1", type: sum }
${policy('merchant_id')}
  - name: products
    sql_table: products
    public: false
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, public: false }
      - { name: merchant_id, sql: "{CUBE}.merchant_id", type: number, public: false }
      - { name: category, sql: "{CUBE}.category", type: string }
      - { name: cost, sql: "{CUBE}.cost", type: number }
${policy('merchant_id', 'member_level: { excludes: [cost] }')}
  - name: refunds
    sql_table: refunds
    public: false
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: false }
      - { name: merchant_id, sql: "{CUBE}.merchant_id", type: number, public: false }
      - { name: reason, sql: "{CUBE}.reason", type: string }
    measures:
      - { name: refunded, sql: "{CUBE}.amount", type: sum }
      - { name: refunds_count, type: count }
${policy('merchant_id')}
  - name: customers
    sql_table: customers
    public: false
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: false }
      - { name: merchant_id, sql: "{CUBE}.merchant_id", type: number, public: false }
      - { name: city, sql: "{CUBE}.city", type: string }
    measures:
      - { name: customers_count, type: count }
${policy('merchant_id')}
views:
  - name: sales
    description: Orders with items
    cubes:
      - { join_path: orders, includes: "*", excludes: [id] }
      - { join_path: orders.items, includes: [quantity, revenue, sold, largest, lines] }
      - { join_path: orders.items.products, includes: [category, cost] }
      - { join_path: orders.refunds, includes: "*" }
      - { join_path: orders.customers, includes: [{ name: city, alias: customer_city }, customers_count] }
`;

/** Loads a model that is expected to be right. */
export function load(...texts: string[]): DataModel {
  const loaded = loadDataModel(texts.map((text, index) => ({ path: `model-${index}.yml`, text })));
  if ('issues' in loaded) throw new Error(JSON.stringify(loaded.issues, null, 1));
  return loaded.dataModel;
}

/** A user of the group of merchants, with the merchant's number, or none. */
export const merchant = (id: number | null, more: Partial<Subject> = {}): Subject => ({
  groups: ['merchant'],
  userAttributes: { merchant_id: id },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
  ...more,
});
/** A user who sees all rows. */
export const platform: Subject = merchant(null, { groups: ['platform_team'] });

/** Two merchants; order 3 has no items, item 15's product is nobody's, order 4's customer is null. */
export const shopData = `
  CREATE TABLE orders (id BIGINT, merchant_id BIGINT, customer_id BIGINT, channel VARCHAR, created_at TIMESTAMP, shipping DECIMAL(12,2));
  INSERT INTO orders VALUES
    (1, 7, 1, 'web', '2024-01-05 10:00', 5.00), (2, 7, 2, 'store', '2024-01-31 23:30', 7.50), (3, 7, 1, 'web', '2024-02-01 00:00', 2.50),
    (4, 7, NULL, NULL, '2024-03-15 12:00', NULL), (5, 8, 3, 'web', '2024-01-06 09:00', 100.00), (6, 8, 3, 'store', '2024-02-06 09:00', 1.00);
  CREATE TABLE items (id BIGINT, order_id BIGINT, merchant_id BIGINT, product_id BIGINT, quantity INTEGER, amount DECIMAL(12,2));
  INSERT INTO items VALUES
    (11, 1, 7, 1, 1, 10.10), (12, 1, 7, 2, 2, 20.20), (13, 1, 7, 1, 1, 10.10), (14, 2, 7, 2, 3, 30.00), (15, 4, 7, 99, 1, 5.00),
    (16, 5, 8, 3, 1, 1000.00), (17, 6, 8, 3, 2, 2000.00);
  CREATE TABLE products (id BIGINT, merchant_id BIGINT, category VARCHAR, cost DECIMAL(12,2));
  INSERT INTO products VALUES (1, 7, 'Shoes', 4.00), (2, 7, 'Hats', 8.00), (3, 8, 'Shoes', 300.00);
  CREATE TABLE refunds (id BIGINT, order_id BIGINT, merchant_id BIGINT, reason VARCHAR, amount DECIMAL(12,2));
  INSERT INTO refunds VALUES (21, 1, 7, 'late', 3.00), (22, 1, 7, 'broken', 4.00), (23, 5, 8, 'late', 500.00);
  CREATE TABLE customers (id BIGINT, merchant_id BIGINT, city VARCHAR);
  INSERT INTO customers VALUES (1, 7, 'Oslo'), (2, 7, 'Rome'), (3, 8, 'Oslo');
`;

/** An open database with the shop's data, or other data. */
export interface Shop {
  /** Rows as JSON values; decimals and 64-bit integers are texts. */
  ask(sql: string, subject: Subject, model?: DataModel): Promise<unknown[][]>;
  /** Runs SQL of the warehouse itself, for expected answers. */
  direct(sql: string): Promise<unknown[][]>;
}

/** Opens a database in memory; ends with the process. */
/** An empty DuckDB, set up as the server's warehouse is. */
export async function openEngine(): Promise<DuckDBConnection> {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  // With this optimizer the engine answers wrongly now and then (docs/decisions/0001).
  await connection.run(`SET disabled_optimizers = 'common_subplan'`);
  return connection;
}

export async function openShop(data = shopData): Promise<Shop> {
  const connection = await openEngine();
  await connection.run(data);
  const shop = load(shopYaml);
  return {
    async ask(sql, subject, model = shop) {
      const compiled = compileSql(sql, model, subject, duckdb);
      return (await connection.runAndReadAll(compiled.sql, [...compiled.parameters])).getRowsJson();
    },
    direct: async (sql) => (await connection.runAndReadAll(sql)).getRowsJson(),
  };
}
