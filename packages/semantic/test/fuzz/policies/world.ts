/**
 * Random cubes with rows, joins and views, without policies: what the property of access policies is asked of. Cubes have the same
 * columns and mostly the same members; joins make a tree of cubes, to which a second way to one of them and a cube that extends another
 * may come. Keys point anywhere, also to no row.
 */
import type { Relationship } from '../../../src/model/data-model.ts';
import type { ColumnType } from '../../engines.ts';
import type { Cell } from '../../policy-reference.ts';
import type { Random } from '../random.ts';
import { type Definition, definitionsOf, extraNames, type MemberNote, type Place } from './members.ts';
import { randomViews, type WorldView } from './views.ts';

/** A join from the cube that declares it. */
export interface Edge {
  readonly target: string;
  readonly relationship: Relationship;
  /** The cube that declared it first, whose name is in the names of columns. */
  readonly declaredBy: string;
}

/** A row of a table, by column. */
export type TableRow = Readonly<Record<string, Cell>> & { readonly id: number };

/** A cube with its rows. */
export interface WorldCube {
  readonly name: string;
  readonly table: string;
  /** The cube that it extends, which has the same rows; null: it stands by itself. */
  readonly base: string | null;
  /** With those that it takes over. */
  readonly edges: readonly Edge[];
  readonly rows: readonly TableRow[];
  readonly definitions: readonly Definition[];
  readonly members: ReadonlyMap<string, MemberNote>;
}

/** Cubes and views. */
export interface World {
  readonly cubes: readonly WorldCube[];
  readonly views: readonly WorldView[];
}

/** The columns of the table of a cube. */
export const columnsOf = (world: World): Readonly<Record<string, ColumnType>> => ({
  id: 'bigint',
  s: 'text',
  n: 'bigint',
  v: 'bigint',
  t: 'timestamp',
  b: 'boolean',
  owner: 'bigint',
  note: 'text',
  ...Object.fromEntries(world.cubes.map(({ name }) => [`f_${name}`, 'bigint' as const])),
});

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

function randomRow(row: number, cubes: readonly string[], random: Random): TableRow {
  return {
    id: row + 1,
    s: random.pick(['a', 'b', 'b', null]),
    n: random.pick([0, 1, 2, 3, null]),
    v: random.pick([1, 5, 9, -4, null]),
    t: random.pick([
      '2023-12-31 23:30:00',
      '2024-01-15 00:00:00',
      '2024-02-01 03:00:00',
      '2024-02-29 10:00:00',
      '2024-03-01 00:00:00',
      // Clocks are put forward in America between these.
      '2024-03-10 06:30:00',
      '2024-03-10 07:30:00',
      null,
    ]),
    b: random.pick([true, false, null]),
    owner: 1 + random.below(2),
    note: random.pick(['x', 'y']),
    ...Object.fromEntries(cubes.map((cube) => [`f_${cube}`, random.below(6) === 0 ? null : 1 + random.below(7)])),
  };
}

interface Link {
  readonly from: string;
  readonly to: string;
  readonly relationship: Relationship;
}

/** A tree of joins, and now and then a second way to a cube. */
function randomLinks(names: readonly string[], random: Random): readonly Link[] {
  const between = (one: string, other: string): Link => {
    const relationship = random.pick(['many_to_one', 'many_to_one', 'one_to_many', 'one_to_one'] as const);
    // Declared in either: what is not joined to lower numbers is a root of its own.
    if (random.below(3) > 0) return { from: one, to: other, relationship };
    return { from: other, to: one, relationship: relationship === 'one_to_many' ? 'many_to_one' : relationship };
  };
  const links = names.slice(1).map((name, at) => between(names[random.below(at + 1)] ?? '', name));
  const [one, other] = [names[random.below(names.length)], names[random.below(names.length)]];
  const isNew =
    one !== other && !links.some(({ from, to }) => (from === one && to === other) || (from === other && to === one));
  if (random.below(2) === 0 || one === undefined || other === undefined || !isNew) return links;
  return [...links, { from: one, to: other, relationship: 'many_to_one' }];
}

