/** Random access policies and users for a world. */
import type { AttributeValue, Subject } from '../../../src/policy/subject.ts';
import type { Random } from '../random.ts';
import { cubeFile, viewFile } from './files.ts';
import { noteOf, type World } from './world.ts';

const groups = ['g1', 'g2', 'g3'] as const;

/** A member that a filter may name, with values. */
interface Filterable {
  readonly name: string;
  readonly type: 'string' | 'number' | 'boolean' | 'time';
}

const values = {
  string: [
    'a',
    'b',
    'A',
    'hid',
    '{ userAttributes.s }',
    '{ securityContext.shop.s }',
    '{ groups }',
    '{ embedTenant.name }',
    '{ userAttributes.list }',
    '{ securityContext.shop.list }',
  ],
  number: [
    0,
    1,
    2,
    3,
    '{ userAttributes.n }',
    '{ userAttributes.owner }',
    '{ securityContext.shop.n }',
    '{ securityContext.shop.deep.n }',
  ],
  boolean: [true, false, '{ userAttributes.b }'],
  time: [
    '2024-01-15',
    '2024-02-29 10:00:00',
    '2023-12-31',
    '2024-03-10',
    '{ userAttributes.t }',
    '{ securityContext.shop.t }',
  ],
} as const;
const operators = {
  string: [
    ...['equals', 'equals', 'in', 'notEquals', 'notIn', 'contains', 'notContains', 'startsWith', 'notStartsWith'],
    ...['endsWith', 'notEndsWith', 'set', 'notSet'],
  ],
  number: ['equals', 'equals', 'in', 'notEquals', 'gt', 'gte', 'lt', 'lte', 'set', 'notSet'],
  boolean: ['equals', 'notEquals', 'set', 'notSet'],
  time: [
    ...['equals', 'notEquals', 'gt', 'gte', 'lt', 'lte', 'notSet', 'inDateRange', 'notInDateRange', 'onTheDate'],
    ...['beforeDate', 'beforeOrOnDate', 'afterDate', 'afterOrOnDate'],
  ],
} as const;

