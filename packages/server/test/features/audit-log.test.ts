/** The audit log over HTTP: asked by time, actor, object, deed and result; and that nobody changes it. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditedRefusalsPerMinuteMax } from '../../src/http/rate-limits.ts';
import { appendAuditEntry } from '../../src/store/audit-log.ts';
import { databaseKinds } from '../databases.ts';
import { allPages, type ManageClient, manageClient } from '../manage-client.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

describe.each(databaseKinds)('the audit log on %s', (kind) => {
  let server: TestServer;
  let call: ManageClient;
  let callOther: ManageClient;
  let now = Date.parse('2026-05-01T10:00:00Z');
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
    call = manageClient(server, server.demo.apiKey);
    callOther = manageClient(server, server.other.apiKey);
  });
  afterAll(() => server.close());
  const actions = async (query: string) => (await allPages(call, `audit-log?${query}`)).map(({ action }) => action);

  test('is asked by time, actor, object, deed and result, the latest first', async () => {
    const { accountId } = server.demo;
    const actor = { kind: 'operator', id: null, name: null, address: null, requestId: null } as const;
    const object = { kind: 'group', id: '7', name: 'editors' } as const;
    const at = (minute: number) => new Date(`2031-01-01T00:0${minute}:00Z`);
    const { db } = server.context;
    await appendAuditEntry(db, { accountId, actor, action: 'group.one', object, result: 'OK' }, at(1));
    await appendAuditEntry(
      db,
      { accountId, actor: { ...actor, kind: 'user', id: '5' }, action: 'group.two', object, result: 'FORBIDDEN' },
      at(2),
    );
    await appendAuditEntry(
      db,
      { accountId, actor, action: 'group.three', object: { ...object, id: '8' }, result: 'OK', details: { count: 3 } },
      at(3),
    );
    await appendAuditEntry(
      db,
      { accountId, actor: { ...actor, kind: 'server' }, action: 'night.four', object: null, result: 'OK' },
      at(4),
    );
    await appendAuditEntry(
      db,
      { accountId: server.other.accountId, actor, action: 'group.elsewhere', object, result: 'OK' },
      at(2),
    );
    const from = 'from=2031-01-01T00:00:00Z';
    expect(await actions(from)).toEqual(['night.four', 'group.three', 'group.two', 'group.one']);
    expect(await actions(`${from}&sort=at`)).toEqual(['group.one', 'group.two', 'group.three', 'night.four']);
    // From is part of it, to is not; any offset is understood.
    expect(await actions('from=2031-01-01T00:02:00Z&to=2031-01-01T00:04:00Z')).toEqual(['group.three', 'group.two']);
    expect(await actions('from=2031-01-01T02:03:00%2B02:00&to=2031-01-01T00:03:00.001Z')).toEqual(['group.three']);
    expect(await actions(`${from}&actorKind=user`)).toEqual(['group.two']);
    expect(await actions(`${from}&actorKind=user&actorId=6`)).toEqual([]);
    expect(await actions(`${from}&actorId=5`)).toEqual(['group.two']);
    expect(await actions(`${from}&objectKind=group&objectId=7`)).toEqual(['group.two', 'group.one']);
    expect(await actions(`${from}&action=group.three`)).toEqual(['group.three']);
    expect(await actions(`${from}&result=FORBIDDEN`)).toEqual(['group.two']);
    const [entry] = (await call('GET', `audit-log?${from}&action=group.three`)).body.items;
    expect(entry).toEqual({
      id: expect.stringMatching(/^\d+$/),
      at: '2031-01-01T00:03:00.000Z',
      actor: { kind: 'operator', id: null, name: null, address: null },
      action: 'group.three',
      object: { kind: 'group', id: '8', name: 'editors' },
      result: 'OK',
      requestId: null,
      details: { count: 3 },
    });
    expect((await call('GET', `audit-log?${from}&action=night.four`)).body.items[0].object).toBeNull();
  });

  test.each([
    'from=yesterday',
    'from=2031-01-01',
    'to=1',
    'actorKind=me',
    'sort=id',
    'first=0',
    'action=',
    'actorId=%00',
  ])('refuses ?%s', async (query) => {
    expect(await call('GET', `audit-log?${query}`)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  });

  describe('names what was refused as far as the path does', () => {
    const nothing = { id: null, name: null };
    const secret = `sk-${'x'.repeat(43)}`;
    test.each<[string, { object: unknown; details?: unknown }]>([
      ['groups/999999', { object: { kind: 'group', id: '999999', name: null } }],
      ['groups/x', { object: { kind: 'group', ...nothing } }],
      [`groups/${secret}`, { object: { kind: 'group', ...nothing } }],
      [
        'sessions/019a0000-0000-7000-8000-000000000000',
        { object: { kind: 'session', id: '019a0000-0000-7000-8000-000000000000', name: null } },
      ],
      ['embed-tenants/nobody', { object: { kind: 'embed-tenant', id: null, name: 'nobody' } }],
      [`embed-tenants/${secret}`, { object: { kind: 'embed-tenant', ...nothing } }],
      [
        'embed-tenants/nobody/groups/7',
        { object: { kind: 'group', id: '7', name: null }, details: { embedTenantName: 'nobody' } },
      ],
      [
        'embed-tenants/nobody/user-attributes/x',
        { object: { kind: 'user-attribute', ...nothing }, details: { embedTenantName: 'nobody' } },
      ],
    ])('DELETE %s', async (path, entry) => {
      expect((await call('DELETE', path)).status).toBe(404);
      const [latest] = (await call('GET', 'audit-log?first=1&actorKind=api-key&to=2030-01-01T00:00:00Z')).body.items;
      expect(latest).toMatchObject({ result: 'NOT_FOUND', details: {}, ...entry });
      expect(JSON.stringify(latest)).not.toContain(secret);
    });
  });

  test('whoever may do nothing cannot fill it: so many refusals of a user a minute', async () => {
    const { db } = server.context;
    const bearer = await openSession(server, server.demo, { externalId: 'nobody' });
    const attempts = Array.from({ length: auditedRefusalsPerMinuteMax * 2 }, async () => {
      const reply = await fetch(`${server.url}/api/v1/groups/1`, {
        method: 'DELETE',
        headers: { authorization: bearer },
      });
      return reply.status;
    });
    expect(new Set(await Promise.all(attempts))).toEqual(new Set([403]));
    const ofUser = db.selectFrom('audit_log').select('id').where('actor_kind', '=', 'user');
    const kept = await ofUser.where('action', '=', 'group.delete').execute();
    expect(kept.length).toBeGreaterThanOrEqual(auditedRefusalsPerMinuteMax);
    expect(kept.length).toBeLessThan(attempts.length);
    // Another caller is counted apart.
    expect((await call('DELETE', 'groups/999999')).status).toBe(404);
    const [latest] = (await call('GET', 'audit-log?first=1&actorKind=api-key&to=2030-01-01T00:00:00Z')).body.items;
    expect(latest).toMatchObject({ result: 'NOT_FOUND', object: { kind: 'group', id: '999999' } });
  });

  test('a session that makes an embed tenant or changes its definitions says so, with names only, and once', async () => {
    const mint = async (body: object) =>
      (
        await postJson(
          server,
          '/api/v1/embed/generate-session',
          { deploymentId: 1, externalId: 'ada', creatorMode: true, embedTenantName: 'defined', ...body },
          `Api-Key ${server.demo.apiKey}`,
        )
      ).status;
    const definitions = {
      groupDefinitions: [{ name: 'editors', description: 'hidden text' }],
      userAttributeDefinitions: [{ name: 'region', type: 'string' }],
      userAttributes: [{ name: 'region', value: 'hidden value' }],
    };
    const query = 'audit-log?action=embed-tenant.define';
    expect(await mint({ ...definitions, groups: ['nobody'] })).toBe(400);
    expect(await allPages(call, query)).toEqual([]);
    for (const body of [definitions, definitions, { groups: ['editors'] }]) expect(await mint(body)).toBe(200);
    expect(await mint({ userAttributeDefinitions: [{ name: 'region', type: 'string', description: 'Where' }] })).toBe(
      200,
    );
    const entries = await allPages(call, query);
    expect(entries).toMatchObject([
      { details: { isNew: false, groups: [], userAttributes: ['region'] } },
      {
        actor: { kind: 'api-key' },
        object: { kind: 'embed-tenant', name: 'defined' },
        result: 'OK',
        details: { isNew: true, groups: ['editors'], userAttributes: ['region'] },
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain('hidden');
  });

  test('a deletion in an embed tenant says in which', async () => {
    const { db } = server.context;
    const ofAccount = { account_id: server.accountId, name: 'acme-one' };
    const tenant = await db.insertInto('embed_tenants').values(ofAccount).returning('id').executeTakeFirstOrThrow();
    const group = await db
      .insertInto('groups')
      .values({ ...ofAccount, name: 'editors', embed_tenant_id: tenant.id })
      .returning('id')
      .executeTakeFirstOrThrow();
    expect((await call('DELETE', `embed-tenants/acme-one/groups/${group.id}`)).status).toBe(204);
    const [latest] = (await call('GET', 'audit-log?first=1&actorKind=api-key&to=2030-01-01T00:00:00Z')).body.items;
    expect(latest).toMatchObject({
      action: 'group.delete',
      object: { kind: 'group', id: String(group.id), name: 'editors' },
      result: 'OK',
      details: { embedTenantId: tenant.id, embedTenantName: 'acme-one' },
    });
  });

  test('pages stay right while entries are added', async () => {
    // After the entries that say to be of 2031.
    now = Date.parse('2032-01-01T00:00:00Z');
    await call('PATCH', 'account', { plan: 'premium' });
    now += 1000;
    await call('PATCH', 'account', { plan: 'enterprise' });
    const before = await allPages(call, 'audit-log', 500);
    const first = (await call('GET', 'audit-log?first=2')).body;
    now += 1000;
    await call('PATCH', 'account', { plan: 'nonsense' });
    const rest = (await call('GET', `audit-log?first=500&after=${first.pageInfo.endCursor}`)).body;
    expect([...first.items, ...rest.items]).toEqual(before);
    expect((await callOther('GET', 'audit-log?action=account.update')).body.items).toEqual([]);
  });

  test('nobody changes an entry, nor deletes one but the retention', async () => {
    const { db } = server.context;
    const count = async () => (await allPages(call, 'audit-log', 500)).length;
    const before = await count();
    await expect(sql`update audit_log set result = 'OK'`.execute(db)).rejects.toThrow(/append-only/);
    await expect(sql`delete from audit_log`.execute(db)).rejects.toThrow(/append-only/);
    await expect(sql`truncate audit_log`.execute(db)).rejects.toThrow(/append-only/);
    expect(await count()).toBe(before);
  });

  test('a change that does not happen leaves no entry that says it did', async () => {
    const { db } = server.context;
    await sql`alter table api_keys add constraint never check (label <> 'never')`.execute(db);
    const failed = await call('POST', 'api-keys', { role: 'member', label: 'never' });
    expect(failed.status).toBe(500);
    expect(JSON.stringify(failed.body)).not.toMatch(/never|constraint/);
    expect(await actions('action=api-key.create')).toEqual([]);
    await sql`alter table api_keys drop constraint never`.execute(db);
  });
});
