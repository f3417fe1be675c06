/**
 * Random trees of cubes with consistent data and random questions for them, as plain values: as YAML, DDL and SQL for the
 * semantic layer, and as they are for the brute-force evaluator. Every cube has the same columns:
 * `id` and (`a`, `b`) both unique, `j` what others point to, `f_<cube>` what points to others, `g` text, `n` whole number,
 * `v` decimal with two places, `t` time, `owner` whose row it is.
 */
import type { Relationship } from '../src/model/data-model.ts';

/** What a cell holds. */
export type Value = string | number | null;

/** A row of a cube, by column. */
export type Row = Readonly<Record<string, Value>>;

/** A cube with its rows. */
export interface RandomCube {
  readonly name: string;
  readonly parent: string | null;
  /** From the parent to this cube. */
  readonly relationship: Relationship;
  readonly hasCompositeKey: boolean;
  /** Whether its policy shows only rows whose owner is 1. */
  readonly isRestricted: boolean;
  readonly rows: readonly Row[];
}

/** A tree of cubes, parents before children, and a view over all of them. */
export interface RandomWorld {
  readonly cubes: readonly RandomCube[];
  /** The cube of which the view shows only joined rows with g = x; null: all. */
  readonly viewFilterOn: string | null;
}

/** What can be grouped by: a dimension of a cube, or the month of its time, or a literal. */
export interface Key {
  readonly cube: string;
  readonly what: 'g' | 'n' | 'constant' | 'next' | 'up' | 'month' | 'literal';
}
const measureNames = [
  'rows',
  'some',
  'sum',
  'mean',
  'least',
  'most',
  'kinds',
  'ones',
  'beside',
  'ratio',
  'mixed',
  'deep',
] as const;
/** A measure of a cube. */
export interface Aggregate {
  readonly cube: string;
  readonly what: (typeof measureNames)[number];
}
const conditions = [
  ['more', '{n} > 1'],
  ['between', '{n} BETWEEN 1 AND 2'],
  ['notBetween', '{n} NOT BETWEEN 1 AND 2'],
  ['in', '{n} IN (1, 3.0)'],
  ['notIn', '{n} NOT IN (1, 3)'],
  ['double', '{n} * 2 - -1 > 3.5'],
  ['filled', 'coalesce({n}, 2) = 2'],
  ['is', "{g} = 'x'"],
  ['isNot', "NOT ({g} = 'x')"],
  ['like', "{g} LIKE 'x%'"],
  ['null', '{g} IS NULL'],
  ['later', "{t} >= '2024-02-01'"],
] as const;
/** A condition on a row of a cube; in `sql` the names of columns stand in braces. */
export interface Condition {
  readonly cube: string;
  readonly what: (typeof conditions)[number][0];
  readonly sql: string;
}
/** A question. Rows, keys alone, when it is not grouped. */
export interface RandomQuery {
  readonly keys: readonly Key[];
  readonly aggregates: readonly Aggregate[];
  readonly where: readonly Condition[];
  readonly glue: 'AND' | 'OR';
  readonly having: Aggregate | null;
  readonly isGrouped: boolean;
  readonly isDistinct: boolean;
}

