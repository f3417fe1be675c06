/** Orders over time for tests of windows, shifts and stages, and a way to ask about them on any engine. */
import { compileParsed } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import type { DataModel } from '../src/model/data-model.ts';
import type { Subject } from '../src/policy/subject.ts';
import { parseSql } from '../src/sql/parse-sql.ts';
import { createTable, type TestEngine, type Value } from './engines.ts';
import { loadModel } from './load-model.ts';

/** Everyone: the model's policies let group `all` see all rows, `some` those of one owner. */
export const everyone: Subject = {
  groups: ['all'],
  userAttributes: { owner: 1 },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: true,
};
/** A user who may see the rows of owner 1 only, and no value of `amount`. */
export const somebody: Subject = { ...everyone, groups: ['some'] };
/** A user who may see all rows, and the value of `amount` in none. */
export const masked: Subject = { ...everyone, groups: ['blind'] };

/** Whose rows are seen, on each cube. */
const policy = `
    access_policy:
      - { group: all, row_level: { allow_all: true } }
      - { group: some, row_level: { filters: [{ member: owner, operator: equals, values: ["{ userAttributes.owner }"] }] } }`;

/** Measures over `amount`, `n` and `buyer`, with every kind of window, shift and stage. */
export const timeYaml = `
cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true }
      - { name: owner, sql: "{CUBE}.owner", type: number }
      - { name: channel, sql: "{CUBE}.channel", type: string }
      - { name: region, sql: "{CUBE}.region", type: string }
      - { name: currency, type: switch, values: [EUR, USD, count] }
      - name: at
        sql: "{CUBE}.at"
        type: time
        granularities:
          - { name: fiscal_year, interval: 1 year, origin: "2024-04-01" }
          - { name: fortnight, interval: 14 days, origin: "2024-01-01" }
      - { name: month_name, sql: "CAST({at} AS VARCHAR)", type: string }
    measures:
      - { name: orders_count, type: count }
      - { name: total, sql: "{CUBE}.amount", type: sum }
      - { name: mean, sql: "{CUBE}.amount", type: avg }
      - { name: least, sql: "{CUBE}.amount", type: min }
      - { name: buyers, sql: "{CUBE}.buyer", type: count_distinct }
      - { name: web_total, sql: "{CUBE}.amount", type: sum, filters: [{ sql: "{CUBE}.channel = 'web'" }] }
      - { name: average_order, sql: "{total} / {orders_count}", type: number }
      - { name: total_3m, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 3 month } }
      - { name: count_3m, type: count, rolling_window: { trailing: 3 month } }
      - { name: mean_3m, sql: "{CUBE}.amount", type: avg, rolling_window: { trailing: 3 month } }
      - { name: most_3m, sql: "{CUBE}.amount", type: max, rolling_window: { trailing: 3 month } }
      - { name: buyers_3m, sql: "{CUBE}.buyer", type: count_distinct, rolling_window: { trailing: 3 month } }
      - { name: web_3m, sql: "{CUBE}.amount", type: sum, filters: [{ sql: "{CUBE}.channel = 'web'" }], rolling_window: { trailing: 3 month } }
      - { name: before_3m, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 3 month, offset: start } }
      - { name: around_10d, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 10 day, leading: 10 day } }
      - { name: last_2h, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: 2 hour } }
      - { name: running, sql: "{CUBE}.amount", type: sum, rolling_window: { trailing: unbounded } }
      - { name: ahead, sql: "{CUBE}.amount", type: sum, rolling_window: { leading: unbounded, offset: start } }
      - { name: ytd, sql: "{CUBE}.amount", type: sum, rolling_window: { type: to_date, granularity: year } }
      - { name: fytd, sql: "{CUBE}.amount", type: sum, rolling_window: { type: to_date, granularity: fiscal_year } }
      - { name: mean_of_3m, sql: "{total_3m} / {count_3m}", type: number }
      - { name: growth, sql: "{total} / {total_last_month}", type: number }
      - { name: total_last_month, multi_stage: true, type: number, sql: "{total}", time_shift: [{ time_dimension: at, interval: 1 month, type: prior }] }
      - { name: total_last_year, multi_stage: true, type: number, sql: "{total}", time_shift: [{ interval: 1 year, type: prior }] }
      - { name: total_next_month, multi_stage: true, type: number, sql: "{total}", time_shift: [{ interval: 1 month, type: next }] }
      - { name: total_last_week, multi_stage: true, type: number, sql: "{total}", time_shift: [{ interval: 7 days, type: prior }] }
      - { name: buyers_last_month, multi_stage: true, type: number, sql: "{buyers}", time_shift: [{ interval: 1 month, type: prior }] }
      - { name: total_3m_last_year, multi_stage: true, type: number, sql: "{total_3m}", time_shift: [{ interval: 1 year, type: prior }] }
      - { name: around_last_month, multi_stage: true, type: number, sql: "{around_10d}", time_shift: [{ interval: 1 month, type: prior }] }
      - { name: ytd_last_month, multi_stage: true, type: number, sql: "{ytd}", time_shift: [{ interval: 1 month, type: prior }] }
      - { name: two_months_ago, multi_stage: true, type: number, sql: "{total_last_month}", time_shift: [{ interval: 1 month, type: prior }] }
      - { name: total_of_all, multi_stage: true, type: sum, sql: "{total}", group_by: [] }
      - { name: buyers_of_all, multi_stage: true, type: sum, sql: "{buyers}", group_by: [] }
      - { name: share, sql: "{total} / {total_of_all}", type: number }
      - { name: total_of_channel, multi_stage: true, type: sum, sql: "{total}", group_by: [channel] }
      - { name: total_beside_channel, multi_stage: true, type: sum, sql: "{total}", reduce_by: [channel] }
      - { name: mean_of_channels, multi_stage: true, type: avg, sql: "{total}", reduce_by: [channel] }
      - { name: best_channel, multi_stage: true, type: max, sql: "{total}", reduce_by: [channel] }
      - { name: mean_of_buyers, multi_stage: true, type: avg, sql: "{total}", add_group_by: [buyer] }
      - { name: best_region, multi_stage: true, type: max, sql: "{total}", add_group_by: [region] }
      - name: by_currency
        multi_stage: true
        type: number
        case: { switch: "{CUBE.currency}", when: [{ value: EUR, sql: "{total}" }, { value: count, sql: "{orders_count}" }], else: { sql: "{least}" } }
${policy}
      - { group: blind, row_level: { allow_all: true }, member_masking: { includes: [total] } }
  - name: items
    sql_table: items
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: owner, sql: "{CUBE}.owner", type: number }
      - { name: kind, sql: "{CUBE}.kind", type: string }
      - { name: sent_at, sql: "{CUBE}.sent_at", type: time }
    measures:
      - { name: pieces, sql: "{CUBE}.n", type: sum }
      - { name: pieces_3m, sql: "{CUBE}.n", type: sum, rolling_window: { trailing: 3 month } }
${policy}
      - { group: blind, row_level: { allow_all: true } }
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*" }
      - { join_path: orders.items, includes: [kind, sent_at, pieces, pieces_3m] }
`.replace('- { name: region,', '- { name: buyer, sql: "{CUBE}.buyer", type: number }\n      - { name: region,');

