/**
 * The answer to a question about a random world, by the definition and nothing else: join all cubes that are used, left
 * joins from the root, drop what the filters drop, and compute each measure over the different rows of its cube per group.
 */
import {
  type Aggregate,
  besideOf,
  type Condition,
  childOf,
  joinColumns,
  type Key,
  type RandomQuery,
  type RandomWorld,
  type Row,
  type Value,
} from './random-model.ts';

/** One row of each cube that is used; null where a join found none. */
type Joined = Readonly<Record<string, Row | null>>;

/** The rows of the answer, in no order. `sum` and the like are numbers. */
export function bruteForce(world: RandomWorld, query: RandomQuery): Value[][] {
  const joined = joinedRows(world, usedCubes(world, query)).filter((row) => isKept(world, query, row));
  const keysOf = (row: Joined) => query.keys.map((key) => keyValue(world, key, row));
  if (!query.isGrouped) {
    const rows = joined.map(keysOf);
    return query.isDistinct ? [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()] : rows;
  }
  const groups = new Map<string, { keys: Value[]; rows: Joined[] }>();
  if (query.keys.length === 0) groups.set('[]', { keys: [], rows: [] });
  for (const row of joined) {
    const keys = keysOf(row);
    const group = groups.get(JSON.stringify(keys)) ?? { keys, rows: [] };
    group.rows.push(row);
    groups.set(JSON.stringify(keys), group);
  }
  return [...groups.values()]
    .filter(({ rows }) => {
      const value = query.having === null ? 2 : measure(world, query.having, rows);
      return value !== null && value > 1;
    })
    .map(({ keys, rows }) => [...keys, ...query.aggregates.map((it) => measure(world, it, rows))]);
}

function usedCubes(world: RandomWorld, query: RandomQuery): ReadonlySet<string> {
  const used = new Set<string>(['c0']);
  const parentOf = (name: string) => world.cubes.find((it) => it.name === name)?.parent ?? null;
  const use = (name: string | null | undefined) => {
    for (let at = name ?? null; at !== null; at = parentOf(at)) used.add(at);
  };
  const useMeasure = ({ cube, what }: Aggregate): void => {
    use(cube);
    if (what === 'beside') use(besideOf(world, cube)?.name);
    const child = childOf(world, cube)?.name;
    if (child !== undefined && what === 'mixed') use(child);
    if (child !== undefined && what === 'deep') useMeasure({ cube: child, what });
  };
  // A constant reads no column, but it is a member of its cube.
  for (const { cube, what } of query.keys) if (what !== 'literal') use(cube);
  for (const { cube } of query.where) use(cube);
  for (const it of query.aggregates) useMeasure(it);
  if (query.having !== null) useMeasure(query.having);
  use(world.viewFilterOn);
  return used;
}

function joinedRows(world: RandomWorld, used: ReadonlySet<string>): Joined[] {
  let joined: Joined[] = [];
  // Parents come before children in the list of cubes.
  for (const cube of world.cubes) {
    if (!used.has(cube.name)) continue;
    const visible = cube.rows.filter(({ owner }) => !cube.isRestricted || owner === 1);
    if (cube.parent === null) {
      joined = visible.map((row) => ({ [cube.name]: row }));
      continue;
    }
    const { above, below } = joinColumns(cube);
    const parent = cube.parent;
    joined = joined.flatMap((left) => {
      const value = left[parent]?.[above] ?? null;
      const matches = value === null ? [] : visible.filter((row) => row[below] === value);
      return (matches.length === 0 ? [null] : matches).map((row) => ({ ...left, [cube.name]: row }));
    });
  }
  return joined;
}

function isKept(world: RandomWorld, query: RandomQuery, row: Joined): boolean {
  if (world.viewFilterOn !== null && row[world.viewFilterOn]?.g !== 'x') return false;
  if (query.where.length === 0) return true;
  const results = query.where.map((it) => holds(it, row));
  return query.glue === 'AND' ? results.every((it) => it === true) : results.some((it) => it === true);
}

