/** Whatever ends a session ends all that it opens, on every node: the exchange, the next token, chat and data. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import { publish } from '../../src/store/changes.ts';
import { until } from '../chat-world.ts';
import { databaseKinds } from '../databases.ts';
import { answering } from '../scripted-language-model.ts';
import { openTestServer, postJson, type TestServer } from '../test-server.ts';

const tokenPath = '/api/v1/embed/session/token';
const revokePath = '/api/v1/embed/session/revoke';

/** A user with a session whose token is in use, and one that waits for its exchange. Key and embed tenant are theirs alone. */
interface Holder {
  readonly externalId: string;
  readonly userId: number;
  readonly keyId: number;
  readonly tenant: string;
  readonly deploymentId: number;
  readonly agentId: number;
  readonly key: string;
  readonly sessionIds: readonly [used: string, waiting: string];
  readonly authorization: string;
}

describe.each(databaseKinds)('the end of a session on %s', (kind) => {
  let server: TestServer;
  /** Where sessions are used: another node of the same installation, where the store can have several. */
  let node: TestServer;
  let now = Date.parse('2026-05-01T10:00:00Z');
  let count = 0;
  beforeAll(async () => {
    const clock = () => new Date(now);
    server = await openTestServer({ kind, clock, languageModel: answering() });
    node =
      kind === 'pglite' ? server : await openTestServer({ kind, clock, languageModel: answering(), nodeOf: server });
  });
  afterAll(async () => {
    if (node !== server) await node.close();
    await server.close();
  });

  async function manage(method: string, path: string, body?: unknown): Promise<number> {
    const reply = await fetch(server.url + path, {
      method,
      headers: { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await reply.arrayBuffer();
    return reply.status;
  }

  /** A deployment and its agent, of the same id, for one holder alone. Its data have to be opened first, which takes a while. */
  async function openDeployment(): Promise<number> {
    const { db } = server.context;
    const n = ++count;
    const id = 100 + n;
    await sql`
      insert into deployments (id, account_id, name, model_folder, warehouse)
      select ${id}, account_id, ${`deployment ${n}`}, model_folder, warehouse from deployments where id = 1`.execute(
      db,
    );
    await sql`
      insert into agents (id, account_id, deployment_id, name)
      select ${id}, account_id, ${id}, ${`agent ${n}`} from agents where id = 1`.execute(db);
    return id;
  }

  async function openHolder(deploymentId = 1): Promise<Holder> {
    const { db } = server.context;
    const n = ++count;
    const [externalId, tenant, agentId] = [`holder-${n}`, `tenant-${n}`, deploymentId];
    const { id: keyId, key } = await newKey();
    const mint = async (): Promise<string> => {
      const body = { deploymentId, externalId, embedTenantName: tenant, groups: ['platform_team'] };
      const reply = await postJson(node, '/api/v1/embed/generate-session', body, `Api-Key ${key}`);
      expect(reply).toMatchObject({ status: 200 });
      return String(reply.body['sessionId']);
    };
    const [used, waiting] = [await mint(), await mint()];
    const { body } = await postJson(node, tokenPath, { sessionId: used });
    const user = await db
      .selectFrom('users')
      .select('id')
      .where('external_id', '=', externalId)
      .executeTakeFirstOrThrow();
    return {
      externalId,
      userId: user.id,
      keyId,
      tenant,
      deploymentId,
      agentId,
      key,
      sessionIds: [used, waiting],
      authorization: `Bearer ${String(body['token'])}`,
    };
  }

  async function newKey(role: 'admin' | 'member' = 'member'): Promise<{ id: number; key: string }> {
    const { db } = server.context;
    const { key, prefix } = await insertApiKey(db, { accountId: server.accountId, role });
    const { id } = await db.selectFrom('api_keys').select('id').where('prefix', '=', prefix).executeTakeFirstOrThrow();
    return { id, key };
  }

  /** What the holder gets for each thing that a session opens. The exchange is last: it works once. */
  async function uses({ authorization, agentId, deploymentId, sessionIds }: Holder): Promise<Record<string, number>> {
    const chat = `/api/v1/public/demo/agents/${agentId}/chat/stream-chat-state`;
    const query = { query: 'SELECT MEASURE(count) AS n FROM sales' };
    const status = async (path: string, body: unknown, header?: string) =>
      (
        await fetch(node.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(header === undefined ? {} : { authorization: header }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      ).status;
    const data = `/api/v1/deployments/${deploymentId}`;
    const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    return {
      renew: await status(tokenPath, undefined, authorization),
      chat: await status(chat, { input: 'hello' }, authorization),
      data: await status(`${data}/cubesql`, query, authorization),
      load: await status(`${data}/load`, { query: { measures: ['sales.orders_count'] } }, authorization),
      meta: await status(`${data}/meta`, {}, authorization),
      mcp: await status(`${data}/mcp`, listTools, authorization),
      exchange: await status(tokenPath, { sessionId: sessionIds[1] }),
    };
  }

  const allOf = (status: number) => ({
    ...{ renew: status, chat: status, exchange: status },
    ...{ data: status, load: status, meta: status, mcp: status },
  });

  test('without any, all of it works', async () => {
    const holder = await openHolder();
    const { data, ...others } = await uses(holder);
    const { data: _data, ...right } = allOf(200);
    expect(others).toEqual(right);
    // A question to the data that this model answers, or refuses; in no case for the credential.
    expect([200, 400]).toContain(data);
  });

  const both = async ({ sessionIds, key }: Holder): Promise<void> => {
    for (const sessionId of sessionIds) {
      expect(await postJson(server, revokePath, { sessionId }, `Api-Key ${key}`)).toMatchObject({ status: 204 });
    }
  };
  const { db } = { db: () => server.context.db };

  test.each<readonly [cause: string, end: (holder: Holder) => Promise<unknown>]>([
    ['revoked by its sessionId', both],
    [
      'revoked by user',
      async ({ userId }) => expect(await manage('POST', '/api/v1/sessions/revoke', { userId })).toBe(200),
    ],
    [
      'revoked by externalId',
      async ({ externalId }) => expect(await manage('POST', '/api/v1/sessions/revoke', { externalId })).toBe(200),
    ],
    [
      'revoked by embed tenant',
      async ({ tenant }) =>
        expect(await manage('POST', '/api/v1/sessions/revoke', { embedTenantName: tenant })).toBe(200),
    ],
    [
      'revoked by key',
      async ({ keyId }) => expect(await manage('POST', '/api/v1/sessions/revoke', { apiKeyId: keyId })).toBe(200),
    ],
    ['the key revoked', async ({ keyId }) => expect(await manage('DELETE', `/api/v1/api-keys/${keyId}`)).toBe(204)],
    [
      'the user deleted',
      async ({ userId }) => expect(await manage('DELETE', `/api/v1/external-users/${userId}`)).toBe(204),
    ],
    [
      'the user deactivated',
      ({ userId }) => db().updateTable('users').set({ is_active: false }).where('id', '=', userId).execute(),
    ],
    [
      'the user’s end',
      ({ userId }) =>
        db()
          .updateTable('users')
          .set({ expires_at: new Date(now) })
          .where('id', '=', userId)
          .execute(),
    ],
    [
      'its own end',
      ({ userId }) =>
        db()
          .updateTable('sessions')
          .set({ ends_at: new Date(now) })
          .where('user_id', '=', userId)
          .execute(),
    ],
    [
      'the embed tenant deleted',
      async ({ tenant }) => expect(await manage('DELETE', `/api/v1/embed-tenants/${tenant}`)).toBe(204),
    ],
  ])('%s', async (_cause, end) => {
    const [holder, another] = [await openHolder(), await openHolder()];
    await end(holder);
    expect(await uses(holder)).toEqual(allOf(401));
    expect(await uses(another)).toMatchObject({ renew: 200, chat: 200, exchange: 200 });
  });

  test('the deployment deleted', async () => {
    const [holder, another] = [await openHolder(await openDeployment()), await openHolder()];
    expect(await manage('DELETE', `/api/v1/deployments/${holder.deploymentId}`)).toBe(204);
    expect(await uses(holder)).toEqual(allOf(401));
    expect(await uses(another)).toMatchObject({ renew: 200, chat: 200, exchange: 200 });
  });

  test('the rotation of the key is none', async () => {
    const holder = await openHolder();
    expect(await manage('POST', `/api/v1/api-keys/${holder.keyId}/rotate`, { overlapSeconds: 0 })).toBe(200);
    expect(await uses(holder)).toMatchObject({ renew: 200, chat: 200, exchange: 200 });
  });

  test('neither is its expiry: it opens nothing new, and what it minted lives on', async () => {
    const holder = await openHolder();
    const { db } = server.context;
    await db
      .updateTable('api_keys')
      .set({ expires_at: new Date(now - 1) })
      .where('id', '=', holder.keyId)
      .execute();
    await publish(db, { kind: 'api-key', id: holder.keyId });
    expect(await uses(holder)).toMatchObject({ renew: 200, chat: 200, exchange: 200 });
  });

  test('revocation is for the own account and deployments, says nothing, and can be repeated', async () => {
    const holder = await openHolder(await openDeployment());
    const strangers = [
      server.other.apiKey,
      (await insertApiKey(server.context.db, { accountId: server.accountId, role: 'admin', deploymentIds: [1] })).key,
    ];
    const audited = async () =>
      (
        await server.context.db
          .selectFrom('audit_log')
          .select(['object_kind', 'details', 'actor_kind', 'actor_id'])
          .where('action', '=', 'session.revoke')
          .where('actor_id', '=', String(holder.keyId))
          .execute()
      ).length;
    const revoke = (sessionId: unknown, key: string) =>
      postJson(server, revokePath, { sessionId }, `Api-Key ${key}`).then(({ status }) => status);
    for (const key of strangers) {
      for (const sessionId of holder.sessionIds) expect(await revoke(sessionId, key)).toBe(204);
    }
    expect(await revoke(`es-${'A'.repeat(43)}`, holder.key)).toBe(204);
    expect(await audited()).toBe(0);
    expect(await uses(holder)).toMatchObject({ renew: 200, chat: 200, exchange: 200 });
    for (const body of [7, '', 'x'.repeat(201), null]) expect(await revoke(body, holder.key)).toBe(400);

    const [used] = holder.sessionIds;
    expect([await revoke(used, holder.key), await revoke(used, holder.key)]).toEqual([204, 204]);
    expect(await audited()).toBe(1);
    expect(await postJson(node, tokenPath, undefined, holder.authorization)).toMatchObject({ status: 401 });
    expect(JSON.stringify(await server.context.db.selectFrom('audit_log').selectAll().execute())).not.toContain(used);
  });

  test('a key that is revoked, rotated or expired on one node is refused by every node', async () => {
    const works = async (key: string): Promise<boolean> => {
      const { status } = await postJson(node, revokePath, { sessionId: 'none' }, `Api-Key ${key}`);
      return status === 204;
    };
    const [revoked, rotated, expired] = [await newKey(), await newKey(), await newKey()];
    for (const { key } of [revoked, rotated, expired]) expect(await works(key)).toBe(true);

    expect(await manage('DELETE', `/api/v1/api-keys/${revoked.id}`)).toBe(204);
    // The node that did it knows at once, any other within a second.
    expect((await postJson(server, revokePath, { sessionId: 'none' }, `Api-Key ${revoked.key}`)).status).toBe(401);
    await until(async () => !(await works(revoked.key)));

    expect(await manage('POST', `/api/v1/api-keys/${rotated.id}/rotate`, { overlapSeconds: 60 })).toBe(200);
    await node.context.changes.catchUp();
    expect(await works(rotated.key)).toBe(true);
    now += 59_999;
    expect(await works(rotated.key)).toBe(true);
    now += 1;
    expect(await works(rotated.key)).toBe(false);

    const end = now + 1000;
    const { db } = server.context;
    await db
      .updateTable('api_keys')
      .set({ expires_at: new Date(end) })
      .where('id', '=', expired.id)
      .execute();
    await publish(db, { kind: 'api-key', id: expired.id });
    await node.context.changes.catchUp();
    now = end - 1;
    expect(await works(expired.key)).toBe(true);
    now = end;
    expect(await works(expired.key)).toBe(false);
  });
});

test('a node that does not hear of changes reads credentials from the store', async () => {
  const server = await openTestServer({ kind: 'postgres' });
  const deaf = await openTestServer({ nodeOf: server, isDeaf: true });
  const { db } = server.context;
  const { key, prefix } = await insertApiKey(db, { accountId: server.accountId, role: 'member' });
  const status = async (): Promise<number> =>
    (await postJson(deaf, revokePath, { sessionId: 'none' }, `Api-Key ${key}`)).status;
  expect([await status(), await status()]).toEqual([204, 204]);
  // Nothing is told, and the very next call is refused.
  await db.updateTable('api_keys').set({ revoked_at: new Date() }).where('prefix', '=', prefix).execute();
  expect(await status()).toBe(401);
  await deaf.close();
  await server.close();
});
