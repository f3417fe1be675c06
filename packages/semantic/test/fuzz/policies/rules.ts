/** Random access policies and users for a world. */
import type { AttributeValue, Subject } from '../../../src/policy/subject.ts';
import type { Random } from '../random.ts';
import { modelFileOf, type World } from './world.ts';

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
  ],
  number: [0, 1, 2, 3, '{ userAttributes.n }', '{ userAttributes.owner }', '{ securityContext.shop.n }'],
  boolean: [true, false, '{ userAttributes.b }'],
  time: ['2024-01-15', '2024-02-29 10:00:00', '2023-12-31', '{ userAttributes.t }'],
} as const;
const operators = {
  string: ['equals', 'equals', 'notEquals', 'contains', 'notContains', 'startsWith', 'notEndsWith', 'set', 'notSet'],
  number: ['equals', 'equals', 'notEquals', 'gt', 'gte', 'lt', 'lte', 'set', 'notSet'],
  boolean: ['equals', 'notEquals', 'set'],
  time: ['equals', 'gt', 'afterOrOnDate', 'beforeDate', 'inDateRange', 'notInDateRange', 'lte'],
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
  if (depth < 2 && chance(random, 30)) {
    const inner = Array.from({ length: 1 + random.below(3) }, () => randomFilter(random, members, depth + 1));
    return chance(random, 50) ? { or: inner } : { and: inner.slice(0, 2) };
  }
  const { name: member, type } = one(random, members);
  const operator = one<string>(random, operators[type]);
  const count = /^set|notSet/.test(operator)
    ? 0
    : /Range/.test(operator)
      ? 2
      : /quals|ontains/.test(operator)
        ? 1 + random.below(2)
        : 1;
  return {
    member,
    operator,
    ...(count === 0 ? {} : { values: list<string | number | boolean>(random, values[type], count) }),
  };
}

const conditions = [
  '{ securityContext.active }',
  'not securityContext.active',
  "{ userAttributes.s == 'a' }",
  '{ userAttributes.n in [1, 2] }',
  "{ 'g1' in groups and userAttributes.owner > 0 }",
  "{ securityContext.shop.s != 'b' }",
];

function randomEntry(
  random: Random,
  names: readonly string[],
  filters: readonly Filterable[],
  isKind: boolean,
): object {
  const masked = chance(random, 35) ? names.filter(() => chance(random, 15)) : [];
  const others = names.filter((name) => !masked.includes(name));
  const shape = isKind ? 5 : random.below(6);
  const level =
    shape === 0
      ? chance(random, 25)
        ? { includes: [] }
        : { includes: others.filter(() => chance(random, 70)) }
      : shape === 1
        ? { excludes: others.filter(() => chance(random, 15)) }
        : shape === 2
          ? { includes: '*', excludes: others.filter(() => chance(random, 10)) }
          : undefined;
  const rows = random.below(6);
  return {
    ...(chance(random, 20) ? { groups: list(random, groups, 2) } : { group: one(random, [...groups, '*', '*']) }),
    ...(chance(random, 12) ? { conditions: [{ if: one(random, conditions) }] } : {}),
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

/** The text of a model file with the world in it and policies at most of its cubes and views. */
export function randomModelText(world: World, random: Random): string {
  const { cubes, views } = modelFileOf(world);
  const policy = (names: readonly string[], filters: readonly Filterable[]) =>
    chance(random, 15)
      ? {}
      : {
          access_policy: Array.from({ length: 1 + random.below(3) }, (_, at) =>
            randomEntry(random, names, filters, at === 0 && chance(random, 75)),
          ),
        };
  const file = {
    cubes: cubes.map((cube, at) => ({ ...cube, ...policy([...(world.cubes[at]?.members.keys() ?? [])], cubeFilters) })),
    views: views.map((view, at) => {
      const picked = (world.views[at]?.paths ?? []).map((path) => path.at(-1) ?? '');
      const names = picked.flatMap((cube) =>
        [...(world.cubes.find((it) => it.name === cube)?.members.keys() ?? [])].map((member) => `${cube}_${member}`),
      );
      // Few, with few values each: the copy writes out every combination of them.
      const filters = list(random, picked, 2).map((cube): Filterable => {
        const [member, type] = one(random, [
          ['s', 'string'],
          ['b', 'boolean'],
          ['owner', 'number'],
          ['loud', 'string'],
        ] as const);
        return { name: `${cube}_${member}`, type };
      });
      return { ...view, ...policy(names, filters) };
    }),
  };
  return JSON.stringify(file, null, 1);
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
      ...maybe('t', attribute(['2024-02-29', '2024-01-15 00:00:00', 'soon'])),
    },
    securityContext: {
      ...(chance(random, 60) ? { active: one(random, [true, true, false, null]) } : {}),
      ...(chance(random, 60) ? { shop: { s: one(random, ['a', 'b', null]), n: one(random, [1, 2, 'x']) } } : {}),
    },
    embedTenantName: one(random, [null, 'a', 'b']),
    isEmbedTenantScope: chance(random, 35),
    seesUnprotected: chance(random, 50),
  };
}
