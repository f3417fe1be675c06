/** service.md 4.1, the table of the body, with decisions 2 (limits) and 4 (statuses): the fields of creator mode. */
import { bytes, creator, external, type FieldRow, field, internal, item, names, notA, row } from './field-rows.ts';

const wrongNames = [
  '',
  'abcd',
  'a'.repeat(37),
  'Abcde',
  'abcdE',
  '1abcd',
  '-abcd',
  'abcd-',
  'ab_cd',
  'ab cd',
  'ab.cd',
  'abcdé',
].concat(['abcde\n', ' abcde', 'abcde ', 'ａｂｃｄｅ']);

const tenant: readonly FieldRow[] = [
  ...field('embedTenantName', 200, ['abcde', 'a-1-b', 'a--bc', `a${'-'.repeat(34)}9`, 'acme-corp-1']),
  ...field('embedTenantName', 200, ['acme-corp-1'], internal),
  ...field('embedTenantName', 400, [...wrongNames, null, ...notA('string')]),
  ...field('embedTenantName', 400, wrongNames, { ...external, creatorMode: true }),
  ...field('creatorMode', 200, [false, true]),
  ...field('creatorMode', 200, [true], internal),
  ...field('creatorMode', 400, [null, 'true', 1, 0, ...notA('boolean')]),
];

const group = { name: 'made' };
const attribute = { name: 'made', type: 'string' };

/** Rule 7: they need creatorMode and a name of the embed tenant. Rule 8: no name twice. */
const definitions: readonly FieldRow[] = [
  ['groupDefinitions', group] as const,
  ['userAttributeDefinitions', attribute] as const,
].flatMap(([name, one]) => [
  ...field(name, 200, [[], [one], [{ ...one, nobodyKnows: 1 }]], creator),
  ...field(name, 400, [[one]], { ...external, embedTenantName: 'fields-tenant' }),
  ...field(name, 400, [[one]], { ...creator, creatorMode: false }),
  ...field(name, 400, [[one]], { ...external, creatorMode: true }),
  ...field(name, 400, [[one]], external),
  ...field(name, 400, [[one, one], [{ ...one, description: 'a' }, one], ...notA('array')], creator),
  ...item(
    name,
    400,
    ['made', 7, null, { ...one, name: undefined }, { ...one, name: null }, { ...one, name: 7 }],
    creator,
  ),
  ...item(
    name,
    400,
    [
      { ...one, name: '' },
      { ...one, name: bytes(129) },
      { ...one, name: 'a\0b' },
    ],
    creator,
  ),
  ...item(
    name,
    200,
    [
      { ...one, name: bytes(128) },
      { ...one, description: 'd' },
    ],
    creator,
  ),
  ...item(
    name,
    400,
    notA('string').map((description) => ({ ...one, description })),
    creator,
  ),
  row(`501 of ${name}`, 400, { ...creator, [name]: names(501).map((each) => ({ ...one, name: each })) }),
  row(`500 of ${name}`, 200, { ...creator, [name]: names(500).map((each) => ({ ...one, name: each })) }),
]);

const types: readonly FieldRow[] = [
  ...item(
    'userAttributeDefinitions',
    200,
    ['string', 'number', 'string_array', 'number_array', 'boolean'].map((type) => ({ name: `typed_${type}`, type })),
    creator,
  ),
  ...item(
    'userAttributeDefinitions',
    400,
    [undefined, null, '', 'text', 'String', 'date', 7, ['string']].map((type) => ({ name: 'typed', type })),
    creator,
  ),
  ...item(
    'userAttributeDefinitions',
    400,
    notA('string').map((displayName) => ({ ...attribute, displayName })),
    creator,
  ),
];

/** Default values are texts: numbers as decimal text, lists as JSON text; what does not parse is 400 (decisions 4). */
const defaults: readonly FieldRow[] = (
  [
    ['string', 200, ['anything', '']],
    ['string', 400, [{ a: 1 }, 7]],
    ['number', 200, ['3', '-1.5', '0']],
    ['number', 400, ['three', '', 3, '1,5', '[1]']],
    ['boolean', 200, ['true', 'false']],
    ['boolean', 400, ['yes', true, '']],
    ['string_array', 200, ['["a","b"]', '[]']],
    ['string_array', 400, ['[1]', 'a,b', ['a'], '"a"', '']],
    ['number_array', 200, ['[1,2.5]', '[]']],
    ['number_array', 400, ['["1"]', '[1', [1], '1']],
  ] as const
).flatMap(([type, status, values]) =>
  item(
    'userAttributeDefinitions',
    status,
    [...values].map((defaultValue) => ({ name: `default_${type}`, type, defaultValue })),
    creator,
  ),
);

/** The rows. */
export const scopeFieldRows: readonly FieldRow[] = [...tenant, ...definitions, ...types, ...defaults];