/** The model above. */
export const timeModel: DataModel = loadModel(timeYaml);

/** An order. Times are UTC. */
export interface Order {
  readonly id: number;
  readonly owner: number;
  readonly channel: string | null;
  readonly region: string;
  readonly buyer: number | null;
  readonly amount: number | null;
  readonly at: string | null;
}

/** A piece of an order. */
export interface Item {
  readonly id: number;
  readonly order_id: number | null;
  readonly owner: number;
  readonly kind: string;
  readonly n: number;
  readonly sent_at: string | null;
}

/** Makes the tables, in place of those of before. */
export async function fill(engine: TestEngine, orders: readonly Order[], items: readonly Item[] = []): Promise<void> {
  for (const table of ['orders', 'items']) await engine.exec(`DROP TABLE IF EXISTS ${table}`);
  await createTable(
    engine,
    'orders',
    {
      id: 'bigint',
      owner: 'integer',
      channel: 'text',
      region: 'text',
      buyer: 'bigint',
      amount: 'decimal(12,2)',
      at: 'timestamp',
    },
    orders.map((it) => [it.id, it.owner, it.channel, it.region, it.buyer, it.amount, it.at]),
  );
  await createTable(
    engine,
    'items',
    { id: 'bigint', order_id: 'bigint', owner: 'integer', kind: 'text', n: 'integer', sent_at: 'timestamp' },
    items.map((it) => [it.id, it.order_id, it.owner, it.kind, it.n, it.sent_at]),
  );
}

/** How something is asked. */
export interface Asking {
  readonly subject?: Subject;
  readonly timezone?: string;
  readonly fill?: boolean;
  readonly model?: DataModel;
}

/** The SQL of a statement, and its parameters. */
export function compile(sql: string, asking: Asking = {}, dialect = duckdb) {
  const { subject = everyone, timezone = 'UTC', model = timeModel } = asking;
  const statement = parseSql(sql);
  const { body } = statement;
  const filled =
    asking.fill === true && body.kind === 'select' ? { ...statement, body: { ...body, fill: true } } : statement;
  return compileParsed(filled, model, subject, dialect, { timezone, now: new Date('2024-06-15T12:00:00Z') });
}

/** The rows of an answer. */
export function ask(engine: TestEngine, sql: string, asking: Asking = {}): Promise<Value[][]> {
  const compiled = compile(sql, asking, engine.dialect);
  return engine.run(compiled.sql, compiled.parameters);
}
