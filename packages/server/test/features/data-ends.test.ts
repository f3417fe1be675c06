/** Whoever may not read on gets no more of the data API: what is open ends, and what the warehouse does for them stops. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import { publish } from '../../src/store/changes.ts';
import { until } from '../chat-world.ts';
import { type CubeWorld, openCubeWorld, settingsHeader } from '../cube-world.ts';
import { postJson } from '../test-server.ts';

let world: CubeWorld;
beforeAll(async () => {
  world = await openCubeWorld({ config: { resultCacheBytesMax: 0 } });
});
afterAll(() => world.close());

/** More than what the buffers of both ends take in. */
const columns = ['order_number', 'created_at', 'channel', 'quantity', 'category', 'brand'];
const largeSql = `SELECT ${columns.join(', ')} FROM sales`;
const largeLoad = { dimensions: columns.map((it) => `sales.${it}`), limit: 50_000 };

/** A user of deployment 1 with a session and a key that are theirs alone. */
interface Holder {
  readonly authorization: string;
  readonly sessionId: string;
  readonly userId: number;
  readonly keyId: number;
}

let holders = 0;
async function openHolder(): Promise<Holder> {
  holders += 1;
  const { server } = world;
  const { db } = server.context;
  const { key, prefix } = await insertApiKey(db, { accountId: server.accountId, role: 'member' });
  const { id: keyId } = await db
    .selectFrom('api_keys')
    .select('id')
    .where('prefix', '=', prefix)
    .executeTakeFirstOrThrow();
  const externalId = `holder-${holders}`;
  const user = { deploymentId: 1, externalId, groups: ['platform_team'] };
  const minted = await postJson(server, '/api/v1/embed/generate-session', user, `Api-Key ${key}`);
  const { body } = await postJson(server, '/api/v1/embed/session/token', minted.body);
  const { id: userId } = await db
    .selectFrom('users')
    .select('id')
    .where('external_id', '=', externalId)
    .where('account_id', '=', server.accountId)
    .executeTakeFirstOrThrow();
  return {
    authorization: `Bearer ${String(body['token'])}`,
    sessionId: String(minted.body['sessionId']),
    userId,
    keyId,
  };
}

const manage = async (method: string, path: string, body?: object): Promise<number> => {
  const { server } = world;
  const reply = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Api-Key ${server.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return reply.status;
};

const ends: readonly (readonly [string, (holder: Holder) => Promise<number>, number])[] = [
  ['the user deleted', ({ userId }) => manage('DELETE', `/api/v1/external-users/${userId}`), 204],
  ['the session revoked', ({ sessionId }) => manage('POST', '/api/v1/embed/session/revoke', { sessionId }), 204],
  ['the key revoked', ({ keyId }) => manage('DELETE', `/api/v1/api-keys/${keyId}`), 204],
];

/** Asks, and reads nothing beyond the beginning of the answer. */
async function openUnread(path: string, { authorization }: Holder, body: object, requestId: string): Promise<Socket> {
  const text = JSON.stringify(body);
  const { hostname: host, port } = new URL(world.server.url);
  const socket = connect({ host, port: Number(port) });
  await once(socket, 'connect');
  const head = [
    `POST /api/v1/deployments/1/${path} HTTP/1.1`,
    'Host: inlay',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  socket.on('error', () => undefined);
  await once(socket, 'readable');
  return socket;
}

describe.each(ends)('%s', (cause, end, status) => {
  test.each([
    ['load', { query: largeLoad }],
    ['cubesql', { query: largeSql }],
  ] as const)('closes an answer of /%s that its reader does not take', async (path, body) => {
    const holder = await openHolder();
    const requestId = `${path}-${cause.replaceAll(' ', '-')}`;
    const socket = await openUnread(path, holder, body, requestId);
    const isOver = (): boolean => world.server.logText().includes(`"${requestId}"`);
    expect(isOver()).toBe(false);
    expect(await end(holder)).toBe(status);
    await until(isOver);
    socket.destroy();
  });

  test('ends a stream of /cubesql with a line that says so', async () => {
    const holder = await openHolder();
    const reply = await fetch(`${world.server.url}/api/v1/deployments/1/cubesql`, {
      method: 'POST',
      headers: { authorization: holder.authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ query: largeSql }),
    });
    if (reply.body === null) throw new Error('no body');
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? '';
    expect(await end(holder)).toBe(status);
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    const lines = text.trimEnd().split('\n');
    expect(text.endsWith('\n')).toBe(true);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ error: 'The user or the session has ended' });
  });
});

/** Resolves when the warehouse of the shop runs as many queries at once as it can, or does not any more. */
async function isBusy(): Promise<boolean> {
  const { warehouse } = await world.server.context.deployments.get(world.server.accountId, 9, null);
  const { signal } = new AbortController();
  return warehouse.query({ sql: 'SELECT 1', parameters: [] }, { signal, timeoutMs: 300 }).then(
    () => false,
    () => true,
  );
}
/** As many queries as DuckDB runs at once. */
const places = [1, 2, 3];

test('the end of a user stops what the tool of an MCP client asked, and the client is told', async () => {
  const { server, shops } = world;
  const { db } = server.context;
  const calls = places.map(async (index) => {
    const reply = await fetch(`${world.urlOf(shops.demo)}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Api-Key ${server.apiKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...settingsHeader({ externalId: `mcp-${index}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: index,
        method: 'tools/call',
        params: {
          name: 'platformSqlApi',
          arguments: {
            sqlQuery: 'SELECT MEASURE(count) FROM endless',
            queryTitle: 't',
            description: '',
            userRequest: 'c',
          },
        },
      }),
    });
    return reply.text();
  });
  await expect.poll(isBusy, { timeout: 20_000 }).toBe(true);
  const gone = await db.deleteFrom('users').where('external_id', 'like', 'mcp-%').returning('id').execute();
  expect(gone).toHaveLength(places.length);
  for (const { id } of gone) await publish(db, { kind: 'user', id });
  for (const text of await Promise.all(calls)) expect(text).toContain('SESSION_ENDED');
  await expect.poll(isBusy, { timeout: 20_000 }).toBe(false);
});
