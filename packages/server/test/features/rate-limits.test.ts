/** Limits on how often, over HTTP: who is counted, in which order, and what the reply says. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

const mint = '/api/v1/embed/generate-session';
const cubeSql = '/api/v1/deployments/1/cubesql';
const query = { query: 'SELECT MEASURE(revenue) AS revenue FROM sales' };

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});
async function open(config: Partial<Config>): Promise<TestServer> {
  server = await openTestServer({ config });
  return server;
}
const limit = (accountId: number, limits: object): Promise<unknown> => {
  if (server === undefined) throw new Error('There is no server.');
  const update = server.context.db.updateTable('accounts').set({ limits: JSON.stringify(limits) });
  return update.where('id', '=', accountId).execute();
};

test('a key: so many a minute, then 429 with the seconds to wait; another account goes on', async () => {
  const { demo, other, ...opened } = await open({ keyRequestsPerMinuteMax: 3 });
  const call = (key: string, body: object) => postJson(opened, mint, body, `Api-Key ${key}`);
  // What is wrong counts as well.
  expect((await call(demo.apiKey, { deploymentId: 1, externalId: 'ada' })).status).toBe(200);
  expect((await call(demo.apiKey, {})).status).toBe(400);
  expect((await call(demo.apiKey, { deploymentId: 99, externalId: 'ada' })).status).toBe(404);
  const refused = await call(demo.apiKey, { deploymentId: 1, externalId: 'ada' });
  expect(refused).toMatchObject({
    status: 429,
    body: { statusCode: 429, code: 'RATE_LIMITED', message: 'Too many requests of this API key' },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(20);
  // The order of checks: 429 comes last.
  expect((await call(demo.apiKey, {})).status).toBe(400);
  expect((await call(other.apiKey, { deploymentId: 2, externalId: 'ada' })).status).toBe(200);
});

test('a user with a token: counted by user, not by token, and apart from others', async () => {
  const { demo, ...opened } = await open({ userRequestsPerMinuteMax: 2 });
  const session = (externalId: string) => openSession(opened, demo, { externalId, groups: ['merchant'] });
  const ask = async (bearer: string) => (await postJsonLines(opened, cubeSql, query, bearer)).status;
  const [one, again, another] = [await session('ada'), await session('ada'), await session('bob')];
  expect([await ask(one), await ask(again), await ask(one), await ask(another)]).toEqual([200, 200, 429, 200]);
});

test('the next token of a session counts as a request of its user', async () => {
  const { demo, ...opened } = await open({ userRequestsPerMinuteMax: 2 });
  const bearer = await openSession(opened, demo, { externalId: 'ada', groups: ['merchant'] });
  const renew = async () => {
    const reply = await fetch(`${opened.url}/api/v1/embed/session/token`, {
      method: 'POST',
      headers: { authorization: bearer },
    });
    return { status: reply.status, isTold: reply.headers.has('retry-after') };
  };
  const counted = [await renew(), await renew(), await renew()];
  expect(counted.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(counted[2]?.isTold).toBe(true);
});

test('a user whom a key names is limited too, and nothing is written for them', async () => {
  const { demo, ...opened } = await open({ userRequestsPerMinuteMax: 1 });
  const ask = (externalId: string, groups: readonly string[]) =>
    postJsonLines(opened, cubeSql, { ...query, sessionSettings: { externalId, groups } }, `Api-Key ${demo.apiKey}`);
  expect((await ask('ada', ['merchant'])).status).toBe(200);
  const refused = await ask('ada', []);
  expect([refused.status, refused.retryAfter === null]).toEqual([429, false]);
  const memberships = opened.context.db
    .selectFrom('user_groups')
    .innerJoin('users', 'users.id', 'user_id')
    .select('group_id')
    .where('external_id', '=', 'ada');
  expect(await memberships.execute()).toHaveLength(1);
  expect((await ask('bob', [])).status).not.toBe(429);
});

test('the account has the last word', async () => {
  const { demo, other, ...opened } = await open({ keyRequestsPerMinuteMax: 1 });
  await limit(demo.accountId, { keyRequestsPerMinuteMax: 3 });
  const call = async (key: string, deploymentId: number) =>
    (await postJson(opened, mint, { deploymentId, externalId: 'ada' }, `Api-Key ${key}`)).status;
  expect(await call(other.apiKey, 2)).toBe(200);
  expect(await call(other.apiKey, 2)).toBe(429);
  const ofDemo: number[] = [];
  for (let count = 0; count < 4; count++) ofDemo.push(await call(demo.apiKey, 1));
  expect(ofDemo).toEqual([200, 200, 200, 429]);
});

describe('credentials that do not open', () => {
  const guess = async (headers: Record<string, string> = {}): Promise<number> => {
    if (server === undefined) throw new Error('There is no server.');
    const reply = await fetch(server.url + mint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Api-Key sk-guess', ...headers },
      body: '{}',
    });
    await reply.text();
    return reply.status;
  };
  const exchange = async () => {
    if (server === undefined) throw new Error('There is no server.');
    return postJson(server, '/api/v1/embed/session/token', { sessionId: 'es-guess' });
  };

  test('so many from an address, then 429; one that opens is not refused for what others show', async () => {
    const { apiKey, demo, ...opened } = await open({ failedAuthenticationsPerMinuteMax: 2 });
    expect([await guess(), (await exchange()).status]).toEqual([401, 401]);
    const refused = await exchange();
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await guess()).toBe(429);
    // Other servers of the host have the right key, and the browsers behind the address their sessions.
    expect((await postJson(opened, mint, { deploymentId: 1, externalId: 'ada' }, `Api-Key ${apiKey}`)).status).toBe(
      200,
    );
    await openSession(opened, demo, { externalId: 'ada' });
    expect(await guess()).toBe(429);
    // What needs no credential goes on.
    expect((await fetch(`${opened.url}/livez`)).status).toBe(200);
    expect((await fetch(`${opened.url}/nowhere`)).status).toBe(404);
  });

  test('behind a proxy that is not trusted nobody is counted: all would be one', async () => {
    await open({ failedAuthenticationsPerMinuteMax: 1 });
    const from = { 'x-forwarded-for': '203.0.113.7' };
    expect([await guess(from), await guess(from), await guess(from)]).toEqual([401, 401, 401]);
  });

  test.each<[string, Config['trustedProxies']]>([
    ['so many hops', 1],
    ['a range', ['127.0.0.0/8', '::1']],
  ])('behind a trusted proxy, by %s, the address is the client’s', async (_name, trustedProxies) => {
    await open({ failedAuthenticationsPerMinuteMax: 1, trustedProxies });
    const [one, other] = ['203.0.113.7', '203.0.113.8'].map((address) => ({ 'x-forwarded-for': address }));
    expect([await guess(one), await guess(one), await guess(other)]).toEqual([401, 429, 401]);
    // What the client itself put before the proxy's word counts for nothing.
    const made = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' };
    expect(await guess(made)).toBe(429);
  });
});

async function postJsonLines(opened: Pick<TestServer, 'url'>, path: string, body: object, authorization: string) {
  const reply = await fetch(opened.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
  return { status: reply.status, retryAfter: reply.headers.get('retry-after'), text: await reply.text() };
}
