/** Sessions over HTTP: listed with their states, and revoked one by one or all of somebody. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import { databaseKinds } from '../databases.ts';
import { allPages, type ManageClient, manageClient } from '../manage-client.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

describe.each(databaseKinds)('sessions on %s', (kind) => {
  let server: TestServer;
  let call: ManageClient;
  let callOther: ManageClient;
  let now = Date.parse('2026-05-01T10:00:00Z');
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
    call = manageClient(server, server.demo.apiKey);
    callOther = manageClient(server, server.other.apiKey);
    await callOther('POST', 'embed/generate-session', { deploymentId: 2, externalId: 'seven' });
  });
  afterAll(() => server.close());
  const lastAudit = async () => (await call('GET', 'audit-log?actorKind=api-key&first=1')).body.items[0];
  const mint = async (body: Record<string, unknown>, callAs = call): Promise<void> => {
    const { status, body: reply } = await callAs('POST', 'embed/generate-session', { deploymentId: 1, ...body });
    expect(status, JSON.stringify(reply)).toBe(200);
    // So that each has an instant of its own.
    now += 1;
  };
  const only = async (query: string) => {
    const { body } = await call('GET', `sessions?${query}`);
    expect(body.items, JSON.stringify(body)).toHaveLength(1);
    return body.items[0];
  };
  const works = async (authorization: string) =>
    (await fetch(`${server.url}/api/v1/embed/session/token`, { method: 'POST', headers: { authorization } })).status ===
    200;

  test('are listed and read, without anything that opens something', async () => {
    await mint({ externalId: 'list-1', embedTenantName: 'acme-one', securityContext: { hush: 'hush-hush' } });
    const session = await only('externalId=list-1');
    expect(session).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      state: 'waiting',
      deploymentId: 1,
      userId: expect.any(Number),
      externalId: 'list-1',
      username: null,
      apiKeyId: expect.any(Number),
      embedTenantName: 'acme-one',
      isCreatorMode: false,
      createdFrom: expect.stringMatching(/127\.0\.0\.1|::1/),
      createdAt: expect.any(String),
      exchangedAt: null,
      endsAt: expect.any(String),
      revokedAt: null,
    });
    expect(await call('GET', `sessions/${session.id}`)).toMatchObject({ status: 200, body: session });
    expect(await callOther('GET', `sessions/${session.id}`)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    for (const id of ['1', 'x', '00000000-0000-4000-8000-000000000000']) {
      expect(await call('GET', `sessions/${id}`)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    }
  });

  test('filters are exact and go together; an account lists its own', async () => {
    const { id: keyId, key } = await insertApiKey(server.context.db, {
      accountId: server.demo.accountId,
      role: 'member',
      label: 'filters',
    });
    const callAs = manageClient(server, key);
    await mint({ externalId: 'filter-1', embedTenantName: 'filter-one' }, callAs);
    await mint({ externalId: 'filter-1', embedTenantName: 'filter-one', creatorMode: true }, callAs);
    await mint({ externalId: 'filter-2', embedTenantName: 'filter-two' }, callAs);
    const count = async (query: string) => (await allPages(call, `sessions?${query}`)).length;
    const { userId } = (await call('GET', 'sessions?externalId=filter-1&first=1')).body.items[0];
    expect(await count(`apiKeyId=${keyId}`)).toBe(3);
    expect(await count('externalId=filter-1')).toBe(2);
    expect(await count(`userId=${userId}`)).toBe(2);
    expect(await count('embedTenantName=filter-one')).toBe(2);
    expect(await count('embedTenantName=filter-one&isCreatorMode=true')).toBe(1);
    expect(await count(`apiKeyId=${keyId}&isCreatorMode=false`)).toBe(2);
    expect(await count(`apiKeyId=${keyId}&deploymentId=1`)).toBe(3);
    for (const query of [
      'externalId=filter-',
      'embedTenantName=filter',
      'deploymentId=2',
      'userId=2147483647',
      'apiKeyId=7777',
    ]) {
      expect(await count(query), query).toBe(0);
    }
    for (const query of [
      'userId=x',
      'deploymentId=0',
      'isCreatorMode=1',
      'state=open',
      'sort=endsAt',
      'externalId=a%00b',
    ]) {
      expect((await call('GET', `sessions?${query}`)).status, query).toBe(400);
    }
    expect((await allPages(callOther, 'sessions')).map(({ deploymentId }) => deploymentId)).toEqual([2]);
  });

  test('pages are newest first and stay right while sessions come', async () => {
    for (const _ of Array(5)) await mint({ externalId: 'pages' });
    const all = await allPages(call, 'sessions?externalId=pages');
    expect(all).toHaveLength(5);
    expect(all.map(({ createdAt }) => createdAt)).toEqual(
      all
        .map(({ createdAt }) => createdAt)
        .sort()
        .reverse(),
    );
    expect((await allPages(call, 'sessions?externalId=pages&sort=createdAt')).map(({ id }) => id)).toEqual(
      all.map(({ id }) => id).reverse(),
    );
    const first = (await call('GET', 'sessions?externalId=pages&first=2')).body;
    await mint({ externalId: 'pages' });
    const rest = (await call('GET', `sessions?externalId=pages&after=${first.pageInfo.endCursor}`)).body;
    expect([...first.items, ...rest.items]).toEqual(all);
    expect(rest.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: false });
  });

  test('a state is what a session is now: waiting, active, ended, revoked', async () => {
    const stateOf = async (externalId: string) => (await only(`externalId=${externalId}`)).state;
    await mint({ externalId: 'late' });
    await openSession(server, server.demo, { externalId: 'busy' });
    await openSession(server, server.demo, { externalId: 'inactive' });
    await openSession(server, server.demo, { externalId: 'sacked' });
    expect([await stateOf('late'), await stateOf('busy')]).toEqual(['waiting', 'active']);
    await server.context.db
      .updateTable('users')
      .set({ is_active: false })
      .where('external_id', '=', 'inactive')
      .execute();
    const sacked = await only('externalId=sacked');
    expect((await call('DELETE', `sessions/${sacked.id}`)).status).toBe(204);
    now += 300_000;
    expect([await stateOf('late'), await stateOf('busy'), await stateOf('inactive'), await stateOf('sacked')]).toEqual([
      'ended',
      'active',
      'ended',
      'revoked',
    ]);
    for (const [state, externalId] of [
      ['ended', 'late'],
      ['active', 'busy'],
      ['ended', 'inactive'],
      ['revoked', 'sacked'],
    ]) {
      expect((await only(`state=${state}&externalId=${externalId}`)).externalId).toBe(externalId);
    }
    now += 604_800_000;
    expect(await stateOf('busy')).toBe('ended');
    // What has ended is not revoked any more.
    expect((await call('DELETE', `sessions/${(await only('externalId=busy')).id}`)).status).toBe(204);
    expect(await stateOf('busy')).toBe('ended');
  });

  test('one is revoked, by its own account', async () => {
    const token = await openSession(server, server.demo, { externalId: 'one' });
    const stays = await openSession(server, server.demo, { externalId: 'one' });
    const [, { id }] = (await call('GET', 'sessions?externalId=one')).body.items.sort(
      (a: { createdAt: string }, b: { createdAt: string }) => b.createdAt.localeCompare(a.createdAt),
    );
    expect(await callOther('DELETE', `sessions/${id}`)).toMatchObject({ status: 404 });
    expect([await works(token), await works(stays)]).toEqual([true, true]);
    expect((await call('DELETE', `sessions/${id}`)).status).toBe(204);
    expect([await works(token), await works(stays)].sort()).toEqual([false, true]);
    expect(await lastAudit()).toMatchObject({
      action: 'session.revoke',
      object: { kind: 'session', id },
      result: 'OK',
    });
    expect((await call('DELETE', `sessions/${id}`)).status).toBe(204);
    expect((await call('GET', `sessions/${id}`)).body).toMatchObject({
      state: 'revoked',
      revokedAt: new Date(now).toISOString(),
    });
  });

  test.each(['userId', 'externalId', 'embedTenantName', 'apiKeyId'])('all of a %s are revoked', async (field) => {
    const { key, id: apiKeyId } = await insertApiKey(server.context.db, {
      accountId: server.demo.accountId,
      role: 'member',
      label: `all-${field}`,
    });
    const account = { ...server.demo, apiKey: key };
    const externalId = `all-${field.toLowerCase()}`;
    const mine = { externalId, embedTenantName: externalId };
    const tokens = [await openSession(server, account, mine), await openSession(server, account, mine)];
    await mint(mine, manageClient(server, key));
    const stays = await openSession(server, server.demo, { externalId: 'stays', embedTenantName: 'stays' });
    const elsewhere = await openSession(server, server.other, mine);
    const { userId } = (await call('GET', `sessions?externalId=${externalId}&first=1`)).body.items[0];
    const owner = { userId, externalId, embedTenantName: externalId, apiKeyId }[field];

    expect(
      await callOther('POST', 'sessions/revoke', {
        [field]: field.endsWith('Id') && field !== 'externalId' ? owner : 'nobody-1',
      }),
    ).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    expect(await call('POST', 'sessions/revoke', { [field]: owner })).toMatchObject({
      status: 200,
      body: { revoked: 3 },
    });
    expect(await lastAudit()).toMatchObject({ action: 'session.revoke', result: 'OK', details: { revoked: 3 } });
    for (const token of tokens) expect(await works(token)).toBe(false);
    expect([await works(stays), await works(elsewhere)]).toEqual([true, true]);
    expect((await allPages(call, `sessions?externalId=${externalId}&state=revoked`)).length).toBe(3);
    expect(await call('POST', 'sessions/revoke', { [field]: owner })).toMatchObject({
      status: 200,
      body: { revoked: 0 },
    });
  });

  test.each([
    [{}],
    [{ userId: 1, apiKeyId: 1 }],
    [{ userId: '1' }],
    [{ userId: 0 }],
    [{ externalId: '' }],
    [{ externalId: 'a\0b' }],
    [{ embedTenantName: null }],
    [[]],
  ])('revoking refuses %j', async (body) => {
    expect(await call('POST', 'sessions/revoke', body)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    });
    expect(await lastAudit()).toMatchObject({ action: 'session.revoke', result: 'INVALID_REQUEST' });
  });

  test('of a user, an embed tenant or a key that are not there: 404', async () => {
    for (const body of [
      { userId: 2_147_483_647 },
      { externalId: 'nobody' },
      { embedTenantName: 'nowhere' },
      { apiKeyId: 2_147_483_647 },
    ]) {
      expect(await call('POST', 'sessions/revoke', body)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
      expect(await lastAudit()).toMatchObject({ action: 'session.revoke', result: 'NOT_FOUND' });
    }
  });
});
