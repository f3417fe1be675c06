/**
 * Flights against a model of the rules that is written another way: call by call, by names, without batches. After any flights of
 * any calls the store holds what the model holds, every call has the outcome that the model gives, and a second account with the
 * same names has not changed.
 */
import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';
import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InlayError } from '../src/errors.ts';
import type { Schema } from '../src/store/schema.ts';
import type { FlightCall } from '../src/users/flight-state.ts';
import { resolveUsers } from '../src/users/resolve-users.ts';
import type { Definitions, ExternalUserSettings, Lifetime, Scope } from '../src/users/user-call.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';
import { type SeededAccount, seedAccount, seededGroups } from './seed.ts';

const start = new Date('2026-03-01T12:00:00Z');
const limits = { externalUsersMax: 3, ephemeralUsersMax: 2 };

// ── The model ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface ModelScope {
  groups: Record<string, string | null>;
  attributes: Record<string, { type: AttributeType; defaultValue: string | null }>;
}
interface ModelUser {
  email: string | null;
  displayName: string | null;
  expiresAt: string | null;
  groups: Record<string, string[]>;
  values: Record<string, Record<string, AttributeValue>>;
}
/** JSON throughout, so that two can be compared and copied as text. */
interface Model {
  scopes: Record<string, ModelScope>;
  users: Record<string, ModelUser>;
}

type Asked = Pick<FlightCall, 'scope' | 'definitions'> & { readonly settings: ExternalUserSettings };

/** What the rules of http-api.md make of one call. @returns the model afterwards, or the code of the refusal. */
function modelCall(model: Model, { scope, definitions, settings }: Asked, now: Date): Model | string {
  const next: Model = JSON.parse(JSON.stringify(model));
  const place = scope.kind === 'embed-tenant' ? scope.embedTenantName : '';
  if (scope.embedTenantName !== null) next.scopes[scope.embedTenantName] ??= { groups: {}, attributes: {} };
  const catalogue = next.scopes[place];
  if (catalogue === undefined) throw new Error('no scope');
  for (const { name, description } of definitions?.groups ?? []) {
    catalogue.groups[name] = description || (catalogue.groups[name] ?? null);
  }
  for (const { name, type, defaultValue } of definitions?.attributes ?? []) {
    const there = catalogue.attributes[name];
    if (there !== undefined && there.type !== type) return 'ATTRIBUTE_TYPE_IMMUTABLE';
    catalogue.attributes[name] = { type, defaultValue: defaultValue ?? there?.defaultValue ?? null };
  }
  const given = settings.userAttributes ?? [];
  if (given.some(({ name }) => catalogue.attributes[name] === undefined)) return 'USER_ATTRIBUTES_NOT_FOUND';
  if (settings.groups?.some((name) => catalogue.groups[name] === undefined)) return 'GROUPS_NOT_FOUND';
  const isOfType = {
    number: 'number',
    string: 'string',
    boolean: 'boolean',
    string_array: 'object',
    number_array: 'object',
  };
  for (const { name, value } of given) {
    const type = catalogue.attributes[name]?.type ?? 'string';
    if (value !== null && typeof value !== isOfType[type]) return 'ATTRIBUTE_TYPE_MISMATCH';
  }

  const ended = (user: ModelUser) => user.expiresAt !== null && Date.parse(user.expiresAt) <= now.getTime();
  const found = next.users[settings.externalId];
  const isNew = found === undefined || ended(found);
  const user: ModelUser = isNew ? { email: null, displayName: null, expiresAt: null, groups: {}, values: {} } : found;
  const wasPersistent = !isNew && user.expiresAt === null;
  const { lifetime } = settings;
  if (lifetime.kind === 'persistent') user.expiresAt = null;
  if (lifetime.kind === 'ephemeral' && !wasPersistent) {
    const end = new Date(now.getTime() + lifetime.ttlSeconds * 1000).toISOString();
    user.expiresAt = user.expiresAt !== null && user.expiresAt < end ? user.expiresAt : end;
  }
  const others = Object.entries(next.users)
    .filter(([name]) => name !== settings.externalId)
    .map(([, other]) => other);
  if (user.expiresAt === null && !wasPersistent) {
    if (others.filter(({ expiresAt }) => expiresAt === null).length >= limits.externalUsersMax)
      return 'EXTERNAL_USER_LIMIT';
  }
  if (user.expiresAt !== null && isNew) {
    const standing = others.filter((other) => other.expiresAt !== null && !ended(other));
    if (standing.length >= limits.ephemeralUsersMax) return 'EPHEMERAL_USER_LIMIT';
  }
  user.email = settings.email ?? user.email;
  user.displayName = settings.userProfile?.displayName ?? user.displayName;
  if (settings.groups !== undefined) user.groups[place] = settings.groups.toSorted();
  for (const { name, value } of given) user.values[place] = { ...user.values[place], [name]: value };
  next.users[settings.externalId] = user;
  return next;
}

