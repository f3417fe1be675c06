import { expect, test } from 'vitest';
import {
  checkFields,
  fieldsForbiddenWithInternalId,
  fieldsNotSupported,
  userOfSessionRequest,
  userOfSessionSettings,
} from '../src/embed/session-rules.ts';
import { InlayError } from '../src/errors.ts';

const places = ['generate-session', 'session-settings'] as const;
const all = ['roles', 'groups', 'userAttributes', 'groupDefinitions', 'userAttributeDefinitions', 'securityContext'];
const more = [
  'userProfile',
  'email',
  'creatorMode',
  'embedTenantName',
  'settings',
  'isEphemeral',
  'ephemeralTtlSeconds',
];

/** Written out, not computed, so that a change of the tables in the code shows. */
const expected = {
  'generate-session': {
    internalId: {
      roles: 'FIELD_NOT_SUPPORTED',
      groups: 'INVALID_REQUEST',
      userAttributes: 'INVALID_REQUEST',
      groupDefinitions: 'INVALID_REQUEST',
      userAttributeDefinitions: 'INVALID_REQUEST',
      securityContext: 'INVALID_REQUEST',
      userProfile: 'INVALID_REQUEST',
      email: null,
      creatorMode: 'FIELD_NOT_SUPPORTED',
      embedTenantName: 'FIELD_NOT_SUPPORTED',
      settings: 'FIELD_NOT_SUPPORTED',
      isEphemeral: 'FIELD_NOT_SUPPORTED',
      ephemeralTtlSeconds: 'FIELD_NOT_SUPPORTED',
    },
    externalId: {
      roles: 'FIELD_NOT_SUPPORTED',
      groups: null,
      userAttributes: null,
      groupDefinitions: 'FIELD_NOT_SUPPORTED',
      userAttributeDefinitions: 'FIELD_NOT_SUPPORTED',
      securityContext: null,
      userProfile: null,
      email: null,
      creatorMode: 'FIELD_NOT_SUPPORTED',
      embedTenantName: 'FIELD_NOT_SUPPORTED',
      settings: 'FIELD_NOT_SUPPORTED',
      isEphemeral: 'FIELD_NOT_SUPPORTED',
      ephemeralTtlSeconds: 'FIELD_NOT_SUPPORTED',
    },
  },
  'session-settings': {
    internalId: {
      roles: 'INVALID_REQUEST',
      groups: 'INVALID_REQUEST',
      userAttributes: 'INVALID_REQUEST',
      groupDefinitions: 'FIELD_NOT_SUPPORTED',
      userAttributeDefinitions: 'FIELD_NOT_SUPPORTED',
      securityContext: 'INVALID_REQUEST',
      userProfile: 'FIELD_NOT_SUPPORTED',
      email: null,
      creatorMode: 'FIELD_NOT_SUPPORTED',
      embedTenantName: 'FIELD_NOT_SUPPORTED',
      settings: 'FIELD_NOT_SUPPORTED',
      isEphemeral: null,
      ephemeralTtlSeconds: null,
    },
    externalId: {
      roles: 'FIELD_NOT_SUPPORTED',
      groups: null,
      userAttributes: null,
      groupDefinitions: 'FIELD_NOT_SUPPORTED',
      userAttributeDefinitions: 'FIELD_NOT_SUPPORTED',
      securityContext: null,
      userProfile: 'FIELD_NOT_SUPPORTED',
      email: null,
      creatorMode: 'FIELD_NOT_SUPPORTED',
      embedTenantName: 'FIELD_NOT_SUPPORTED',
      settings: 'FIELD_NOT_SUPPORTED',
      isEphemeral: null,
      ephemeralTtlSeconds: null,
    },
  },
} as const satisfies Record<string, Record<string, Record<string, string | null>>>;

const cells = places.flatMap((place) =>
  (['internalId', 'externalId'] as const).flatMap((id) =>
    Object.entries(expected[place][id]).map(([field, code]) => ({ place, id, field, code })),
  ),
);

