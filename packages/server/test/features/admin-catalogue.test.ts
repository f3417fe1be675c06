/** Groups and user attributes over HTTP: the tenant-wide catalogue, and the embed tenants' (service.md 4.2). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AdminApi, adminApiOf, allOf, auditOf, mint } from '../admin-api.ts';
import { databaseKinds } from '../databases.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe.each(databaseKinds)('on %s', (kind) => {
  let server: TestServer;
  let demo: AdminApi;
  let other: AdminApi;
  beforeAll(async () => {
    server = await openTestServer({ kind });
    demo = adminApiOf(server, server.demo);
    other = adminApiOf(server, server.other);
  });
  afterAll(() => server.close());

  /** Where a group or attribute of that name is in the account, by its list. */
  const idOf = async (api: AdminApi, path: string, name: string): Promise<number> => {
    const { body } = await api('GET', `${path}?name=${name}`);
    return body.items[0].id;
  };

  describe('tenant-wide groups', () => {
    test('are made, read, changed and deleted, each audited', async () => {
      const made = await demo('POST', '/groups', { name: 'editors', description: 'they edit' });
      expect(made).toEqual({
        status: 201,
        body: { id: expect.any(Number), name: 'editors', description: 'they edit', userCount: 0, createdAt: iso },
      });
      const path = `/groups/${made.body.id}`;
      expect(await demo('GET', path)).toEqual({ status: 200, body: made.body });
      const renamed = { ...made.body, name: 'writers', description: null };
      expect(await demo('PATCH', path, { name: 'writers', description: null })).toEqual({ status: 200, body: renamed });
      expect(await demo('PATCH', path, {})).toEqual({ status: 200, body: renamed });
      expect(await demo('PATCH', path, { name: 'writers' })).toEqual({ status: 200, body: renamed });
      expect(await demo('DELETE', path)).toEqual({ status: 204, body: undefined });
      expect((await demo('GET', path)).status).toBe(404);
      expect(await auditOf(server.context.db, server.accountId, 'group')).toEqual([
        ['group.create', 'editors', 'OK'],
        ['group.update', 'writers', 'OK'],
        ['group.delete', 'writers', 'OK'],
      ]);
    });

    test('go with their memberships, and count their members', async () => {
      const { body } = await demo('POST', '/groups', { name: 'passing' });
      await mint(server, server.demo, { externalId: 'ann', groups: ['passing', 'merchant'] });
      await mint(server, server.demo, { externalId: 'bob', groups: ['passing'] });
      expect((await demo('GET', `/groups/${body.id}`)).body.userCount).toBe(2);
      expect((await demo('DELETE', `/groups/${body.id}`)).status).toBe(204);
      const ann = (await demo('GET', '/external-users?externalId=ann')).body.items[0];
      expect((await demo('GET', `/external-users/${ann.id}`)).body.scopes[0].groups).toEqual(['merchant']);
    });

    test('are listed the newest first, or by name, found by name, and by a part of it in any case', async () => {
      for (const name of ['list-b', 'list-C', 'list-a', '100%_list']) await demo('POST', '/groups', { name });
      const names = async (query: string) =>
        (await demo('GET', `/groups?${query}`)).body.items.map((group: { name: string }) => group.name);
      expect((await names('first=4')).slice(0, 4)).toEqual(['100%_list', 'list-a', 'list-C', 'list-b']);
      expect(await names('search=LIST-&sort=createdAt')).toEqual(['list-b', 'list-C', 'list-a']);
      expect((await names('search=list-&sort=name')).toSorted()).toEqual(['list-C', 'list-a', 'list-b']);
      expect(await names('search=list-&sort=-name')).toEqual((await names('search=list-&sort=name')).toReversed());
      expect(await names(`search=${encodeURIComponent('%_')}`)).toEqual(['100%_list']);
      expect(await names('name=list-a')).toEqual(['list-a']);
      expect(await names('name=list')).toEqual([]);
    });

    test.each<[string, string, string, unknown, number, string]>([
      ['a name that is taken', 'POST', '/groups', { name: 'merchant' }, 409, 'NAME_TAKEN'],
      ['no name', 'POST', '/groups', {}, 400, 'INVALID_REQUEST'],
      ['an empty name', 'POST', '/groups', { name: '' }, 400, 'INVALID_REQUEST'],
      ['a name with NUL', 'POST', '/groups', { name: 'a\0' }, 400, 'INVALID_REQUEST'],
      ['no body', 'POST', '/groups', undefined, 400, 'INVALID_REQUEST'],
      ['an id that is none', 'GET', '/groups/one', undefined, 404, 'NOT_FOUND'],
      ['an id too large', 'GET', '/groups/99999999999', undefined, 404, 'NOT_FOUND'],
      ['an unknown id', 'GET', '/groups/2147483647', undefined, 404, 'NOT_FOUND'],
      ['an unknown id to change', 'PATCH', '/groups/2147483647', { name: '' }, 404, 'NOT_FOUND'],
      ['an unknown id to delete', 'DELETE', '/groups/2147483647', undefined, 404, 'NOT_FOUND'],
      ['a sort that there is not', 'GET', '/groups?sort=size', undefined, 400, 'INVALID_REQUEST'],
      ['no rows', 'GET', '/groups?first=0', undefined, 400, 'INVALID_REQUEST'],
      ['too many rows', 'GET', '/groups?first=501', undefined, 400, 'INVALID_REQUEST'],
      ['a cursor that is none', 'GET', '/groups?after=x', undefined, 400, 'INVALID_CURSOR'],
    ])('%s is refused', async (_name, method, path, body, status, code) => {
      const reply = await demo(method, path, body);
      expect([reply.status, reply.body.code]).toEqual([status, code]);
    });

    test('cannot take the name of another', async () => {
      const id = await idOf(demo, '/groups', 'merchant');
      expect((await demo('PATCH', `/groups/${id}`, { name: 'platform_team' })).body.code).toBe('NAME_TAKEN');
      expect((await demo('GET', `/groups/${id}`)).body.name).toBe('merchant');
    });

    test('of another account are not there', async () => {
      const id = await idOf(other, '/groups', 'merchant');
      expect((await demo('GET', `/groups/${id}`)).status).toBe(404);
      expect((await demo('PATCH', `/groups/${id}`, { name: 'mine' })).status).toBe(404);
      expect((await demo('DELETE', `/groups/${id}`)).status).toBe(404);
      expect((await other('GET', `/groups/${id}`)).body.name).toBe('merchant');
      expect(await allOf(demo, '/groups')).not.toContainEqual(expect.objectContaining({ id }));
    });
  });

  describe('tenant-wide user attributes', () => {
    test('are made, read, changed and deleted, each audited', async () => {
      const made = await demo('POST', '/user-attributes', {
        name: 'shops',
        type: 'number_array',
        displayName: 'Shops',
        defaultValue: '[1]',
      });
      expect(made).toEqual({
        status: 201,
        body: {
          id: expect.any(Number),
          name: 'shops',
          type: 'number_array',
          displayName: 'Shops',
          defaultValue: '[1]',
          description: null,
          createdAt: iso,
        },
      });
      const path = `/user-attributes/${made.body.id}`;
      const changes = { name: 'stores', type: 'number_array', displayName: null, defaultValue: null, description: 'd' };
      const changed = { status: 200, body: { ...made.body, ...changes } };
      expect(await demo('PATCH', path, changes)).toEqual(changed);
      expect(await demo('PATCH', path, changes)).toEqual(changed);
      expect(await demo('GET', path)).toEqual(changed);
      expect((await demo('DELETE', path)).status).toBe(204);
      expect((await demo('GET', path)).status).toBe(404);
      expect(await auditOf(server.context.db, server.accountId, 'user-attribute')).toEqual([
        ['user-attribute.create', 'shops', 'OK'],
        ['user-attribute.update', 'stores', 'OK'],
        ['user-attribute.delete', 'stores', 'OK'],
      ]);
    });

    test('never change type', async () => {
      const id = await idOf(demo, '/user-attributes', 'merchant_id');
      const { status, body } = await demo('PATCH', `/user-attributes/${id}`, { type: 'string', displayName: 'x' });
      expect([status, body.code]).toEqual([409, 'ATTRIBUTE_TYPE_IMMUTABLE']);
      expect(body.message).toContain('cannot change type');
      expect((await demo('GET', `/user-attributes/${id}`)).body.displayName).toBe('Merchant number');
    });

    test.each([
      ['number', 'seven'],
      ['boolean', 'yes'],
      ['string_array', '[1]'],
      ['number_array', '["1"]'],
      ['number_array', '1'],
    ])('a %s has no default %s', async (type, defaultValue) => {
      const { status, body } = await demo('POST', '/user-attributes', { name: 'bad', type, defaultValue });
      expect([status, body.code, body.issues[0].path]).toEqual([400, 'ATTRIBUTE_TYPE_MISMATCH', 'defaultValue']);
    });

    test('take their values along', async () => {
      const { body } = await demo('POST', '/user-attributes', { name: 'passing', type: 'string' });
      await mint(server, server.demo, { externalId: 'cy', userAttributes: [{ name: 'passing', value: 'x' }] });
      expect((await demo('DELETE', `/user-attributes/${body.id}`)).status).toBe(204);
      const left = await server.context.db
        .selectFrom('user_attribute_values')
        .select('user_id')
        .where('attribute_id', '=', body.id)
        .execute();
      expect(left).toEqual([]);
    });

    test('are refused with a name that is taken, and those of another account are not there', async () => {
      const taken = await demo('POST', '/user-attributes', { name: 'region', type: 'string' });
      expect([taken.status, taken.body.code]).toEqual([409, 'NAME_TAKEN']);
      const id = await idOf(other, '/user-attributes', 'region');
      for (const [method, body] of [['GET'], ['PATCH', { name: 'mine' }], ['DELETE']] as const) {
        expect((await demo(method, `/user-attributes/${id}`, body)).status).toBe(404);
      }
      expect((await other('GET', `/user-attributes/${id}`)).status).toBe(200);
    });

    test('are listed by type', async () => {
      const { body } = await demo('GET', '/user-attributes?type=string_array');
      expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['regions']);
    });
  });

  describe('embed tenants', () => {
    const acme = { embedTenantName: 'acme-one', creatorMode: true };
    const globex = { embedTenantName: 'globex', creatorMode: true };
    const definitions = {
      groupDefinitions: [{ name: 'merchant', description: 'of the embed tenant' }, { name: 'editors' }],
      userAttributeDefinitions: [{ name: 'region', type: 'string' }],
    };
    beforeEach(async () => {
      for (const tenant of [acme, globex]) {
        await mint(server, server.demo, {
          ...tenant,
          ...definitions,
          externalId: 'dee',
          groups: ['merchant'],
          userAttributes: [{ name: 'region', value: 'north' }],
        });
        await mint(server, server.other, { ...tenant, ...definitions, externalId: 'dee' });
      }
    });

    test('list what was defined in them, with just these fields', async () => {
      const groups = await demo('GET', '/embed-tenants/acme-one/groups');
      expect(groups.body).toEqual({
        items: expect.arrayContaining([
          { id: expect.any(Number), name: 'editors', description: null, userCount: 0, createdAt: iso },
          {
            id: expect.any(Number),
            name: 'merchant',
            description: 'of the embed tenant',
            userCount: 1,
            createdAt: iso,
          },
        ]),
        pageInfo: {
          hasNextPage: false,
          hasPreviousPage: false,
          startCursor: expect.any(String),
          endCursor: expect.any(String),
        },
      });
      expect(groups.body.items).toHaveLength(2);
      const attributes = await demo('GET', '/embed-tenants/acme-one/user-attributes');
      expect(attributes.body.items).toEqual([
        {
          id: expect.any(Number),
          name: 'region',
          type: 'string',
          displayName: null,
          defaultValue: null,
          description: null,
          createdAt: iso,
        },
      ]);
      expect(await allOf(demo, '/groups')).not.toContainEqual(
        expect.objectContaining({ description: 'of the embed tenant' }),
      );
    });

    test('page by page', async () => {
      const first = await demo('GET', '/embed-tenants/acme-one/groups?first=1');
      expect(first.body.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
      const second = await demo('GET', `/embed-tenants/acme-one/groups?first=1&after=${first.body.pageInfo.endCursor}`);
      expect(second.body.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
      expect(new Set([first, second].map(({ body }) => body.items[0].name))).toEqual(new Set(['merchant', 'editors']));
    });

    test('a group goes with its memberships, and only from its own embed tenant', async () => {
      const id = await idOf(demo, '/embed-tenants/acme-one/groups', 'merchant');
      const wrong = [
        [demo, `/embed-tenants/globex/groups/${id}`],
        [demo, `/embed-tenants/unknown/groups/${id}`],
        [demo, `/groups/${id}`],
        [demo, `/embed-tenants/acme-one/user-attributes/2147483647`],
        [other, `/embed-tenants/acme-one/groups/${id}`],
      ] as const;
      for (const [api, path] of wrong) expect((await api('DELETE', path)).status, path).toBe(404);
      const tenantWide = await idOf(demo, '/groups', 'platform_team');
      expect((await demo('DELETE', `/embed-tenants/acme-one/groups/${tenantWide}`)).status).toBe(404);

      expect(await demo('DELETE', `/embed-tenants/acme-one/groups/${id}`)).toEqual({ status: 204, body: undefined });
      expect((await demo('DELETE', `/embed-tenants/acme-one/groups/${id}`)).status).toBe(404);
      const dee = (await demo('GET', '/external-users?externalId=dee')).body.items[0];
      const { scopes } = (await demo('GET', `/external-users/${dee.id}`)).body;
      expect(scopes).toEqual([
        { embedTenantName: null, groups: [], userAttributes: [] },
        { embedTenantName: 'acme-one', groups: [], userAttributes: [{ name: 'region', value: 'north' }] },
        { embedTenantName: 'globex', groups: ['merchant'], userAttributes: [{ name: 'region', value: 'north' }] },
      ]);
    });

    test('an attribute goes with its values; then it can be made again with another type', async () => {
      const path = '/embed-tenants/acme-one/user-attributes';
      const id = await idOf(demo, path, 'region');
      expect((await demo('DELETE', `/embed-tenants/globex/user-attributes/${id}`)).status).toBe(404);
      expect((await demo('DELETE', `${path}/${id}`)).status).toBe(204);
      await mint(server, server.demo, {
        ...acme,
        externalId: 'dee',
        userAttributeDefinitions: [{ name: 'region', type: 'number' }],
      });
      expect((await demo('GET', path)).body.items).toMatchObject([{ name: 'region', type: 'number' }]);
      await demo('DELETE', `${path}/${await idOf(demo, path, 'region')}`);
    });

    test('take the threads of their scope along, and no others', async () => {
      const path = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
      for (const scope of [{ embedTenantName: 'with-threads', creatorMode: true }, {}]) {
        const token = await openSession(server, server.demo, { externalId: 'tom', ...scope });
        const reply = await fetch(server.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: token },
          body: '{}',
        });
        expect(await reply.text()).toContain('"chatId"');
      }
      expect((await demo('GET', '/embed-tenants/with-threads')).body).toMatchObject({
        threadCount: 1,
        sessionCount: 1,
      });
      const tom = `/external-users/${(await demo('GET', '/external-users?externalId=tom')).body.items[0].id}`;
      expect((await demo('GET', tom)).body).toMatchObject({ threadCount: 2, sessionCount: 2 });
      expect((await demo('DELETE', '/embed-tenants/with-threads')).status).toBe(204);
      expect((await demo('GET', tom)).body).toMatchObject({ threadCount: 1, sessionCount: 1 });
    });

    test('of an unknown name are not there, whatever else is asked', async () => {
      for (const path of ['', '/groups', '/user-attributes', '/groups?first=0', '/user-attributes?after=x']) {
        expect((await demo('GET', `/embed-tenants/nobody${path}`)).status, path).toBe(404);
      }
      expect((await demo('DELETE', '/embed-tenants/nobody')).status).toBe(404);
    });

    test('are listed, read with what they hold, and end with all of it', async () => {
      await mint(server, server.demo, { externalId: 'eve', creatorMode: true });
      expect((await allOf(demo, '/embed-tenants?sort=name')).map(({ name }) => name)).toEqual([
        'acme-one',
        'default',
        'globex',
      ]);
      const { id } = (await demo('GET', '/embed-tenants/globex')).body;
      const before = (await demo('GET', '/embed-tenants/globex')).body;
      expect(before).toEqual({
        id: expect.any(Number),
        name: 'globex',
        createdAt: iso,
        groupCount: 2,
        userAttributeCount: 1,
        threadCount: 0,
        sessionCount: expect.any(Number),
      });
      expect(before.sessionCount).toBeGreaterThan(0);

      const sessionId = await mint(server, server.demo, { ...globex, externalId: 'dee' });
      expect((await demo('DELETE', '/embed-tenants/globex')).status).toBe(204);
      expect((await demo('GET', '/embed-tenants/globex')).status).toBe(404);
      const exchanged = await fetch(`${server.url}/api/v1/embed/session/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId }),
      });
      expect(exchanged.status).toBe(401);
      const { db } = server.context;
      const standing = await db
        .selectFrom('sessions')
        .select('id')
        .where('embed_tenant_id', '=', id)
        .where('revoked_at', 'is', null)
        .execute();
      expect(standing).toEqual([]);
      expect((await other('GET', '/embed-tenants/globex')).body).toMatchObject({ groupCount: 2 });

      // Its name begins anew, empty.
      await mint(server, server.demo, { ...globex, externalId: 'dee' });
      expect((await demo('GET', '/embed-tenants/globex')).body).toMatchObject({ groupCount: 0, sessionCount: 1 });
      const audited = await auditOf(db, server.accountId, 'embed-tenant');
      // What sessions define is kept as well (audit-log.test.ts).
      expect(audited.filter(([action]) => action !== 'embed-tenant.define')).toEqual([
        ['embed-tenant.delete', 'with-threads', 'OK'],
        ['embed-tenant.delete', 'nobody', 'NOT_FOUND'],
        ['embed-tenant.delete', 'globex', 'OK'],
      ]);
    });
  });
});
