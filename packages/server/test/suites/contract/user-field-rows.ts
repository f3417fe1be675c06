/** service.md 4.1, the table of the body, with decisions 2 (limits) and 4 (statuses): the fields that say who the user is. */
import {
  bytes,
  creator,
  external,
  type FieldRow,
  field,
  internal,
  item,
  member,
  names,
  nested,
  notA,
  row,
} from './field-rows.ts';

const deployment: readonly FieldRow[] = [
  row('the least body', 200, external),
  row('fields that nobody knows', 200, { ...external, nobodyKnows: 1, unknown_too: { a: [] } }),
  ...field('deploymentId', 400, [undefined, null, 1.5, ...notA('number')]),
  // One that does not exist, one of another account, one beyond all integers of a database.
  ...field('deploymentId', 404, [4711, 2, Number.MAX_SAFE_INTEGER]),
];

const ids: readonly FieldRow[] = [
  row('no id at all', 400, {}),
  row('both ids', 400, { ...external, ...internal }),
  ...field('externalId', 200, ['a', 'user@example.com', '0', 'ünïcode', '🙂', bytes(255), 'a/b?c=d&e', "o'brien", 'ß']),
  ...field('externalId', 400, [
    '',
    ' ',
    ' a',
    'a ',
    'a b',
    'a\tb',
    'a\n',
    'a\u00a0b',
    'a\u2003b',
    'a\u0000b',
    'a\u0007',
  ]),
  ...field('externalId', 400, ['a\u0085b', 'A', 'Ada', 'É', 'İ', bytes(256), 'a\ud800', null, ...notA('string')]),
  ...field('internalId', 200, ['analyst', 'ANALYST', 'analyst@example.com', 'Analyst@Example.COM'], {}),
  ...field('internalId', 404, ['nobody', 'retired', 'fields', 'analyst '], {}),
  ...field('internalId', 400, [null, ...notA('string')], {}),
  ...field('email', 200, ['other@example.com'], internal),
];

/** Rule 1: not even empty, in whichever mode. */
const forbiddenWithInternalId: readonly FieldRow[] = [
  internal,
  { ...creator, externalId: undefined, ...internal },
].flatMap((base) => [
  ...field('groups', 400, [[], ['g-one']], base),
  ...field('userAttributes', 400, [[], [{ name: 'a_number', value: 1 }]], base),
  ...field('groupDefinitions', 400, [[], [{ name: 'made' }]], base),
  ...field('userAttributeDefinitions', 400, [[], [{ name: 'made', type: 'string' }]], base),
  ...field('securityContext', 400, [{}, { a: 1 }], base),
  ...field('userProfile', 400, [{}, { displayName: 'Ann' }], base),
]);

const profile: readonly FieldRow[] = [
  ...field('email', 200, ['ann@example.com']),
  ...field('email', 400, notA('string')),
  ...field('userProfile', 200, [{}, { nobodyKnows: 1 }]),
  ...field('userProfile', 400, notA('object')),
  ...member(['userProfile', 'displayName'], 400, notA('string')),
  ...member(['userProfile', 'picture'], 200, [
    'https://example.com/a.png',
    'http://example.com',
    'HTTPS://EXAMPLE.COM/A',
  ]),
  ...member(['userProfile', 'picture'], 200, ['https://example.com/é?a=1#b', 'http://[::1]:8080/a']),
  ...member(['userProfile', 'picture'], 200, [`https://example.com/${bytes(2048 - 20)}`]),
  ...member(['userProfile', 'picture'], 400, [`https://example.com/${bytes(2049 - 20)}`, ...notA('string')]),
  ...member(['userProfile', 'picture'], 400, ['', 'a.png', '/a.png', '//example.com/a.png', 'ftp://example.com/a.png']),
  ...member(['userProfile', 'picture'], 400, [
    'javascript:alert(1)',
    'data:image/png;base64,AA==',
    'file:///etc/passwd',
  ]),
  ...member(['userProfile', 'picture'], 400, ['https://', 'https//example.com', ' https://example.com/a.png']),
];

const rights: readonly FieldRow[] = [
  ...field('groups', 400, [...notA('array'), ['g-one', 'g-two', 'g-one']]),
  ...item('groups', 400, [null, '', bytes(129), ...notA('string')]),
  ...field('userAttributes', 400, notA('array')),
  ...item('userAttributes', 400, [
    {},
    { name: 'a_number' },
    { value: 1 },
    { name: 7, value: 1 },
    { name: '', value: 1 },
  ]),
  ...item(
    'userAttributes',
    400,
    [{ a: 1 }, [['a']], ['a', 1], [null], [1, '2'], [true], 'a\0b', bytes(4097), 'é'.repeat(2049)].map((value) => ({
      name: Array.isArray(value) ? 'a_string_array' : 'a_string',
      value,
    })),
  ),
  ...item('userAttributes', 400, [{ name: 'a_string_array', value: names(1001) }]),
  ...item('userAttributes', 200, [
    { name: 'a_string_array', value: names(1000) },
    { name: 'a_string', value: bytes(4096) },
  ]),
  row('an attribute twice', 400, {
    ...external,
    userAttributes: [
      { name: 'a_number', value: 1 },
      { name: 'a_number', value: 1 },
    ],
  }),
  ...field('roles', 200, [[]]),
  ...field('roles', 400, [['admin'], 'admin', { admin: true }]),
];

const contextAndLife: readonly FieldRow[] = [
  ...field('securityContext', 200, [{}, { a: [1, null, 'x', { b: true }] }, nested(8), { a: bytes(16_384 - 8) }]),
  ...field('securityContext', 400, [
    ...notA('object'),
    nested(9),
    { a: bytes(16_385 - 8) },
    { a: 'a\0b' },
    { 'a\0b': 1 },
  ]),
  ...[true, false].map((isEphemeral) =>
    row(`isEphemeral ${isEphemeral}`, 200, { externalId: `is-${isEphemeral}`, isEphemeral }),
  ),
  ...field('isEphemeral', 400, notA('boolean')),
  ...[1, 31_536_000].map((ttl) =>
    row(`lives ${ttl} s`, 200, { externalId: `lives-${ttl}`, isEphemeral: true, ephemeralTtlSeconds: ttl }),
  ),
  ...field('ephemeralTtlSeconds', 400, [0, -1, 1.5, 31_536_001, ...notA('number')], { ...external, isEphemeral: true }),
];

const settings: readonly FieldRow[] = [
  ...field('settings', 200, [
    {},
    { allowAi: false, allowExport: true, locale: 'de-AT', timezone: 'UTC', theme: 'dark' },
    { theme: 'light' },
    { theme: 'auto', locale: 'en' },
  ]),
  ...field('settings', 400, notA('object')),
  ...[
    { allowAi: 'yes' },
    { allowExport: 1 },
    { locale: 7 },
    { timezone: 'Nowhere/Land' },
    { theme: 'pink' },
    { branchName: 7 },
  ].flatMap((wrong) => field('settings', 400, [wrong])),
];

/** The rows. */
export const userFieldRows: readonly FieldRow[] = [
  ...deployment,
  ...ids,
  ...forbiddenWithInternalId,
  ...profile,
  ...rights,
  ...contextAndLife,
  ...settings,
];
