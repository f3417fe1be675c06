/** The rules of a call that means a user, as a table and as properties, without a store. */
import type { AttributeValue } from '@inlay/contract/user.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Changes, type Decision, decide } from '../src/users/decide.ts';
import type { Stored, StoredAttribute, StoredGroup, StoredUser } from '../src/users/stored.ts';
import type { Definitions, ExternalUserSettings, Lifetime, Scope } from '../src/users/user-call.ts';

const now = new Date('2026-03-01T12:00:00Z');
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const tenant: Scope = { kind: 'embed-tenant', embedTenantName: 'acme-inc' };
const wide: Scope = { kind: 'tenant-wide', embedTenantName: null };

const group = (name: string, description: string | null = null): StoredGroup => ({ name, description });
const attribute = (name: string, type: StoredAttribute['type'], more: Partial<StoredAttribute> = {}) => ({
  name,
  type,
  displayName: null,
  defaultValue: null,
  description: null,
  ...more,
});
const byName = <Entry extends { readonly name: string }>(...entries: Entry[]): ReadonlyMap<string, Entry> =>
  new Map(entries.map((entry) => [entry.name, entry]));

const user = (more: Partial<StoredUser> = {}): StoredUser => ({
  email: 'a@example.com',
  displayName: 'A',
  picture: null,
  expiresAt: null,
  isActive: true,
  groups: new Set(['editors']),
  values: new Map<string, AttributeValue>([
    ['level', 3],
    ['regions', ['north', 'south']],
    ['title', null],
  ]),
  ...more,
});
const stored = (more: Partial<Stored> = {}): Stored => ({
  useCreatorMode: true,
  persistentUsers: { count: 1, max: 10 },
  ephemeralUsers: { count: 1, max: 10 },
  hasDeployment: true,
  hasEmbedTenant: true,
  groups: byName(group('editors', 'who edits'), group('readers')),
  attributes: byName(
    attribute('level', 'number', { displayName: 'Level', defaultValue: '1', description: 'how high' }),
    attribute('regions', 'string_array'),
    attribute('title', 'string'),
    attribute('is_new', 'boolean'),
  ),
  user: user(),
  hasInternalUser: false,
  ...more,
});
const settings = (more: Partial<ExternalUserSettings> = {}): ExternalUserSettings => ({
  kind: 'external',
  externalId: 'seven',
  email: undefined,
  userProfile: undefined,
  userAttributes: undefined,
  groups: undefined,
  lifetime: { kind: 'unchanged' },
  ...more,
});

interface Asked {
  readonly scope?: Scope;
  readonly definitions?: Partial<Definitions>;
  readonly user?: Partial<ExternalUserSettings>;
  readonly internal?: true;
  readonly stored?: Partial<Stored>;
}
const decideOn = (asked: Asked): Decision =>
  decide(
    {
      scope: asked.scope ?? tenant,
      definitions: asked.definitions === undefined ? null : { groups: [], attributes: [], ...asked.definitions },
      settings: asked.internal ? { kind: 'internal', internalId: 'analyst' } : settings(asked.user),
    },
    stored(asked.stored),
    now,
  );
const changesOf = (asked: Asked): Changes => {
  const decision = decideOn(asked);
  if (decision.kind !== 'changes') throw new Error(`It is ${JSON.stringify(decision)}.`);
  return decision.changes;
};

