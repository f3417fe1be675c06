/** /load, /meta and /sql as HTTP: what is sent in the URL and in bodies, what comes back, and for whom. */
import { loadReplySchema, metaReplySchema } from '@inlay/contract/data.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CubeWorld, openCubeWorld, settingsHeader } from '../cube-world.ts';
import { openSession } from '../test-server.ts';

let world: CubeWorld;
let seven: string;
beforeAll(async () => {
  world = await openCubeWorld({
    clock: () => new Date('2024-03-15T10:20:30Z'),
    config: { loadRowsMax: 100, loadRowsDefault: 3 },
  });
  seven = await world.merchant(7);
});
afterAll(() => world.close());

interface Reply {
  readonly status: number;
  readonly type: string | null;
  readonly body: Record<string, unknown>;
}

async function post(end: string, body: unknown, authorization = seven): Promise<Reply> {
  const reply = await fetch(`${world.urlOf(world.shops.demo)}/${end}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: reply.status, type: reply.headers.get('content-type'), body: JSON.parse(await reply.text()) };
}

async function get(end: string, search: Record<string, string>, authorization = seven, headers = {}): Promise<Reply> {
  const url = `${world.urlOf(world.shops.demo)}/${end}?${new URLSearchParams(search)}`;
  const reply = await fetch(url, { headers: { authorization, ...headers } });
  return { status: reply.status, type: reply.headers.get('content-type'), body: JSON.parse(await reply.text()) };
}

const count = { measures: ['orders.count'] };

test('one query is answered by itself, in the URL and in a body alike', async () => {
  const query = { ...count, dimensions: ['orders.channel'], segments: ['orders.large'], total: true };
  const posted = await post('load', { query });
  expect(posted).toMatchObject({ status: 200, type: 'application/json; charset=utf-8' });
  expect(Object.keys(posted.body)).toEqual(['query', 'annotation', 'total', 'data']);
  expect(posted.body).toMatchObject({
    query: { ...query, limit: 3, timezone: 'UTC' },
    annotation: {
      measures: { 'orders.count': { title: 'Orders Orders', shortTitle: 'Orders', type: 'number' } },
      dimensions: { 'orders.channel': { title: 'Orders Channel', description: 'Where.', type: 'string' } },
      segments: { 'orders.large': { title: 'Orders Large' } },
      timeDimensions: {},
    },
    total: 1,
    data: [{ 'orders.channel': 'web', 'orders.count': 2 }],
  });
  expect((await get('load', { query: JSON.stringify(query) })).body).toEqual(posted.body);
  const multi = await get('load', { query: JSON.stringify(query), queryType: 'multi' });
  expect(multi.body).toMatchObject({ queryType: 'regularQuery', results: [posted.body], pivotQuery: { ...query } });
  const bare = await fetch(`${world.urlOf(world.shops.demo)}/meta`, {
    method: 'POST',
    headers: { authorization: seven },
  });
  expect(await bare.json()).toEqual((await get('meta', {})).body);
  for (const { body } of [posted, multi]) expect(loadReplySchema.safeParse(body).success).toBe(true);
  expect(metaReplySchema.safeParse((await get('meta', {})).body).success).toBe(true);
});

test('units of time are described, those of the model with their length', async () => {
  const of = (granularity: string) => ({ ...count, timeDimensions: [{ dimension: 'orders.at', granularity }] });
  const { body } = await post('load', { query: of('fiscal_year') });
  expect(body).toMatchObject({
    annotation: {
      timeDimensions: {
        'orders.at.fiscal_year': {
          type: 'time',
          granularity: { name: 'fiscal_year', interval: '12 months', origin: '2024-04-01T00:00:00' },
        },
        'orders.at': { title: 'Orders Ordered', type: 'time' },
      },
    },
  });
  expect((await post('load', { query: of('week') })).body).toMatchObject({
    annotation: { timeDimensions: { 'orders.at.week': { granularity: { name: 'week', interval: '1 week' } } } },
  });
});

test('a call has as many rows as the settings say', async () => {
  const query = { dimensions: ['orders.id'], order: [] };
  expect((await post('load', { query })).body['data']).toHaveLength(3);
  expect((await post('load', { query: { ...query, limit: 100 } })).body['data']).toHaveLength(4);
  expect((await post('load', { query: { ...query, limit: 0 } })).body['data']).toEqual([]);
  const { status, body } = await post('load', { query: { ...query, limit: 101 } });
  expect([status, body['code'], body['error']]).toEqual([400, 'QUERY_INVALID', body['message']]);
  expect(body['error']).toBe('limit must be at most 100. /cubesql has no limit of rows.');
});

describe('what cannot be asked is 400, with the message in `error`', () => {
  test.each<[string, () => Promise<Reply>, string, string]>([
    ['no query', () => post('load', {}), 'INVALID_REQUEST', 'The body does not have the required shape'],
    ['a query of nothing', () => post('load', { query: null }), 'QUERY_INVALID', 'The query must be an object.'],
    [
      'no query in the URL',
      () => get('load', {}),
      'INVALID_REQUEST',
      'The querystring does not have the required shape',
    ],
    ['half of JSON', () => get('load', { query: '{"measures":' }), 'QUERY_INVALID', 'The query is not JSON.'],
    [
      'JSON in the URL that is deeper than a stack',
      () => get('load', { query: `${'['.repeat(10_000)}${']'.repeat(10_000)}` }),
      'QUERY_INVALID',
      'The query has more than 64 levels.',
    ],
    ['SQL', () => get('load', { query: 'SELECT 1' }), 'QUERY_INVALID', 'The query is not JSON.'],
    ['no queries', () => post('load', { query: [] }), 'QUERY_INVALID', 'A call has 1 to 10 queries.'],
    [
      'many queries',
      () => post('load', { query: Array(11).fill(count) }),
      'QUERY_INVALID',
      'A call has 1 to 10 queries.',
    ],
    [
      'queries that share no time',
      () => post('load', { query: [count, count] }),
      'QUERY_INVALID',
      'Each of several queries needs a time dimension, all with one granularity.',
    ],
    [
      'one of them is wrong',
      () => post('load', { query: [count, { measures: ['orders.nothing'] }] }),
      'MEMBER_NOT_FOUND',
      'No member "nothing" in orders.',
    ],
    [
      'a body that reaches a prototype',
      () => post('load', JSON.parse('{"query":{"__proto__":{}}}')),
      'INVALID_JSON',
      'The body is not valid JSON',
    ],
    [
      'another zone',
      () => post('load', { query: { ...count, timezone: 'Mars/Olympus' } }),
      'QUERY_NOT_PLANNABLE',
      'No time zone "Mars/Olympus". Write a name such as Europe/Berlin.',
    ],
  ])('%s', async (_what, ask, code, message) => {
    const { status, body } = await ask();
    expect([status, body['code'], body['error']]).toEqual([400, code, message]);
    expect(body['message']).toBe(message);
  });
});

test('another branch is refused as it is everywhere', async () => {
  for (const end of ['load', 'meta']) {
    expect(await post(end, { query: count, branch: 'dev' })).toMatchObject({
      status: 403,
      body: { code: 'BRANCH_NOT_ALLOWED' },
    });
    const search = { branch: 'dev', query: JSON.stringify(count) };
    const key = `Api-Key ${world.server.apiKey}`;
    expect(await get(end, search, key, settingsHeader({ externalId: 'x' }))).toMatchObject({
      status: 404,
      body: { code: 'BRANCH_NOT_FOUND' },
    });
  }
});

test('two embed tenants with the same names of groups, attributes and users, side by side', async () => {
  const user = (embedTenantName: string, merchant: number) =>
    openSession(world.server, world.shops.demo, {
      externalId: 'same',
      creatorMode: true,
      embedTenantName,
      groupDefinitions: [{ name: 'merchant' }],
      userAttributeDefinitions: [{ name: 'merchant_id', type: 'number' }],
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: merchant }],
    });
  const [one, two] = [await user('tenant-one', 7), await user('tenant-two', 8)];
  const ask = async (token: string) =>
    (await post('load', { query: { measures: ['orders.revenue'] } }, token)).body['data'];
  expect(await Promise.all([ask(one), ask(two), ask(one)])).toEqual([
    [{ 'orders.revenue': 39.5 }],
    [{ 'orders.revenue': 100 }],
    [{ 'orders.revenue': 39.5 }],
  ]);
  // A group that a customer names opens nothing that is granted without a filter.
  expect(JSON.stringify((await post('meta', {}, one)).body)).not.toContain('secret');
});

test('rights are read anew at every call', async () => {
  const user = { externalId: 'changing', groups: ['merchant'] };
  const as = (id: number) =>
    openSession(world.server, world.shops.demo, { ...user, userAttributes: [{ name: 'merchant_id', value: id }] });
  const token = await as(7);
  const query = { measures: ['orders.revenue'] };
  expect((await post('load', { query }, token)).body['data']).toEqual([{ 'orders.revenue': 39.5 }]);
  await as(8);
  expect((await post('load', { query }, token)).body['data']).toEqual([{ 'orders.revenue': 100 }]);
  await openSession(world.server, world.shops.demo, { externalId: 'changing', groups: [] });
  expect((await post('load', { query }, token)).body['code']).toBe('RELATION_NOT_FOUND');
  expect(JSON.stringify((await post('meta', {}, token)).body)).not.toContain('orders.');
});

test('what a query is compiled to holds the policy of the user whom the key names', async () => {
  const key = `Api-Key ${world.server.apiKey}`;
  const asked = (id: number) => ({
    sessionSettings: {
      externalId: `m${id}`,
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: id }],
    },
  });
  const compiled = async (query: unknown, id: number) => (await post('sql', { query, ...asked(id) }, key)).body;
  const [one, other] = [await compiled(count, 7), await compiled(count, 8)];
  expect(one).toEqual({ sql: { sql: [expect.stringContaining('SELECT'), [7]] } });
  expect(other).toEqual({ sql: { sql: [Object(Object(one['sql'])['sql'])[0], [8]] } });
  expect(await compiled([count], 7)).toEqual([one]);
  expect(await compiled('SELECT MEASURE(count) AS "orders.count" FROM orders', 7)).toMatchObject({
    sql: { sql: [expect.any(String), [7]] },
  });
  expect(await post('sql', { query: count }, key)).toMatchObject({
    status: 400,
    body: { code: 'SESSION_SETTINGS_REQUIRED' },
  });
  expect(await get('sql', { query: '{"measures":' }, key, settingsHeader({ externalId: 'x' }))).toMatchObject({
    status: 400,
    body: { code: 'QUERY_INVALID' },
  });
});
