/** The short way for a user who is already as a call says agrees with the long way, whatever was said before. */
import type { AttributeValue } from '@inlay/contract/user.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ExternalUserSettings, inUserTransaction, type Lifetime, resolveUser } from '../src/users/resolve-user.ts';
import { findUnchangedUser } from '../src/users/unchanged-user.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';
import { dumpTables, type SeededAccount, seedAccount, seededGroups } from './seed.ts';

const start = new Date('2026-03-01T12:00:00Z');
const limits = { externalUsersMax: 10_000, ephemeralUsersMax: 100_000 };

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const lifetime: fc.Arbitrary<Lifetime> = fc.oneof(
  fc.constant<Lifetime>({ kind: 'unchanged' }),
  fc.constant<Lifetime>({ kind: 'persistent' }),
  fc.constantFrom(60, 3600).map((ttlSeconds): Lifetime => ({ kind: 'ephemeral', ttlSeconds })),
);
const values = [
  fc.record({ name: fc.constant('merchant_id'), value: fc.constantFrom(7, 7.5, null) }),
  fc.record({ name: fc.constant('region'), value: fc.constantFrom('north', 'null', '', null) }),
  fc.record({
    name: fc.constant('regions'),
    value: fc.nat(2).map((at): AttributeValue => [[], ['a', 'b'], ['b', 'a']][at] ?? null),
  }),
  fc.record({ name: fc.constant('tier'), value: fc.constantFrom(null, 3) }),
] as const;
const settings: fc.Arbitrary<ExternalUserSettings> = fc.record({
  kind: fc.constant('external'),
  externalId: fc.constantFrom('seven', 'eight'),
  email: maybe(fc.constantFrom('a@example.com', 'b@example.com')),
  userProfile: maybe(
    fc.record({
      displayName: maybe(fc.constantFrom('A', 'B')),
      picture: maybe(fc.constant('https://example.com/a.png')),
    }),
  ),
  groups: maybe(fc.subarray([...seededGroups])),
  userAttributes: maybe(fc.tuple(...values).chain((all) => fc.subarray([...all]))),
  lifetime,
});
/** Calls are often repeated, as they are in life. */
const calls = fc
  .array(fc.tuple(settings, fc.boolean(), fc.constantFrom(0, 1, 120)), { minLength: 2, maxLength: 8 })
  .map((steps) =>
    steps.flatMap(([call, isRepeated, seconds]) =>
      isRepeated
        ? [
            { call, seconds },
            { call, seconds: 1 },
          ]
        : [{ call, seconds }],
    ),
  );

describe.each(databaseKinds)('on %s', (kind) => {
  let database: TestDatabase;
  let account: SeededAccount;
  let number = 0;
  beforeAll(async () => {
    database = await openTestDatabase(kind);
  });
  afterAll(() => database.close());

  test('it finds a user exactly where the long way would change nothing', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(calls, async (steps) => {
        number += 2;
        account = await seedAccount(database.db, `demo${number}`, number);
        // The same user in another account, as another person.
        const other = await seedAccount(database.db, `other${number}`, number + 1);
        let now = start;
        for (const { call, seconds } of steps) {
          now = new Date(now.getTime() + seconds * 1000);
          const asked = { accountId: account.accountId, settings: call, now, limits };
          const short = await findUnchangedUser(database.db, asked);
          const before = await dumpTables(database.db);
          const long = await inUserTransaction(database.db, (tx) => resolveUser(tx, asked));
          const isUnchanged = JSON.stringify(before) === JSON.stringify(await dumpTables(database.db));
          expect(short, JSON.stringify({ call, seconds })).toBe(isUnchanged ? long : null);
          if (short !== null) found += 1;
          await inUserTransaction(database.db, (tx) =>
            resolveUser(tx, { ...asked, accountId: other.accountId, settings: { ...call, groups: ['merchant'] } }),
          );
        }
        await database.db.deleteFrom('accounts').where('id', 'in', [account.accountId, other.accountId]).execute();
      }),
      { numRuns: 25 },
    );
    expect(found).toBeGreaterThan(10);
  });

  test('not one who is inactive, internal, or of another account', async () => {
    account = await seedAccount(database.db, 'still', 9000);
    const base = {
      kind: 'external',
      externalId: 'seven',
      email: undefined,
      userProfile: undefined,
      groups: undefined,
      userAttributes: undefined,
      lifetime: { kind: 'unchanged' },
    } as const;
    const asked = { accountId: account.accountId, settings: base, now: start, limits };
    const id = await inUserTransaction(database.db, (tx) => resolveUser(tx, asked));
    expect(await findUnchangedUser(database.db, asked)).toBe(id);
    expect(await findUnchangedUser(database.db, { ...asked, accountId: account.accountId + 1 })).toBeNull();
    expect(await findUnchangedUser(database.db, { ...asked, settings: { ...base, externalId: 'analyst' } })).toBeNull();
    expect(await findUnchangedUser(database.db, { ...asked, settings: { ...base, groups: ['nobody'] } })).toBeNull();
    expect(
      await findUnchangedUser(database.db, {
        ...asked,
        settings: { ...base, userAttributes: [{ name: 'nothing', value: null }] },
      }),
    ).toBeNull();
    await database.db.updateTable('users').set({ is_active: false }).where('id', '=', id).execute();
    expect(await findUnchangedUser(database.db, asked)).toBeNull();
  });
});
