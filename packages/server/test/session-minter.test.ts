/** Minting sessions in flights: scopes side by side, refusals beside successes, and how often the store is asked. */
import { randomUUID } from 'node:crypto';
import type { SecurityContextJson } from '@inlay/contract/user.ts';
import type { Kysely } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSessionMinter, type MintRequest, type SessionMinter } from '../src/embed/session-minter.ts';
import { noChanges } from '../src/store/changes.ts';
import type { Schema } from '../src/store/schema.ts';
import { hashSecret } from '../src/store/secret.ts';
import { noMetrics, noTelemetry } from '../src/telemetry/telemetry.ts';
import type { Principal } from '../src/users/principal.ts';
import { createAskers } from '../src/users/subject.ts';
import { type Definitions, type ExternalUserSettings, type Scope, tenantWide } from '../src/users/user-call.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';
import { dumpTables, type SeededAccount, seedAccount } from './seed.ts';
import { noteStatements } from './statements.ts';

const now = new Date('2026-03-01T12:00:00Z');
const limits = { externalUsersMax: 10_000, ephemeralUsersMax: 100_000 };
const times = { sessionExchangeMs: 300_000, sessionLifetimeMs: 604_800_000 };
const inTenant = (embedTenantName: string): Scope => ({ kind: 'embed-tenant', embedTenantName });
const beside = (embedTenantName: string): Scope => ({ kind: 'tenant-wide', embedTenantName });

interface Asked {
  readonly of?: SeededAccount;
  readonly externalId?: string;
  readonly internalId?: string;
  readonly scope?: Scope;
  readonly definitions?: Partial<Definitions>;
  readonly user?: Partial<ExternalUserSettings>;
  readonly deploymentId?: number;
  readonly securityContext?: SecurityContextJson;
}