const list = <T>(random: Random, items: readonly T[], count: number): T[] =>
  Array.from({ length: count }, () => {
    const item = items[random.below(items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  });
const one = <T>(random: Random, items: readonly T[]): T => {
  const [item] = list(random, items, 1);
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
};
const chance = (random: Random, percent: number): boolean => random.below(100) < percent;

function randomFilter(random: Random, members: readonly Filterable[], depth = 0): object {
  if (depth < 3 && chance(random, 30)) {
    const inner = Array.from({ length: 1 + random.below(3) }, () => randomFilter(random, members, depth + 1));
    return chance(random, 50) ? { or: inner } : { and: inner.slice(0, 2) };
  }
  const { name: member, type } = one(random, members);
  const operator = one<string>(random, operators[type]);
  const count = /^set|notSet/.test(operator)
    ? 0
    : /Range/.test(operator)
      ? 2
      : /quals|^in$|notIn$|ontains|With/.test(operator)
        ? 1 + random.below(2)
        : 1;
  return {
    member,
    operator,
    ...(count === 0 ? {} : { values: list<string | number | boolean>(random, values[type], count) }),
  };
}

const truths = [
  'securityContext.active',
  "userAttributes.s == 'a'",
  "userAttributes.s != 'a'",
  'userAttributes.n in [1, 2]',
  "'g1' in groups",
  "'a' in userAttributes.list",
  'securityContext.shop.n in userAttributes.list',
  'userAttributes.owner > 0',
  'userAttributes.n <= userAttributes.owner',
  "securityContext.shop.s != 'b'",
  "securityContext.shop.t >= '2024-02-01'",
  "embedTenant.name == 'a'",
  'embedTenant.name == securityContext.shop.s',
  'securityContext.shop.deep.n == 2',
  'userAttributes.b',
  'true',
  'false',
];

function randomCondition(random: Random, depth = 0): string {
  const inner = () => randomCondition(random, depth + 1);
  if (depth < 2 && chance(random, 35)) return `(${inner()} ${chance(random, 50) ? 'and' : 'or'} ${inner()})`;
  return chance(random, 25) ? `not ${inner()}` : one(random, truths);
}

const isReadMuch = (name: string): boolean => /(^|_)(id|s|n|t|loud|rows|total|sum|choice)(_too)?$/.test(name);

function randomEntry(
  random: Random,
  names: readonly string[],
  filters: readonly Filterable[],
  isKind: boolean,
): object {
  /** Some of the members, those that others read before them. */
  const some = (from: readonly string[], percent: number) =>
    from.filter((name) => chance(random, isReadMuch(name) ? 3 * percent : percent));
  const masked = chance(random, 35) ? some(names, 12) : [];
  const others = names.filter((name) => !masked.includes(name));
  const shape = isKind ? 5 : random.below(6);
  const level =
    shape === 0
      ? chance(random, 25)
        ? { includes: [] }
        : { includes: others.filter(() => chance(random, 70)) }
      : shape === 1
        ? { excludes: some(others, 12) }
        : shape === 2
          ? { includes: '*', excludes: some(others, 8) }
          : undefined;
  const rows = random.below(6);
  return {
    ...(chance(random, 20) ? { groups: list(random, groups, 2) } : { group: one(random, [...groups, '*', '*']) }),
    ...(chance(random, 20) ? { conditions: [{ if: `{ ${randomCondition(random)} }` }] } : {}),
    ...(rows === 0
      ? {}
      : rows < 3
        ? { row_level: { allow_all: true } }
        : {
            row_level: {
              filters: Array.from({ length: chance(random, 80) ? 1 : 2 }, () => randomFilter(random, filters)),
            },
          }),
    ...(level === undefined ? {} : { member_level: level }),
    ...(masked.length === 0 ? {} : { member_masking: { includes: masked } }),
    ...(chance(random, 70) ? { embed_tenants: true } : {}),
  };
}

const cubeFilters: readonly Filterable[] = [
  { name: 'owner', type: 'number' },
  { name: 'owner', type: 'number' },
  { name: 's', type: 'string' },
  { name: 'n', type: 'number' },
  { name: 'b', type: 'boolean' },
  { name: 't', type: 'time' },
  { name: 'loud', type: 'string' },
  { name: 'next', type: 'number' },
];

/** Members that filters of views name: few, with few values each, since the copy writes out every combination of them. */
const viewFilters = ['s', 'b', 'owner', 'loud'];

/** The text of a model file with policies at most of its cubes and views, and the same without anything that extends something. */
export function randomModelTexts(world: World, random: Random): { readonly text: string; readonly full: string } {
  const policy = (names: readonly string[], filters: readonly Filterable[]): readonly object[] =>
    filters.length === 0 || chance(random, 15)
      ? []
      : Array.from({ length: 1 + random.below(3) }, (_, at) =>
          randomEntry(random, names, filters, at === 0 && chance(random, 75)),
        );
  const policies = new Map<string, readonly object[]>();
  for (const { name, members } of world.cubes) {
    const grade = members.has('grade') ? [{ name: 'grade', type: 'string' } as const] : [];
    policies.set(name, policy([...members.keys()], [...cubeFilters, ...grade]));
  }
  const known = new Map<string, readonly Filterable[]>();
  for (const { name, base, members } of world.views) {
    const filterable = [...members].flatMap(([it, place]): readonly Filterable[] => {
      const type = viewFilters.includes(place.member) ? noteOf(world, place)?.type : undefined;
      return type === undefined ? [] : [{ name: it, type }];
    });
    const chosen = known.get(base ?? '') ?? (filterable.length === 0 ? [] : list(random, filterable, 2));
    known.set(name, chosen);
    policies.set(name, policy([...members.keys()], chosen));
  }
  const write = (isInFull: boolean): string => {
    const withPolicy = (file: object, { name, base }: { readonly name: string; readonly base: string | null }) => {
      const inherited = isInFull && base !== null ? (policies.get(base) ?? []) : [];
      const entries = [...inherited, ...(policies.get(name) ?? [])];
      return entries.length === 0 ? file : { ...file, access_policy: entries };
    };
    const cubes = world.cubes.map((cube) => withPolicy(cubeFile(cube, world, isInFull), cube));
    const views = world.views.map((view) => withPolicy(viewFile(view, world, isInFull), view));
    return JSON.stringify({ cubes, views }, null, 1);
  };
  return { text: write(false), full: write(true) };
}

/** A user, in one group or more mostly. */
export function randomSubject(random: Random): Subject {
  const attribute = (items: readonly AttributeValue[]) => one(random, items);
  const maybe = <T>(name: string, value: T): Readonly<Record<string, T>> =>
    chance(random, 90) ? { [name]: value } : {};
  return {
    groups: groups.filter(() => chance(random, 55)),
    userAttributes: {
      ...maybe('owner', attribute([1, 2, '1', [1, 2], null, 'x'])),
      ...maybe('n', attribute([1, 2, '3', [], [0, 1]])),
      ...maybe('s', attribute(['a', 'b', '', ['a', 'b'], ['a', '']])),
      ...maybe('b', attribute([true, false, 'true'])),
      ...maybe('t', attribute(['2024-02-29', '2024-01-15 00:00:00', 'soon', ['2024-01-15', '2024-03-10']])),
      ...maybe('list', attribute([['a', 'b'], ['b', ''], [], 'a', ['A', 'b', 'x'], [1, 2]])),
    },
    securityContext: {
      ...(chance(random, 60) ? { active: one(random, [true, true, false, null]) } : {}),
      ...(chance(random, 60) ? { shop: randomShop(random) } : {}),
    },
    embedTenantName: one(random, [null, 'a', 'b']),
    isEmbedTenantScope: chance(random, 35),
    seesUnprotected: chance(random, 50),
  };
}

const randomShop = (random: Random) => ({
  s: one(random, ['a', 'b', null]),
  n: one(random, [1, 2, 'x']),
  t: one(random, ['2024-02-01', '2024-02-29 10:00:00', 7]),
  ...(chance(random, 50) ? { list: one(random, [['a'], ['b', 'A'], [], ['']]) } : {}),
  ...(chance(random, 50) ? { deep: one(random, [{ n: 2 }, { n: [1, 2] }, 'flat', null]) } : {}),
});
