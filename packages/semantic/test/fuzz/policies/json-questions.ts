/** Random questions in the JSON form, over a view, a cube, or two joined cubes. */
import type { Random } from '../random.ts';
import { units } from './blocks.ts';
import { type Block, type Choice, inCube, zones } from './questions.ts';
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

/** A time dimension of a question. */
interface AskedTime {
  readonly name: string;
  /** Whether it has a unit and a range. */
  readonly isFillable: boolean;
  readonly file: object;
}

const ranges = [
  ['2023-12-31', '2024-02-29'],
  ['2024-01-15', '2024-01-15'],
  ['2024-03-10T02:00:00', '2024-03-10T03:30:00'],
  'last month',
  'last 10 weeks',
  'this year',
  'from 60 days ago to now',
] as const;

const rangeOf = (random: Random) => ranges[random.below(ranges.length)];

function randomTimes(rows: readonly Choice[], random: Random): readonly AskedTime[] {
  return some(
    random,
    rows.filter(({ type }) => type === 'time'),
    1,
  ).map(({ name }) => {
    const kind = random.below(6);
    const granularity = { granularity: random.pick(units) };
    const dateRange =
      kind === 1 && chance(random, 40)
        ? { compareDateRange: [rangeOf(random), rangeOf(random)] }
        : { dateRange: rangeOf(random) };
    // Without either it would be no part of the question.
    return {
      name,
      isFillable: kind === 1 || kind === 3,
      file: { dimension: name, ...(kind < 4 ? granularity : {}), ...(kind % 2 === 1 || kind === 4 ? dateRange : {}) },
    };
  });
}

/** A measure that needs something beside it, with that. */
interface SpecialMeasure {
  readonly measures: readonly string[];
  readonly dimensions: readonly string[];
  readonly filters: readonly object[];
  /** The members that these name. */
  readonly filtered: readonly string[];
  readonly times: readonly AskedTime[] | null;
}

function specialMeasure(members: readonly Choice[], random: Random): SpecialMeasure | null {
  if (chance(random, 75)) return null;
  const able = members.filter(
    ({ kind, use, time, choice }) =>
      kind === 'measure' && ((use === 'timed' && time !== null) || (use === 'switched' && choice !== null)),
  );
  const [found] = some(random, able, 1);
  if (found === undefined) return null;
  const { name, use, time, choice } = found;
  if (use === 'timed' && time !== null) {
    const dateRange = chance(random, 70) ? { dateRange: rangeOf(random) } : {};
    const file = { dimension: time, granularity: random.pick(units), ...dateRange };
    return {
      measures: [name],
      dimensions: [],
      filters: [],
      filtered: [],
      times: [{ name: time, isFillable: 'dateRange' in file, file }],
    };
  }
  const member = choice ?? name;
  return chance(random, 50)
    ? { measures: [name], dimensions: [member], filters: [], filtered: [], times: null }
    : {
        measures: [name],
        dimensions: [],
        filters: [{ member, operator: 'equals', values: [random.pick(['one', 'two'])] }],
        filtered: [member],
        times: null,
      };
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
  const members = from.flatMap((relation) => membersOf(relation).map((it) => inCube(relation, it)));
  const rows = members.filter(({ kind, use }) => kind === 'dimension' && use === 'plain');
  const isUngrouped = chance(random, 12);
  const plain = members.filter(({ kind, use }) => kind === 'measure' && use === 'plain');
  const special = isUngrouped ? null : specialMeasure(members, random);
  const dimensions = [...new Set([...(special?.dimensions ?? []), ...some(random, rows, 2).map(({ name }) => name)])];
  const figures = isUngrouped ? [] : some(random, plain, special === null ? 3 : 1).map(({ name }) => name);
  const measures = [...new Set([...(special?.measures ?? []), ...figures])];
  const times = special?.times ?? randomTimes(rows, random);
  const segments = isUngrouped
    ? []
    : some(
        random,
        members.filter(({ kind }) => kind === 'segment'),
        1,
      ).map(({ name }) => name);
  const having = measures.length > 0 && chance(random, 15) ? measures.slice(0, 1) : [];
  const filters = Array.from({ length: random.below(2) }, () => randomFilter(rows, random)).filter(
    ({ names }) => names.length > 0,
  );
  if (dimensions.length + measures.length === 0) return null;
  const all = [...dimensions, ...measures];
  const first = all[0] ?? '';
  const names = [
    ...all,
    ...(special?.filtered ?? []),
    ...times.map(({ name }) => name),
    ...segments,
    ...filters.flatMap((it) => it.names),
  ];
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
    timeDimensions: times.map(({ file }) => file),
    filters: [
      ...filters.map(({ filter }) => filter),
      ...(special?.filters ?? []),
      ...having.map((member) =>
        random.below(2) === 0
          ? { member, operator: 'gt', values: ['1'] }
          : { member, operator: random.pick(['set', 'notSet']) },
      ),
    ],
    timezone: random.pick(zones),
    ...(times.some(({ isFillable }) => isFillable) && chance(random, 60) ? { fillMissingDates: true } : {}),
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
