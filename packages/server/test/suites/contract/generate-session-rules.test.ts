/** service.md 4.1 rules 1–6 and 10, and section 7: what a call of generate-session without creator mode does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { problemsOf } from '../http-check.ts';
import {
  dumpStore,
  generateSessionPath,
  makeAccount,
  makeKey,
  memberOf,
  openSuiteWorld,
  type SuiteWorld,
  storedUser,
  tablesOfRefusals,
} from '../world.ts';
import { expectMinted, expectRefused } from './mint-checks.ts';

/** What comes into being with an external user of whom nothing is said. */
const blank = { email: null, displayName: null, picture: null, isEphemeral: false, groups: {}, values: {} };

describe.each(databaseKinds)('the rules of generate-session on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  const userOf = (externalId: string) => storedUser(world.db, world.demo, externalId);
  const ok = (body: Record<string, unknown>) => expectMinted(world, body);
  const refused = (body: Record<string, unknown>, status: number, message: string | RegExp) =>
    expectRefused(world, body, status, message);

  test('a user comes into being with the first call, persistent, and is one whoever calls how often', async () => {
    await ok({ externalId: 'first' });
    expect(await userOf('first')).toEqual(blank);
    await Promise.all(Array.from({ length: 10 }, () => ok({ externalId: 'first' })));
    expect(await userOf('first')).toEqual(blank);
    expect(await storedUser(world.db, world.other, 'first')).toBeNull();
  });

  describe('rule 1: an internal user keeps what they have', () => {
    test('a session is minted and nothing of the user changes, neither does an email that is sent along', async () => {
      const before = await dumpStore(world.db, ['sessions', ...tablesOfRefusals]);
      await ok({ internalId: 'analyst', email: 'changed@example.com' });
      await ok({ internalId: 'SUPPORT@example.com' });
      expect(await dumpStore(world.db, ['sessions', ...tablesOfRefusals])).toBe(before);
    });
  });

  test('usernames and addresses of internal users are one name space, in any case', async () => {
    const make = (username: string, email: string) => world.call('POST', '/api/v1/internal-users', { username, email });
    expect((await make('ANALYST@example.com', 'new@example.com')).status).toBe(409);
    expect((await make('Support', 'new@example.com')).status).toBe(409);
    expect((await make('new', 'Support@EXAMPLE.com')).status).toBe(409);
    expect((await make('new', 'new@example.com')).status).toBe(201);
    await ok({ internalId: 'NEW@example.com' });
  });

  test('a picture is never fetched', async () => {
    const asked: (string | undefined)[] = [];
    const site = createServer((request, response) => {
      asked.push(request.url);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const address = site.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await ok({ externalId: 'pictured', userProfile: { picture: `http://127.0.0.1:${port}/a.png` } });
    await world.token({ externalId: 'pictured' });
    site.close();
    await once(site, 'close');
    expect(asked).toEqual([]);
  });

  describe('rule 2: profiles', () => {
    const ann = { displayName: 'Ann', picture: 'https://example.com/ann.png' };
    test.each([
      { sent: undefined, kept: { ...blank, ...ann } },
      { sent: {}, kept: { ...blank, ...ann } },
      { sent: { displayName: 'Anna' }, kept: { ...blank, ...ann, displayName: 'Anna' } },
      { sent: { picture: 'http://example.com/2' }, kept: { ...blank, ...ann, picture: 'http://example.com/2' } },
      { sent: { displayName: 'B', picture: 'https://b' }, kept: { ...blank, displayName: 'B', picture: 'https://b' } },
    ])('after a whole one, $sent', async ({ sent, kept }) => {
      const externalId = `profile-${JSON.stringify(sent ?? 'none').length}`;
      await ok({ externalId, userProfile: ann });
      await ok({ externalId, ...(sent === undefined ? {} : { userProfile: sent }) });
      expect(await userOf(externalId)).toEqual(kept);
    });

    test('an email is kept until another is sent', async () => {
      await ok({ externalId: 'mail', email: 'one@example.com' });
      await ok({ externalId: 'mail' });
      expect(await userOf('mail')).toMatchObject({ email: 'one@example.com' });
      await ok({ externalId: 'mail', email: 'two@example.com' });
      expect(await userOf('mail')).toMatchObject({ email: 'two@example.com' });
    });
  });

  describe('rules 3 and 4: attributes', () => {
    test('a missing name fails with the message, and the names go into the issues', async () => {
      const body = await refused(
        {
          externalId: 'rule-3',
          groups: ['g-one'],
          userAttributes: [
            { name: 'a_number', value: 1 },
            { name: 'no_such', value: 1 },
            { name: 'nor_this', value: 'x' },
          ],
        },
        400,
        'User attributes not found',
      );
      expect(JSON.stringify(memberOf(body, 'issues'))).toMatch(/no_such.*nor_this/);
      expect(JSON.stringify(memberOf(body, 'issues'))).not.toContain('a_number');
    });

    test('null of an attribute that does not exist fails too', () =>
      refused(
        { externalId: 'rule-3', userAttributes: [{ name: 'no_such', value: null }] },
        400,
        'User attributes not found',
      ));

    test('an attribute of an embed tenant is none of the tenant-wide ones', async () => {
      await ok({
        externalId: 'elsewhere',
        creatorMode: true,
        embedTenantName: 'rules-tenant',
        userAttributeDefinitions: [{ name: 'scoped_only', type: 'number' }],
      });
      const value = { name: 'scoped_only', value: 1 };
      await refused({ externalId: 'rule-3', userAttributes: [value] }, 400, 'User attributes not found');
      await refused(
        { externalId: 'rule-3', embedTenantName: 'rules-tenant', userAttributes: [value] },
        400,
        'User attributes not found',
      );
    });

    test('duplicates are refused, also where the values are the same', async () => {
      const value = { name: 'a_number', value: 1 };
      await refused({ externalId: 'rule-4', userAttributes: [value, value] }, 400, /./);
    });

    test('values overwrite those of the supplied names; null clears; the others stay', async () => {
      const set = (values: Record<string, unknown>) =>
        ok({
          externalId: 'values',
          userAttributes: Object.entries(values).map(([name, value]) => ({ name, value })),
        });
      await set({ a_string: 'one', a_number: 1, a_boolean: false, a_string_array: ['a'], a_number_array: [] });
      await set({ a_number: 2, a_string_array: [] });
      const kept = { a_string: 'one', a_number: 2, a_boolean: false, a_string_array: [], a_number_array: [] };
      expect((await userOf('values'))?.values).toEqual({ '': kept });
      await ok({ externalId: 'values' });
      await ok({ externalId: 'values', userAttributes: [] });
      expect((await userOf('values'))?.values).toEqual({ '': kept });
      await set({ a_string: null });
      expect((await userOf('values'))?.values).toEqual({ '': { ...kept, a_string: null } });
    });
  });

  describe('rules 5 and 6: groups', () => {
    test.each([
      { sent: undefined, kept: { '': ['g-one', 'g-two'] } },
      { sent: [], kept: {} },
      { sent: ['g-three'], kept: { '': ['g-three'] } },
      { sent: ['g-two', 'g-three'], kept: { '': ['g-three', 'g-two'] } },
    ])('g-one and g-two, then $sent', async ({ sent, kept }) => {
      const externalId = `groups-${sent?.length ?? 'none'}`;
      await ok({ externalId, groups: ['g-one', 'g-two'] });
      await ok({ externalId, ...(sent === undefined ? {} : { groups: sent }) });
      expect((await userOf(externalId))?.groups).toEqual(kept);
    });

    test('names that are not there fail with the message, in the order of the call', async () => {
      await refused({ externalId: 'rule-6', groups: ['g-one', 'nope'] }, 400, 'Groups with names nope not found');
      await refused(
        { externalId: 'rule-6', groups: ['zeta', 'g-two', 'alpha'], userAttributes: [{ name: 'a_number', value: 1 }] },
        400,
        'Groups with names zeta, alpha not found',
      );
      await refused({ externalId: 'rule-6', groups: ['G-ONE'] }, 400, 'Groups with names G-ONE not found');
    });

    test('a group of another account is none of this one', async () => {
      await world.db
        .insertInto('groups')
        .values({ account_id: world.other.accountId, name: 'only-of-other', description: null })
        .execute();
      await refused({ externalId: 'rule-6', groups: ['only-of-other'] }, 400, /^Groups with names only-of-other not/);
    });
  });

  describe('rule 10 and section 8: external users of an account', () => {
    test('one more than there may be is 429 without Retry-After; updating is fine, and so are internal users', async () => {
      const account = await makeAccount(world, { name: 'full', limits: { externalUsersMax: 3 } });
      for (const externalId of ['a', 'b', 'c']) expect((await world.mint({ externalId }, account)).status).toBe(200);
      const before = await dumpStore(world.db, tablesOfRefusals);
      const reply = await world.mint({ externalId: 'd' }, account);
      expect([reply.status, memberOf(reply.json, 'code')]).toEqual([429, 'EXTERNAL_USER_LIMIT']);
      expect(reply.headers.has('retry-after')).toBe(false);
      expect(problemsOf(reply)).toEqual([]);
      expect(await dumpStore(world.db, tablesOfRefusals)).toBe(before);
      expect((await world.mint({ externalId: 'a', userProfile: { displayName: 'A' } }, account)).status).toBe(200);
      // Only persistent users count, and one who becomes persistent counts from then on.
      expect((await world.mint({ externalId: 'e', isEphemeral: true }, account)).status).toBe(200);
      expect((await world.mint({ externalId: 'e', isEphemeral: false }, account)).status).toBe(429);
      expect((await world.mint({ externalId: 'e' }, account)).status).toBe(200);
    });

    test('the limit is 10,000 unless it is set', () => {
      expect(world.server.context.config.externalUsersMax).toBe(10_000);
    });
  });

  describe('403', () => {
    test('a key that is not allowed on the deployment', async () => {
      const body = { deploymentId: 1, externalId: 'other-key' };
      const bound = await makeKey(world, { deploymentIds: [4711] });
      const reply = await world.call('POST', generateSessionPath, body, bound);
      expect(reply.status).toBe(403);
      expect(problemsOf(reply)).toEqual([]);
      expect(await userOf('other-key')).toBeNull();
      const allowed = await makeKey(world, { deploymentIds: [1], role: 'member' });
      expect((await world.call('POST', generateSessionPath, body, allowed)).status).toBe(200);
    });

    test('useCreatorMode off', async () => {
      const account = await makeAccount(world, { name: 'plain', useCreatorMode: false });
      for (const more of [{}, { embedTenantName: 'plain-tenant' }]) {
        const reply = await world.mint({ externalId: 'a', creatorMode: true, ...more }, account);
        expect(reply.status).toBe(403);
        expect(problemsOf(reply)).toEqual([]);
      }
      expect(await storedUser(world.db, account, 'a')).toBeNull();
      expect((await world.mint({ externalId: 'a', embedTenantName: 'plain-tenant' }, account)).status).toBe(200);
      expect((await world.mint({ externalId: 'a', creatorMode: false }, account)).status).toBe(200);
    });
  });

  test('no plan is asked for: the Chat API alone needs one', async () => {
    const account = await makeAccount(world, { name: 'free', plan: 'free' });
    expect((await world.mint({ externalId: 'a' }, account)).status).toBe(200);
  });
});
