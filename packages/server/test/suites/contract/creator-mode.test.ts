/** service.md 2.4, 2.5 and 4.1 rules 7–9: definitions of groups and attributes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { dumpStore, openSuiteWorld, type SuiteWorld, storedUser, tablesOfRefusals } from '../world.ts';
import { creatorCall, expectMinted, expectRefused } from './mint-checks.ts';

describe.each(databaseKinds)('creator mode on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  const tenants = (path: string) => `/api/v1/embed-tenants/${path}`;
  const ok = (body: Record<string, unknown>, account = world.demo) => expectMinted(world, body, account);
  const refused = async (body: Record<string, unknown>, status: number, message: RegExp): Promise<void> => {
    await expectRefused(world, body, status, message);
  };
  /** Definitions as the store holds them, of demo's embed tenant. */
  const groupOf = async (tenant: string, name: string) =>
    world.db
      .selectFrom('groups as g')
      .innerJoin('embed_tenants as t', 't.id', 'g.embed_tenant_id')
      .select(['g.id', 'g.description'])
      .where('t.name', '=', tenant)
      .where('t.account_id', '=', world.demo.accountId)
      .where('g.name', '=', name)
      .executeTakeFirst();
  const attributeOf = async (tenant: string, name: string) =>
    world.db
      .selectFrom('user_attributes as a')
      .innerJoin('embed_tenants as t', 't.id', 'a.embed_tenant_id')
      .select(['a.id', 'a.type', 'a.display_name', 'a.default_value', 'a.description'])
      .where('t.name', '=', tenant)
      .where('t.account_id', '=', world.demo.accountId)
      .where('a.name', '=', name)
      .executeTakeFirst();

  describe('2.4: group definitions', () => {
    test.each([
      { first: undefined, second: undefined, kept: null },
      { first: 'one', second: undefined, kept: 'one' },
      { first: 'one', second: 'one', kept: 'one' },
      { first: 'one', second: 'two', kept: 'two' },
      { first: undefined, second: 'two', kept: 'two' },
    ])('described as $first, then as $second: $kept, in the same group', async ({ first, second, kept }) => {
      const name = `g-${first}-${second}`;
      const define = (description: string | undefined) =>
        ok(creatorCall('groups-tenant', { groupDefinitions: [{ name, description }] }));
      await define(first);
      const before = await groupOf('groups-tenant', name);
      await define(second);
      expect(await groupOf('groups-tenant', name)).toEqual({ id: before?.id, description: kept });
    });

    test('a definition puts nobody into the group', async () => {
      await ok(creatorCall('groups-tenant', { externalId: 'outside', groupDefinitions: [{ name: 'g-empty' }] }));
      expect(await storedUser(world.db, world.demo, 'outside')).toMatchObject({ groups: {} });
    });
  });

  describe('2.5: attribute definitions', () => {
    const whole = { type: 'string', displayName: 'Name', defaultValue: 'none', description: 'What it is' };
    const stored = { type: 'string', display_name: 'Name', default_value: 'none', description: 'What it is' };
    test.each([
      { what: 'only the type', sent: { type: 'string' }, kept: stored },
      { what: 'the same', sent: whole, kept: stored },
      { what: 'displayName', sent: { type: 'string', displayName: 'N' }, kept: { ...stored, display_name: 'N' } },
      { what: 'defaultValue', sent: { type: 'string', defaultValue: '' }, kept: { ...stored, default_value: '' } },
      { what: 'description', sent: { type: 'string', description: 'D' }, kept: { ...stored, description: 'D' } },
    ])('$what sent again', async ({ what, sent, kept }) => {
      const name = `a-${what}`;
      const define = (definition: object) =>
        ok(creatorCall('attributes-tenant', { userAttributeDefinitions: [{ name, ...definition }] }));
      await define(whole);
      const before = await attributeOf('attributes-tenant', name);
      await define(sent);
      expect(await attributeOf('attributes-tenant', name)).toEqual({ id: before?.id, ...kept });
    });
  });

  describe('rule 7: definitions affect only the embed tenant, and are applied first', () => {
    test('the same call uses what it defines', async () => {
      await ok(
        creatorCall('first-tenant', {
          externalId: 'uses',
          groupDefinitions: [{ name: 'made' }, { name: 'made-too' }],
          userAttributeDefinitions: [{ name: 'size', type: 'number' }],
          groups: ['made'],
          userAttributes: [{ name: 'size', value: 3 }],
        }),
      );
      expect(await storedUser(world.db, world.demo, 'uses')).toMatchObject({
        groups: { 'first-tenant': ['made'] },
        values: { 'first-tenant': { size: 3 } },
      });
    });

    test('repeating a call gives the same end state', async () => {
      const body = creatorCall('again-tenant', {
        externalId: 'again',
        groupDefinitions: [{ name: 'made', description: 'd' }],
        userAttributeDefinitions: [{ name: 'size', type: 'number', defaultValue: '1' }],
        groups: ['made'],
        userAttributes: [{ name: 'size', value: 3 }],
      });
      await ok(body);
      const once = await dumpStore(world.db, ['sessions', ...tablesOfRefusals]);
      await ok(body);
      await ok(body);
      expect(await dumpStore(world.db, ['sessions', ...tablesOfRefusals])).toBe(once);
    });

    test('tenant-wide groups and attributes of the same name stay as they are', async () => {
      const tenantWide = async () => ({
        groups: await world.db
          .selectFrom('groups')
          .select(['id', 'name', 'description'])
          .where('embed_tenant_id', 'is', null)
          .orderBy('id')
          .execute(),
        attributes: await world.db
          .selectFrom('user_attributes')
          .select(['id', 'name', 'type', 'description'])
          .where('embed_tenant_id', 'is', null)
          .orderBy('id')
          .execute(),
      });
      const before = await tenantWide();
      await ok(
        creatorCall('apart-tenant', {
          groupDefinitions: [{ name: 'merchant', description: 'of the customer' }],
          userAttributeDefinitions: [{ name: 'a_number', type: 'string', description: 'a text here' }],
        }),
      );
      expect(await tenantWide()).toEqual(before);
      expect(await groupOf('apart-tenant', 'merchant')).toMatchObject({ description: 'of the customer' });
    });

    test('a wrong value of an attribute that the call defines undoes the definition as well', () =>
      refused(
        creatorCall('undone-tenant', {
          groupDefinitions: [{ name: 'made' }],
          userAttributeDefinitions: [{ name: 'size', type: 'number' }],
          userAttributes: [{ name: 'size', value: 'large' }],
        }),
        400,
        /./,
      ));
  });

  describe('rule 8: duplicates', () => {
    test.each([
      { groupDefinitions: [{ name: 'twice' }, { name: 'twice', description: 'd' }] },
      {
        userAttributeDefinitions: [
          { name: 'twice', type: 'string' },
          { name: 'twice', type: 'number' },
        ],
      },
    ])('%o', (definitions) => refused(creatorCall('twice-tenant', definitions), 400, /./));

    test('a group and an attribute may have one name', () =>
      ok(
        creatorCall('twice-tenant', {
          groupDefinitions: [{ name: 'one' }],
          userAttributeDefinitions: [{ name: 'one', type: 'string' }],
        }),
      ));
  });

  describe('rule 9: the type never changes', () => {
    const types = ['string', 'number', 'boolean', 'string_array', 'number_array'];
    test.each(types.flatMap((from) => types.filter((to) => to !== from).map((to) => ({ from, to }))))(
      '$from to $to is 409 and writes nothing',
      async ({ from, to }) => {
        const name = `typed_${from}`;
        await ok(creatorCall('type-tenant', { userAttributeDefinitions: [{ name, type: from }] }));
        await refused(
          creatorCall('type-tenant', {
            externalId: `new-${from}-${to}`,
            userProfile: { displayName: 'never' },
            groupDefinitions: [{ name: `g-${from}-${to}` }],
            userAttributeDefinitions: [
              { name: `fresh-${to}`, type: 'string' },
              { name, type: to, description: 'never' },
            ],
            groups: [`g-${from}-${to}`],
          }),
          409,
          /cannot change type/,
        );
      },
    );

    test('deleted by the embed-tenant API, it may be made anew with another type', async () => {
      const define = (type: string) =>
        world.mint(creatorCall('anew-tenant', { userAttributeDefinitions: [{ name: 'anew', type }] }));
      expect((await define('string')).status).toBe(200);
      expect((await define('number')).status).toBe(409);
      const id = (await attributeOf('anew-tenant', 'anew'))?.id;
      expect((await world.call('DELETE', tenants(`anew-tenant/user-attributes/${id}`))).status).toBe(204);
      expect((await define('number')).status).toBe(200);
      expect(await attributeOf('anew-tenant', 'anew')).toMatchObject({ type: 'number' });
    });
  });
});