describe('a call that says what is there changes nothing', () => {
  test.each<[string, Asked]>([
    ['nothing but the name', {}],
    ['the same email', { user: { email: 'a@example.com' } }],
    ['the same profile', { user: { userProfile: { displayName: 'A' } } }],
    ['an empty profile', { user: { userProfile: {} } }],
    ['the same groups', { user: { groups: ['editors'] } }],
    [
      'the same values',
      {
        user: {
          userAttributes: [
            { name: 'level', value: 3 },
            { name: 'title', value: null },
          ],
        },
      },
    ],
    ['the same list', { user: { userAttributes: [{ name: 'regions', value: ['north', 'south'] }] } }],
    ['no values', { user: { userAttributes: [] } }],
    ['persistent, and is', { user: { lifetime: { kind: 'persistent' } } }],
    ['ephemeral, and is persistent', { user: { lifetime: { kind: 'ephemeral', ttlSeconds: 1 } } }],
    [
      'a later end',
      { user: { lifetime: { kind: 'ephemeral', ttlSeconds: 9 } }, stored: { user: user({ expiresAt: after(5) }) } },
    ],
    [
      'the same definitions',
      {
        definitions: {
          groups: [{ name: 'editors', description: 'who edits' }],
          attributes: [
            { name: 'level', type: 'number', displayName: 'Level', defaultValue: '1', description: 'how high' },
          ],
        },
      },
    ],
    [
      'definitions without more',
      { definitions: { groups: [{ name: 'editors' }], attributes: [{ name: 'level', type: 'number' }] } },
    ],
    [
      'an empty description',
      {
        definitions: {
          groups: [{ name: 'editors', description: '' }],
          attributes: [{ name: 'level', type: 'number', description: '' }],
        },
      },
    ],
    ['an internal user', { internal: true, stored: { hasInternalUser: true, user: null } }],
    ['a full account', { stored: { persistentUsers: { count: 10, max: 10 } } }],
  ])('%s', (_name, asked) => {
    expect(decideOn(asked)).toEqual({ kind: 'unchanged' });
  });
});

describe('what changes', () => {
  test('of a profile, only what is sent (service.md 4.1 rule 2)', () => {
    const { user: change } = changesOf({ user: { userProfile: { picture: 'https://a.example/p.png' } } });
    expect(change).toMatchObject({
      isNew: false,
      fields: { email: 'a@example.com', displayName: 'A', picture: 'https://a.example/p.png', expiresAt: null },
      groups: null,
      takesPlace: null,
    });
    expect(change?.values.size).toBe(0);
  });

  test.each([
    ['cleared', []],
    ['replaced', ['readers']],
    ['more', ['readers', 'editors']],
  ])('groups: %s (service.md 4.1 rule 5)', (_name, groups) => {
    expect([...(changesOf({ user: { groups } }).user?.groups ?? ['none'])]).toEqual(groups);
  });

  test.each<[string, AttributeValue]>([
    ['level', 4],
    ['level', null],
    ['regions', ['south', 'north']],
    ['regions', ['north']],
    ['regions', []],
    ['title', ''],
    ['title', 'x'],
    ['is_new', null],
    ['is_new', false],
  ])('the value of %s: %j (service.md 4.1 rule 4)', (name, value) => {
    const { user: change } = changesOf({ user: { userAttributes: [{ name, value }] } });
    expect([...(change?.values ?? [])]).toEqual([[name, value]]);
  });

  test.each<[string, Partial<Definitions>, Partial<Changes>]>([
    ['a new group', { groups: [{ name: 'new' }] }, { groups: [group('new')] }],
    ['its description', { groups: [{ name: 'editors', description: 'x' }] }, { groups: [group('editors', 'x')] }],
    [
      'an attribute in part',
      { attributes: [{ name: 'level', type: 'number', displayName: 'L' }] },
      { attributes: [attribute('level', 'number', { displayName: 'L', defaultValue: '1', description: 'how high' })] },
    ],
    [
      'a default',
      { attributes: [{ name: 'title', type: 'string', defaultValue: '' }] },
      { attributes: [attribute('title', 'string', { defaultValue: '' })] },
    ],
    [
      'a new attribute',
      { attributes: [{ name: 'new', type: 'boolean' }] },
      { attributes: [attribute('new', 'boolean')] },
    ],
  ])('by definitions: %s', (_name, definitions, changes) => {
    expect(changesOf({ definitions })).toEqual({
      makesEmbedTenant: false,
      groups: [],
      attributes: [],
      user: null,
      ...changes,
    });
  });

  test('names of the same call resolve against what it defines (service.md 4.1 rule 7)', () => {
    const { user: change } = changesOf({
      definitions: { groups: [{ name: 'new' }], attributes: [{ name: 'fresh', type: 'number_array' }] },
      user: { groups: ['new', 'editors'], userAttributes: [{ name: 'fresh', value: [1] }] },
    });
    expect(change).toMatchObject({ groups: new Set(['new', 'editors']), values: new Map([['fresh', [1]]]) });
  });

  test('an embed tenant comes into being, also for an internal user', () => {
    const missing = { hasEmbedTenant: false };
    expect(changesOf({ stored: missing }).makesEmbedTenant).toBe(true);
    expect(changesOf({ internal: true, stored: { ...missing, hasInternalUser: true, user: null } })).toEqual({
      makesEmbedTenant: true,
      groups: [],
      attributes: [],
      user: null,
    });
  });

  test.each<
    [string, StoredUser | null, Lifetime, { expiresAt: Date | null; takesPlace: string | null; isNew: boolean }]
  >([
    ['new, unchanged', null, { kind: 'unchanged' }, { expiresAt: null, takesPlace: 'persistent', isNew: true }],
    ['new, persistent', null, { kind: 'persistent' }, { expiresAt: null, takesPlace: 'persistent', isNew: true }],
    [
      'new, ephemeral',
      null,
      { kind: 'ephemeral', ttlSeconds: 9 },
      { expiresAt: after(9), takesPlace: 'ephemeral', isNew: true },
    ],
    [
      'ephemeral, nearer',
      user({ expiresAt: after(20) }),
      { kind: 'ephemeral', ttlSeconds: 9 },
      { expiresAt: after(9), takesPlace: null, isNew: false },
    ],
    [
      'ephemeral, persistent',
      user({ expiresAt: after(20) }),
      { kind: 'persistent' },
      { expiresAt: null, takesPlace: 'persistent', isNew: false },
    ],
    [
      'ended this instant',
      user({ expiresAt: now }),
      { kind: 'unchanged' },
      { expiresAt: null, takesPlace: 'persistent', isNew: true },
    ],
    [
      'ended, ephemeral',
      user({ expiresAt: after(-1) }),
      { kind: 'ephemeral', ttlSeconds: 9 },
      { expiresAt: after(9), takesPlace: 'ephemeral', isNew: true },
    ],
    [
      'ended and inactive',
      user({ expiresAt: now, isActive: false }),
      { kind: 'persistent' },
      { expiresAt: null, takesPlace: 'persistent', isNew: true },
    ],
  ])('how long a user lives: %s', (_name, present, lifetime, { expiresAt, takesPlace, isNew }) => {
    const { user: change } = changesOf({ stored: { user: present }, user: { lifetime } });
    expect(change).toMatchObject({ fields: { expiresAt }, takesPlace, isNew });
    if (isNew) expect(change?.fields).toMatchObject({ email: null, displayName: null, picture: null });
  });
});

