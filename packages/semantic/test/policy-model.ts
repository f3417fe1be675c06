/** Small models with policies made in code, for tests of policies alone, and arbitrary policies and users over them. */
import fc from 'fast-check';
import type {
  ConditionValue,
  Cube,
  CubeMember,
  DataModel,
  MemberType,
  Policy,
  PolicyCondition,
  PolicyEntry,
  PolicyFilter,
  PolicyValue,
  Relation,
  SqlTemplate,
} from '../src/model/data-model.ts';
import { policyOperators } from '../src/model/policy-operators.ts';
import type { AttributeValue, Subject } from '../src/policy/subject.ts';
import type { Cell, PlainRow } from './policy-reference.ts';

const base = (cube: string, name: string, type: MemberType) => ({
  cube,
  name,
  title: name,
  description: '',
  synonyms: [],
  format: null,
  isPublic: true,
  type,
  meta: {},
  mask: null,
});

/** SQL over the members named in braces: `{n} + 1`, `{other.n}`. */
export const sqlOf = (cube: string, text: string): SqlTemplate =>
  text.split(/(\{[\w.]+\})/).map((part) => {
    const [, first = '', second] = /^\{(\w+)(?:\.(\w+))?\}$/.exec(part) ?? [];
    if (first === '') return { kind: 'text', text: part };
    return { kind: 'member', cube: second === undefined ? cube : first, member: second ?? first };
  });

/** A dimension. */
export const dimension = (cube: string, name: string, type: MemberType, sql = name): CubeMember => ({
  ...base(cube, name, type),
  kind: 'dimension',
  source: { kind: 'sql', sql: sqlOf(cube, sql) },
  isPrimaryKey: name === 'id',
  granularities: new Map(),
  isLocalTime: false,
});

/** A sum. */
export const sum = (cube: string, name: string, sql: string): CubeMember => ({
  ...base(cube, name, 'number'),
  kind: 'measure',
  aggregation: 'sum',
  sql: sqlOf(cube, sql),
  filters: [],
  rollingWindow: null,
  drillMembers: [],
});

/** An expression over measures. */
export const calculated = (cube: string, name: string, sql: string): CubeMember => ({
  ...base(cube, name, 'number'),
  kind: 'measure',
  aggregation: 'number',
  sql: sqlOf(cube, sql),
  drillMembers: [],
});

/** A condition on rows. */
export const segment = (cube: string, name: string, sql: string): CubeMember => ({
  ...base(cube, name, 'boolean'),
  kind: 'segment',
  sql: sqlOf(cube, sql),
});

/** A cube without joins. */
export const cube = (name: string, members: readonly CubeMember[], policy: Policy | null): Cube => ({
  name,
  source: name,
  joins: new Map(),
  members: new Map(members.map((member) => [member.name, member])),
  primaryKey: members.flatMap((member) => (member.kind === 'dimension' && member.isPrimaryKey ? [member] : [])),
  policy,
  refreshEverySeconds: null,
});

/** A view with members named as given, `name: path.member`, such as `email: orders.buyers.email`. */
export function view(
  name: string,
  cubes: readonly Cube[],
  members: Readonly<Record<string, string>>,
  policy: Policy | null,
): Relation {
  const paths = Object.values(members).map((text) => text.split('.').slice(0, -1));
  return {
    name,
    type: 'view',
    title: name,
    description: '',
    synonyms: [],
    isPublic: true,
    rootCube: paths[0]?.[0] ?? '',
    paths,
    members: new Map(
      Object.entries(members).map(([key, text]) => {
        const path = text.split('.');
        const member = cubes.find((it) => it.name === path.at(-2))?.members.get(path.at(-1) ?? '');
        if (member === undefined) throw new Error(text);
        const shown = {
          name: key,
          title: key,
          description: '',
          format: null,
          isPublic: member.isPublic,
          synonyms: [],
          meta: {},
        };
        return [key, { ...shown, path: path.slice(0, -1), member }];
      }),
    ),
    hierarchies: [],
    folders: [],
    meta: {},
    policy,
  };
}