describe.each(databaseKinds)('the session minter on %s', (kind) => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let minter: SessionMinter;
  let account: SeededAccount;
  let other: SeededAccount;
  let number = 0;

  beforeAll(async () => {
    database = await openTestDatabase(kind);
    db = database.db;
    minter = createSessionMinter({ db, clock: () => now, limits, ...times });
  });
  afterAll(async () => {
    await minter[Symbol.asyncDispose]();
    await database.close();
  });
  beforeEach(async () => {
    number += 2;
    account = await seedAccount(db, `demo${number}`, number);
    other = await seedAccount(db, `other${number}`, number + 1);
  });

  const requestOf = (asked: Asked): MintRequest => {
    const of = asked.of ?? account;
    return {
      accountId: of.accountId,
      keyId: of.apiKeyId,
      actor: { kind: 'api-key', id: '1', name: 'test', address: '203.0.113.7', requestId: null },
      call: {
        deploymentId: asked.deploymentId ?? of.deploymentId,
        scope: asked.scope ?? tenantWide,
        definitions: asked.definitions === undefined ? null : { groups: [], attributes: [], ...asked.definitions },
        user:
          asked.internalId !== undefined
            ? { kind: 'internal', internalId: asked.internalId }
            : {
                kind: 'external',
                externalId: asked.externalId ?? 'seven',
                email: undefined,
                userProfile: undefined,
                userAttributes: undefined,
                groups: undefined,
                lifetime: { kind: 'unchanged' },
                ...asked.user,
              },
        securityContext: asked.securityContext ?? {},
        settings: { theme: 'dark' },
      },
    };
  };
  const mint = async (asked: Asked = {}, by = minter): Promise<string> => (await by.mint(requestOf(asked))).sessionId;
  const sessionOf = (sessionId: string) =>
    db.selectFrom('sessions').selectAll().where('secret_hash', '=', hashSecret(sessionId)).executeTakeFirstOrThrow();
  const subjectOf = async (sessionId: string) => {
    const { id, account_id, user_id, embed_tenant_id, is_creator_mode } = await sessionOf(sessionId);
    const principal: Principal = {
      accountId: account_id,
      userId: user_id,
      sessionId: id,
      apiKeyId: null,
      scopeId: is_creator_mode ? embed_tenant_id : null,
      securityContext: {},
    };
    const { subject } = await createAskers({ db, changes: noChanges }).load(principal, now);
    const { groups, userAttributes, embedTenantName, isEmbedTenantScope } = subject;
    return { groups, userAttributes: { ...userAttributes }, embedTenantName, isEmbedTenantScope };
  };
  const idsOf = async (table: 'groups' | 'user_attributes') =>
    db
      .selectFrom(table)
      .select(['id', 'name', 'description', 'embed_tenant_id'])
      .where('account_id', '=', account.accountId)
      .execute();

  const definitions: Definitions = {
    groups: [{ name: 'merchant', description: 'of the tenant' }, { name: 'editors' }],
    attributes: [
      { name: 'merchant_id', type: 'string' },
      { name: 'tier', type: 'number', defaultValue: '9', displayName: 'Tier', description: 'how high' },
    ],
  };

  test('keeps what the call says of the session', async () => {
    const sessionId = await mint({ scope: inTenant('acme-inc'), securityContext: { plan: { name: 'gold' } } });
    const tenant = await db
      .selectFrom('embed_tenants')
      .selectAll()
      .where('account_id', '=', account.accountId)
      .executeTakeFirstOrThrow();
    expect(await sessionOf(sessionId)).toMatchObject({
      account_id: account.accountId,
      deployment_id: account.deploymentId,
      api_key_id: account.apiKeyId,
      embed_tenant_id: tenant.id,
      is_creator_mode: true,
      settings: { theme: 'dark' },
      security_context: { plan: { name: 'gold' } },
      created_from: '203.0.113.7',
      created_at: now,
      exchange_before: new Date(now.getTime() + times.sessionExchangeMs),
      ends_at: new Date(now.getTime() + times.sessionLifetimeMs),
      exchanged_at: null,
      revoked_at: null,
    });
    expect(tenant).toMatchObject({ name: 'acme-inc', created_at: now });
  });

  test('scopes and accounts with the same names stand side by side, and nothing bleeds', async () => {
    const user = (groups: string[], merchant: string | number): Partial<ExternalUserSettings> => ({
      groups,
      userAttributes: [{ name: 'merchant_id', value: merchant }],
    });
    const [acme, globex, wide, elsewhere, sameTenantElsewhere] = await Promise.all([
      mint({ scope: inTenant('acme-inc'), definitions, user: user(['merchant', 'editors'], 'acme') }),
      mint({ scope: inTenant('globex'), definitions, user: user(['editors'], 'globex') }),
      mint({ user: user(['merchant', 'platform_team'], 7) }),
      mint({ of: other, user: user(['merchant_admin'], 8) }),
      mint({ of: other, scope: inTenant('acme-inc'), definitions, user: user(['merchant'], 'elsewhere') }),
    ]);
    const tenantDefaults = { tier: 9 };
    const wideDefaults = { tier: 3, channels: ['web', 'shop'] };
    expect(await subjectOf(acme)).toEqual({
      groups: ['editors', 'merchant'],
      userAttributes: { merchant_id: 'acme', ...tenantDefaults },
      embedTenantName: 'acme-inc',
      isEmbedTenantScope: true,
    });
    expect(await subjectOf(globex)).toMatchObject({ groups: ['editors'], userAttributes: { merchant_id: 'globex' } });
    expect(await subjectOf(wide)).toEqual({
      groups: ['merchant', 'platform_team'],
      userAttributes: { merchant_id: 7, ...wideDefaults },
      embedTenantName: null,
      isEmbedTenantScope: false,
    });
    expect(await subjectOf(elsewhere)).toMatchObject({
      groups: ['merchant_admin'],
      userAttributes: { merchant_id: 8 },
    });
    expect(await subjectOf(sameTenantElsewhere)).toMatchObject({
      groups: ['merchant'],
      userAttributes: { merchant_id: 'elsewhere' },
    });

    // Clearing acts on the scope of the call only (service.md 4.1 rule 5).
    const cleared = await mint({ scope: inTenant('acme-inc'), user: { groups: [] } });
    expect(await subjectOf(cleared)).toMatchObject({ groups: [], userAttributes: { merchant_id: 'acme' } });
    expect(await subjectOf(globex)).toMatchObject({ groups: ['editors'] });
    expect(await subjectOf(wide)).toMatchObject({ groups: ['merchant', 'platform_team'] });
  });

  test('an embed tenant that is only named is told to policies, and is not the scope', async () => {
    const sessionId = await mint({ scope: beside('acme-inc'), user: { groups: ['merchant'] } });
    expect(await sessionOf(sessionId)).toMatchObject({ is_creator_mode: false, embed_tenant_id: expect.any(Number) });
    expect(await subjectOf(sessionId)).toMatchObject({
      groups: ['merchant'],
      embedTenantName: 'acme-inc',
      isEmbedTenantScope: false,
    });
    await expect(mint({ scope: inTenant('acme-inc'), user: { groups: ['merchant'] } })).rejects.toMatchObject({
      code: 'GROUPS_NOT_FOUND',
      message: 'Groups with names merchant not found',
    });
  });

  test('an internal user keeps the tenant-wide rights, whatever the scope', async () => {
    const { id } = await db
      .selectFrom('users')
      .select('id')
      .where('username', '=', 'analyst')
      .where('account_id', '=', account.accountId)
      .executeTakeFirstOrThrow();
    const group = await db
      .selectFrom('groups')
      .select('id')
      .where('account_id', '=', account.accountId)
      .where('name', '=', 'platform_team')
      .executeTakeFirstOrThrow();
    await db.insertInto('user_groups').values({ user_id: id, group_id: group.id }).execute();
    const sessionId = await mint({ internalId: 'ANALYST@example.com', scope: inTenant('acme-inc') });
    expect(await subjectOf(sessionId)).toMatchObject({
      groups: ['platform_team'],
      userAttributes: { tier: 3 },
      embedTenantName: 'acme-inc',
      isEmbedTenantScope: false,
    });
  });

  test('definitions are reused by name, changed only where supplied, and the type never is (service.md 4.1 rules 7 and 9)', async () => {
    await mint({ scope: inTenant('acme-inc'), definitions });
    const [groups, attributes] = [await idsOf('groups'), await idsOf('user_attributes')];
    await mint({ scope: inTenant('acme-inc'), definitions });
    expect(await idsOf('groups')).toEqual(groups);
    expect(await idsOf('user_attributes')).toEqual(attributes);

    await mint({
      scope: inTenant('acme-inc'),
      definitions: {
        groups: [{ name: 'merchant' }, { name: 'editors', description: 'who edits' }, { name: 'new' }],
        attributes: [{ name: 'tier', type: 'number', displayName: 'Level' }],
      },
    });
    const tier = await db
      .selectFrom('user_attributes')
      .selectAll()
      .where('embed_tenant_id', 'is not', null)
      .where('account_id', '=', account.accountId)
      .where('name', '=', 'tier')
      .executeTakeFirstOrThrow();
    expect(tier).toMatchObject({ type: 'number', display_name: 'Level', default_value: '9', description: 'how high' });
    const later = await idsOf('groups');
    const find = (name: string) => later.find((group) => group.name === name && group.embed_tenant_id !== null);
    expect(find('merchant')).toEqual(groups.find(({ id }) => id === find('merchant')?.id));
    expect(find('editors')).toMatchObject({
      id: groups.find(({ name }) => name === 'editors')?.id,
      description: 'who edits',
    });
    expect(find('new')).toBeDefined();

    const before = await dumpTables(db);
    const wrong = {
      scope: inTenant('acme-inc'),
      externalId: 'not-yet-here',
      definitions: {
        groups: [{ name: 'another' }],
        attributes: [
          { name: 'fine', type: 'string' as const },
          { name: 'tier', type: 'string' as const, description: 'x' },
        ],
      },
    };
    await expect(mint(wrong)).rejects.toMatchObject({
      code: 'ATTRIBUTE_TYPE_IMMUTABLE',
      message: 'User attribute tier cannot change type from number to string',
    });
    expect(await dumpTables(db)).toBe(before);
  });

  test('an embed tenant comes into being with the first call that succeeds, and with no other', async () => {
    const tenants = async () =>
      (await db.selectFrom('embed_tenants').select('name').where('account_id', '=', account.accountId).execute()).map(
        ({ name }) => name,
      );
    await expect(mint({ scope: beside('acme-inc'), user: { groups: ['none'] } })).rejects.toThrow();
    expect(await tenants()).toEqual([]);
    await Promise.all([
      mint({ scope: beside('acme-inc') }),
      mint({ scope: inTenant('acme-inc') }),
      mint({ scope: beside('acme-inc'), externalId: 'eight' }),
    ]);
    expect(await tenants()).toEqual(['acme-inc']);
    await mint({ internalId: 'analyst', scope: inTenant('default') });
    expect((await tenants()).sort()).toEqual(['acme-inc', 'default']);
  });

  test('creator mode needs its flag, which acts at once', async () => {
    await db.updateTable('accounts').set({ use_creator_mode: false }).where('id', '=', account.accountId).execute();
    const before = await dumpTables(db);
    await expect(mint({ scope: inTenant('acme-inc') })).rejects.toMatchObject({ code: 'CREATOR_MODE_NOT_ALLOWED' });
    expect(await dumpTables(db)).toBe(before);
    await mint({ scope: beside('acme-inc') });
    await mint({ of: other, scope: inTenant('acme-inc') });
  });

  test('an ended user is made anew, and nothing of the old one in any scope is left', async () => {
    let clock = now;
    await using late = createSessionMinter({ db, clock: () => clock, limits, ...times });
    const lifetime = { kind: 'ephemeral', ttlSeconds: 10 } as const;
    const rights = { groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 'x' }] };
    const first = await mint({ scope: inTenant('acme-inc'), definitions, user: { lifetime, ...rights } }, late);
    const wide = await mint({ user: { groups: ['platform_team'] } }, late);
    const { user_id } = await sessionOf(first);
    expect((await sessionOf(wide)).user_id).toBe(user_id);
    clock = new Date(now.getTime() + 10_000);
    // Both scopes at once: in one flight, or in two.
    const [one, two] = await Promise.all([
      mint({ scope: inTenant('acme-inc'), user: { lifetime } }, late),
      mint({ user: { lifetime, userAttributes: [{ name: 'region', value: 'north' }] } }, late),
    ]);
    expect((await sessionOf(one)).user_id).toBe((await sessionOf(two)).user_id);
    expect((await sessionOf(one)).user_id).not.toBe(user_id);
    expect(await subjectOf(one)).toMatchObject({ groups: [], userAttributes: { tier: 9 } });
    expect(await subjectOf(two)).toMatchObject({ groups: [], userAttributes: { region: 'north' } });
    for (const table of ['sessions', 'user_groups', 'user_attribute_values'] as const) {
      expect(await db.selectFrom(table).selectAll().where('user_id', '=', user_id).execute()).toEqual([]);
    }
  });

  test('calls that are refused do not touch those beside them, whose order is that of coming', async () => {
    const asked: (Asked & { readonly code?: string })[] = [
      { externalId: 'a', user: { groups: ['merchant'] } },
      { externalId: 'a', user: { groups: ['none'] }, code: 'GROUPS_NOT_FOUND' },
      { externalId: 'b', deploymentId: other.deploymentId, code: 'NOT_FOUND' },
      { externalId: 'b', deploymentId: 9_007_199_254_740_991, code: 'NOT_FOUND' },
      { internalId: 'nobody', code: 'NOT_FOUND' },
      { internalId: 'analyst' },
      { externalId: 'a', user: { userAttributes: [{ name: 'none', value: 1 }] }, code: 'USER_ATTRIBUTES_NOT_FOUND' },
      { externalId: 'a', user: { userAttributes: [{ name: 'tier', value: 'x' }] }, code: 'ATTRIBUTE_TYPE_MISMATCH' },
      { externalId: 'c', user: { email: 'c@example.com', groups: ['merchant_admin'] } },
      { of: other, externalId: 'a', user: { groups: ['platform_team'] } },
    ];
    // Those before fill the flights, so that these share one.
    const fillers = Array.from({ length: 8 }, (_, index) => mint({ externalId: `filler-${index}` }));
    const settled = await Promise.allSettled(asked.map((one) => mint(one)));
    await Promise.all(fillers);
    expect(settled.map((one) => (one.status === 'rejected' ? one.reason.code : undefined))).toEqual(
      asked.map(({ code }) => code),
    );
    const made = await db
      .selectFrom('users')
      .select('external_id')
      .where('account_id', '=', account.accountId)
      .where('kind', '=', 'external')
      .execute();
    expect(
      made
        .map(({ external_id }) => external_id)
        .filter((id) => id?.length === 1)
        .sort(),
    ).toEqual(['a', 'c']);
  });

  test('one call that the database cannot take fails alone', async () => {
    const fillers = Array.from({ length: 8 }, (_, index) => mint({ externalId: `filler-${index}` }));
    const settled = await Promise.allSettled([
      mint({ externalId: 'before' }),
      // No request can hold this: the shapes refuse it.
      mint({ externalId: 'bad', securityContext: { text: '\u0000' } }),
      mint({ externalId: 'after' }),
    ]);
    await Promise.all(fillers);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const bad = await db
      .selectFrom('users')
      .select('id')
      .where('account_id', '=', account.accountId)
      .where('external_id', '=', 'bad')
      .execute();
    expect(bad).toEqual([]);
  });

  test('calls that change nothing take two statements, however many they are, and the texts are always the same', async () => {
    const noted = noteStatements(db);
    await using counted = createSessionMinter({ db: noted.db, clock: () => now, limits, ...times });
    const asked = (index: number): Asked => ({
      externalId: `user-${index}`,
      user: {
        groups: ['merchant', 'platform_team'].slice(index % 3),
        userAttributes: [{ name: 'merchant_id', value: index }],
      },
    });
    const all = Array.from({ length: 40 }, (_, index) => asked(index));
    await Promise.all(all.map((one) => mint(one, counted)));
    const forNew = new Set(noted.texts);

    noted.texts.length = 0;
    await mint(asked(1), counted);
    const [read, insert] = noted.texts;
    expect(noted.texts).toHaveLength(2);

    noted.texts.length = 0;
    await Promise.all(all.map((one) => mint(one, counted)));
    expect(noted.texts).toEqual([read, insert]);

    // Lock, read, users, rights and sessions, after the first read.
    noted.texts.length = 0;
    await mint({ externalId: 'new', user: { groups: ['merchant'] } }, counted);
    expect(noted.texts).toHaveLength(5);
    for (const text of noted.texts) expect(forNew).toContain(text);
  });

  test('a store that is away fails all who wait, and the minter goes on when it is back', async () => {
    const away = new Error('the store is away');
    let isAway = true;
    const flaky = db.withPlugin({
      transformQuery({ node }) {
        if (isAway) throw away;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const outcomes: string[] = [];
    const metrics = { ...noMetrics, sessionMinted: (outcome: string) => void outcomes.push(outcome) };
    const telemetry = { ...noTelemetry, metrics };
    await using broken = createSessionMinter({ db: flaky, clock: () => now, limits, ...times, telemetry });
    const settled = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => mint({ externalId: `user-${index}` }, broken)),
    );
    expect(settled.map((one) => (one.status === 'rejected' ? one.reason : null))).toEqual(Array(30).fill(away));
    expect(outcomes).toEqual(Array(30).fill('INTERNAL'));
    isAway = false;
    await mint({ externalId: 'back' }, broken);
    expect(outcomes.at(-1)).toBe('OK');
  });

  test('a session stands no longer than all that it needs', async () => {
    const sessionId = await mint({ scope: inTenant('acme-inc') });
    const { id, user_id, embed_tenant_id } = await sessionOf(sessionId);
    const refused = { code: 'UNAUTHENTICATED' };
    const undone = new Error('undo');
    const whileTrue = async (change: (tx: Kysely<Schema>) => Promise<unknown>): Promise<void> => {
      const tried = db.transaction().execute(async (tx) => {
        await change(tx);
        const principal = {
          accountId: account.accountId,
          userId: user_id,
          sessionId: id,
          apiKeyId: null,
          scopeId: embed_tenant_id,
          securityContext: {},
        };
        const askers = createAskers({ db: tx, changes: noChanges });
        await expect(askers.load(principal, now)).rejects.toMatchObject(refused);
        throw undone;
      });
      await expect(tried).rejects.toBe(undone);
    };
    await whileTrue((tx) => tx.updateTable('sessions').set({ revoked_at: now }).where('id', '=', id).execute());
    await whileTrue((tx) => tx.updateTable('sessions').set({ ends_at: now }).where('id', '=', id).execute());
    await whileTrue((tx) => tx.updateTable('users').set({ is_active: false }).where('id', '=', user_id).execute());
    await whileTrue((tx) => tx.updateTable('users').set({ expires_at: now }).where('id', '=', user_id).execute());
    await whileTrue((tx) =>
      tx.updateTable('api_keys').set({ revoked_at: now }).where('id', '=', account.apiKeyId).execute(),
    );
    await whileTrue((tx) => tx.deleteFrom('deployments').where('id', '=', account.deploymentId).execute());
    await whileTrue((tx) => tx.deleteFrom('embed_tenants').where('id', '=', embed_tenant_id).execute());
    await whileTrue((tx) => tx.updateTable('sessions').set({ embed_tenant_id: null }).where('id', '=', id).execute());
    await whileTrue((tx) => tx.updateTable('sessions').set({ id: randomUUID() }).where('id', '=', id).execute());
    // A key that merely expires ends nothing that it minted.
    await db.updateTable('api_keys').set({ expires_at: now }).where('id', '=', account.apiKeyId).execute();
    expect(await subjectOf(sessionId)).toMatchObject({ isEmbedTenantScope: true });
  });
});