const conflict = {
  attributes: [
    { name: 'level', type: 'string' as const },
    { name: 'new', type: 'string' as const },
  ],
};
const full = { persistentUsers: { count: 10, max: 10 }, ephemeralUsers: { count: 10, max: 10 } };

describe('refusals', () => {
  test.each<[string, Asked, string, string]>([
    [
      'creator mode is off',
      { stored: { useCreatorMode: false } },
      'CREATOR_MODE_NOT_ALLOWED',
      'Creator mode is not enabled for this account',
    ],
    [
      'an attribute is unknown',
      { user: { userAttributes: [{ name: 'none', value: 1 }] } },
      'USER_ATTRIBUTES_NOT_FOUND',
      'User attributes not found',
    ],
    [
      'groups are unknown',
      { user: { groups: ['zebra', 'editors', 'ant'] } },
      'GROUPS_NOT_FOUND',
      'Groups with names zebra, ant not found',
    ],
    [
      'a value is of another type',
      { user: { userAttributes: [{ name: 'level', value: '3' }] } },
      'ATTRIBUTE_TYPE_MISMATCH',
      'User attributes do not have the type of their definition',
    ],
    [
      'a value is of another type than the definition beside it',
      {
        definitions: { attributes: [{ name: 'fresh', type: 'number' }] },
        user: { userAttributes: [{ name: 'fresh', value: 'x' }] },
      },
      'ATTRIBUTE_TYPE_MISMATCH',
      'User attributes do not have the type of their definition',
    ],
    [
      'a type would change',
      { definitions: conflict },
      'ATTRIBUTE_TYPE_IMMUTABLE',
      'User attribute level cannot change type from number to string',
    ],
    ['the deployment is unknown', { stored: { hasDeployment: false } }, 'NOT_FOUND', 'Deployment not found'],
    [
      'the internal user is unknown',
      { internal: true, stored: { user: null } },
      'NOT_FOUND',
      'Internal user not found',
    ],
    ['the user is inactive', { stored: { user: user({ isActive: false }) } }, 'NOT_FOUND', 'External user not found'],
    [
      'the account is full',
      { stored: { ...full, user: null } },
      'EXTERNAL_USER_LIMIT',
      'The account has as many external users as it may have: 10',
    ],
    [
      'it is full of ephemeral users',
      { stored: { ...full, user: null }, user: { lifetime: { kind: 'ephemeral', ttlSeconds: 1 } } },
      'EPHEMERAL_USER_LIMIT',
      'The account has as many ephemeral users as it may have: 10',
    ],
    [
      'nobody more can be made persistent',
      { stored: { ...full, user: user({ expiresAt: after(9) }) }, user: { lifetime: { kind: 'persistent' } } },
      'EXTERNAL_USER_LIMIT',
      'The account has as many external users as it may have: 10',
    ],
  ])('%s', (_name, asked, code, message) => {
    expect(decideOn(asked)).toMatchObject({ kind: 'refused', error: { code, message } });
  });

  test.each<[string, Asked, string]>([
    ['403 before 400', { user: { groups: ['none'] }, stored: { useCreatorMode: false } }, 'CREATOR_MODE_NOT_ALLOWED'],
    [
      'attributes before groups',
      { user: { groups: ['none'], userAttributes: [{ name: 'none', value: 1 }] } },
      'USER_ATTRIBUTES_NOT_FOUND',
    ],
    ['400 before 404', { user: { groups: ['none'] }, stored: { hasDeployment: false } }, 'GROUPS_NOT_FOUND'],
    ['404 before 409', { definitions: conflict, stored: { hasDeployment: false } }, 'NOT_FOUND'],
    ['404 before 429', { stored: { ...full, user: null, hasDeployment: false } }, 'NOT_FOUND'],
    [
      'definitions before the names that refer to them',
      { definitions: conflict, user: { groups: ['none'], userAttributes: [{ name: 'level', value: 'x' }] } },
      'ATTRIBUTE_TYPE_IMMUTABLE',
    ],
    ['409 before 429', { definitions: conflict, stored: { ...full, user: null } }, 'ATTRIBUTE_TYPE_IMMUTABLE'],
  ])('%s', (_name, asked, code) => {
    expect(decideOn(asked)).toMatchObject({ kind: 'refused', error: { code } });
  });

  test('creator mode is asked for by creator-mode calls only', () => {
    expect(decideOn({ scope: wide, stored: { useCreatorMode: false } })).toEqual({ kind: 'unchanged' });
  });

  test('users who were not counted are not refused: that is decided again under the lock', () => {
    const uncounted = { persistentUsers: { count: null, max: 0 }, user: null };
    expect(changesOf({ stored: uncounted }).user).toMatchObject({ takesPlace: 'persistent' });
  });
});