test('the table of expectations has every field in every place', () => {
  expect(cells).toHaveLength(2 * 2 * (all.length + more.length));
  for (const place of places) {
    for (const field of [...fieldsForbiddenWithInternalId[place], ...fieldsNotSupported[place]]) {
      expect([...all, ...more]).toContain(field);
    }
  }
});

test.each(cells)('$place: $field beside $id gives $code', ({ place, id, field, code }) => {
  // The value does not matter, not even an empty or a false one, save where a test below says so.
  for (const value of [['x'], 'x', 7, true, null]) {
    const failure = failureOf(() => checkFields(place, { [id]: 'seven', [field]: value }));
    expect(failure?.code ?? null).toBe(code);
    if (failure !== undefined) expect(failure.issues?.map(({ path }) => path)).toEqual([field]);
  }
});

test.each([
  { place: 'generate-session', body: { externalId: 'a', creatorMode: false }, code: null },
  { place: 'generate-session', body: { externalId: 'a', roles: [] }, code: null },
  { place: 'generate-session', body: { internalId: 'a', roles: [] }, code: null },
  { place: 'generate-session', body: { externalId: 'a', somethingElse: 1 }, code: null },
  { place: 'generate-session', body: { externalId: 'a', groupDefinitions: [] }, code: 'FIELD_NOT_SUPPORTED' },
  { place: 'generate-session', body: { internalId: 'a', groups: [] }, code: 'INVALID_REQUEST' },
  { place: 'session-settings', body: { externalId: 'a', creatorMode: false }, code: 'FIELD_NOT_SUPPORTED' },
  { place: 'session-settings', body: { externalId: 'a', roles: [] }, code: null },
  { place: 'session-settings', body: { internalId: 'a', roles: [] }, code: 'INVALID_REQUEST' },
  { place: 'session-settings', body: ['groups'], code: null },
  { place: 'session-settings', body: 'x', code: null },
] as const)('$place: $body gives $code', ({ place, body, code }) => {
  expect(failureOf(() => checkFields(place, body))?.code ?? null).toBe(code);
});

test('roles are told to be groups', () => {
  expect(failureOf(() => checkFields('generate-session', { externalId: 'a', roles: ['admin'] }))?.message).toMatch(
    /groups/,
  );
});

test.each([{}, { externalId: 'a', internalId: 'b' }, { email: 'a@example.com' }])(
  '%j names not exactly one user',
  (ids) => {
    for (const read of [
      () => userOfSessionRequest({ deploymentId: 1, ...ids }),
      () => userOfSessionSettings(ids, 60),
    ]) {
      expect(failureOf(read)?.code).toBe('INVALID_REQUEST');
    }
  },
);

test.each([
  { groups: ['a', 'b', 'a'], path: 'groups.2' },
  {
    userAttributes: [
      { name: 'a', value: 1 },
      { name: 'a', value: 1 },
    ],
    path: 'userAttributes.1.name',
  },
])('a name that occurs twice is refused: $path', ({ path, ...lists }) => {
  const failure = failureOf(() => userOfSessionRequest({ deploymentId: 1, externalId: 'a', ...lists }));
  expect(failure?.code).toBe('DUPLICATE_NAME');
  expect(failure?.issues?.map((issue) => issue.path)).toEqual([path]);
});

test.each([
  { settings: {}, lifetime: { kind: 'ephemeral', ttlSeconds: 60 } },
  { settings: { isEphemeral: true }, lifetime: { kind: 'ephemeral', ttlSeconds: 60 } },
  { settings: { ephemeralTtlSeconds: 5 }, lifetime: { kind: 'ephemeral', ttlSeconds: 5 } },
  { settings: { isEphemeral: false }, lifetime: { kind: 'persistent' } },
  { settings: { isEphemeral: false, ephemeralTtlSeconds: 5 }, lifetime: { kind: 'persistent' } },
])('sessionSettings $settings live $lifetime', ({ settings, lifetime }) => {
  expect(userOfSessionSettings({ externalId: 'a', ...settings }, 60)).toMatchObject({ lifetime });
});

test('generate-session leaves the lifetime of a user alone', () => {
  expect(userOfSessionRequest({ deploymentId: 1, externalId: 'a' })).toMatchObject({ lifetime: { kind: 'unchanged' } });
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
