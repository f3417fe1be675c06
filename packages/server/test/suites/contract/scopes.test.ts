/** service.md 4.1 rules 3 and 6, and decisions 4: scopes, what does not bleed between them, and what a policy sees of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { dumpStore, memberOf, openSuiteWorld, type SuiteWorld, storedUser, tablesOfRefusals } from '../world.ts';
import { creatorCall, expectMinted, expectRefused } from './mint-checks.ts';

describe.each(databaseKinds)('scopes on %s', (kind) => {
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

  describe('rules 3 and 6: names resolve in the scope of the call', () => {
    test('tenant-wide names are none in an embed tenant, nor are those of another one', async () => {
      await ok(
        creatorCall('names-tenant', {
          groupDefinitions: [{ name: 'here' }],
          userAttributeDefinitions: [{ name: 'here', type: 'string' }],
        }),
      );
      await refused(creatorCall('names-tenant', { groups: ['g-one'] }), 400, /^Groups with names g-one not found$/);
      await refused(creatorCall('other-tenant', { groups: ['here'] }), 400, /^Groups with names here not found$/);
      const number = [{ name: 'a_number', value: 1 }];
      await refused(creatorCall('names-tenant', { userAttributes: number }), 400, /^User attributes not found$/);
      const here = [{ name: 'here', value: 'a' }];
      await refused(creatorCall('other-tenant', { userAttributes: here }), 400, /^User attributes not found$/);
      await refused({ externalId: 'creator', groups: ['here'] }, 400, /^Groups with names here not found$/);
      await refused({ externalId: 'creator', embedTenantName: 'names-tenant', groups: ['here'] }, 400, /^Groups with/);
    });

    test('memberships and values of one scope survive calls in another', async () => {
      const externalId = 'two-scopes';
      const rights = (group: string, value: string) => ({ groups: [group], userAttributes: [{ name: 'tag', value }] });
      const define = {
        groupDefinitions: [{ name: 'team' }],
        userAttributeDefinitions: [{ name: 'tag', type: 'string' }],
      };
      await ok({ externalId, groups: ['g-one'], userAttributes: [{ name: 'a_string', value: 'wide' }] });
      await ok({ ...creatorCall('scope-one', { ...define, ...rights('team', 'one') }), externalId });
      await ok({ ...creatorCall('scope-two', { ...define, ...rights('team', 'two') }), externalId });
      const all = {
        groups: { '': ['g-one'], 'scope-one': ['team'], 'scope-two': ['team'] },
        values: { '': { a_string: 'wide' }, 'scope-one': { tag: 'one' }, 'scope-two': { tag: 'two' } },
      };
      expect(await storedUser(world.db, world.demo, externalId)).toMatchObject(all);
      await ok({ ...creatorCall('scope-one', { groups: [] }), externalId });
      expect((await storedUser(world.db, world.demo, externalId))?.groups).toEqual({
        '': ['g-one'],
        'scope-two': ['team'],
      });
      await ok({ externalId, groups: [] });
      expect((await storedUser(world.db, world.demo, externalId))?.groups).toEqual({ 'scope-two': ['team'] });
      expect((await storedUser(world.db, world.demo, externalId))?.values).toEqual(all.values);
    });

    test('an embed tenant of the same name in another account is another one', async () => {
      const body = creatorCall('both-have-it', {
        externalId: 'both',
        groupDefinitions: [{ name: 'team', description: 'd' }],
        groups: ['team'],
      });
      await ok(body);
      await ok(
        { ...creatorCall('both-have-it', { groupDefinitions: [{ name: 'team', description: 'e' }] }) },
        world.other,
      );
      const mine = await world.call('GET', tenants('both-have-it/groups'));
      const theirs = await world.call(
        'GET',
        tenants('both-have-it/groups'),
        undefined,
        `Api-Key ${world.other.apiKey}`,
      );
      expect(JSON.stringify(memberOf(mine.json, 'items'))).toContain('"d"');
      expect(JSON.stringify(memberOf(theirs.json, 'items'))).toContain('"e"');
    });
  });

  describe('embed tenants come into being with the first call that names one', () => {
    const names = async () =>
      (
        await world.db
          .selectFrom('embed_tenants')
          .select('name')
          .where('account_id', '=', world.demo.accountId)
          .execute()
      ).map(({ name }) => name);

    test.each([
      { what: 'with creator mode', body: { externalId: 'born', creatorMode: true, embedTenantName: 'born-creator' } },
      { what: 'without it', body: { externalId: 'born', embedTenantName: 'born-plain' } },
      { what: 'with an internal user', body: { internalId: 'analyst', embedTenantName: 'born-internal' } },
    ])('$what', async ({ body }) => {
      await ok(body);
      await ok(body);
      expect((await names()).filter((name) => name === body.embedTenantName)).toHaveLength(1);
    });

    test('creatorMode without a name works in `default`', async () => {
      await ok({ externalId: 'in-default', creatorMode: true });
      expect(await names()).toContain('default');
      expect((await world.call('GET', tenants('default/groups'))).status).toBe(200);
      await ok(creatorCall('default', { externalId: 'in-default', groupDefinitions: [{ name: 'of-default' }] }));
      await ok({ externalId: 'in-default', creatorMode: true, groups: ['of-default'] });
      expect(await storedUser(world.db, world.demo, 'in-default')).toMatchObject({
        groups: { default: ['of-default'] },
      });
    });

    test('a call that fails brings none into being', () =>
      refused(creatorCall('never-born', { groups: ['missing'] }), 400, /^Groups with names missing not found$/));
  });

  test('an internal user in creator mode keeps tenant-wide rights: nothing of them is per scope', async () => {
    const before = await dumpStore(world.db, ['sessions', 'embed_tenants', ...tablesOfRefusals]);
    await ok({ internalId: 'analyst', creatorMode: true, embedTenantName: 'staff-tenant' });
    expect(await dumpStore(world.db, ['sessions', 'embed_tenants', ...tablesOfRefusals])).toBe(before);
  });

  describe('what policies see', () => {
    /** How many merchants' rows a query of the token's user gives; null when the user does not even see that there are any. */
    const merchants = async (authorization: string): Promise<number | null> => {
      const query = 'SELECT merchant, MEASURE(revenue) AS revenue FROM sales GROUP BY 1';
      const reply = await world.call('POST', '/api/v1/deployments/1/cubesql', { query }, authorization);
      if (reply.status === 400) return null;
      expect(reply.status, reply.text).toBe(200);
      const rows = reply.text
        .trim()
        .split('\n')
        .slice(1)
        .flatMap((line) => memberOf(JSON.parse(line), 'data'));
      return rows.length;
    };
    const scoped = (group: string, more: object = {}) =>
      creatorCall('policy-tenant', {
        externalId: `in-${group}`,
        groupDefinitions: [{ name: group }],
        userAttributeDefinitions: [{ name: 'merchant_id', type: 'number' }],
        groups: [group],
        ...more,
      });
    const seven = { userAttributes: [{ name: 'merchant_id', value: 7 }] };

    test('the group that sees all rows is the tenant-wide one, not one that a customer calls so', async () => {
      const all = await merchants(await world.token({ externalId: 'in-platform_team', groups: ['platform_team'] }));
      expect(all).toBeGreaterThan(5);
      expect(await merchants(await world.token(scoped('platform_team')))).toBeNull();
      expect(await merchants(await world.token(scoped('platform_team', seven)))).toBeNull();
    });

    test('a group with a filter is matched by the name in the scope, with the values of the scope', async () => {
      expect(await merchants(await world.token({ externalId: 'in-merchant', groups: ['merchant'], ...seven }))).toBe(1);
      // The tenant-wide value and membership of the same user count for nothing in the embed tenant.
      expect(await merchants(await world.token(scoped('merchant')))).toBe(0);
      expect(await merchants(await world.token(scoped('merchant', seven)))).toBe(1);
      expect(await merchants(await world.token(creatorCall('empty-tenant', { externalId: 'in-merchant' })))).toBeNull();
    });

    test('a default stands where no value was ever stored; a value that was cleared stays empty', async () => {
      const definition = { name: 'merchant_id', type: 'number', defaultValue: '7' };
      const user = (more: object) =>
        world.token(scoped('merchant', { externalId: 'defaulted', userAttributeDefinitions: [definition], ...more }));
      const value = (given: number | null) => ({ userAttributes: [{ name: 'merchant_id', value: given }] });
      expect(await merchants(await user({}))).toBe(1);
      expect(await merchants(await user(value(null)))).toBe(0);
      expect(await merchants(await user({}))).toBe(0);
      expect(await merchants(await user(value(3)))).toBe(1);
    });

    test('an internal user sees in creator mode what they see anyway', async () => {
      const plain = await merchants(await world.token({ internalId: 'analyst' }));
      expect(plain).toBeGreaterThan(5);
      const inCreatorMode = { internalId: 'analyst', creatorMode: true, embedTenantName: 'policy-tenant' };
      expect(await merchants(await world.token(inCreatorMode))).toBe(plain);
    });

    test('rights that are taken away are gone at the next query of a token that is out', async () => {
      const token = await world.token({ externalId: 'loses', groups: ['merchant'], ...seven });
      expect(await merchants(token)).toBe(1);
      await ok({ externalId: 'loses', userAttributes: [{ name: 'merchant_id', value: null }] });
      expect(await merchants(token)).toBe(0);
      await ok({ externalId: 'loses', groups: [] });
      expect(await merchants(token)).toBeNull();
    });
  });
});
