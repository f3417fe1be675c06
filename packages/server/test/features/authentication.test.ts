import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import type { RegisteredRoute } from '../../src/http/app.ts';
import { dumpTables } from '../seed.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

/**
 * Every route of the server but those of the management API, which are made from a list of operations, and the preflights. A new
 * one has to be added here, with the credential that it asks for.
 */
const expectedRoutes: readonly RegisteredRoute[] = [
  { method: 'POST', path: '/api/v1/embed/generate-session', credential: 'api-key' },
  { method: 'POST', path: '/api/v1/embed/session/token', credential: 'none' },
  { method: 'POST', path: '/api/v1/embed/session/revoke', credential: 'api-key' },
  ...['/api/v1', '/:cloudRegion/api/v1'].flatMap((base) =>
    [
      ['POST', 'stream-chat-state'],
      ['POST', 'stream-chat-state/abort'],
      ['POST', 'abort'],
      ['GET', 'threads'],
      ['DELETE', 'threads/:chatId'],
    ].map(
      ([method = '', end]): RegisteredRoute => ({
        method,
        path: `${base}/public/:accountName/agents/:agentId/chat/${end}`,
        credential: 'api-key or embed-token',
      }),
    ),
  ),
  { method: 'POST', path: '/api/v1/deployments/:deploymentId/cubesql', credential: 'api-key or embed-token' },
  ...['GET', 'POST'].flatMap((method) =>
    ['meta', 'load', 'sql'].map(
      (end): RegisteredRoute => ({
        method,
        path: `/api/v1/deployments/:deploymentId/${end}`,
        credential: end === 'sql' ? 'admin-role key' : 'api-key or embed-token',
      }),
    ),
  ),
  ...['POST', 'GET', 'DELETE'].map(
    (method): RegisteredRoute => ({
      method,
      path: '/api/v1/deployments/:deploymentId/mcp',
      credential: 'api-key or embed-token',
    }),
  ),
  { method: 'GET', path: '/livez', credential: 'none' },
  { method: 'GET', path: '/readyz', credential: 'none' },
  { method: 'GET', path: '/api/openapi.json', credential: 'none' },
];

let server: TestServer;
let now = Date.parse('2026-05-01T10:00:00Z');
beforeAll(async () => {
  server = await openTestServer({ clock: () => new Date(now) });
});
afterAll(() => server.close());

const addressOf = (path: string): string =>
  path
    .replace(':accountName', 'demo')
    .replace('/:cloudRegion', '')
    .replace(':agentId', '1')
    .replace(':chatId', '5f0c2b9e-7b1e-4a51-9a0e-2f4f6f0d1c11')
    .replace(':deploymentId', '1');

const send = (route: RegisteredRoute, authorization: string | undefined, body = '{"half": ') =>
  fetch(server.url + addressOf(route.path), {
    method: route.method,
    headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
    ...(route.method === 'GET' ? {} : { body }),
  });

test('the list of routes is the one that tests go through', () => {
  const sorted = (routes: readonly RegisteredRoute[]) =>
    routes.map(({ method, path, credential }) => `${method} ${path} ${credential}`).sort();
  const written = server.routes.filter(
    ({ method, credential }) => !['HEAD', 'OPTIONS'].includes(method) && credential !== 'admin-key',
  );
  expect(sorted(written)).toEqual(sorted(expectedRoutes));
  for (const { credential } of server.routes.filter(({ method }) => method === 'HEAD')) expect(credential).toBe('none');
});

const closedRoutes = expectedRoutes.filter(({ credential }) => credential !== 'none');

