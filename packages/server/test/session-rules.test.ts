/** The rules between the fields of a call: every cell of the table, and every pair of fields that it sets apart. */
import type { GenerateSessionRequest } from '@inlay/contract/embed.ts';
import type { ErrorCode } from '@inlay/contract/error.ts';
import { defaultLimits } from '@inlay/contract/limits.ts';
import { createShapes } from '@inlay/contract/shapes.ts';
import { describe, expect, test } from 'vitest';
import {
  type CallSettings,
  checkFields,
  fieldRules,
  type SessionCall,
  sessionCallOf,
  userOfSessionSettings,
} from '../src/embed/session-rules.ts';
import { InlayError } from '../src/errors.ts';

const callSettings: CallSettings = { ephemeralTtlSecondsDefault: 60, shapes: createShapes(defaultLimits) };
const read = (fields: Partial<GenerateSessionRequest>): SessionCall =>
  sessionCallOf({ deploymentId: 1, ...fields }, callSettings);

const S = 'FIELD_NOT_SUPPORTED';
const R = 'INVALID_REQUEST';

/**
 * What each field beside each id gives, in each place, with nothing else there. Written out, not computed, so that a change
 * of the table in the code shows.
 */
const cells = [
  //                          generate-session            session-settings
  // field                    externalId  internalId      externalId  internalId
  ['roles', /*             */ S, /*    */ S, /*        */ S, /*    */ R],
  ['groups', /*            */ null, /* */ R, /*        */ null, /* */ R],
  ['userAttributes', /*    */ null, /* */ R, /*        */ null, /* */ R],
  ['securityContext', /*   */ null, /* */ R, /*        */ null, /* */ R],
  ['userProfile', /*       */ null, /* */ R, /*        */ S, /*    */ S],
  ['groupDefinitions', /*  */ R, /*    */ R, /*        */ S, /*    */ S],
  ['userAttributeDefinitions', R, /*   */ R, /*        */ S, /*    */ S],
  ['creatorMode', /*       */ null, /* */ null, /*     */ S, /*    */ S],
  ['embedTenantName', /*   */ null, /* */ null, /*     */ S, /*    */ S],
  ['settings', /*          */ null, /* */ null, /*     */ S, /*    */ S],
  ['email', /*             */ null, /* */ null, /*     */ null, /* */ null],
  ['isEphemeral', /*       */ null, /* */ null, /*     */ null, /* */ null],
  ['ephemeralTtlSeconds', /**/ R, /*   */ R, /*        */ null, /* */ null],
] as const satisfies readonly (readonly [string, ...(ErrorCode | null)[]])[];

const columns = [
  ['generate-session', 'externalId'],
  ['generate-session', 'internalId'],
  ['session-settings', 'externalId'],
  ['session-settings', 'internalId'],
] as const;

const places = ['generate-session', 'session-settings'] as const;