/** Two to five cubes of up to seven rows each, and two views. */
export function randomWorld(random: Random, prefix: string): World {
  const count = 2 + random.below(4);
  const isExtending = count < 5 && random.below(10) < 3;
  const names = times(count, (at) => `c${at}`);
  const all = isExtending ? [...names, `c${count}`] : names;
  const links = randomLinks(names, random);
  const plans = names.map((name) => {
    const edges = links
      .filter(({ from }) => from === name)
      .map(({ to, relationship }): Edge => ({ target: to, relationship, declaredBy: name }));
    const rows = times(random.below(8) === 0 ? 0 : 3 + random.below(5), (row) => randomRow(row, all, random));
    const hasKey = random.below(25) > 0;
    const extras = new Set<string>(extraNames.filter(() => random.below(5) < 2));
    const table = `${prefix}${name}`;
    const child = edges[random.below(edges.length)]?.target ?? null;
    const plan = { cube: name, child, hasKey, extras, isOverriding: false };
    return { name, table, base: null, edges, rows, plan };
  });
  const base = plans[random.below(plans.length)];
  const cubes = plans.map(({ plan, ...cube }) => cubeOf(cube, definitionsOf(plan)));
  if (isExtending && base !== undefined) {
    const name = `c${count}`;
    // A row that leads to another of the same table, as from people to those above them.
    const up: Edge = { target: base.name, relationship: 'many_to_one', declaredBy: name };
    const edges = random.below(3) > 0 ? [...base.edges, up] : base.edges;
    const definitions = definitionsOf({ ...base.plan, cube: name, isOverriding: random.below(2) === 0 });
    const { table, rows } = base;
    cubes.push(cubeOf({ name, table, base: base.name, edges, rows }, definitions));
  }
  return { cubes, views: randomViews(cubes, random) };
}

const cubeOf = (cube: Omit<WorldCube, 'definitions' | 'members'>, definitions: readonly Definition[]): WorldCube => ({
  ...cube,
  definitions,
  members: new Map(definitions.map(({ name, note }) => [name, note])),
});

/** Where a member stands that a name of a relation means. */
export interface RelationPlace extends Place {
  /** The cubes that lead to it, its own included. */
  readonly path: readonly string[];
}

/** What a relation's name of a member means; null: it has no such member. */
export function placeOf({ cubes, views }: World, relation: string, name: string): RelationPlace | null {
  const view = views.find((it) => it.name === relation);
  if (view !== undefined) return view.members.get(name) ?? null;
  const isThere = cubes.find((it) => it.name === relation)?.members.has(name) === true;
  return isThere ? { cube: relation, member: name, path: [relation] } : null;
}

/** What the rules have to know of a member; undefined: there is none. */
export const noteOf = ({ cubes }: World, { cube, member }: Place): MemberNote | undefined =>
  cubes.find(({ name }) => name === cube)?.members.get(member);

const memory = new WeakMap<World, Map<string, readonly Place[]>>();

/** The members that one reads, directly and through others, of any cube, without itself. */
export function readsOf(world: World, { cube, member }: Place): readonly Place[] {
  const known = memory.get(world) ?? new Map<string, readonly Place[]>();
  memory.set(world, known);
  const before = known.get(`${cube}.${member}`);
  if (before !== undefined) return before;
  const found = new Map<string, Place>();
  const follow = (place: Place): void => {
    for (const read of noteOf(world, place)?.reads ?? []) {
      const key = `${read.cube}.${read.member}`;
      if (found.has(key)) continue;
      found.set(key, read);
      follow(read);
    }
  };
  follow({ cube, member });
  found.delete(`${cube}.${member}`);
  known.set(`${cube}.${member}`, [...found.values()]);
  return [...found.values()];
}