/** Null is unknown. */
function holds({ cube, what }: Condition, joined: Joined): boolean | null {
  const row = joined[cube];
  const [n, g, t] = [asNumber(row?.n), row?.g ?? null, row?.t ?? null];
  const ofNumber = (test: (value: number) => boolean) => (n === null ? null : test(n));
  const ofText = (test: (value: Value) => boolean) => (g === null ? null : test(g));
  switch (what) {
    case 'more':
      return ofNumber((it) => it > 1);
    case 'between':
      return ofNumber((it) => it >= 1 && it <= 2);
    case 'notBetween':
      return ofNumber((it) => it < 1 || it > 2);
    case 'in':
      return ofNumber((it) => it === 1 || it === 3);
    case 'notIn':
      return ofNumber((it) => it !== 1 && it !== 3);
    case 'double':
      return ofNumber((it) => it * 2 + 1 > 3.5);
    case 'filled':
      return (n ?? 2) === 2;
    case 'is':
      return ofText((it) => it === 'x');
    case 'isNot':
      return ofText((it) => it !== 'x');
    case 'like':
      return ofText((it) => String(it).startsWith('x'));
    case 'null':
      return g === null;
    case 'later':
      return t === null ? null : String(t) >= '2024-02-01';
  }
}

const asNumber = (value: Value | undefined): number | null => (typeof value === 'number' ? value : null);

function keyValue(world: RandomWorld, { cube, what }: Key, joined: Joined): Value {
  const row = joined[cube];
  switch (what) {
    case 'g':
      return row?.g ?? null;
    case 'n':
      return row?.n ?? null;
    case 'constant':
      return 'c';
    case 'literal':
      return 'lit';
    case 'next': {
      const n = asNumber(row?.n);
      return n === null ? null : n + 1;
    }
    case 'up':
      return joined[world.cubes.find((it) => it.name === cube)?.parent ?? cube]?.g ?? null;
    case 'month':
      return row?.t === undefined || row.t === null ? null : `${String(row.t).slice(0, 7)}-01 00:00:00`;
  }
}

function measure(world: RandomWorld, { cube, what }: Aggregate, joined: readonly Joined[]): number | null {
  const rows = new Map<Row, Joined>();
  for (const it of joined) {
    const row = it[cube];
    if (row !== null && row !== undefined) rows.set(row, it);
  }
  const distinct = [...rows.keys()];
  const numbers = (column: string, scale = 1) =>
    distinct.flatMap((row) => {
      const value = asNumber(row[column]);
      return value === null ? [] : [value / scale];
    });
  const sum = (values: readonly number[]) => (values.length === 0 ? null : values.reduce((one, other) => one + other));
  const of = (it: Aggregate) => measure(world, it, joined);
  const child = childOf(world, cube)?.name;
  switch (what) {
    case 'rows':
      return distinct.length;
    case 'some':
      return numbers('n').filter((it) => it > 1).length;
    case 'sum':
      return sum(numbers('v', 100));
    case 'mean': {
      const total = sum(numbers('n'));
      return total === null ? null : total / numbers('n').length;
    }
    case 'least':
      return numbers('n').length === 0 ? null : Math.min(...numbers('n'));
    case 'most':
      return numbers('v').length === 0 ? null : Math.max(...numbers('v', 100));
    case 'kinds':
      return new Set(distinct.flatMap(({ g }) => g ?? [])).size;
    case 'ones':
      return distinct.length === 0 ? null : distinct.length;
    case 'beside': {
      const beside = besideOf(world, cube)?.name;
      if (beside === undefined) return sum(numbers('n'));
      return sum(
        [...rows].flatMap(([row, it]) => {
          const [own, other] = [asNumber(row.n), asNumber(it[beside]?.n)];
          return own === null || other === null ? [] : [own * 10 + other];
        }),
      );
    }
    case 'ratio':
      return divide(of({ cube, what: 'sum' }), distinct.length);
    case 'mixed':
      return minus(
        distinct.length * 100,
        negative(of(child === undefined ? { cube, what: 'ones' } : { cube: child, what: 'rows' })),
      );
    case 'deep':
      return minus(
        of({ cube, what: 'mixed' }),
        of(child === undefined ? { cube, what: 'rows' } : { cube: child, what: 'deep' }),
      );
  }
}

const negative = (value: number | null) => (value === null ? null : -value);
const minus = (one: number | null, other: number | null) => (one === null || other === null ? null : one - other);
const divide = (one: number | null, other: number) => (one === null || other === 0 ? null : one / other);