/** Numbers from 0 to below `n`, the same for the same seed. */
export type Random = (n: number) => number;
/** A source of numbers. */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}
const pick = <T>(random: Random, list: readonly T[]): T => {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** Two to five cubes of up to five rows each. */
export function randomWorld(random: Random): RandomWorld {
  const count = 2 + random(4);
  const shapes = times(count, (index) => ({
    name: `c${index}`,
    parent: index === 0 ? null : `c${random(index)}`,
    relationship: pick(random, ['many_to_one', 'one_to_many', 'one_to_many', 'one_to_one'] as const),
    hasCompositeKey: random(3) === 0,
    isRestricted: random(3) === 0,
    size: random(6),
  }));
  const cubes = shapes.map((shape) => {
    const toChildren = shapes.filter((it) => it.parent === shape.name && it.relationship === 'many_to_one');
    const parent = shapes.find((it) => it.name === shape.parent);
    const rows = times(shape.size, (index): Row => {
      // Keys point anywhere: to a row, to none, or to nothing. One to one, each row points to a row of its own.
      const toParent = shape.relationship === 'one_to_one' ? index + 1 : 1 + random(6);
      return {
        id: index + 1,
        a: index >> 1,
        b: index & 1,
        j: index + 1,
        g: pick(random, ['x', 'y', null]),
        n: pick(random, [0, 1, 2, 3, null]),
        v: pick(random, [110, 250, -75, 0, null]),
        t: pick(random, ['2024-01-31 23:30:00', '2024-02-01 00:00:00', '2024-02-29 10:00:00']),
        owner: 1 + random(2),
        ...(parent === undefined || shape.relationship === 'many_to_one'
          ? {}
          : { [`f_${parent.name}`]: random(6) === 0 ? null : toParent }),
        ...Object.fromEntries(toChildren.map(({ name }) => [`f_${name}`, random(6) === 0 ? null : 1 + random(6)])),
      };
    });
    return { ...shape, rows };
  });
  return { cubes, viewFilterOn: random(4) === 0 ? pick(random, cubes).name : null };
}

/** A question about a world. */
export function randomQuery(random: Random, { cubes }: RandomWorld): RandomQuery {
  const cube = () => pick(random, cubes).name;
  const whats = ['g', 'g', 'n', 'constant', 'next', 'up', 'month', 'literal'] as const;
  const aggregate = (): Aggregate => ({ cube: cube(), what: pick(random, measureNames) });
  const isGrouped = random(6) > 0;
  const keys = times(random(3) + (isGrouped ? 0 : 1), (): Key => ({ cube: cube(), what: pick(random, whats) }));
  return {
    keys,
    aggregates: isGrouped ? times(random(4) + (keys.length === 0 ? 1 : 0), aggregate) : [],
    where: times(random(3), () => {
      const [what, sql] = pick(random, conditions);
      return { cube: cube(), what, sql };
    }),
    glue: pick(random, ['AND', 'OR']),
    having: isGrouped && random(4) === 0 ? aggregate() : null,
    isGrouped,
    isDistinct: !isGrouped && random(3) === 0,
  };
}

/** The column through which a cube and its parent are joined, in each of the two. */
export const joinColumns = ({ name, parent, relationship }: RandomCube) =>
  relationship === 'many_to_one' ? { above: `f_${name}`, below: 'j' } : { above: 'j', below: `f_${parent}` };

/** The child whose numbers a cube's measure `beside` reads: one that its rows have at most one of. */
export const besideOf = ({ cubes }: RandomWorld, name: string): RandomCube | undefined =>
  cubes.find((it) => it.parent === name && it.relationship !== 'one_to_many');
/** The child whose measures a cube's calculated measures use. */
export const childOf = ({ cubes }: RandomWorld, name: string): RandomCube | undefined =>
  cubes.find((it) => it.parent === name);

/** The world's data model, for users of the group `u` whose attribute `owner` is 1. */
export function yamlOf(world: RandomWorld): string {
  const cubes = world.cubes.map((cube) => {
    const children = world.cubes.filter((it) => it.parent === cube.name);
    const beside = besideOf(world, cube.name);
    const child = childOf(world, cube.name);
    const joins = children.map((it) => {
      const { above, below } = joinColumns(it);
      return `{ name: ${it.name}, relationship: ${it.relationship}, sql: "{CUBE}.${above} = {${it.name}}.${below}" }`;
    });
    const key = (name: string) => `{ name: ${name}, sql: ${name}, type: number, primary_key: true }`;
    return `
  - name: ${cube.name}
    ${cube.hasCompositeKey ? `sql: "SELECT * FROM ${cube.name} -- all of them"` : `sql_table: ${cube.name}`}
    joins: [${joins.join(', ')}]
    dimensions:
      - ${cube.hasCompositeKey ? `${key('a')}\n      - ${key('b')}` : key('id')}
      - { name: g, sql: g, type: string }
      - { name: n, sql: "{CUBE}.n", type: number }
      - { name: t, sql: t, type: time }
      - { name: owner, sql: owner, type: number }
      - { name: constant, sql: "'c'", type: string }
      - { name: next, sql: "{n} + 1 -- one more", type: number }
      - { name: up, sql: "${cube.parent === null ? '{g}' : `{${cube.parent}.g}`}", type: string }
    measures:
      - { name: rows, type: count }
      - { name: some, type: count, filters: [{ sql: "{n} > 1" }] }
      - { name: sum, sql: v, type: sum }
      - { name: mean, sql: "{n}", type: avg }
      - { name: least, sql: "{CUBE}.n", type: min }
      - { name: most, sql: v, type: max }
      - { name: kinds, sql: g, type: count_distinct }
      - { name: ones, sql: "1", type: sum }
      - { name: beside, sql: "{CUBE}.n${beside === undefined ? '' : ` * 10 + {${beside.name}.n}`}", type: sum }
      - { name: ratio, sql: "1.0 * {sum} / NULLIF({rows}, 0)", type: number }
      - { name: mixed, sql: "{rows} * 100 + ${child === undefined ? '{ones}' : `{${child.name}.rows}`}", type: number }
      - { name: deep, sql: "{mixed} - ${child === undefined ? '{rows}' : `{${child.name}.deep}`}", type: number }
    access_policy:
      - { group: u${cube.isRestricted ? ', row_level: { filters: [{ member: owner, operator: equals, values: ["{ userAttributes.owner }"] }] }' : ''} }`;
  });
  const pathOf = (name: string): string => {
    const parent = world.cubes.find((it) => it.name === name)?.parent ?? null;
    return parent === null ? name : `${pathOf(parent)}.${name}`;
  };
  const filter = `, row_level: { filters: [{ member: ${world.viewFilterOn}_g, operator: equals, values: [x] }] }`;
  return `cubes:${cubes.join('')}
views:
  - name: world
    cubes:
${world.cubes.map(({ name }) => `      - { join_path: ${pathOf(name)}, includes: "*", prefix: true }`).join('\n')}
    access_policy: [{ group: u${world.viewFilterOn === null ? '' : filter} }]
`;
}

/** SQL that makes the world's tables, in place of those of a world before. */
export function ddlOf(world: RandomWorld): string {
  const literal = (value: Value, column: string) =>
    value === null ? 'NULL' : typeof value === 'string' ? `'${value}'` : String(column === 'v' ? value / 100 : value);
  return world.cubes
    .map(({ name, rows }) => {
      const keys = world.cubes.map((it) => `f_${it.name}`);
      const columns = ['id', 'a', 'b', 'j', 'g', 'n', 'v', 't', 'owner', ...keys];
      const types: Record<string, string> = { g: 'VARCHAR', v: 'DECIMAL(12,2)', t: 'TIMESTAMP' };
      const create = `CREATE OR REPLACE TABLE ${name} (${columns.map((it) => `${it} ${types[it] ?? 'BIGINT'}`).join(', ')});`;
      const values = rows.map((row) => `(${columns.map((it) => literal(row[it] ?? null, it)).join(', ')})`);
      return values.length === 0 ? create : `${create} INSERT INTO ${name} VALUES ${values.join(', ')};`;
    })
    .join('\n');
}

/** The question as semantic SQL. */
export function sqlOf(query: RandomQuery): string {
  const keys = query.keys.map(({ cube, what }) =>
    what === 'month' ? `date_trunc('month', ${cube}_t)` : what === 'literal' ? "'lit'" : `${cube}_${what}`,
  );
  const measure = ({ cube, what }: Aggregate) => `MEASURE(${cube}_${what})`;
  const where = query.where.map(({ cube, sql }) => sql.replace(/\{(\w)\}/g, `${cube}_$1`));
  return [
    `SELECT ${query.isDistinct ? 'DISTINCT ' : ''}${[...keys, ...query.aggregates.map(measure)].join(', ')} FROM world`,
    ...(where.length === 0 ? [] : [`WHERE ${where.join(` ${query.glue} `)}`]),
    ...(query.isGrouped && keys.length > 0 ? [`GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`] : []),
    ...(query.having === null ? [] : [`HAVING ${measure(query.having)} > 1`]),
  ].join(' ');
}