test.each(closedRoutes)('$method $path is closed to whoever has no valid credential', async (route) => {
  const { db } = server.context;
  const { accountId } = server;
  const revoked = await insertApiKey(db, { accountId, role: 'admin' });
  const expired = await insertApiKey(db, { accountId, role: 'admin' });
  const at = (instant: number) => new Date(instant);
  await db
    .updateTable('api_keys')
    .set({ revoked_at: at(now) })
    .where('prefix', '=', revoked.prefix)
    .execute();
  await db
    .updateTable('api_keys')
    .set({ expires_at: at(now) })
    .where('prefix', '=', expired.prefix)
    .execute();
  const token = await openSession(server, server.demo, { externalId: 'seven' });
  const ended = await openSession(server, server.demo, { externalId: 'ended' });
  await db.deleteFrom('users').where('external_id', '=', 'ended').execute();

  const before = await dumpTables(db);
  const wrong: (string | undefined)[] = [
    undefined,
    '',
    'Api-Key',
    'Api-Key ',
    `Api-Key sk-${'A'.repeat(43)}`,
    server.apiKey,
    `Basic ${Buffer.from(`demo:${server.apiKey}`).toString('base64')}`,
    `Bearer ${server.apiKey}`,
    `Api-Key ${server.apiKey} ${server.apiKey}`,
    `Api-Key ${server.apiKey.toLowerCase()}`,
    `Api-Key ${token.slice('Bearer '.length)}`,
    `Api-Key ${revoked.key}`,
    `Api-Key ${expired.key}`,
    `${token}x`,
    ended,
  ];
  for (const authorization of wrong) {
    const reply = await send(route, authorization);
    // The body is broken as well: the credential is looked at first.
    expect([authorization, reply.status]).toEqual([authorization, 401]);
    const body = await reply.json();
    expect(body).toMatchObject({
      statusCode: 401,
      code: 'UNAUTHENTICATED',
      requestId: reply.headers.get('x-request-id'),
    });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    expect(reply.headers.has('access-control-allow-origin')).toBe(false);
  }
  now += 86_400_000 + 61_000;
  expect((await send(route, token)).status).toBe(401);
  expect(await dumpTables(db)).toBe(before);
});

// Routes without a body: test/suites/route-matrix.test.ts.
const closedRoutesWithBody = closedRoutes.filter(({ method }) => method === 'POST');

test.each(closedRoutesWithBody)('$method $path answers valid credentials as they deserve', async (route) => {
  const { demo, other } = server;
  const named = /:(deploymentId|agentId)/.test(route.path);
  const token = await openSession(server, demo, { externalId: 'seven' });
  const foreignToken = await openSession(server, other, { externalId: 'seven' });
  const { key: restricted } = await insertApiKey(server.context.db, {
    accountId: demo.accountId,
    role: 'member',
    deploymentIds: [],
  });
  // A body that is broken in every other way shows that these come before it.
  expect((await send(route, `Api-Key ${demo.apiKey}`)).status).toBe(400);
  expect((await send(route, `api-key ${demo.apiKey}`)).status).toBe(400);
  const ofToken = route.credential === 'api-key or embed-token' ? 400 : 403;
  expect((await send(route, token)).status).toBe(ofToken);
  expect((await send(route, token.replace('Bearer', 'Embed-Token'))).status).toBe(ofToken);
  if (named) {
    expect((await send(route, `Api-Key ${other.apiKey}`)).status).toBe(404);
    expect((await send(route, foreignToken)).status).toBe(route.credential === 'admin-role key' ? 403 : 404);
    expect((await send(route, `Api-Key ${restricted}`)).status).toBe(403);
    for (const id of ['0', '-1', '1.5', 'x', '99', '2147483648', '99999999999999999999', '1%00', '%ff']) {
      const path = addressOf(route.path).replace(/\/1(?=\/)/, `/${id}`);
      expect([id, (await send({ ...route, path }, `Api-Key ${demo.apiKey}`)).status]).toEqual([id, 404]);
    }
  }
});

test('keys, session ids and tokens are neither stored nor logged', async () => {
  const minted = await postJson(
    server,
    '/api/v1/embed/generate-session?session=es-in-the-query',
    { deploymentId: 1, externalId: 'secretive', securityContext: { a: 'context-value' } },
    `Api-Key ${server.apiKey}`,
  );
  const { body } = await postJson(server, '/api/v1/embed/session/token', minted.body);
  await postJson(server, '/api/v1/embed/session/token', minted.body);
  await postJson(server, '/api/v1/embed/session/token', undefined, `Bearer ${String(body['token'])}`);
  const secrets = [server.apiKey, server.other.apiKey, String(minted.body['sessionId']), String(body['token'])];
  const dump = await dumpTables(server.context.db);
  const log = server.logText();
  for (const secret of [...secrets, server.signingSecret]) {
    expect(secret.length).toBeGreaterThan(20);
    expect(dump).not.toContain(secret);
    expect(log).not.toContain(secret);
  }
  for (const text of ['es-in-the-query', 'context-value', 'secretive']) expect(log).not.toContain(text);
  const line = log.split('\n').find((one) => one.includes('generate-session'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    method: 'POST',
    route: '/api/v1/embed/generate-session',
    status: expect.any(Number),
    ms: expect.any(Number),
    requestId: expect.stringMatching(/^req_/),
  });
});
