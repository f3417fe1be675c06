/** Which pages may call: those of the account's listed origins, with an embed token only (decisions on CORS in http-api.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const ours = 'https://app.example.com';
const theirs = 'https://other.example.com';
const cubeSql = '/api/v1/deployments/1/cubesql';
const chatOf = (account: string) => `/api/v1/public/${account}/agents/1/chat/stream-chat-state`;
const exchange = '/api/v1/embed/session/token';
const headers = ['origin', 'methods', 'headers', 'credentials'].map((name) => `access-control-allow-${name}`);

let server: TestServer;
let bearer: string;
beforeAll(async () => {
  server = await openTestServer();
  const list = (accountId: number, origin: string) =>
    server.context.db
      .updateTable('accounts')
      .set({ allowed_origins: JSON.stringify([origin]) })
      .where('id', '=', accountId)
      .execute();
  await list(server.demo.accountId, ours);
  await list(server.other.accountId, theirs);
  bearer = await openSession(server, server.demo, { externalId: 'ada', groups: ['merchant'] });
});
afterAll(() => server.close());

const preflight = (path: string, origin: string) =>
  fetch(server.url + path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  });
const call = (path: string, more: Record<string, string>, body: unknown = {}) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });
const allowed = (reply: Response) => reply.headers.get('access-control-allow-origin');

describe('a preflight', () => {
  test.each([
    [cubeSql, ours, true],
    [cubeSql, theirs, true],
    [cubeSql, 'https://evil.example.com', false],
    [cubeSql, 'https://app.example.com.evil.com', false],
    [cubeSql, 'null', false],
    [`${cubeSql}/`, ours, true],
    [chatOf('demo'), ours, true],
    [chatOf('demo'), theirs, false],
    [chatOf('other'), theirs, true],
    [chatOf('nobody'), ours, false],
    [`/eu${chatOf('demo')}`, ours, true],
    [exchange, ours, true],
    [exchange, 'https://evil.example.com', false],
  ])('of %s from %s: %s', async (path, origin, isAllowed) => {
    const reply = await preflight(path, origin);
    expect(reply.status).toBe(204);
    expect(reply.headers.get('vary')).toBe('Origin');
    expect(headers.map((name) => reply.headers.get(name))).toEqual(
      isAllowed ? [origin, 'POST', 'authorization, content-type, x-request-id', null] : [null, null, null, null],
    );
  });

  test.each(['/api/v1/embed/generate-session', '/livez', '/nowhere'])('of %s is not answered', async (path) => {
    const reply = await preflight(path, ours);
    expect(reply.status).toBe(404);
    expect(headers.map((name) => reply.headers.get(name))).toEqual([null, null, null, null]);
  });
});

describe('a call', () => {
  const query = { query: 'SELECT MEASURE(revenue) AS revenue FROM sales' };

  test('with a token is readable for the origins of its own account', async () => {
    const reply = await call(cubeSql, { authorization: bearer, origin: ours }, query);
    expect(reply.status).toBe(200);
    expect(allowed(reply)).toBe(ours);
    expect(reply.headers.get('access-control-expose-headers')).toBe('x-request-id, retry-after');
    expect(reply.headers.get('vary')).toBe('Origin');
    await reply.text();
  });

  test.each([theirs, 'https://evil.example.com', 'null', 'x'.repeat(400)])('not for %s', async (origin) => {
    const reply = await call(cubeSql, { authorization: bearer, origin }, query);
    expect(reply.status).toBe(200);
    expect(allowed(reply)).toBeNull();
    await reply.text();
  });

  test('of a refusal as well', async () => {
    const reply = await call(cubeSql, { authorization: bearer, origin: ours });
    expect([reply.status, allowed(reply)]).toEqual([400, ours]);
  });

  test('a token that does not open: the page may read that', async () => {
    const reply = await call(cubeSql, { authorization: 'Bearer nonsense', origin: ours });
    expect([reply.status, allowed(reply)]).toEqual([401, ours]);
    const hostile = await call(cubeSql, { authorization: 'Bearer nonsense', origin: 'https://evil.example.com' });
    expect([hostile.status, allowed(hostile)]).toEqual([401, null]);
  });

  test('the exchange of a session', async () => {
    const reply = await call(exchange, { origin: ours }, { sessionId: 'unknown' });
    expect([reply.status, allowed(reply)]).toEqual([401, ours]);
  });

  test('a new token is readable for the origins of its own account', async () => {
    for (const origin of [ours, theirs]) {
      const minted = await call(
        '/api/v1/embed/generate-session',
        { authorization: `Api-Key ${server.apiKey}` },
        { deploymentId: 1, externalId: 'ada' },
      );
      const expected = [200, origin === ours ? ours : null];
      const first = await call(exchange, { origin }, await minted.json());
      expect([first.status, allowed(first)]).toEqual(expected);
      const next = await fetch(server.url + exchange, { method: 'POST', headers: { origin, authorization: bearer } });
      expect([next.status, allowed(next)]).toEqual(expected);
    }
  });

  test.each([cubeSql, chatOf('demo'), '/api/v1/embed/generate-session'])('with an API key never: %s', async (path) => {
    for (const key of [server.apiKey, 'sk-unknown']) {
      const reply = await call(path, { authorization: `Api-Key ${key}`, origin: ours });
      expect(reply.status).toBe(key === server.apiKey ? 400 : 401);
      expect(allowed(reply)).toBeNull();
    }
  });
});

test.each(['/livez', '/nowhere', cubeSql])('every reply says what it is not: %s', async (path) => {
  const { headers: sent } = await fetch(server.url + path);
  expect(Object.fromEntries(sent)).toMatchObject({
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
});