/**
 * A flight: what would change nothing, or is refused, is so by what was there before; the others come one after the other.
 * @returns the model afterwards, and per call the code of its refusal or null
 */
function modelFlight(before: Model, calls: readonly Asked[], now: Date): { model: Model; codes: (string | null)[] } {
  const codes: (string | null)[] = calls.map(() => null);
  const changing: number[] = [];
  for (const [index, call] of calls.entries()) {
    // The limits are counted under the lock only.
    const result = modelCall(before, call, now);
    if (typeof result === 'string' && !result.endsWith('_USER_LIMIT')) codes[index] = result;
    else if (typeof result === 'string' || textOf(result) !== textOf(before)) changing.push(index);
  }
  let model = before;
  for (const index of changing) {
    const call = calls[index];
    const result = call === undefined ? 'none' : modelCall(model, call, now);
    if (typeof result === 'string') codes[index] = result;
    else model = result;
  }
  return { model, codes };
}

/** The same for the same model, whatever the order of names; what is empty is nothing. */
function textOf({ scopes, users }: Model): string {
  const sorted = <T>(record: Readonly<Record<string, T>>, of: (value: T) => unknown): unknown =>
    Object.keys(record)
      .sort()
      .flatMap((name) => {
        const value = record[name];
        return value === undefined ? [] : [[name, of(value)]];
      });
  const filled = <T extends object>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => Object.keys(value).length > 0));
  return JSON.stringify([
    sorted(scopes, ({ groups, attributes }) => [
      sorted(groups, String),
      sorted(attributes, (one) => [one.type, one.defaultValue]),
    ]),
    sorted(users, ({ groups, values, ...fields }) => [
      sorted(fields, String),
      sorted(filled(groups), (names) => names),
      sorted(filled(values), (ofScope) => sorted(ofScope, (value) => value)),
    ]),
  ]);
}

// ── The store, as the model sees it ─────────────────────────────────────────────────────────────────────────────────

async function readModel(db: Kysely<Schema>, accountId: number): Promise<Model> {
  const { rows } = await sql<{ model: Model }>`
    select jsonb_build_object(
      'scopes', (
        select jsonb_object_agg(coalesce(t.name, ''), jsonb_build_object(
          'groups', (select coalesce(jsonb_object_agg(g.name, g.description), '{}') from groups g
            where g.account_id = ${accountId} and g.embed_tenant_id is not distinct from t.id),
          'attributes', (
            select coalesce(jsonb_object_agg(a.name, jsonb_build_object('type', a.type, 'defaultValue', a.default_value)), '{}')
            from user_attributes a where a.account_id = ${accountId} and a.embed_tenant_id is not distinct from t.id)))
        from (select id, name from embed_tenants where account_id = ${accountId} union all select null, null) t),
      'users', (
        select coalesce(jsonb_object_agg(u.external_id, jsonb_build_object(
          'email', u.email, 'displayName', u.display_name, 'expiresAt', to_char(u.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'groups', (
            select coalesce(jsonb_object_agg(scope, names), '{}') from (
              select coalesce(t.name, '') as scope, jsonb_agg(g.name order by g.name collate "C") as names
              from user_groups ug join groups g on g.id = ug.group_id left join embed_tenants t on t.id = g.embed_tenant_id
              where ug.user_id = u.id group by 1) s),
          'values', (
            select coalesce(jsonb_object_agg(scope, held), '{}') from (
              select coalesce(t.name, '') as scope, jsonb_object_agg(a.name, v.value) as held
              from user_attribute_values v join user_attributes a on a.id = v.attribute_id
              left join embed_tenants t on t.id = a.embed_tenant_id
              where v.user_id = u.id group by 1) s))), '{}')
        from users u where u.account_id = ${accountId} and u.kind = 'external')) as model`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('no row');
  return row.model;
}

// ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const lifetime = fc.constantFrom<Lifetime>(
  { kind: 'unchanged' },
  { kind: 'persistent' },
  { kind: 'ephemeral', ttlSeconds: 60 },
  { kind: 'ephemeral', ttlSeconds: 3600 },
);
const scope = fc.constantFrom<Scope>(
  { kind: 'tenant-wide', embedTenantName: null },
  { kind: 'tenant-wide', embedTenantName: 'acme-inc' },
  { kind: 'embed-tenant', embedTenantName: 'acme-inc' },
  { kind: 'embed-tenant', embedTenantName: 'globex' },
);
const someGroups = fc.subarray(['merchant', 'editors', 'platform_team']);
const someValues = fc
  .tuple(fc.constantFrom<AttributeValue>(null, 7, 7.5, 'x'), fc.constantFrom<AttributeValue>(null, '', 'north', 7))
  .chain(([one, other]) =>
    fc.subarray([
      { name: 'merchant_id', value: one },
      { name: 'region', value: other },
    ]),
  );
