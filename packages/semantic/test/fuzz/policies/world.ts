/**
 * Random cubes with rows, joins and views, without policies: what the property of access policies is asked of. Every cube has the same
 * columns and members; joins make a tree of cubes, which views may enter at one or two roots. Keys point anywhere, also to no row.
 */
import type { MemberType, Relationship } from '../../../src/model/data-model.ts';
import type { ColumnType } from '../../engines.ts';
import type { Cell } from '../../policy-reference.ts';
import type { Random } from '../random.ts';

/** A member of a cube, wherever it is declared. */
export interface Place {
  readonly cube: string;
  readonly member: string;
}

/** A member as the rules see it, written down beside its definition and not read from it. */
export interface MemberNote {
  readonly kind: 'dimension' | 'measure' | 'segment';
  readonly type: MemberType;
  /** The members that its SQL names. */
  readonly reads: readonly Place[];
  /** What the model declares to stand in its place. */
  readonly mask: string | number | boolean | null;
}

/** A join from the cube that declares it. */
export interface Edge {
  readonly target: string;
  readonly relationship: Relationship;
}

/** A row of a table, by column. */
export type TableRow = Readonly<Record<string, Cell>> & { readonly id: number };

/** A cube with its rows. */
export interface WorldCube {
  readonly name: string;
  readonly table: string;
  readonly hasKey: boolean;
  readonly edges: readonly Edge[];
  readonly rows: readonly TableRow[];
  readonly members: ReadonlyMap<string, MemberNote>;
}

