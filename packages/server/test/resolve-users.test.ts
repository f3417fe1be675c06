import type { AttributeValue } from '@inlay/contract/user.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { InlayError } from '../src/errors.ts';
import type { Principal } from '../src/users/principal.ts';
import { resolveUser } from '../src/users/resolve-users.ts';
import { type Askers, createAskers } from '../src/users/subject.ts';
import { type ExternalUserSettings, type Lifetime, tenantWide } from '../src/users/user-call.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';
import { dumpTables, type SeededAccount, seedAccount, seedSession } from './seed.ts';

const start = new Date('2026-03-01T12:00:00Z');
const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);
const limits = { externalUsersMax: 10_000, ephemeralUsersMax: 100_000 };
const week = 604_800;

const mistyped: { name: string; value: AttributeValue }[] = [
  { name: 'merchant_id', value: '7' },
  { name: 'merchant_id', value: true },
  { name: 'merchant_id', value: [7] },
  { name: 'region', value: 7 },
  { name: 'is_manager', value: 'true' },
  { name: 'regions', value: 'Nordics' },
  { name: 'regions', value: [1] },
  { name: 'merchant_ids', value: ['1'] },
  { name: 'merchant_ids', value: 1 },
];

describe.each(databaseKinds)('a user named by a call, on %s', (kind) => {
  let database: TestDatabase;
  let account: SeededAccount;
  let other: SeededAccount;
  // One for all, as in a server: what it keeps must never be seen.
  let askers: Askers;
  let number = 0;

  beforeAll(async () => {
    database = await openTestDatabase(kind);
    askers = createAskers({ db: database.db, changes: await database.openChanges() });
  });
  afterAll(() => database.close());
  // Each test has its own two accounts with the same names in them, so that what bleeds across shows.
  beforeEach(async () => {
    number += 2;
    account = await seedAccount(database.db, `demo${number}`, number);
    other = await seedAccount(database.db, `other${number}`, number + 1);
  });

  function settingsOf(more: Partial<ExternalUserSettings>): ExternalUserSettings {
    return {
      kind: 'external',
      externalId: 'seven',
      email: undefined,
      userProfile: undefined,
      userAttributes: undefined,
      groups: undefined,
      lifetime: { kind: 'unchanged' },
      ...more,
    };
  }
  function call(more: Partial<ExternalUserSettings> = {}, now = start, of = account, max = limits): Promise<number> {
    const asked = { accountId: of.accountId, scope: tenantWide, definitions: null, settings: settingsOf(more) };
    return resolveUser(database.db, { ...asked, limits: max }, now);
  }
  function callInternal(internalId: string): Promise<number> {
    const settings = { kind: 'internal', internalId } as const;
    const asked = { accountId: account.accountId, scope: tenantWide, definitions: null, settings, limits };
    return resolveUser(database.db, asked, start);
  }
  const principalOf = (userId: number, of = account): Principal => ({
    accountId: of.accountId,
    userId,
    sessionId: null,
    apiKeyId: null,
    scopeId: null,
    securityContext: {},
  });
  const subjectOf = async (userId: number, now = start, of = account) =>
    (await askers.load(principalOf(userId, of), now)).subject;
  const rowOf = (id: number) => database.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();

  test('is made once, and found by the same externalId', async () => {
    const id = await call({ groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] });
    expect(await call()).toBe(id);
    expect(await subjectOf(id)).toMatchObject({ groups: ['merchant'], seesUnprotected: false });
  });

  test('is not the one of another account', async () => {
    const id = await call({ groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] });
    const otherId = await call({ groups: ['platform_team'] }, start, other);
    expect(otherId).not.toBe(id);
    expect(await subjectOf(id)).toMatchObject({ groups: ['merchant'] });
    const subject = await subjectOf(otherId, start, other);
    expect(subject.groups).toEqual(['platform_team']);
    expect('merchant_id' in subject.userAttributes).toBe(false);
    await expect(subjectOf(otherId)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('omitted groups stay, an empty list clears them, a list replaces them', async () => {
    const id = await call({ groups: ['merchant', 'merchant_admin'] });
    await call();
    expect((await subjectOf(id)).groups).toEqual(['merchant', 'merchant_admin']);
    await call({ groups: ['platform_team', 'merchant'] });
    expect((await subjectOf(id)).groups).toEqual(['merchant', 'platform_team']);
    await call({ groups: [] });
    expect((await subjectOf(id)).groups).toEqual([]);
  });

  test('attribute values of every type are stored, overwritten by name, and cleared by null', async () => {
    const id = await call({
      userAttributes: [
        { name: 'merchant_id', value: 7.25 },
        { name: 'region', value: "O'Higgins \\ {null} \u{1f6d2}" },
        { name: 'is_manager', value: false },
        { name: 'regions', value: ['Nordics', ''] },
        { name: 'merchant_ids', value: [] },
      ],
    });
    expect({ ...(await subjectOf(id)).userAttributes }).toEqual({
      merchant_id: 7.25,
      region: "O'Higgins \\ {null} \u{1f6d2}",
      is_manager: false,
      regions: ['Nordics', ''],
      merchant_ids: [],
      tier: 3,
      channels: ['web', 'shop'],
    });
    await call({
      userAttributes: [
        { name: 'merchant_id', value: 8 },
        { name: 'region', value: null },
        { name: 'tier', value: null },
      ],
    });
    const { userAttributes } = await subjectOf(id);
    expect(userAttributes).toMatchObject({ merchant_id: 8, region: null, tier: null, is_manager: false });
  });

  test('an attribute called as a part of a prototype is absent unless stored', async () => {
    const { userAttributes } = await subjectOf(await call());
    expect(userAttributes['constructor']).toBeUndefined();
    expect(Object.getPrototypeOf(userAttributes)).toBeNull();
  });

  test('the profile keeps what a call omits', async () => {
    const id = await call({
      email: 'a@example.com',
      userProfile: { displayName: 'Ada', picture: 'https://a.example/p' },
    });
    await call({ userProfile: { displayName: 'Ada L.' } });
    expect(await rowOf(id)).toMatchObject({
      email: 'a@example.com',
      display_name: 'Ada L.',
      picture: 'https://a.example/p',
    });
    await call({ userProfile: {}, email: 'b@example.com' });
    expect(await rowOf(id)).toMatchObject({ email: 'b@example.com', display_name: 'Ada L.' });
  });

  test.each([
    {
      name: 'unknown attributes',
      settings: {
        userAttributes: [
          { name: 'merchant_id', value: 1 },
          { name: 'colour', value: 'x' },
          { name: 'size', value: 1 },
        ],
      },
      error: {
        code: 'USER_ATTRIBUTES_NOT_FOUND',
        message: 'User attributes not found',
        issues: [
          { path: 'userAttributes.1.name', message: 'colour not found' },
          { path: 'userAttributes.2.name', message: 'size not found' },
        ],
      },
    },
    {
      name: 'unknown groups',
      settings: { groups: ['zebra', 'merchant', 'ant'] },
      error: { code: 'GROUPS_NOT_FOUND', message: 'Groups with names zebra, ant not found' },
    },
    {
      name: 'group names in another case',
      settings: { groups: ['Merchant'] },
      error: { code: 'GROUPS_NOT_FOUND', message: 'Groups with names Merchant not found' },
    },
    ...mistyped.map(({ name, value }) => ({
      name: `${JSON.stringify(value)} for ${name}`,
      settings: { userAttributes: [{ name, value }] },
      error: { code: 'ATTRIBUTE_TYPE_MISMATCH', issues: [expect.objectContaining({ path: 'userAttributes.0.value' })] },
    })),
  ])('refuses $name, and changes nothing', async ({ settings, error }) => {
    const more = { email: 'new@example.com', userProfile: { displayName: 'New' } };
    await call({ groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] });
    const before = await dumpTables(database.db);
    const wrong = { ...more, ...settings };
    await expect(call(wrong)).rejects.toMatchObject(error);
    await expect(call({ ...wrong, externalId: 'nobody-yet' })).rejects.toMatchObject(error);
    expect(await dumpTables(database.db)).toBe(before);
  });

  test('internal users are found by username or address in any case, and never changed', async () => {
    const id = await callInternal('ANALYST');
    expect(await callInternal('analyst@EXAMPLE.com')).toBe(id);
    expect(await subjectOf(id)).toMatchObject({ seesUnprotected: true });
    await database.db.updateTable('users').set({ is_active: false }).where('id', '=', id).execute();
    for (const name of ['analyst', 'nobody', 'seven', '%', '']) {
      await expect(callInternal(name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    await expect(subjectOf(id)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  describe('lifetime', () => {
    const ephemeral = (ttlSeconds: number): Lifetime => ({ kind: 'ephemeral', ttlSeconds });
    const endOf = async (id: number): Promise<Date | null | undefined> => (await rowOf(id))?.expires_at;

    test('of an ephemeral user is only ever shortened', async () => {
      const id = await call({ lifetime: ephemeral(3600) });
      expect(await endOf(id)).toEqual(after(3600));
      await call({ lifetime: ephemeral(week) }, after(60));
      expect(await endOf(id)).toEqual(after(3600));
      await call({ lifetime: ephemeral(10) }, after(60));
      expect(await endOf(id)).toEqual(after(70));
      await call({ lifetime: { kind: 'unchanged' } }, after(60));
      expect(await endOf(id)).toEqual(after(70));
    });

    test('of a persistent user never ends', async () => {
      const id = await call();
      await call({ lifetime: ephemeral(10) });
      expect(await endOf(id)).toBeNull();
      expect(await call({}, after(week * 100))).toBe(id);
    });

    test('is made endless by an explicit wish only', async () => {
      const id = await call({ lifetime: ephemeral(10) });
      await call({ lifetime: { kind: 'persistent' } });
      expect(await endOf(id)).toBeNull();
    });

    test('once over, the same name is a new user who has nothing of the old', async () => {
      const rights = { groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
      const id = await call({ lifetime: ephemeral(10), email: 'a@example.com', ...rights });
      await expect(subjectOf(id, after(10))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      const next = await call({ lifetime: ephemeral(10) }, after(10));
      expect(next).not.toBe(id);
      expect(await rowOf(id)).toBeUndefined();
      expect(await rowOf(next)).toMatchObject({ email: null, expires_at: after(20) });
      const subject = await subjectOf(next, after(10));
      expect(subject.groups).toEqual([]);
      expect('merchant_id' in subject.userAttributes).toBe(false);
    });

    test('a call that fails leaves an expired user as it was', async () => {
      await call({ lifetime: ephemeral(10) });
      const before = await dumpTables(database.db);
      await expect(call({ groups: ['nobody'] }, after(20))).rejects.toThrow('Groups with names nobody not found');
      await expect(call({}, after(20), account, { ...limits, externalUsersMax: 0 })).rejects.toMatchObject({
        code: 'EXTERNAL_USER_LIMIT',
      });
      expect(await dumpTables(database.db)).toBe(before);
    });
  });

  test('the limit counts persistent and ephemeral users apart, each account for itself', async () => {
    const max = { externalUsersMax: 2, ephemeralUsersMax: 1 };
    const ephemeral: Lifetime = { kind: 'ephemeral', ttlSeconds: 10 };
    await call({ externalId: 'a' }, start, account, max);
    await call({ externalId: 'b' }, start, account, max);
    await call({ externalId: 'c', lifetime: ephemeral }, start, account, max);
    const full = { code: 'EXTERNAL_USER_LIMIT', retryAfterSeconds: undefined };
    await expect(call({ externalId: 'd' }, start, account, max)).rejects.toMatchObject(full);
    await expect(call({ externalId: 'd', lifetime: ephemeral }, start, account, max)).rejects.toMatchObject({
      code: 'EPHEMERAL_USER_LIMIT',
      retryAfterSeconds: undefined,
    });
    await expect(
      call({ externalId: 'c', lifetime: { kind: 'persistent' } }, start, account, max),
    ).rejects.toMatchObject(full);
    // Updating is fine, and so is another account, or the place of one who has expired.
    await call({ externalId: 'a', groups: ['merchant'], lifetime: { kind: 'persistent' } }, start, account, max);
    await call({ externalId: 'd' }, start, other, max);
    await call({ externalId: 'd', lifetime: ephemeral }, after(10), account, max);
  });

  test('a session stands for its user until it ends, or its key is revoked', async () => {
    const userId = await call({ groups: ['merchant'] });
    const session = await seedSession(database.db, account, userId, start);
    const principal = { ...session, securityContext: { a: 1 } };
    expect((await askers.load(principal, after(599))).subject).toMatchObject({
      groups: ['merchant'],
      securityContext: { a: 1 },
    });
    const refused = { code: 'UNAUTHENTICATED' };
    await expect(askers.load(principal, after(600))).rejects.toMatchObject(refused);
    const another = { ...principal, userId: await call({ externalId: 'another' }) };
    await expect(askers.load(another, start)).rejects.toMatchObject(refused);
    await database.db.updateTable('api_keys').set({ revoked_at: start }).where('id', '=', account.apiKeyId).execute();
    await expect(askers.load(principal, start)).rejects.toMatchObject(refused);
  });

  test('fifty calls at once for one new name make one user', async () => {
    const groups = ['merchant', 'merchant_admin', 'platform_team'];
    const calls = Array.from({ length: 50 }, (_, index) => ({
      groups: groups.filter((_group, bit) => (index >> bit) & 1),
      value: index,
    }));
    const ids = await Promise.all(
      calls.map((one) => call({ groups: one.groups, userAttributes: [{ name: 'merchant_id', value: one.value }] })),
    );
    expect(new Set(ids).size).toBe(1);
    const { groups: stored, userAttributes } = await subjectOf(ids[0] ?? 0);
    // What is stored is what one of the calls said, not a mixture.
    const winner = calls.find((one) => one.value === userAttributes['merchant_id']);
    expect(stored).toEqual(winner?.groups);
  });

  test('many users with overlapping groups and promotions do not wait for each other for ever', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const lists = [['merchant', 'platform_team'], ['platform_team', 'merchant'], ['merchant_admin', 'merchant'], []];
    const lifetimes: Lifetime[] = [{ kind: 'ephemeral', ttlSeconds: 5 }, { kind: 'persistent' }, { kind: 'unchanged' }];
    const settled = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        call(
          {
            externalId: names[index % names.length] ?? '',
            groups: lists[index % lists.length] ?? [],
            lifetime: lifetimes[index % lifetimes.length] ?? { kind: 'unchanged' },
          },
          after(index % 7),
        ),
      ),
    );
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  test('the limit is exact when many come at once', async () => {
    const max = { externalUsersMax: 10, ephemeralUsersMax: 10 };
    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => call({ externalId: `new-${index}` }, start, account, max)),
    );
    const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(settled.length - failures.length).toBe(10);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'EXTERNAL_USER_LIMIT' });
    for (const failure of failures) expect(failure).toBeInstanceOf(InlayError);
  });
});
