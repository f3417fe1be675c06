import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../databases.ts';
import { dumpTables } from '../seed.ts';
import { type JsonReply, openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

const path = '/api/v1/deployments/1/cubesql';
const week = 604_800_000;

describe.each(databaseKinds)('sessionSettings on %s', (kind) => {
  let server: TestServer;
  let now = Date.parse('2026-05-01T10:00:00Z');
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
  });
  afterAll(() => server.close());

  // The query is refused by whoever parses it; the user is resolved before.
  const query = 'this is not sql';
  const call = (sessionSettings: unknown, key = server.apiKey): Promise<JsonReply> =>
    postJson(server, path, { query, sessionSettings }, `Api-Key ${key}`);
  const userOf = (externalId: string) =>
    server.context.db
      .selectFrom('users')
      .selectAll()
      .where('account_id', '=', server.accountId)
      .where('external_id', '=', externalId)
      .executeTakeFirst();

  test('an API key without any is refused, and nothing is asked', async () => {
    for (const settings of [undefined, null]) {
      expect(await call(settings)).toMatchObject({ status: 400, body: { code: 'SESSION_SETTINGS_REQUIRED' } });
    }
  });

  test('the user is made ephemeral for a week unless the settings say otherwise', async () => {
    await call({ externalId: 'default' });
    expect((await userOf('default'))?.expires_at).toEqual(new Date(now + week));
    await call({ externalId: 'short', ephemeralTtlSeconds: 60, isEphemeral: true });
    expect((await userOf('short'))?.expires_at).toEqual(new Date(now + 60_000));
    await call({ externalId: 'kept', isEphemeral: false });
    expect((await userOf('kept'))?.expires_at).toBeNull();
    const body = { deploymentId: 1, externalId: 'minted' };
    await postJson(server, '/api/v1/embed/generate-session', body, `Api-Key ${server.apiKey}`);
    await call({ externalId: 'minted' });
    expect((await userOf('minted'))?.expires_at).toBeNull();
  });

  test('once the time is over the same name is a new user', async () => {
    await call({ externalId: 'reborn', ephemeralTtlSeconds: 60, groups: ['merchant'] });
    const old = await userOf('reborn');
    now += 60_000;
    await call({ externalId: 'reborn', ephemeralTtlSeconds: 60 });
    expect((await userOf('reborn'))?.id).not.toBe(old?.id);
  });

  test('they may come in a header instead', async () => {
    const send = async (header: string, body: object = { query }, authorization = `Api-Key ${server.apiKey}`) => {
      const reply = await fetch(server.url + path, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          'x-inlay-session-settings': header,
        },
        body: JSON.stringify(body),
      });
      return { status: reply.status, code: JSON.parse(await reply.text()).code };
    };
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect((await send(encode({ externalId: 'in-the-header' }))).code).toMatch(/^SQL_/);
    expect(await userOf('in-the-header')).toBeDefined();
    // What the body says goes before.
    await send(encode({ externalId: 'not-me' }), { query, sessionSettings: { externalId: 'in-the-body' } });
    expect(await userOf('not-me')).toBeUndefined();
    expect(await userOf('in-the-body')).toBeDefined();
    for (const wrong of ['%%%', 'bm90IGpzb24', '{"externalId":"a"}', encode('a'), encode({ externalId: 'A' })]) {
      expect([wrong, await send(wrong)]).toEqual([wrong, { status: 400, code: 'INVALID_REQUEST' }]);
    }
    // Nobody looks at it beside an embed token, which says who asks.
    const token = await openSession(server, server.demo, { externalId: 'of-the-token' });
    expect((await send('%%%', { query }, token)).code).toMatch(/^SQL_/);
    const bomb = Buffer.from(`{"externalId":"a","securityContext":{"a":${'['.repeat(4000)}${']'.repeat(4000)}}}`);
    expect(await send(bomb.toString('base64url'))).toEqual({ status: 400, code: 'INVALID_REQUEST' });
  });

  test.each<{ settings: unknown; status: number; code: string; message?: string; issuePath?: string }>([
    { settings: 'seven', status: 400, code: 'INVALID_REQUEST', issuePath: 'sessionSettings' },
    { settings: [], status: 400, code: 'INVALID_REQUEST', issuePath: 'sessionSettings' },
    { settings: {}, status: 400, code: 'INVALID_REQUEST' },
    { settings: { externalId: 'a', internalId: 'analyst' }, status: 400, code: 'INVALID_REQUEST' },
    { settings: { externalId: 'A' }, status: 400, code: 'INVALID_REQUEST', issuePath: 'sessionSettings.externalId' },
    {
      settings: { internalId: 'analyst', groups: [] },
      status: 400,
      code: 'INVALID_REQUEST',
      issuePath: 'sessionSettings.groups',
    },
    { settings: { externalId: 'a', userProfile: {} }, status: 400, code: 'FIELD_NOT_SUPPORTED' },
    { settings: { externalId: 'a', embedTenantName: 'tenant' }, status: 400, code: 'FIELD_NOT_SUPPORTED' },
    { settings: { externalId: 'a', creatorMode: false }, status: 400, code: 'FIELD_NOT_SUPPORTED' },
    { settings: { externalId: 'a', roles: ['x'] }, status: 400, code: 'FIELD_NOT_SUPPORTED' },
    {
      settings: { externalId: 'a', userAttributes: [{ name: 'colour', value: 1 }] },
      status: 400,
      code: 'USER_ATTRIBUTES_NOT_FOUND',
      message: 'User attributes not found',
      issuePath: 'sessionSettings.userAttributes.0.name',
    },
    {
      settings: { externalId: 'a', groups: ['nobody'] },
      status: 400,
      code: 'GROUPS_NOT_FOUND',
      message: 'Groups with names nobody not found',
    },
    { settings: { externalId: 'a', groups: ['merchant', 'merchant'] }, status: 400, code: 'DUPLICATE_NAME' },
    { settings: { externalId: 'a', ephemeralTtlSeconds: 31_536_001 }, status: 400, code: 'EPHEMERAL_TTL_TOO_LONG' },
    ...[0, -1, 1.5, '60', null].map((ephemeralTtlSeconds) => ({
      settings: { externalId: 'a', ephemeralTtlSeconds },
      status: 400,
      code: 'INVALID_REQUEST',
    })),
    { settings: { externalId: 'a', isEphemeral: 'no' }, status: 400, code: 'INVALID_REQUEST' },
    { settings: { internalId: 'nobody' }, status: 404, code: 'NOT_FOUND' },
  ])('$settings: $status $code', async ({ settings, status, code, message, issuePath }) => {
    const before = await dumpTables(server.context.db);
    const { status: got, body } = await call(settings);
    expect([got, body['code']]).toEqual([status, code]);
    // On data API routes `error` holds the message.
    expect(body['error']).toBe(body['message']);
    if (message !== undefined) expect(body['message']).toBe(message);
    if (issuePath !== undefined) expect(body['issues']).toMatchObject([{ path: issuePath }]);
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('an abort identifies the user and never writes one', async () => {
    const abort = '/api/v1/public/demo/agents/1/chat/stream-chat-state/abort';
    const chatId = '5f0c2a52-58a0-4b8e-9c55-0d3f1f6f2a10';
    await call({ externalId: 'expired', ephemeralTtlSeconds: 1 });
    now += 1000;
    const before = await dumpTables(server.context.db);
    const settings = [
      undefined,
      {},
      { externalId: 'never-seen', groups: ['merchant'], isEphemeral: false },
      { externalId: 'expired', isEphemeral: false },
      { internalId: 'analyst' },
      { internalId: 'nobody' },
    ];
    for (const sessionSettings of settings) {
      const reply = await postJson(server, abort, { chatId, sessionSettings }, `Api-Key ${server.apiKey}`);
      expect(reply).toMatchObject({ status: 404, body: { code: 'NOT_FOUND', error: 'Not Found' } });
    }
    for (const sessionSettings of ['nonsense', { externalId: 'A' }, { externalId: 'a', internalId: 'analyst' }]) {
      const reply = await postJson(server, abort, { chatId, sessionSettings }, `Api-Key ${server.apiKey}`);
      expect(reply).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('an embed token acts as its own user, whatever the settings say', async () => {
    const token = await openSession(server, server.demo, { externalId: 'seven' });
    const before = await dumpTables(server.context.db);
    for (const sessionSettings of [undefined, { externalId: 'eight', groups: ['platform_team'] }, 'nonsense']) {
      const { body } = await postJson(server, path, { query, sessionSettings }, token);
      expect(body['code']).toMatch(/^SQL_/);
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  });
});