describe('the table', () => {
  test('has a row here for every field of a rule', () => {
    const listed: readonly string[] = cells.map(([field]) => field);
    for (const place of places) {
      const { refused, apart, needed } = fieldRules[place];
      const named = [...refused.map(({ field }) => field), ...apart.map(([, field]) => field)];
      expect([...named, ...needed.map(({ field }) => field)].filter((field) => !listed.includes(field))).toEqual([]);
    }
  });

  test.each(
    cells.flatMap(([field, ...codes]) =>
      columns.map(([place, id], index) => ({ place, id, field, code: codes[index] ?? null })),
    ),
  )('$place: $field beside $id gives $code', ({ place, id, field, code }) => {
    // The value does not matter, not even an empty or a false one, save where a test below says so.
    for (const value of [['x'], 'x', 7, true, null]) {
      const failure = failureOf(() => checkFields(place, { [id]: 'seven', [field]: value }));
      expect(failure?.code ?? null).toBe(code);
      // A field that needs two others is named for each.
      if (failure !== undefined) expect(new Set(failure.issues?.map(({ path }) => path))).toEqual(new Set([field]));
    }
  });

  test.each(places.flatMap((place) => fieldRules[place].apart.map(([one, other]) => ({ place, one, other }))))(
    '$place: $one and $other do not stand together, in any order, with anything beside them',
    ({ place, one, other }) => {
      const beside = { creatorMode: true, embedTenantName: 'acme-inc', email: 'a@example.com' };
      const bodies = [
        { [one]: 'x', [other]: [] },
        { [other]: [], [one]: 'x' },
        { [one]: 'x', [other]: null, deploymentId: 1 },
        ...(place === 'generate-session' ? [{ [one]: 'x', [other]: [], ...beside }] : []),
      ];
      for (const body of bodies) {
        const failure = failureOf(() => checkFields(place, body));
        expect(failure).toMatchObject({ code: 'INVALID_REQUEST', message: `Not allowed with ${one}: ${other}` });
        expect(failure?.issues).toEqual([{ path: other, message: `not allowed with ${one}` }]);
      }
      expect(failureOf(() => checkFields(place, { [one]: 'x' }))).toBeUndefined();
    },
  );

  test.each(places.flatMap((place) => fieldRules[place].needed.map((rule) => ({ place, ...rule }))))(
    '$place: $field needs $needs',
    ({ place, field, needs, value }) => {
      const others = Object.fromEntries(
        fieldRules[place].needed
          .filter((rule) => rule.field === field && rule.needs !== needs)
          .map((rule) => [rule.needs, rule.value ?? 'acme-inc']),
      );
      const complete = { externalId: 'a', [field]: [], ...others, [needs]: value ?? 'acme-inc' };
      expect(failureOf(() => checkFields(place, complete))).toBeUndefined();
      const without = { externalId: 'a', [field]: [], ...others };
      const wrong =
        value === undefined
          ? []
          : [
              { ...without, [needs]: false },
              { ...without, [needs]: 'true' },
            ];
      for (const body of [without, ...wrong]) {
        expect(failureOf(() => checkFields(place, body))).toMatchObject({
          code: 'INVALID_REQUEST',
          issues: [{ path: field, message: `needs ${needs}${value === undefined ? '' : ': true'}` }],
        });
      }
    },
  );

  test('all fields concerned are named at once', () => {
    const failure = failureOf(() => checkFields('generate-session', { internalId: 'a', groups: [], userProfile: {} }));
    expect(failure?.message).toBe('Not allowed with internalId: groups, userProfile');
    expect(failure?.issues).toHaveLength(2);
  });

  test.each([
    { place: 'generate-session', body: { externalId: 'a', roles: [] }, code: null },
    { place: 'generate-session', body: { internalId: 'a', roles: [] }, code: null },
    { place: 'generate-session', body: { externalId: 'a', creatorMode: false }, code: null },
    { place: 'generate-session', body: { externalId: 'a', somethingElse: 1 }, code: null },
    { place: 'session-settings', body: { externalId: 'a', creatorMode: false }, code: S },
    { place: 'session-settings', body: { externalId: 'a', roles: [] }, code: null },
    { place: 'session-settings', body: { internalId: 'a', roles: [] }, code: R },
    { place: 'session-settings', body: ['groups'], code: null },
    { place: 'session-settings', body: 'x', code: null },
    { place: 'session-settings', body: null, code: null },
  ] as const)('$place: $body gives $code', ({ place, body, code }) => {
    expect(failureOf(() => checkFields(place, body))?.code ?? null).toBe(code);
  });

  test('roles are told to be groups', () => {
    const failure = failureOf(() => checkFields('generate-session', { externalId: 'a', roles: ['admin'] }));
    expect(failure?.message).toBe('Inlay has no roles: use groups');
  });
});

test.each([{}, { externalId: 'a', internalId: 'b' }, { email: 'a@example.com' }])(
  '%j names not exactly one user',
  (ids) => {
    for (const readIds of [() => read(ids), () => userOfSessionSettings(ids, 60)]) {
      expect(failureOf(readIds)?.code).toBe('INVALID_REQUEST');
    }
  },
);

const twice = [{ name: 'a' }, { name: 'b' }, { name: 'a' }];
test.each<{ path: string; fields: Partial<GenerateSessionRequest> }>([
  { path: 'groups.2', fields: { groups: ['a', 'b', 'a'] } },
  { path: 'userAttributes.2.name', fields: { userAttributes: twice.map(({ name }) => ({ name, value: 1 })) } },
  { path: 'groupDefinitions.2.name', fields: { groupDefinitions: twice } },
  {
    path: 'userAttributeDefinitions.2.name',
    fields: { userAttributeDefinitions: twice.map(({ name }) => ({ name, type: 'string' as const })) },
  },
])('a name that occurs twice is refused: $path', ({ path, fields }) => {
  const failure = failureOf(() => read({ externalId: 'a', ...fields }));
  expect(failure).toMatchObject({ code: 'DUPLICATE_NAME', message: `Duplicate names in ${Object.keys(fields)[0]}` });
  expect(failure?.issues).toEqual([{ path, message: 'a occurs twice' }]);
});

test('the same name may be a group, an attribute, and a definition of each', () => {
  const name = 'a';
  expect(
    read({
      externalId: 'a',
      groups: [name],
      userAttributes: [{ name, value: 'x' }],
      groupDefinitions: [{ name }],
      userAttributeDefinitions: [{ name, type: 'string' }],
    }),
  ).toMatchObject({ definitions: { groups: [{ name }], attributes: [{ name }] } });
});