const definitions: fc.Arbitrary<Definitions> = fc.record({
  groups: someGroups.chain((names) =>
    fc.constantFrom('', 'x', 'y', undefined).map((description) => names.map((name) => ({ name, description }))),
  ),
  attributes: fc
    .subarray<Definitions['attributes'][number]>([
      { name: 'merchant_id', type: 'number', defaultValue: '1' },
      { name: 'region', type: 'string' },
    ])
    .chain((all) =>
      fc
        .constantFrom(0, 0, 0, 1)
        .map((isOdd) => (isOdd === 1 ? all.map(({ name }) => ({ name, type: 'boolean' as const })) : all)),
    ),
});
const asked: fc.Arbitrary<Asked> = fc
  .record({
    scope,
    definitions: maybe(definitions),
    settings: fc.record({
      kind: fc.constant('external' as const),
      externalId: fc.constantFrom('seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'),
      email: maybe(fc.constantFrom('a@example.com', 'b@example.com')),
      userProfile: maybe(fc.record({ displayName: maybe(fc.constantFrom('A', 'B')) })),
      groups: maybe(someGroups),
      userAttributes: maybe(someValues),
      lifetime,
    }),
  })
  // Tenant-wide calls define nothing, and name what the seeded account has.
  .map((call) => ({ ...call, definitions: call.scope.kind === 'embed-tenant' ? (call.definitions ?? null) : null }));
const flights = fc.array(fc.tuple(fc.array(asked, { minLength: 1, maxLength: 6 }), fc.constantFrom(0, 1, 61)), {
  minLength: 1,
  maxLength: 5,
});

describe.each(databaseKinds)('flights on %s', (kind) => {
  let database: TestDatabase;
  let number = 0;
  beforeAll(async () => {
    database = await openTestDatabase(kind);
  });
  afterAll(() => database.close());

  async function fly(of: SeededAccount, calls: readonly Asked[], now: Date): Promise<(string | null)[]> {
    const outcomes = new Map<FlightCall, string | null>();
    const whole = calls.map((call) => ({ ...call, accountId: of.accountId, deploymentId: of.deploymentId, limits }));
    await resolveUsers(database.db, {
      calls: whole,
      now,
      write: async (_db, resolved) => {
        for (const { userId } of resolved) expect(userId).toBeGreaterThan(0);
      },
      settle: (call, outcome) => outcomes.set(call, outcome instanceof InlayError ? outcome.code : null),
    });
    return whole.map((call) => outcomes.get(call) ?? null);
  }

  test('do what the model says', async () => {
    const seen = new Set<string | null>();
    await fc.assert(
      fc.asyncProperty(flights, async (plan) => {
        number += 2;
        const account = await seedAccount(database.db, `demo${number}`, number);
        const other = await seedAccount(database.db, `other${number}`, number + 1);
        const beside = textOf(await readModel(database.db, other.accountId));
        let model = await readModel(database.db, account.accountId);
        expect(Object.keys(model.scopes['']?.groups ?? {}).sort()).toEqual([...seededGroups]);
        let now = start;
        for (const [calls, seconds] of plan) {
          now = new Date(now.getTime() + seconds * 1000);
          const expected = modelFlight(model, calls, now);
          const codes = await fly(account, calls, now);
          expect(codes).toEqual(expected.codes);
          ({ model } = expected);
          expect(textOf(await readModel(database.db, account.accountId))).toBe(textOf(model));
          for (const code of codes) seen.add(code);
        }
        expect(textOf(await readModel(database.db, other.accountId))).toBe(beside);
        await database.db.deleteFrom('accounts').where('id', 'in', [account.accountId, other.accountId]).execute();
      }),
      { numRuns: kind === 'postgres' ? 120 : 40 },
    );
    // The calls meet every rule, or the test would show little; too few runs may miss one.
    if (kind !== 'postgres') return;
    const all = ['ATTRIBUTE_TYPE_IMMUTABLE', 'ATTRIBUTE_TYPE_MISMATCH', 'EPHEMERAL_USER_LIMIT', 'EXTERNAL_USER_LIMIT'];
    expect([...seen].map(String).sort()).toEqual([...all, 'GROUPS_NOT_FOUND', 'USER_ATTRIBUTES_NOT_FOUND', 'null']);
  }, 120_000);
});