/** A model of cubes, each with its own relation, and views. */
export function modelOf(cubes: readonly Cube[], views: readonly Relation[] = []): DataModel {
  const relations = cubes.map((it): Relation => {
    const names = Object.fromEntries([...it.members.keys()].map((name) => [name, `${it.name}.${name}`]));
    return { ...view(it.name, [it], names, it.policy), type: 'cube' };
  });
  return {
    cubes: new Map(cubes.map((it) => [it.name, it])),
    relations: new Map([...views, ...relations].map((it) => [it.name, it])),
  };
}

/** An entry for everyone that grants what is named, and otherwise as told. */
export const entry = (
  members: Iterable<string>,
  rowFilter: PolicyFilter | null = null,
  more: Partial<PolicyEntry> = {},
): PolicyEntry => ({
  groups: ['*'],
  conditions: [],
  rowFilter,
  members: new Set(members),
  excludedMembers: new Set(),
  maskedMembers: new Set(),
  matchesEmbedTenants: false,
  ...more,
});

/** A user in no group. */
export const nobody: Subject = {
  groups: [],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
};

/** The cube of the random policies: a member of each type, and members that read others. */
export const randomCube = (policy: Policy | null): Cube =>
  cube(
    't',
    [
      dimension('t', 'id', 'number'),
      dimension('t', 's', 'string'),
      dimension('t', 'n', 'number'),
      dimension('t', 'time', 'time'),
      dimension('t', 'b', 'boolean'),
      dimension('t', 'loud', 'string', 'upper({s})'),
      dimension('t', 'louder', 'string', "{loud} || '!'"),
      segment('t', 'many', '{n} > 1'),
      sum('t', 'total', '{n}'),
      sum('t', 'other', 'x'),
      calculated('t', 'ratio', '{total} / {other}'),
    ],
    policy,
  );

const names = [...randomCube(null).members.keys()];
const groups = ['g', 'h', 'k'];
const cells: Readonly<Record<string, readonly Cell[]>> = {
  s: ['a', 'ab', 'B%', 'a_b', '7', '', null],
  n: [-1, 0, 1.5, 2, 7, null],
  time: ['2024-01-31 00:00:00', '2024-01-31 23:59:59', '2024-02-01 00:00:00', '2024-02-29 12:30:00', null],
  b: [true, false, null],
  id: [1, 2, 3],
};
const texts = ['a', 'A', 'b', '%', '_', '7', '1.5', '', '2024-01-31', '2024-02-01', '2024-01-31 23:59:59'] as const;
const scalar = fc.constantFrom<string | number | boolean>(...texts, 0, 1, 2, 7, 2 ** 60, true, false);

const policyValue: fc.Arbitrary<PolicyValue> = fc.oneof(
  { weight: 3, arbitrary: scalar.map((value) => ({ kind: 'literal' as const, value })) },
  { weight: 3, arbitrary: fc.constantFrom('x', 'y', 'z').map((name) => ({ kind: 'userAttribute' as const, name })) },
  fc.constantFrom(['x'], ['o', 'x'], ['o', 'none'], ['x', 'deep'], ['constructor']).map((path) => ({
    kind: 'securityContext' as const,
    path,
  })),
  fc.constant({ kind: 'groups' as const }),
  fc.constant({ kind: 'embedTenantName' as const }),
);

const operators = Object.entries(policyOperators);
const compare: fc.Arbitrary<PolicyFilter> = fc
  .record({
    member: fc.constantFrom('id', 's', 'n', 'time', 'b'),
    operator: fc.constantFrom(...operators),
    values: fc.array(policyValue, { minLength: 2, maxLength: 3 }),
  })
  .map(({ member, operator: [name, takes], values }) => {
    const operator = Object.keys(policyOperators).find((it): it is keyof typeof policyOperators => it === name);
    const count = { none: 0, one: 1, two: 2, many: values.length }[takes];
    return { kind: 'compare', member, operator: operator ?? 'equals', values: values.slice(0, count) };
  });