describe('the parsed call', () => {
  test.each([
    [{}, { kind: 'tenant-wide', embedTenantName: null }],
    [{ creatorMode: false }, { kind: 'tenant-wide', embedTenantName: null }],
    [{ embedTenantName: 'acme-inc' }, { kind: 'tenant-wide', embedTenantName: 'acme-inc' }],
    [
      { embedTenantName: 'acme-inc', creatorMode: false },
      { kind: 'tenant-wide', embedTenantName: 'acme-inc' },
    ],
    [{ creatorMode: true }, { kind: 'embed-tenant', embedTenantName: 'default' }],
    [
      { creatorMode: true, embedTenantName: 'acme-inc' },
      { kind: 'embed-tenant', embedTenantName: 'acme-inc' },
    ],
  ])('%j works in the scope %j', (fields, scope) => {
    expect(read({ externalId: 'a', ...fields }).scope).toEqual(scope);
    expect(read({ internalId: 'a', ...fields })).toMatchObject({ scope, user: { kind: 'internal', internalId: 'a' } });
  });

  test.each([
    [{}, null],
    [{ groupDefinitions: [] }, { groups: [], attributes: [] }],
    [{ groupDefinitions: [{ name: 'g' }] }, { groups: [{ name: 'g' }], attributes: [] }],
    [
      { userAttributeDefinitions: [{ name: 'a', type: 'number' as const }] },
      { groups: [], attributes: [{ name: 'a', type: 'number' }] },
    ],
  ])('%j defines %j', (fields, definitions) => {
    expect(read({ externalId: 'a', ...fields }).definitions).toEqual(definitions);
  });

  test('what is left out stays undefined for the user, and is empty for the session', () => {
    expect(read({ externalId: 'a' })).toEqual({
      deploymentId: 1,
      scope: { kind: 'tenant-wide', embedTenantName: null },
      definitions: null,
      user: {
        kind: 'external',
        externalId: 'a',
        email: undefined,
        userProfile: undefined,
        userAttributes: undefined,
        groups: undefined,
        lifetime: { kind: 'unchanged' },
      },
      securityContext: {},
      settings: {},
    });
  });
});

test.each([
  { settings: {}, inSettings: { kind: 'ephemeral', ttlSeconds: 60 }, inSession: { kind: 'unchanged' } },
  {
    settings: { isEphemeral: true },
    inSettings: { kind: 'ephemeral', ttlSeconds: 60 },
    inSession: { kind: 'ephemeral', ttlSeconds: 60 },
  },
  {
    settings: { isEphemeral: true, ephemeralTtlSeconds: 5 },
    inSettings: { kind: 'ephemeral', ttlSeconds: 5 },
    inSession: { kind: 'ephemeral', ttlSeconds: 5 },
  },
  { settings: { ephemeralTtlSeconds: 5 }, inSettings: { kind: 'ephemeral', ttlSeconds: 5 }, inSession: null },
  { settings: { isEphemeral: false }, inSettings: { kind: 'persistent' }, inSession: { kind: 'persistent' } },
  {
    settings: { isEphemeral: false, ephemeralTtlSeconds: 5 },
    inSettings: { kind: 'persistent' },
    inSession: null,
  },
])('a user of $settings lives $inSettings in sessionSettings, $inSession in a session', (row) => {
  const fields = { externalId: 'a', ...row.settings };
  expect(userOfSessionSettings(fields, 60)).toMatchObject({ lifetime: row.inSettings });
  if (row.inSession === null) {
    expect(failureOf(() => checkFields('generate-session', fields))?.code).toBe('INVALID_REQUEST');
  } else expect(read(fields).user).toMatchObject({ lifetime: row.inSession });
});

describe('defaults', () => {
  const define = (type: 'string' | 'number' | 'boolean' | 'string_array' | 'number_array', defaultValue: string) =>
    read({ externalId: 'a', userAttributeDefinitions: [{ name: 'a', type, defaultValue }] });

  test.each([
    ['string', 'anything'],
    ['string', ''],
    ['number', '-0.5e3'],
    ['boolean', 'true'],
    ['string_array', '["a","b"]'],
    ['number_array', '[]'],
  ] as const)('%s: %j', (type, text) => {
    expect(define(type, text).definitions?.attributes).toEqual([{ name: 'a', type, defaultValue: text }]);
  });

  test.each([
    ['number', 'seven', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['number', '', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['number', '1e999', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['boolean', 'yes', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['string_array', 'a,b', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['string_array', '[1]', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['number_array', '["1"]', 'ATTRIBUTE_TYPE_MISMATCH'],
    ['string', 'é'.repeat(2049), 'ATTRIBUTE_TEXT_TOO_LONG'],
    ['number_array', JSON.stringify(Array(1001).fill(1)), 'ATTRIBUTE_LIST_TOO_LONG'],
    ['string_array', '["\\u0000"]', 'INVALID_REQUEST'],
    ['string_array', '["\\ud800"]', 'INVALID_REQUEST'],
  ] as const)('%s: %.20j is refused', (type, text, code) => {
    const failure = failureOf(() => define(type, text));
    expect(failure?.code).toBe(code);
    expect(failure?.issues?.map(({ path }) => path)).toEqual(['userAttributeDefinitions.0.defaultValue']);
  });
});

test.each([
  [{ timezone: 'UTC' }, null],
  [{ timezone: 'Etc/UTC', branchName: 'main', theme: 'dark' as const }, null],
  [{ timezone: 'Europe/Zurich' }, null],
  // Whether there is such a branch is for the deployment to say.
  [{ branchName: 'dev' }, null],
])('settings %j give %s', (settings, code) => {
  expect(failureOf(() => read({ externalId: 'a', settings }))?.code ?? null).toBe(code);
  if (code === null) expect(read({ externalId: 'a', settings }).settings).toEqual(settings);
});

function failureOf(work: () => unknown): InlayError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof InlayError) return error;
    throw error;
  }
}
