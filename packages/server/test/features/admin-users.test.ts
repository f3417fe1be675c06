/** Internal and external users over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminApi, adminApiOf, allOf, askData, auditOf, mint } from '../admin-api.ts';
import { databaseKinds } from '../databases.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe.each(databaseKinds)('on %s', (kind) => {
  let server: TestServer;
  let demo: AdminApi;
  let other: AdminApi;
  let now = new Date();
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => now });
    demo = adminApiOf(server, server.demo);
    other = adminApiOf(server, server.other);
  });
  afterAll(() => server.close());

  const ask = (authorization: string) => askData(server, authorization);

  describe('internal users', () => {
    test('are made, read, changed and deleted, each audited without their values', async () => {
      const made = await demo('POST', '/internal-users', {
        username: 'Ann',
        email: 'ann@example.com',
        groups: ['merchant', 'platform_team'],
        userAttributes: [
          { name: 'region', value: 'a-secret-region' },
          { name: 'merchant_id', value: null },
        ],
      });
      expect(made).toEqual({
        status: 201,
        body: {
          id: expect.any(Number),
          username: 'Ann',
          email: 'ann@example.com',
          isActive: true,
          groups: ['merchant', 'platform_team'],
          userAttributes: [
            { name: 'merchant_id', value: null },
            { name: 'region', value: 'a-secret-region' },
          ],
          createdAt: iso,
        },
      });
      const path = `/internal-users/${made.body.id}`;
      expect(await demo('GET', path)).toEqual({ status: 200, body: made.body });
      const changed = {
        ...made.body,
        username: 'ANN',
        email: 'ANN@example.com',
        groups: ['merchant'],
        userAttributes: [
          { name: 'merchant_id', value: 7 },
          { name: 'region', value: 'a-secret-region' },
          { name: 'regions', value: ['x'] },
        ],
      };
      const changes = {
        username: 'ANN',
        email: 'ANN@example.com',
        groups: ['merchant'],
        userAttributes: [
          { name: 'merchant_id', value: 7 },
          { name: 'regions', value: ['x'] },
        ],
      };
      expect(await demo('PATCH', path, changes)).toEqual({ status: 200, body: changed });
      expect(await demo('PATCH', path, changes)).toEqual({ status: 200, body: changed });
      expect(await demo('PATCH', path, {})).toEqual({ status: 200, body: changed });
      expect((await demo('PATCH', path, { groups: [] })).body.groups).toEqual([]);
      expect(await demo('DELETE', path)).toEqual({ status: 204, body: undefined });
      expect((await demo('GET', path)).status).toBe(404);
      const { db } = server.context;
      expect(await auditOf(db, server.accountId, 'internal-user')).toEqual([
        ['internal-user.create', 'Ann', 'OK'],
        ['internal-user.update', 'ANN', 'OK'],
        ['internal-user.update', 'ANN', 'OK'],
        ['internal-user.delete', 'ANN', 'OK'],
      ]);
      expect(JSON.stringify(await db.selectFrom('audit_log').selectAll().execute())).not.toContain('a-secret-region');
    });

    test.each<[string, object, number, string]>([
      ['a username that is taken, in any case', { username: 'ANALYST', email: 'new@example.com' }, 409, 'NAME_TAKEN'],
      ["a username that is another's address", { username: 'Analyst@Example.com', email: 'n@x.de' }, 409, 'NAME_TAKEN'],
      ["an address that is another's", { username: 'new', email: 'ANALYST@example.com' }, 409, 'NAME_TAKEN'],
      ['an unknown group', { username: 'new', email: 'n@x.de', groups: ['nobody'] }, 400, 'GROUPS_NOT_FOUND'],
      ['a group twice', { username: 'new', email: 'n@x.de', groups: ['merchant', 'merchant'] }, 400, 'DUPLICATE_NAME'],
      [
        'an unknown attribute',
        { username: 'new', email: 'n@x.de', userAttributes: [{ name: 'colour', value: 'red' }] },
        400,
        'USER_ATTRIBUTES_NOT_FOUND',
      ],
      [
        'a value of another type',
        { username: 'new', email: 'n@x.de', userAttributes: [{ name: 'merchant_id', value: 'seven' }] },
        400,
        'ATTRIBUTE_TYPE_MISMATCH',
      ],
      ['no address', { username: 'new' }, 400, 'INVALID_REQUEST'],
      ['an address that is none', { username: 'new', email: 'new' }, 400, 'INVALID_REQUEST'],
      ['white space around the username', { username: ' new', email: 'n@x.de' }, 400, 'INVALID_REQUEST'],
    ])('%s is refused, and nobody is made or changed', async (_name, body, status, code) => {
      const before = await allOf(demo, '/internal-users');
      const made = await demo('POST', '/internal-users', body);
      expect([made.status, made.body.code]).toEqual([status, code]);
      if ('email' in body) {
        const support = before.find(({ username }) => username === 'support');
        const changed = await demo('PATCH', `/internal-users/${support?.['id']}`, body);
        expect([changed.status, changed.body.code]).toEqual([status, code]);
      }
      expect(await allOf(demo, '/internal-users')).toEqual(before);
    });

    test("may have one's own address as username, and swap names one after the other", async () => {
      const made = await demo('POST', '/internal-users', { username: 'own@example.com', email: 'OWN@example.com' });
      expect(made.status).toBe(201);
      expect((await demo('PATCH', `/internal-users/${made.body.id}`, { username: 'own' })).status).toBe(200);
      expect((await demo('DELETE', `/internal-users/${made.body.id}`)).status).toBe(204);
    });

    test('made at once under one name: one is made', async () => {
      const body = (index: number) =>
        index % 2 === 0
          ? { username: 'same@example.com', email: `u${index}@example.com` }
          : { username: `u${index}`, email: 'SAME@example.com' };
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) => demo('POST', '/internal-users', body(index))),
      );
      expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    });

    test('are found by name, address, group, state and a part', async () => {
      const names = async (query: string) =>
        (await allOf(demo, `/internal-users?sort=name&${query}`)).map(({ username }) => username);
      expect(await names('username=SUPPORT')).toEqual(['support']);
      expect(await names('email=analyst@EXAMPLE.com')).toEqual(['analyst']);
      expect(await names('group=platform_team')).toEqual(['analyst', 'support']);
      expect(await names('group=merchant')).toEqual([]);
      expect(await names('search=PPOR')).toEqual(['support']);
      expect(await names('isActive=false')).toEqual([]);
      expect((await demo('GET', '/internal-users?isActive=maybe')).status).toBe(400);
    });

    test('who are made inactive lose their sessions for good', async () => {
      const made = await demo('POST', '/internal-users', {
        username: 'leaver',
        email: 'leaver@example.com',
        groups: ['platform_team'],
      });
      const path = `/internal-users/${made.body.id}`;
      const authorization = await openSession(server, server.demo, { internalId: 'leaver' });
      expect(await ask(authorization)).toBe(200);
      expect((await demo('PATCH', path, { isActive: false })).body.isActive).toBe(false);
      expect(await ask(authorization)).toBe('UNAUTHENTICATED');
      await expect(mint(server, server.demo, { internalId: 'leaver' })).rejects.toThrow('404');
      expect((await demo('PATCH', path, { isActive: true })).body.isActive).toBe(true);
      expect(await ask(authorization)).toBe('UNAUTHENTICATED');
      const again = await openSession(server, server.demo, { internalId: 'leaver' });
      expect(await ask(again)).toBe(200);
      expect((await demo('DELETE', path)).status).toBe(204);
      expect(await ask(again)).toBe('UNAUTHENTICATED');
    });

    test('of another account, and external ones, are not there', async () => {
      const theirs = (await other('GET', '/internal-users?username=analyst')).body.items[0];
      await mint(server, server.demo, { externalId: 'not-internal' });
      const external = (await demo('GET', '/external-users?externalId=not-internal')).body.items[0];
      for (const id of [theirs.id, external.id, 2147483647, 'x']) {
        expect((await demo('GET', `/internal-users/${id}`)).status).toBe(404);
        expect((await demo('PATCH', `/internal-users/${id}`, { username: 'mine' })).status).toBe(404);
        expect((await demo('DELETE', `/internal-users/${id}`)).status).toBe(404);
      }
      expect((await other('GET', `/internal-users/${theirs.id}`)).body).toEqual(theirs);
    });
  });

  describe('external users', () => {
    const find = async (externalId: string) =>
      (await demo('GET', `/external-users?externalId=${externalId}`)).body.items[0];

    test('are read with their profile and what they hold in each scope', async () => {
      await mint(server, server.demo, {
        externalId: 'fay',
        email: 'fay@example.com',
        userProfile: { displayName: 'Fay', picture: 'https://example.com/fay.png' },
        groups: ['merchant'],
        userAttributes: [{ name: 'merchant_id', value: 3 }],
      });
      await mint(server, server.demo, {
        externalId: 'fay',
        embedTenantName: 'acme-one',
        creatorMode: true,
        groupDefinitions: [{ name: 'editors' }],
        groups: ['editors'],
      });
      const listed = await find('fay');
      expect(listed).toEqual({
        id: expect.any(Number),
        externalId: 'fay',
        email: 'fay@example.com',
        displayName: 'Fay',
        picture: 'https://example.com/fay.png',
        isActive: true,
        lifetime: 'persistent',
        expiresAt: null,
        createdAt: iso,
      });
      expect(await demo('GET', `/external-users/${listed.id}`)).toEqual({
        status: 200,
        body: {
          ...listed,
          scopes: [
            {
              embedTenantName: null,
              groups: ['merchant'],
              userAttributes: [{ name: 'merchant_id', value: 3 }],
            },
            { embedTenantName: 'acme-one', groups: ['editors'], userAttributes: [] },
          ],
          sessionCount: 2,
          threadCount: 0,
        },
      });
    });

    test('are found by id, address, part, group of a scope, lifetime and state', async () => {
      await mint(server, server.demo, { externalId: 'gil', email: 'Gil@example.com', groups: ['merchant'] });
      await mint(server, server.demo, { externalId: 'hal', userProfile: { displayName: 'Gilbert' } });
      await mint(server, server.demo, { externalId: 'ivy', isEphemeral: true, ephemeralTtlSeconds: 60 });
      const ids = async (query: string) =>
        (await allOf(demo, `/external-users?sort=name&${query}`)).map(({ externalId }) => externalId);
      expect(await ids('externalId=gil')).toEqual(['gil']);
      expect(await ids('email=gil@EXAMPLE.com')).toEqual(['gil']);
      expect(await ids('search=GIL')).toEqual(['gil', 'hal']);
      expect(await ids('group=merchant')).toEqual(['fay', 'gil']);
      expect(await ids('group=editors')).toEqual([]);
      expect(await ids('group=editors&embedTenantName=acme-one')).toEqual(['fay']);
      expect(await ids('embedTenantName=acme-one')).toEqual(['fay']);
      expect(await ids('embedTenantName=unknown')).toEqual([]);
      expect(await ids('lifetime=ephemeral')).toEqual(['ivy']);
      expect(await ids('lifetime=persistent')).not.toContain('ivy');
      now = new Date(now.getTime() + 60_000);
      expect(await ids('lifetime=ephemeral')).toEqual([]);
      expect(await ids('lifetime=expired')).toEqual(['ivy']);
      expect(await ids('isActive=false')).toEqual([]);
      expect((await demo('GET', '/external-users?lifetime=long')).status).toBe(400);
    });

    test('switched off lose their sessions for good, and get none', async () => {
      const authorization = await openSession(server, server.demo, { externalId: 'jay', groups: ['platform_team'] });
      expect(await ask(authorization)).toBe(200);
      const { id } = await find('jay');
      expect((await demo('PATCH', `/external-users/${id}`, { isActive: false })).body).toMatchObject({
        isActive: false,
        sessionCount: 0,
      });
      expect(await ask(authorization)).toBe('UNAUTHENTICATED');
      await expect(mint(server, server.demo, { externalId: 'jay' })).rejects.toThrow('404');
      await demo('PATCH', `/external-users/${id}`, { isActive: true });
      expect(await ask(authorization)).toBe('UNAUTHENTICATED');
      expect(await ask(await openSession(server, server.demo, { externalId: 'jay' }))).toBe(200);
    });

    test('are deleted with everything', async () => {
      const authorization = await openSession(server, server.demo, { externalId: 'kim', groups: ['platform_team'] });
      const { id } = await find('kim');
      expect((await demo('DELETE', `/external-users/${id}`)).status).toBe(204);
      expect((await demo('GET', `/external-users/${id}`)).status).toBe(404);
      expect(await ask(authorization)).toBe('UNAUTHENTICATED');
      const { db } = server.context;
      for (const table of ['sessions', 'threads', 'user_groups', 'user_attribute_values'] as const) {
        expect(await db.selectFrom(table).select('user_id').where('user_id', '=', id).execute(), table).toEqual([]);
      }
    });

    test('who are ephemeral are made persistent, which the limit counts', async () => {
      await mint(server, server.demo, { externalId: 'lou', isEphemeral: true, ephemeralTtlSeconds: 60 });
      const { id, lifetime } = await find('lou');
      expect(lifetime).toBe('ephemeral');
      const persistent = (await allOf(demo, '/external-users?lifetime=persistent')).length;
      await demo('PATCH', '/account', { limits: { externalUsersMax: persistent } });
      const refused = await demo('POST', `/external-users/${id}/persist`);
      expect([refused.status, refused.body.code]).toEqual([429, 'EXTERNAL_USER_LIMIT']);
      await demo('PATCH', '/account', { limits: { externalUsersMax: persistent + 1 } });
      expect((await demo('POST', `/external-users/${id}/persist`)).body).toMatchObject({
        lifetime: 'persistent',
        expiresAt: null,
      });
      // Again: as it is.
      expect((await demo('POST', `/external-users/${id}/persist`)).status).toBe(200);
      await demo('PATCH', '/account', { limits: { externalUsersMax: null } });
    });

    test('who have ended can be seen as long as they are there, but neither kept nor switched', async () => {
      await mint(server, server.demo, { externalId: 'mia', isEphemeral: true, ephemeralTtlSeconds: 60 });
      const { id } = await find('mia');
      now = new Date(now.getTime() + 60_000);
      expect((await demo('GET', `/external-users/${id}`)).body.lifetime).toBe('expired');
      expect((await demo('POST', `/external-users/${id}/persist`)).status).toBe(404);
      expect((await demo('PATCH', `/external-users/${id}`, { isActive: false })).status).toBe(404);
      expect((await demo('DELETE', `/external-users/${id}`)).status).toBe(204);
    });

    test('of another account, and internal ones, are not there', async () => {
      await mint(server, server.other, { externalId: 'theirs' });
      const theirs = (await other('GET', '/external-users?externalId=theirs')).body.items[0];
      const internal = (await demo('GET', '/internal-users?username=analyst')).body.items[0];
      for (const id of [theirs.id, internal.id, 2147483647, 'x']) {
        expect((await demo('GET', `/external-users/${id}`)).status).toBe(404);
        expect((await demo('PATCH', `/external-users/${id}`, { isActive: false })).status).toBe(404);
        expect((await demo('POST', `/external-users/${id}/persist`)).status).toBe(404);
        expect((await demo('DELETE', `/external-users/${id}`)).status).toBe(404);
      }
      expect((await other('GET', `/external-users/${theirs.id}`)).body.isActive).toBe(true);
      expect(await allOf(demo, '/external-users?externalId=theirs')).toEqual([]);
    });

    test('are audited by name', async () => {
      const entries = await auditOf(server.context.db, server.accountId, 'external-user');
      expect(entries.filter(([, name]) => name !== null)).toEqual([
        ['external-user.update', 'jay', 'OK'],
        ['external-user.update', 'jay', 'OK'],
        ['external-user.delete', 'kim', 'OK'],
        ['external-user.persist', 'lou', 'OK'],
        ['external-user.delete', 'mia', 'OK'],
      ]);
      expect(entries).toContainEqual(['external-user.persist', null, 'EXTERNAL_USER_LIMIT']);
    });
  });
});