const filter: fc.Arbitrary<PolicyFilter> = fc.oneof(
  { weight: 3, arbitrary: compare },
  fc.record({ kind: fc.constantFrom('and', 'or'), filters: fc.array(compare, { maxLength: 3 }) }),
);

const conditionValue: fc.Arbitrary<ConditionValue> = fc.oneof(
  policyValue,
  fc.array(policyValue, { maxLength: 3 }).map((values) => ({ kind: 'list' as const, values })),
);
const simple: fc.Arbitrary<PolicyCondition> = fc.oneof(
  conditionValue.map((value) => ({ kind: 'truthy' as const, value })),
  fc.record({
    kind: fc.constant('compare' as const),
    operator: fc.constantFrom('==', '!=', '<', '<=', '>', '>=', 'in'),
    left: conditionValue,
    right: conditionValue,
  }),
);
/** A condition of an entry. */
export const anyCondition: fc.Arbitrary<PolicyCondition> = fc.oneof(
  { weight: 3, arbitrary: simple },
  simple.map((condition) => ({ kind: 'not' as const, condition })),
  fc.record({ kind: fc.constantFrom('and', 'or'), conditions: fc.array(simple, { minLength: 1, maxLength: 3 }) }),
);

const some = fc.subarray(names);
const anyEntry: fc.Arbitrary<PolicyEntry> = fc
  .record({
    groups: fc.oneof(fc.constant(['*']), fc.subarray(groups, { minLength: 1 })),
    conditions: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(anyCondition, { maxLength: 1 })),
    rowFilter: fc.option(filter, { freq: 3 }),
    shape: fc.constantFrom('all', 'includes', 'excludes'),
    listed: some,
    masked: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, some),
    matchesEmbedTenants: fc.boolean(),
  })
  .map(({ shape, listed, masked, ...rest }) => {
    const maskedMembers = new Set(masked);
    const all = new Set(names);
    const granted = shape === 'all' ? all : shape === 'includes' ? new Set(listed) : all.difference(new Set(listed));
    return {
      ...rest,
      members: granted.difference(maskedMembers),
      excludedMembers: shape === 'excludes' ? new Set(listed).difference(maskedMembers) : new Set<string>(),
      maskedMembers,
    };
  });

/** A policy of one to four entries. */
export const anyPolicy: fc.Arbitrary<Policy> = fc
  .array(anyEntry, { minLength: 1, maxLength: 4 })
  .map((entries) => ({ entries }));

const attribute: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.constantFrom<AttributeValue>(...texts, 0, 1, 7, 2 ** 60, null, true, [], [''], ['a', 'b'], [1, 7], ['2024-01-31']),
);

/** A user. */
export const anySubject: fc.Arbitrary<Subject> = fc.record({
  groups: fc.subarray(groups),
  userAttributes: fc.dictionary(fc.constantFrom('x', 'y', 'constructor'), attribute),
  securityContext: fc.record({ x: attribute, o: fc.record({ x: attribute }) }, { requiredKeys: [] }),
  embedTenantName: fc.constantFrom(null, 'a', ''),
  isEmbedTenantScope: fc.boolean(),
  seesUnprotected: fc.boolean(),
});

/** Members that a query takes. */
export const anyTaken: fc.Arbitrary<ReadonlySet<string>> = fc
  .subarray(names, { maxLength: 3 })
  .map((taken) => new Set(taken));

/** Rows of the cube. */
export const anyRows: fc.Arbitrary<readonly PlainRow[]> = fc.array(
  fc.record(Object.fromEntries(Object.entries(cells).map(([name, values]) => [name, fc.constantFrom(...values)]))),
  { maxLength: 6 },
);
