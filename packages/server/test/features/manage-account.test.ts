/** The settings of an account over HTTP, and what holds for every operation of the management API. */
import { listOperations } from '@inlay/contract/admin/operations.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import { databaseKinds } from '../databases.ts';
import { type ManageClient, manageClient } from '../manage-client.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

const operations = listOperations();

describe.each(databaseKinds)('the account on %s', (kind) => {
  let server: TestServer;
  let call: ManageClient;
  let callOther: ManageClient;
  beforeAll(async () => {
    server = await openTestServer({ kind });
    call = manageClient(server, server.demo.apiKey);
    callOther = manageClient(server, server.other.apiKey);
  });
  afterAll(() => server.close());
  const lastAudit = async (count = 1) => (await call('GET', `audit-log?actorKind=api-key&first=${count}`)).body.items;
  const entryCount = async () => (await call('GET', 'audit-log?first=500')).body.items.length;

  test('is read', async () => {
    const { status, headers, body } = await call('GET', 'account');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      id: server.demo.accountId,
      name: 'demo',
      plan: 'enterprise',
      useCreatorMode: true,
      allowedOrigins: expect.any(Array),
      frameAncestors: expect.any(Array),
      limits: {
        externalUsersMax: null,
        ephemeralUsersMax: null,
        keyRequestsPerMinuteMax: null,
        userRequestsPerMinuteMax: null,
      },
      threadRetentionDays: null,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test('changes what is sent and nothing else, and says so in the audit log', async () => {
    const before = (await call('GET', 'account')).body;
    const origins = ['https://app.example.com', 'http://localhost:3000', 'https://b.example.com:8443'];
    const changed = await call('PATCH', 'account', {
      useCreatorMode: false,
      allowedOrigins: origins,
      frameAncestors: ['self', 'https://app.example.com'],
      limits: { externalUsersMax: 7, keyRequestsPerMinuteMax: 600 },
      unknown: 1,
    });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        ...before,
        useCreatorMode: false,
        allowedOrigins: origins,
        frameAncestors: ['self', 'https://app.example.com'],
        limits: { ...before.limits, externalUsersMax: 7, keyRequestsPerMinuteMax: 600 },
      },
    });
    expect((await call('GET', 'account')).body).toEqual(changed.body);
    expect((await callOther('GET', 'account')).body).toMatchObject({ name: 'other', useCreatorMode: true });
    expect(await lastAudit()).toMatchObject([
      {
        actor: { kind: 'api-key', id: expect.stringMatching(/^\d+$/), name: server.demo.apiKey.slice(0, 9) },
        action: 'account.update',
        object: { kind: 'account', id: String(server.demo.accountId), name: 'demo' },
        result: 'OK',
        requestId: changed.headers.get('x-request-id'),
        details: {
          fields: [
            'useCreatorMode',
            'allowedOrigins',
            'frameAncestors',
            'limits.externalUsersMax',
            'limits.keyRequestsPerMinuteMax',
          ],
        },
      },
    ]);
    const { body } = await call('PATCH', 'account', { useCreatorMode: true, limits: { externalUsersMax: null } });
    expect(body).toMatchObject({
      useCreatorMode: true,
      limits: { externalUsersMax: null, keyRequestsPerMinuteMax: 600 },
    });
    const entries = await entryCount();
    expect((await call('PATCH', 'account', { useCreatorMode: true })).status).toBe(200);
    expect((await call('PATCH', 'account', {})).status).toBe(200);
    expect(await entryCount()).toBe(entries);
  });

  test('threads are kept for as many days as it says, or for ever', async () => {
    for (const threadRetentionDays of [30, 36_500, null]) {
      expect((await call('PATCH', 'account', { threadRetentionDays })).body).toMatchObject({ threadRetentionDays });
      expect((await call('PATCH', 'account', { useCreatorMode: true })).body).toMatchObject({ threadRetentionDays });
      expect((await call('GET', 'account')).body).toMatchObject({ threadRetentionDays });
    }
  });

  test('what is changed holds for the next call', async () => {
    const path = `public/demo/agents/${server.demo.agentId}/chat/stream-chat-state`;
    const ask = () => call('POST', path, { sessionSettings: { externalId: 'plan-7' } });
    await call('PATCH', 'account', { plan: 'starter' });
    expect(await ask()).toMatchObject({ status: 403, body: { code: 'PLAN_REQUIRED' } });
    await call('PATCH', 'account', { plan: 'premium' });
    expect((await ask()).status).toBe(200);
    await call('PATCH', 'account', { plan: 'enterprise' });
  });

  test.each<[change: { readonly limits?: object; readonly [field: string]: unknown }, path: string]>([
    [{ plan: 'gold' }, 'plan'],
    [{ name: '' }, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ useCreatorMode: 'yes' }, 'useCreatorMode'],
    [{ threadRetentionDays: 0 }, 'threadRetentionDays'],
    [{ threadRetentionDays: 1.5 }, 'threadRetentionDays'],
    [{ limits: { externalUsersMax: -1 } }, 'limits.externalUsersMax'],
    [{ limits: { externalUsersMax: 1.5 } }, 'limits.externalUsersMax'],
    [{ limits: { keyRequestsPerMinuteMax: 0 } }, 'limits.keyRequestsPerMinuteMax'],
    ...[
      'https://app.example.com/',
      'https://*.example.com',
      'http://app.example.com',
      'https://App.example.com',
      'https://app.example.com:443',
      'https://u@app.example.com',
      'app.example.com',
      'null',
      'file://',
      'javascript://x',
      '*',
      'self',
      '',
    ].map((origin): [Record<string, unknown>, string] => [
      { allowedOrigins: ['https://ok.example', origin] },
      'allowedOrigins.1',
    ]),
    [{ allowedOrigins: ['https://a.example', 'https://a.example'] }, 'allowedOrigins'],
    [{ frameAncestors: ["'self'"] }, 'frameAncestors.0'],
    [{ frameAncestors: ['none'] }, 'frameAncestors.0'],
  ])('refuses %j and changes nothing', async (change, path) => {
    const before = (await call('GET', 'account')).body;
    const { status, body } = await call('PATCH', 'account', {
      ...change,
      limits: { ephemeralUsersMax: 3, ...change.limits },
    });
    expect({ status, code: body.code, paths: body.issues?.map((issue: { path: string }) => issue.path) }).toEqual({
      status: 400,
      code: 'INVALID_REQUEST',
      paths: [path],
    });
    expect((await call('GET', 'account')).body).toEqual(before);
    expect(await lastAudit()).toMatchObject([{ action: 'account.update', result: 'INVALID_REQUEST', details: {} }]);
  });

  test('a name is free or refused, and the chat address follows it', async () => {
    expect(await call('PATCH', 'account', { name: 'other', plan: 'starter' })).toMatchObject({
      status: 409,
      body: { code: 'NAME_TAKEN' },
    });
    expect((await call('GET', 'account')).body).toMatchObject({ name: 'demo', plan: 'enterprise' });
    expect(await lastAudit()).toMatchObject([{ action: 'account.update', result: 'NAME_TAKEN' }]);
    expect((await call('PATCH', 'account', { name: 'renamed' })).body.name).toBe('renamed');
    const ask = (name: string) =>
      call('POST', `public/${name}/agents/1/chat/stream-chat-state`, { sessionSettings: { externalId: 'name-7' } });
    expect((await ask('renamed')).status).toBe(200);
    expect((await ask('demo')).status).toBe(404);
    await call('PATCH', 'account', { name: 'demo' });
  });

  test('a request id or address of the caller stands in the entry, and no value of the refused body', async () => {
    await call('PATCH', 'account', { plan: 'hush-hush' });
    const [entry] = await lastAudit();
    expect(entry.actor.address).toMatch(/127\.0\.0\.1|::1/);
    expect(JSON.stringify(entry)).not.toContain('hush-hush');
  });

  test('changes at once do not undo each other', async () => {
    const limits = {
      externalUsersMax: 11,
      ephemeralUsersMax: 12,
      keyRequestsPerMinuteMax: 1_000_013,
      userRequestsPerMinuteMax: 1_000_014,
    };
    for (let round = 0; round < 3; round++) {
      await call('PATCH', 'account', { limits: Object.fromEntries(Object.keys(limits).map((name) => [name, null])) });
      const replies = await Promise.all(
        Object.entries(limits).map(([name, value]) => call('PATCH', 'account', { limits: { [name]: value } })),
      );
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect((await call('GET', 'account')).body.limits).toEqual(limits);
    }
  });

  test('what is refused before the body is understood is audited too', async () => {
    const send = async (contentType: string, body: string) => {
      const headers = { authorization: `Api-Key ${server.demo.apiKey}`, 'content-type': contentType };
      const { status } = await fetch(`${server.url}/api/v1/account`, { method: 'PATCH', headers, body });
      return [status, (await lastAudit())[0].result];
    };
    expect(await send('application/json', '{"half": ')).toEqual([400, 'INVALID_JSON']);
    expect(await send('text/plain', 'plan')).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await send('application/json', `"${'x'.repeat(1_048_577)}"`)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  test('every operation has a route, for admin keys, and the management API has no other', () => {
    const routes = server.routes.filter(({ credential }) => credential === 'admin-key');
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      operations.map(({ method, path }) => `${method} ${path}`).sort(),
    );
  });

  test('only an admin key of the whole account manages; the refusal of a change is audited, that of a look is not', async () => {
    const { db } = server.context;
    const { accountId, deploymentId } = server.demo;
    const member = await insertApiKey(db, { accountId, role: 'member', label: 'member-1' });
    const bound = await insertApiKey(db, { accountId, role: 'admin', deploymentIds: [deploymentId] });
    const token = await openSession(server, server.demo, { externalId: 'seven' });
    for (const { key, id } of [member, bound]) {
      const entries = await entryCount();
      const callAs = manageClient(server, key);
      expect(await callAs('GET', 'account')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(await entryCount()).toBe(entries);
      // Before the body is looked at, and whatever the path names.
      expect(await callAs('PATCH', 'account', '{"half": ')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(await callAs('DELETE', 'api-keys/999999')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(await lastAudit(2)).toMatchObject([
        { actor: { id: String(id) }, action: 'api-key.revoke', object: { id: '999999' }, result: 'FORBIDDEN' },
        { actor: { id: String(id) }, action: 'account.update', result: 'FORBIDDEN' },
      ]);
    }
    const bearer = await fetch(`${server.url}/api/v1/account`, { headers: { authorization: token } });
    expect(bearer.status).toBe(403);
    const entries = await entryCount();
    const nobody = await postJson(server, '/api/v1/api-keys', {}, 'Api-Key sk-nobody');
    expect(nobody.status).toBe(401);
    expect(await entryCount()).toBe(entries);
  });

  test.each(['0', '01', '-1', '1.0', '1e2', '0x10', '2147483648', '99999999999999999999', 'x', '%20', "1'--"])(
    'the id %s is nothing, before the body is looked at',
    async (id) => {
      expect(await call('PATCH', `api-keys/${id}`, '{"half": ')).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    },
  );

  test.each([
    ['first=0', 'first'],
    ['first=501', 'first'],
    ['first=x', 'first'],
    ['first=1&first=2', 'first'],
    ['sort=prefix', 'sort'],
    ['sort=--label', 'sort'],
    ['state=gone', 'state'],
    ['search=', 'search'],
    ['search=%EF%BF%BD&role=owner', 'role'],
  ])('a list refuses ?%s', async (query, path) => {
    const { status, body } = await call('GET', `api-keys?${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', issues: [{ path }] });
  });

  test('a cursor of elsewhere is refused', async () => {
    for (const after of ['x', 'W10']) {
      expect(await call('GET', `api-keys?after=${after}`)).toMatchObject({
        status: 400,
        body: { code: 'INVALID_CURSOR', issues: [{ path: 'after' }] },
      });
    }
    const { body } = await call('GET', 'api-keys?first=1');
    const after = body.pageInfo.endCursor;
    expect(await call('GET', `api-keys?after=${after}&sort=label`)).toMatchObject({ status: 400 });
    expect((await call('GET', `api-keys?after=${after}`)).status).toBe(200);
  });
});