describe('for all calls', () => {
  const names = ['a', 'b', 'c', 'd'];
  const types = ['string', 'number', 'boolean', 'string_array', 'number_array'] as const;
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const some = <T>(value: fc.Arbitrary<T>) =>
    fc.subarray(names).chain((chosen) => fc.tuple(...chosen.map((name) => fc.tuple(fc.constant(name), value))));
  const text = fc.constantFrom('', 'x', 'y');
  const values = fc.constantFrom<AttributeValue>(null, 0, 1.5, '', 'x', true, false, [], ['x'], [1]);
  const lifetimes = fc.constantFrom<Lifetime>(
    { kind: 'unchanged' },
    { kind: 'persistent' },
    { kind: 'ephemeral', ttlSeconds: 5 },
    { kind: 'ephemeral', ttlSeconds: 500 },
  );
  const callOf = fc.record({
    definitions: maybe(
      fc.record({
        groups: some(maybe(text)).map((all) => all.map(([name, description]) => ({ name, description }))),
        attributes: some(fc.tuple(fc.constantFrom(...types), maybe(text), maybe(text))).map((all) =>
          all.map(([name, [type, displayName, description]]) => ({ name, type, displayName, description })),
        ),
      }),
    ),
    settings: fc.record({
      kind: fc.constant('external' as const),
      externalId: fc.constant('seven'),
      email: maybe(fc.constantFrom('a@example.com', 'b@example.com')),
      userProfile: maybe(fc.record({ displayName: maybe(text), picture: maybe(text) })),
      userAttributes: maybe(some(values).map((all) => all.map(([name, value]) => ({ name, value })))),
      groups: maybe(fc.subarray(names)),
      lifetime: lifetimes,
    }),
  });
  const storedOf = fc.record({
    useCreatorMode: fc.boolean(),
    count: fc.constantFrom(0, 9, 10),
    hasDeployment: fc.boolean(),
    hasEmbedTenant: fc.boolean(),
    groups: some(maybe(text)).map((all) =>
      byName(...all.map(([name, description]) => group(name, description ?? null))),
    ),
    attributes: some(fc.constantFrom(...types)).map((all) =>
      byName(...all.map(([name, type]) => attribute(name, type))),
    ),
    user: fc.option(
      fc.record({
        isActive: fc.boolean(),
        expiresAt: fc.constantFrom(null, after(-1), now, after(50)),
        groups: fc.subarray(names).map((all) => new Set(all)),
      }),
    ),
  });
  const world = fc.tuple(callOf, storedOf, fc.boolean()).map(([call, { count, user: present, ...rest }, isLikely]) => ({
    call: { scope: tenant, ...call, definitions: call.definitions ?? null },
    stored: stored({
      ...rest,
      // What refuses everything comes seldom enough for the rest to be seen.
      ...(isLikely ? { useCreatorMode: true, hasDeployment: true } : {}),
      persistentUsers: { count, max: 10 },
      user: present === null ? null : user({ ...present, values: new Map() }),
    }),
  }));

  /** The store after the changes of a call. */
  function applied(before: Stored, { makesEmbedTenant, groups, attributes, user: change }: Changes): Stored {
    const present = change?.isNew === false ? before.user : null;
    return {
      ...before,
      hasEmbedTenant: before.hasEmbedTenant || makesEmbedTenant,
      groups: new Map([...before.groups, ...byName(...groups)]),
      attributes: new Map([...before.attributes, ...byName(...attributes)]),
      user:
        change === null
          ? before.user
          : {
              ...change.fields,
              isActive: true,
              groups: change.groups ?? present?.groups ?? new Set(),
              values: new Map([...(present?.values ?? []), ...change.values]),
            },
    };
  }

  test('the same call again changes nothing (service.md 4.1 rule 7)', () => {
    let changed = 0;
    fc.assert(
      fc.property(world, ({ call, stored: before }) => {
        const decision = decide(call, before, now);
        if (decision.kind !== 'changes') return;
        changed += 1;
        expect(decide(call, applied(before, decision.changes), now)).toEqual({ kind: 'unchanged' });
      }),
      { numRuns: 2000 },
    );
    expect(changed).toBeGreaterThan(100);
  });

  test('no description is ever cleared, no type ever changed, and what is not named stays', () => {
    fc.assert(
      fc.property(world, ({ call, stored: before }) => {
        const decision = decide(call, before, now);
        if (decision.kind !== 'changes') return;
        const end = applied(before, decision.changes);
        for (const [name, { description }] of before.groups) {
          if (description) expect(end.groups.get(name)?.description).toBeTruthy();
        }
        for (const [name, { type }] of before.attributes) expect(end.attributes.get(name)?.type).toBe(type);
        const defined = new Set(call.definitions?.groups.map(({ name }) => name));
        for (const { name } of decision.changes.groups) expect(defined).toContain(name);
        for (const name of decision.changes.user?.values.keys() ?? []) {
          expect(call.settings.userAttributes?.map((value) => value.name)).toContain(name);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
