/** Random questions in the JSON form, over a view, a cube, or two joined cubes. */
import type { Random } from '../random.ts';
import type { Block, Choice } from './questions.ts';
import type { World } from './world.ts';

/** A JSON query, and a block that names the same members. */
export interface JsonQuestion {
  readonly json: object;
  readonly block: Block;
}

const chance = (random: Random, percent: number): boolean => random.below(100) < percent;
const some = <T>(random: Random, items: readonly T[], max: number): T[] =>
  items.length === 0
    ? []
    : Array.from({ length: random.below(max + 1) }, () => items[random.below(items.length)]).flatMap((it) => it ?? []);

const texts = ['a', 'b', 'A', 'hid', 'off', 'x'];

/** A filter on a dimension; groups of these are made by the caller. */
function filterOn({ name, type }: Choice, random: Random): object {
  const member = name;
  if (chance(random, 20)) return { member, operator: random.pick(['set', 'notSet']) };
  switch (type) {
    case 'string':
      return {
        member,
        operator: random.pick(['equals', 'notEquals', 'contains', 'notContains', 'startsWith', 'notEndsWith']),
        values: some(random, texts, 2).concat('a'),
      };
    case 'number':
      return { member, operator: random.pick(['gt', 'gte', 'lt', 'lte', 'equals']), values: [String(random.below(4))] };
    case 'boolean':
      return { member, operator: 'equals', values: [random.pick(['true', 'false'])] };
    default:
      return {
        member,
        operator: random.pick(['afterDate', 'beforeOrOnDate', 'notInDateRange']),
        values: ['2024-01-15'],
      };
  }
}

function randomFilter(
  members: readonly Choice[],
  random: Random,
): { readonly filter: object; readonly names: string[] } {
  const found = some(random, members, 3);
  const filters = found.map((it) => filterOn(it, random));
  const names = found.map(({ name }) => name);
  if (filters.length === 1) return { filter: filters[0] ?? {}, names };
  return { filter: chance(random, 60) ? { or: filters } : { and: filters }, names };
}

/** A question with one member at least; null: the user sees none. */
export function randomJson(
  world: World,
  random: Random,
  membersOf: (relation: string) => readonly Choice[],
): JsonQuestion | null {
  const cube = world.cubes[random.below(world.cubes.length)];
  const target = cube?.edges[0]?.target;
  const view = world.views[random.below(world.views.length)]?.name ?? 'v0';
  const isJoined = cube !== undefined && target !== undefined && chance(random, 20);
  const from: Block['from'] = isJoined
    ? [cube.name, target]
    : [chance(random, 20) && cube !== undefined ? cube.name : view];
  const members = from.flatMap((relation) =>
    membersOf(relation).map((it) => ({ ...it, name: `${relation}.${it.name}` })),
  );
  const rows = members.filter(({ kind }) => kind === 'dimension');
  const dimensions = [...new Set(some(random, rows, 2).map(({ name }) => name))];
  const isUngrouped = chance(random, 15) && dimensions.length > 0;
  const plain = members.filter(({ kind, name }) => kind === 'measure' && !/rolled|before$/.test(name));
  const measures = isUngrouped ? [] : [...new Set(some(random, plain, 3).map(({ name }) => name))];
  const times = some(
    random,
    rows.filter(({ type }) => type === 'time'),
    1,
  ).map(({ name }) => ({
    dimension: name,
    // Without either it would be no part of the question.
    ...(chance(random, 50)
      ? { granularity: random.pick(['day', 'month', 'year']) }
      : { dateRange: ['2023-12-31', '2024-02-29'] }),
  }));
  const segments = isUngrouped
    ? []
    : some(
        random,
        members.filter(({ kind }) => kind === 'segment'),
        1,
      ).map(({ name }) => name);
  const filters = Array.from({ length: random.below(2) }, () => randomFilter(rows, random)).filter(
    ({ names }) => names.length > 0,
  );
  if (dimensions.length + measures.length === 0) return null;
  const all = [...dimensions, ...measures];
  const first = all[0] ?? '';
  const names = [...all, ...times.map(({ dimension }) => dimension), ...segments, ...filters.flatMap((it) => it.names)];
  // A view's and a cube's own members have no relation before them in a block.
  const own = (name: string) => `{${isJoined ? name : name.slice(name.indexOf('.') + 1)}}`;
  const block: Block = {
    from: usedFrom(from, names),
    isDistinct: false,
    select: [...new Set(names)].map(own),
    where: null,
    tail: measures.length > 0 || !isUngrouped ? ' GROUP BY' : '',
  };
  const json = {
    dimensions,
    measures,
    segments,
    timeDimensions: times,
    filters: filters.map(({ filter }) => filter),
    ...(isUngrouped ? { ungrouped: true } : {}),
    ...(chance(random, 30) ? { order: { [first]: random.pick(['asc', 'desc']) }, limit: 1 + random.below(3) } : {}),
  };
  return { json, block };
}

/** The cubes that are named: a query over one of two that may be joined joins none. */
function usedFrom(from: Block['from'], names: readonly string[]): Block['from'] {
  const [first, ...others] = from.filter((relation) => names.some((name) => name.startsWith(`${relation}.`)));
  return first === undefined ? from : [first, ...others];
}
