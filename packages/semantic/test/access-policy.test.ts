import { describe, expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { rowFilter } from '../src/policy/access-policy.ts';
import type { Subject } from '../src/policy/subject.ts';
import { visibleMetadata } from '../src/policy/visible-metadata.ts';
import { load, merchant, openShop, platform, shopYaml } from './shop.ts';

const cube = (policy: string, isPublic = true) =>
  load(`
cubes:
  - name: t
    sql_table: t
    public: ${isPublic}
    dimensions:
      - { name: a, sql: a, type: string }
      - { name: b, sql: b, type: string }
      - { name: c, sql: c, type: string }
      - { name: id, sql: id, type: number, primary_key: true }
${policy}`);
const filterOf = (policy: string, taken: string[], subject: Subject) => {
  const t = cube(policy).cubes.get('t');
  return rowFilter(t?.policy ?? null, new Set(taken), (name) => t?.members.get(name), subject);
};
const noRows = { kind: 'or', filters: [] };

describe('entries', () => {
  const overlapping = `
    access_policy:
      - { group: p1, row_level: { filters: [{ member: id, operator: lt, values: [500] }] }, member_level: { includes: [a, b] } }
      - { group: p2, row_level: { filters: [{ member: id, operator: gte, values: [500] }] }, member_level: { includes: [b, c] } }`;
  const both = merchant(null, { groups: ['p1', 'p2'] });
  const low = { kind: 'and', filters: [{ kind: 'compare', member: 'id', operator: 'lt', values: [500] }] };
  const high = { kind: 'and', filters: [{ kind: 'compare', member: 'id', operator: 'gte', values: [500] }] };

  test.each([
    ['a and b: the first', ['a', 'b'], [low]],
    ['b and c: the second', ['b', 'c'], [high]],
    ['b: both', ['b'], [low, high]],
    ['a, b and c: no entry covers all, so no rows', ['a', 'b', 'c'], []],
    ['nothing taken: every entry that leaves a member', [], [low, high]],
  ])('%s', (_name, taken, filters) => {
    expect(filterOf(overlapping, taken, both)).toEqual({ kind: 'or', filters });
  });

  test('an entry that includes nothing admits nothing, not even a join on the way', () => {
    const policy = 'access_policy: [{ group: "*", row_level: { allow_all: true }, member_level: { includes: [] } }]';
    expect(filterOf(`    ${policy}`, [], both)).toEqual(noRows);
  });

  test('an entry that grants all rows does not match a group that a customer named, unless it says so', () => {
    const customer = merchant(null, { groups: ['editors'], isEmbedTenantScope: true, embedTenantName: 'acme-shop' });
    const all = '    access_policy: [{ group: editors, row_level: { allow_all: true } }]';
    const bare = '    access_policy: [{ group: editors }]';
    const said = '    access_policy: [{ group: editors, embed_tenants: true }]';
    expect(filterOf(all, ['a'], customer)).toEqual(noRows);
    expect(filterOf(bare, ['a'], customer)).toEqual(noRows);
    expect(filterOf(said, ['a'], customer)).toBeNull();
    expect(filterOf(all, ['a'], { ...customer, isEmbedTenantScope: false })).toBeNull();
  });
});

describe('values', () => {
  const filter = (values: string, operator = 'equals', member = 'a') =>
    `    access_policy: [{ group: "*", row_level: { filters: [{ member: ${member}, operator: ${operator}, values: ${values} }] } }]`;
  const someone = merchant(7, {
    groups: ['g1', 'g2'],
    userAttributes: { region: 'north', regions: ['n', 's'], none: null, ids: [1, 2], constructor: 'x' },
    securityContext: { shop: { id: 5, tags: ['x', 'y'], empty: '' } },
    embedTenantName: 'acme-shop',
  });
  test.each([
    ['["{ userAttributes.region }"]', ['north']],
    ['"{ userAttributes.regions }"', ['n', 's']],
    ['["{ securityContext.shop.tags }", other]', ['x', 'y', 'other']],
    ['["{ securityContext.shop.id }"]', ['5']],
    ['["{ groups }"]', ['g1', 'g2']],
    ['["{ embedTenant.name }"]', ['acme-shop']],
  ])('%s', (values, expected) => {
    expect(filterOf(filter(values), ['a'], someone)).toEqual({
      kind: 'or',
      filters: [{ kind: 'and', filters: [{ kind: 'compare', member: 'a', operator: 'equals', values: expected }] }],
    });
  });

  test.each(['equals', 'notEquals', 'contains', 'notContains', 'startsWith', 'endsWith', 'gt'])(
    'a value that is missing, null or empty makes %s false',
    (operator) => {
      for (const value of [
        'userAttributes.none',
        'userAttributes.absent',
        'userAttributes.toString',
        'securityContext.shop.empty',
        'securityContext.shop.id.deeper',
        'securityContext.__proto__.x',
      ]) {
        expect(filterOf(filter(`["{ ${value} }"]`, operator), ['a'], someone), value).toEqual({
          kind: 'or',
          filters: [{ kind: 'and', filters: [noRows] }],
        });
      }
    },
  );

  test('one missing value among several makes the filter false', () => {
    expect(filterOf(filter('[x, "{ userAttributes.none }"]'), ['a'], someone)).toEqual({
      kind: 'or',
      filters: [{ kind: 'and', filters: [noRows] }],
    });
  });

  test.each([
    ['a whole number beyond 2^53, which has lost digits', 9007199254740992, 'number'],
    ['the same as a text', 9007199254740992, 'string'],
    ['more digits than a double holds', '123456789012345.999999', 'number'],
    ['not a number', 'NaN', 'number'],
    ['an exponent', '1e3', 'number'],
    ['a number beyond 64 bits', '9223372036854775808', 'number'],
  ])('%s matches nothing', (_name, value, type) => {
    const t = cube(
      filter('["{ userAttributes.x }"]').replace('member: a', `member: ${type === 'number' ? 'id' : 'a'}`),
    );
    const policy = t.cubes.get('t')?.policy ?? null;
    const subject = merchant(null, { userAttributes: { x: value } });
    expect(rowFilter(policy, new Set(['a']), (name) => t.cubes.get('t')?.members.get(name), subject)).toEqual({
      kind: 'or',
      filters: [{ kind: 'and', filters: [noRows] }],
    });
  });

  test('a key of 19 digits, as a text, matches itself and not its neighbour', async () => {
    const shop = await openShop(
      "CREATE TABLE t (a VARCHAR, b VARCHAR, c VARCHAR, id BIGINT); INSERT INTO t VALUES ('x', '', '', 1234567890123456789), ('y', '', '', 1234567890123456788);",
    );
    const model = cube(filter('["{ userAttributes.x }"]', 'equals', 'id'));
    const subject = merchant(null, { userAttributes: { x: '1234567890123456789' } });
    expect(await shop.ask('SELECT a FROM t', subject, model)).toEqual([['x']]);
  });

  test('a text is compared as a text, also with a column of numbers', async () => {
    const shop = await openShop(
      'CREATE TABLE t (a BIGINT, b VARCHAR, c VARCHAR, id BIGINT); INSERT INTO t VALUES (7, NULL, NULL, 1);',
    );
    const rows = (x: string) =>
      shop.ask('SELECT id FROM t', merchant(null, { userAttributes: { x } }), cube(filter('["{ userAttributes.x }"]')));
    expect([await rows('7'), await rows('7.4'), await rows('07'), await rows(' 7')]).toEqual([[['1']], [], [], []]);
  });

  test('every operator runs, and a value is never SQL or a pattern', async () => {
    const shop = await openShop(
      `CREATE TABLE t (a VARCHAR, b VARCHAR, c VARCHAR, id BIGINT); INSERT INTO t VALUES ('100%', '', '', 1), ('100x', '', '', 2), (NULL, '', '', 3), ('it''s', '', '', 4);`,
    );
    const ids = async (operator: string, values: string, member = 'a') =>
      (await shop.ask('SELECT id FROM t ORDER BY 1', someone, cube(filter(values, operator, member)))).flat();
    expect(await ids('equals', `["it's"]`)).toEqual(['4']);
    expect(await ids('equals', `["' OR TRUE --"]`)).toEqual([]);
    expect(await ids('notEquals', '["100%"]')).toEqual(['2', '3', '4']);
    expect(await ids('contains', '["0%"]')).toEqual(['1']);
    expect(await ids('notContains', '["0%"]')).toEqual(['2', '3', '4']);
    expect(await ids('startsWith', '["100"]')).toEqual(['1', '2']);
    expect(await ids('endsWith', '["X"]')).toEqual(['2']);
    expect(await ids('set', '[]')).toEqual(['1', '2', '4']);
    expect(await ids('notSet', '[]')).toEqual(['3']);
    expect(await ids('gt', '[2]', 'id')).toEqual(['3', '4']);
    expect(await ids('gte', '["2"]', 'id')).toEqual(['2', '3', '4']);
    expect(await ids('lt', '[1.5]', 'id')).toEqual(['1']);
    expect(await ids('lte', '["{ securityContext.shop.id }"]', 'id')).toEqual(['1', '2', '3', '4']);
    expect(await ids('equals', '["{ userAttributes.ids }"]', 'id')).toEqual(['1', '2']);
    expect(await ids('equals', '["{ userAttributes.region }"]', 'id')).toEqual([]);
  });
});

describe('what is protected by nothing', () => {
  const views = `
views:
  - { name: plain, cubes: [{ join_path: t, includes: "*" }] }
  - { name: guarded, cubes: [{ join_path: t, includes: [a] }], access_policy: [{ group: merchant }] }`;
  const model = cube(views);
  const see = (subject: Subject) => visibleMetadata(model, subject).map(({ name }) => name);
  test('external users see only a view with a policy that admits them', () => {
    expect(see(merchant(7))).toEqual(['guarded']);
    expect(see(merchant(7, { groups: [] }))).toEqual([]);
  });
  test('internal users see it', () => {
    expect(see(merchant(7, { isInternal: true }))).toEqual(['plain', 'guarded', 't']);
  });
});

test('the row filter of a joined cube acts before the join: a hidden row is as if it did not exist', async () => {
  const shop = await openShop();
  // Order 2, the only one of the store, is of merchant 7, and the product of its item now is not.
  await shop.direct('UPDATE products SET merchant_id = 8 WHERE id = 2');
  expect(
    await shop.ask("SELECT category, MEASURE(revenue) FROM sales WHERE channel = 'store' GROUP BY 1", merchant(7)),
  ).toEqual([[null, '30.00']]);
  const hats = "SELECT MEASURE(revenue) FROM sales WHERE category = 'Hats'";
  expect(await shop.ask(hats, merchant(7))).toEqual([[null]]);
  expect(await shop.ask(hats, platform)).toEqual([['50.20']]);
});

test("a view's own filter acts on the joined row", async () => {
  const model = load(
    shopYaml.replace(
      'description: Orders with items',
      `description: Orders with items
    access_policy:
      - { group: merchant, row_level: { filters: [{ or: [{ member: category, operator: equals, values: [Hats] }, { member: quantity, operator: gt, values: [100] }] }] } }`,
    ),
  );
  const shop = await openShop();
  expect(
    await shop.ask(
      'SELECT channel, MEASURE(revenue), MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 1',
      merchant(7),
      model,
    ),
  ).toEqual([
    ['store', '30.00', '1'],
    ['web', '20.20', '1'],
  ]);
  expect(() => compileSql('SELECT channel FROM sales', model, platform, duckdb)).toThrow('No view or cube');
});

test('what a member reads of another cube is taken from that cube: its entries have to cover it', async () => {
  const shop = await openShop();
  const split = (entries: string) =>
    load(shopYaml.replace(/(name: items\n[\s\S]*?access_policy:)[\s\S]*?(\n {2}- name: products)/, `$1${entries}$2`));
  const low = '{ filters: [{ member: id, operator: lt, values: [13] }] }';
  const model = split(`
      - { group: merchant, row_level: ${low}, member_level: { includes: [revenue] } }
      - { group: merchant, row_level: { allow_all: true }, member_level: { includes: [quantity] } }`);
  // Revenue is granted for items 11 and 12 only, whether named or read by a measure of orders.
  expect(await shop.ask('SELECT MEASURE(revenue) FROM sales', merchant(7), model)).toEqual([['30.30']]);
  expect(await shop.ask('SELECT MEASURE(order_value) FROM sales', merchant(7), model)).toEqual([[30.3 / 4]]);
  const none = split(`
      - { group: merchant, row_level: { allow_all: true }, member_level: { includes: [quantity] } }`);
  expect(await shop.ask('SELECT MEASURE(order_value) FROM sales', merchant(7), none)).toEqual([[null]]);
});