/** A view: the cubes that it picks all members from, each by one path. A member's name is its cube's, `_`, and its own. */
export interface WorldView {
  readonly name: string;
  readonly paths: readonly (readonly string[])[];
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
const own = (cube: string, ...members: readonly string[]): readonly Place[] =>
  members.map((member) => ({ cube, member }));

/** What a cube's members are, for the rules. */
function notesOf(cube: string, child: string | undefined, hasKey: boolean): ReadonlyMap<string, MemberNote> {
  const dimension = (type: MemberType, mask: MemberNote['mask'], ...reads: readonly Place[]): MemberNote => ({
    kind: 'dimension',
    type,
    reads,
    mask,
  });
  const measure = (mask: MemberNote['mask'], ...reads: readonly Place[]): MemberNote => ({
    kind: 'measure',
    type: 'number',
    reads,
    mask,
  });
  const beside = (member: string) => (child === undefined ? [] : own(child, member));
  return new Map([
    ['id', dimension('number', null)],
    ['s', dimension('string', 'hid')],
    ['n', dimension('number', -1)],
    ['t', dimension('time', null)],
    ['b', dimension('boolean', false)],
    ['owner', dimension('number', null)],
    // Masked by a column, see maskColumns.
    ['loud', dimension('string', null, ...own(cube, 's'))],
    ['next', dimension('number', null, ...own(cube, 'n'))],
    ['far', dimension('string', 'off', ...(child === undefined ? own(cube, 's') : beside('s')))],
    ...(child === undefined || !hasKey ? [] : [['made', dimension('number', null, ...beside('total'))] as const]),
    ...(child === undefined || !hasKey ? [] : [['narrow', dimension('number', null, ...beside('rows'))] as const]),
    ['big', { kind: 'segment', type: 'boolean', reads: own(cube, 'n'), mask: null }],
    ['rows', measure(null)],
    ['few', measure(null, ...own(cube, 'n'))],
    ['total', measure(0, ...own(cube, 'n'))],
    ['sum', measure(null)],
    ['mean', measure(null, ...own(cube, 'next'))],
    ['least', measure(7, ...own(cube, 'id'))],
    ['kinds', measure(null, ...own(cube, 'loud'))],
    ['custom', measure(null)],
    ['ratio', measure(null, ...own(cube, 'total', 'rows'))],
    ['mixed', measure(null, ...own(cube, 'ratio'), ...beside('rows'))],
    ['rolled', measure(null, ...own(cube, 'n'))],
    ['before', measure(null, ...own(cube, 'total', 't'))],
    ['whole', measure(null, ...own(cube, 'sum'))],
    ['bysome', measure(null, ...own(cube, 'sum', 's'))],
  ]);
}

/** The columns that masks are read from. */
export const maskColumns: Readonly<Record<string, string>> = { loud: 'note', next: 'owner' };

/** Two to five cubes of up to six rows each, and two views. */
export function randomWorld(random: Random, prefix: string): World {
  const count = 2 + random.below(4);
  const links = times(count - 1, (at) => {
    const other = random.below(at + 1);
    const relationship = random.pick(['many_to_one', 'many_to_one', 'one_to_many', 'one_to_one'] as const);
    // Declared in either: what is not joined to lower numbers is a root of its own.
    return random.below(3) > 0
      ? { from: other, to: at + 1, relationship }
      : {
          from: at + 1,
          to: other,
          relationship: relationship === 'one_to_many' ? ('many_to_one' as const) : relationship,
        };
  });
  const name = (at: number) => `c${at}`;
  const cubes = times(count, (at): WorldCube => {
    const edges = links
      .filter(({ from }) => from === at)
      .map(({ to, relationship }): Edge => ({ target: name(to), relationship }));
    const rows = times(
      random.below(8) === 0 ? 0 : 3 + random.below(5),
      (row): TableRow => ({
        id: row + 1,
        s: random.pick(['a', 'b', 'b', null]),
        n: random.pick([0, 1, 2, 3, null]),
        v: random.pick([1, 5, 9, -4, null]),
        t: random.pick([
          '2023-12-31 23:30:00',
          '2024-01-15 00:00:00',
          '2024-02-29 10:00:00',
          '2024-03-01 00:00:00',
          null,
        ]),
        b: random.pick([true, false, null]),
        owner: 1 + random.below(2),
        note: random.pick(['x', 'y']),
        ...Object.fromEntries(
          times(count, (other) => [`f_${name(other)}`, random.below(6) === 0 ? null : 1 + random.below(7)]),
        ),
      }),
    );
    const hasKey = random.below(12) > 0;
    const members = notesOf(name(at), edges[0]?.target, hasKey);
    return { name: name(at), table: `${prefix}c${at}`, hasKey, edges, rows, members };
  });
  return { cubes, views: times(2, (at) => randomView(`v${at}`, cubes, random)) };
}

/** Paths from one or two cubes along the joins; a cube that both lead to is picked by the first. */
function randomView(name: string, cubes: readonly WorldCube[], random: Random): WorldView {
  const seen = new Set<string>();
  const paths: string[][] = [];
  const walk = (path: readonly string[]): void => {
    const cube = cubes.find((it) => it.name === path.at(-1));
    if (cube === undefined) return;
    if (!seen.has(cube.name)) {
      seen.add(cube.name);
      paths.push([...path]);
    }
    for (const { target } of cube.edges) if (!path.includes(target) && random.below(5) > 0) walk([...path, target]);
  };
  const targets = new Set(cubes.flatMap(({ edges }) => edges.map(({ target }) => target)));
  const roots = cubes.filter((it) => !targets.has(it.name));
  const [first, second] = [roots[random.below(roots.length)], roots[random.below(roots.length)]];
  walk([random.below(4) === 0 || first === undefined ? `c${random.below(cubes.length)}` : first.name]);
  if (second !== undefined && !seen.has(second.name) && random.below(2) === 0) walk([second.name]);
  return { name, paths };
}

/** What a view's name of a member means; null: it has no such member. */
export function placeOf(world: World, relation: string, name: string): Place | null {
  const [, cube = '', member = ''] = /^(c\d)[_.](\w+)$/.exec(name) ?? [];
  if (world.cubes.some((it) => it.name === relation)) return { cube: relation, member: name };
  const known = world.cubes.find((it) => it.name === cube)?.members.has(member) ?? false;
  return known ? { cube, member } : null;
}

const memory = new WeakMap<World, Map<string, readonly Place[]>>();

/** The members that one reads, directly and through others, of any cube, without itself. */
export function readsOf(world: World, { cube, member }: Place): readonly Place[] {
  const known = memory.get(world) ?? new Map<string, readonly Place[]>();
  memory.set(world, known);
  const before = known.get(`${cube}.${member}`);
  if (before !== undefined) return before;
  const found = new Map<string, Place>();
  const follow = (place: Place): void => {
    for (const read of world.cubes.find((it) => it.name === place.cube)?.members.get(place.member)?.reads ?? []) {
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

/** The cubes and views as the keys of a model file say it, without policies. */
export function modelFileOf(world: World): { readonly cubes: readonly object[]; readonly views: readonly object[] } {
  const cubes = world.cubes.map(({ name, table, hasKey, edges }) => {
    const child = edges[0]?.target;
    const joins = edges.map(({ target, relationship }) => {
      const sql = {
        many_to_one: `{CUBE}.f_${target} = {${target}.id}`,
        one_to_many: `{CUBE}.id = {${target}}.f_${name}`,
        one_to_one: `{CUBE.id} = {${target}.id}`,
      }[relationship];
      return { name: target, relationship, sql };
    });
    return {
      name,
      sql_table: table,
      joins,
      dimensions: [
        { name: 'id', sql: '{CUBE}.id', type: 'number', ...(hasKey ? { primary_key: true } : {}) },
        { name: 's', sql: 's', type: 'string', mask: 'hid' },
        { name: 'n', sql: '{CUBE}.n', type: 'number', mask: -1 },
        { name: 't', sql: 't', type: 'time' },
        { name: 'b', sql: 'b', type: 'boolean', mask: false },
        { name: 'owner', sql: '{CUBE}.owner', type: 'number' },
        { name: 'loud', sql: 'UPPER({s})', type: 'string', mask: { sql: '{CUBE}.note' } },
        { name: 'next', sql: '{n} + 1', type: 'number', mask: { sql: '{CUBE}.owner' } },
        { name: 'far', sql: child === undefined ? '{s}' : `{${child}.s}`, type: 'string', mask: 'off' },
        ...(child === undefined || !hasKey
          ? []
          : [
              { name: 'made', sql: `{${child}.total}`, type: 'number', sub_query: true },
              {
                name: 'narrow',
                sql: `{${child}.rows}`,
                type: 'number',
                sub_query: true,
                propagate_filters_to_sub_query: true,
              },
            ]),
      ],
      segments: [{ name: 'big', sql: '{n} > 1' }],
      measures: [
        { name: 'rows', type: 'count' },
        { name: 'few', type: 'count', filters: [{ sql: '{n} > 1' }] },
        { name: 'total', type: 'sum', sql: '{n}', mask: 0 },
        { name: 'sum', type: 'sum', sql: '{CUBE}.v' },
        { name: 'mean', type: 'avg', sql: '{next}' },
        { name: 'least', type: 'min', sql: '{id}', mask: 7 },
        { name: 'kinds', type: 'count_distinct', sql: '{loud}' },
        { name: 'custom', type: 'number_agg', sql: 'SUM({CUBE}.v) + COUNT(*)' },
        { name: 'ratio', type: 'number', sql: '1.0 * {total} / {rows}' },
        { name: 'mixed', type: 'number', sql: child === undefined ? '{ratio} + 1' : `{ratio} + {${child}.rows}` },
        { name: 'rolled', type: 'sum', sql: '{n}', rolling_window: { trailing: '2 month' } },
        {
          name: 'before',
          type: 'number',
          multi_stage: true,
          sql: '{total}',
          time_shift: [{ time_dimension: 't', interval: '1 month', type: 'prior' }],
        },
        { name: 'whole', type: 'sum', multi_stage: true, sql: '{sum}', group_by: [] },
        { name: 'bysome', type: 'avg', multi_stage: true, sql: '{sum}', add_group_by: ['s'] },
      ],
    };
  });
  const views = world.views.map(({ name, paths }) => ({
    name,
    cubes: paths.map((path) => ({ join_path: path.join('.'), includes: '*', prefix: true })),
  }));
  return { cubes, views };
}
