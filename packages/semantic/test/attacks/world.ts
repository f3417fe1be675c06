/**
 * Two tenants, masked and hidden members, hidden cubes, and a user of the first tenant. There are two sets of data that differ in what this
 * user may not see, and in nothing else: whatever the user asks has to come to the same in both.
 */
import type { Subject } from '../../src/policy/subject.ts';
import { createTable, type TestEngine } from '../engines.ts';
import { loadModel } from '../load-model.ts';

/** Sales of two shops; who is paid what is nobody's business. */
export const model = loadModel(`
cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: shop, sql: shop, type: number }
      - { name: status, sql: status, type: string }
      - { name: made_at, sql: made_at, type: time }
      - { name: price, sql: price, type: number }
      - { name: cost, sql: cost, type: number, mask: 0 }
      - { name: code, sql: code, type: string }
      - { name: buyer, sql: "{people.email}", type: string }
    segments:
      - { name: paid, sql: "{status} = 'paid'" }
      - { name: cheap, sql: "{CUBE}.cost < 10" }
    measures:
      - { name: orders_count, type: count }
      - { name: revenue, type: sum, sql: "{price}" }
      - { name: costs, type: sum, sql: "{cost}" }
      - { name: margin, type: number, sql: "{revenue} - {costs}" }
      - { name: highest, type: max, sql: "{price}" }
      - { name: codes, type: count_distinct, sql: "{code}" }
      - { name: running, type: sum, sql: "{price}", rolling_window: { trailing: unbounded } }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: shop, operator: equals, values: ["{ userAttributes.shop }"] }] }
        member_level: { includes: "*", excludes: [code, cheap, codes] }
        member_masking: { includes: [cost] }
      - group: boss
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: shop, sql: shop, type: number, public: false }
      - { name: name, sql: name, type: string }
      - { name: email, sql: email, type: string, mask: masked }
      - { name: domain, sql: "SUBSTRING({email}, 1, 3)", type: string }
      - { name: born_at, sql: born_at, type: time }
      - { name: salary, sql: salary, type: number }
    measures:
      - { name: people_count, type: count }
      - { name: payroll, type: sum, sql: "{salary}" }
      - { name: emails, type: count_distinct, sql: "{email}" }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: shop, operator: equals, values: ["{ userAttributes.shop }"] }] }
        member_level: { includes: [id, name, domain, people_count, emails] }
        member_masking: { includes: [email, born_at] }
  - name: items
    sql_table: items
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: shop, sql: shop, type: number }
      - { name: title, sql: title, type: string }
    measures:
      - { name: items_count, type: count }
      - { name: pieces, type: sum, sql: pieces }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: shop, operator: equals, values: ["{ userAttributes.shop }"] }] }
  - name: vault
    sql_table: vault
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: secret, sql: secret, type: string }
    measures: [{ name: secrets, type: count }]
    access_policy: [{ group: boss }]
  - name: open_vault
    sql_table: vault
    dimensions: [{ name: secret, sql: secret, type: string }]
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*" }
      - { join_path: orders.people, includes: [name, email, domain, born_at, salary, people_count, emails, payroll] }
      - { join_path: orders.items, includes: [title, items_count, pieces] }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: status, operator: notEquals, values: [draft] }] }
      - group: boss
  - name: secrets
    cubes: [{ join_path: vault, includes: "*" }]
`);

/** A user of the first shop. */
export const thief: Subject = {
  groups: ['shop'],
  userAttributes: { shop: 1 },
  securityContext: {},
  embedTenantName: 'one',
  isEmbedTenantScope: true,
  seesUnprotected: false,
};

/** What differs between the sets of data. */
interface Hidden {
  /** Marks every hidden text. */
  readonly mark: string;
  /** Is in every hidden number that is not marked otherwise. */
  readonly number: number;
  /** Rows of the other shop, beside those of the first. */
  readonly others: number;
}

/** Two sets of data. */
export const sets: readonly [Hidden, Hidden] = [
  { mark: 'zqx', number: 770077, others: 3 },
  { mark: 'wvk', number: -990099, others: 5 },
];

/** Texts that no answer and no error may hold, whatever the case of its letters. */
export const forbidden: readonly RegExp[] = [/zqx/i, /wvk/i, /77007\d/, /99009\d/];

const tables = ['orders', 'people', 'items', 'vault'];

/** Fills an engine with one of the sets. */
export async function fill(engine: TestEngine, { mark, number, others }: Hidden): Promise<void> {
  for (const table of tables) await engine.exec(`DROP TABLE IF EXISTS ${table}`);
  const orders = { id: 'bigint', shop: 'bigint', person_id: 'bigint', status: 'text', made_at: 'timestamp' } as const;
  const theirs = Array.from({ length: others }, (_, at) => at);
  await createTable(engine, 'orders', { ...orders, price: 'bigint', cost: 'bigint', code: 'text' }, [
    [1, 1, 1, 'paid', '2024-01-05 10:00:00', 10, number, `${mark}1`],
    [2, 1, 2, 'open', '2024-02-05 10:00:00', 20, number + 1, `${mark}2`],
    [3, 1, 1, 'paid', '2024-02-07 10:00:00', 30, number + 2, `${mark}3`],
    // Not joined to a person of one's own: of nobody, and of the other shop.
    [4, 1, null, 'paid', '2024-03-01 10:00:00', 40, number, `${mark}4`],
    [5, 1, 50, 'paid', '2024-03-02 10:00:00', 50, number, `${mark}5`],
    // Of one's own shop, hidden by the view only.
    ...theirs.map((at) => [100 + at, 2, 50 + at, `${mark}-paid`, '2023-01-01 00:00:00', number + at, at, mark]),
    [200, 2, 50, 'paid', '2024-01-05 10:00:00', 0, 0, 'not a number'],
  ]);
  await createTable(
    engine,
    'people',
    { id: 'bigint', shop: 'bigint', name: 'text', email: 'text', born_at: 'timestamp', salary: 'bigint' },
    [
      [1, 1, 'Ann', `ann@${mark}`, others === 3 ? '1980-01-01 00:00:00' : '1999-12-31 00:00:00', number],
      [2, 1, 'Bob', `${mark}@bob`, null, number + 3],
      ...theirs.map((at) => [50 + at, 2, `${mark} ${at}`, mark, '2000-01-01 00:00:00', number]),
    ],
  );
  await createTable(
    engine,
    'items',
    { id: 'bigint', shop: 'bigint', order_id: 'bigint', title: 'text', pieces: 'bigint' },
    [
      [1, 1, 1, 'pen', 1],
      [2, 1, 1, 'ink', 2],
      [3, 1, 3, 'pen', 3],
      ...theirs.map((at) => [100 + at, 2, 1, `${mark} item`, number]),
    ],
  );
  await createTable(
    engine,
    'vault',
    { id: 'bigint', secret: 'text' },
    theirs.map((at) => [at, `${mark} secret`]),
  );
}
