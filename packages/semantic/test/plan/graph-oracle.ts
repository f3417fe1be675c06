/**
 * The answer to a question about a random graph, by the definition and nothing else: for each measure join the nodes that are needed from
 * its root, drop what the filters drop, and compute it over the different rows of its cube per group; then put the measures' rows together
 * by their keys. Or the reason for which there is no answer.
 */
import type { Value } from '../engines.ts';
import {
  edgeColumns,
  type Graph,
  type GraphCube,
  type GraphQuestion,
  type KeyColumn,
  type MeasureName,
  type Row,
} from './random-graph.ts';

/** Why a question has no answer. */
export type NoAnswer = 'no way' | 'several ways' | 'no key' | 'every combination';

/** Rows in no order, or why there are none. */
export type OracleAnswer = { readonly rows: Value[][] } | { readonly why: NoAnswer };

class Refusal extends Error {
  readonly why: NoAnswer;
  constructor(why: NoAnswer) {
    super(why);
    this.why = why;
  }
}

/** One row of each node; null where a join found none. */
type Joined = ReadonlyMap<string, Row | null>;

/** The answer for the user whose rows have owner 1. */
export function oracle(graph: Graph, question: GraphQuestion): OracleAnswer {
  try {
    return { rows: answer(graph, question) };
  } catch (error) {
    if (error instanceof Refusal) return { why: error.why };
    throw error;
  }
}

function answer(graph: Graph, question: GraphQuestion): Value[][] {
  const { keys, measures, where, isUngrouped } = question;
  const named = [...keys, ...where].map(({ node }) => node);
  const filtered = question.cubes === null && graph.viewFilterOn !== null ? [graph.viewFilterOn] : [];
  const world = { graph, question, named };
  if (measures.length === 0) {
    const root = rootOf(null, world);
    const { rows, at } = joinedFrom(root, [...named, ...filtered], world);
    const values = rows.map((row) => keys.map(({ node, column }) => dimension(graph, at(node), row, column)));
    if (!isUngrouped) return distinct(values);
    if (isCombination(root, [...named, ...filtered].map(at), graph)) throw new Refusal('every combination');
    return values;
  }
  const table = new Map<string, Map<number, Value>>();
  const roots = new Set<string>();
  for (const [index, { node, name }] of measures.entries()) {
    const root = rootOf(node, world);
    roots.add(root);
    const { rows, at } = joinedFrom(root, [...named, ...filtered, node], world);
    const home = at(node);
    const cube = cubeOf(graph, home);
    const isRepeated = isMultiplied(home, [...[...named, ...filtered].map(at), home], graph);
    const isIdempotent = name === 'least' || name === 'kinds';
    if (!cube.hasKey && (home !== root || (isRepeated && !isIdempotent))) throw new Refusal('no key');
    const groups = new Map<string, { keys: Value[]; rows: Set<Row> }>();
    if (keys.length === 0) groups.set('[]', { keys: [], rows: new Set() });
    for (const row of rows) {
      const values = keys.map(({ node: of, column }) => dimension(graph, at(of), row, column));
      const group = groups.get(JSON.stringify(values)) ?? { keys: values, rows: new Set<Row>() };
      const own = row.get(home) ?? null;
      if (own !== null) group.rows.add(own);
      groups.set(JSON.stringify(values), group);
    }
    for (const [key, group] of groups) {
      const values = table.get(key) ?? new Map<number, Value>();
      table.set(
        key,
        values.set(
          index,
          measure(name, [...group.rows], (row) => made(graph, cube, row)),
        ),
      );
    }
  }
  return [...table].map(([key, values]) => {
    const parsed: Value[] = JSON.parse(key);
    return [...parsed, ...measures.map((_, index) => values.get(index) ?? null)];
  });
}

interface World {
  readonly graph: Graph;
  readonly question: GraphQuestion;
  /** The nodes of keys and conditions. */
  readonly named: readonly string[];
}

const distinct = (rows: Value[][]): Value[][] => [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
const first = (node: string) => node.split('.')[0] ?? '';
const last = (node: string) => node.split('.').at(-1) ?? '';
const cubeOf = ({ cubes }: Graph, node: string): GraphCube => {
  const found = cubes.find(({ name }) => name === last(node));
  if (found === undefined) throw new Error(`no cube ${node}`);
  return found;
};

/** The root that a measure, or a question without one, is asked from. */
function rootOf(measure: string | null, world: World): string {
  const { graph, question, named } = world;
  const all = question.cubes ?? [...new Set(graph.nodes.map(first))];
  const own = measure === null ? named.map(first) : [first(measure)];
  const others = measure === null || question.cubes !== null ? all : [];
  const wanted = measure === null ? named : [measure, ...named];
  const candidates = [...new Set([...own, ...others])].filter((root) => all.includes(root));
  for (const root of candidates) {
    const found = wanted.map((node) => locate(root, node, world));
    if (found.includes('several ways')) throw new Refusal('several ways');
    if (!found.includes('no way')) return root;
  }
  throw new Refusal('no way');
}

/** Where a node is found from a root: of two ways to one cube, the one whose last steps are the same there. */
function locate(root: string, node: string, world: World): string {
  if (first(node) === root) return node;
  const found = locateCube(root, node, world);
  if (found === 'no way' || found === 'several ways' || world.question.cubes !== null) return found;
  const alike = (path: string) => {
    const [steps = [], others = []] = [path, found].map((it) => it.split('.').reverse());
    const until = steps.findIndex((step, at) => step !== others[at]);
    // A step from one root is like a step from another.
    return (until === -1 ? steps.length : until) + (steps.length === 2 && others.length === 2 ? 0.5 : 0);
  };
  const twins = world.graph.nodes.filter((it) => first(it) === first(node) && last(it) === last(node) && it !== node);
  return twins.some((twin) => alike(twin) >= alike(node)) ? 'several ways' : found;
}

/** Where a node's cube is found from a root. */
function locateCube(root: string, node: string, { graph, question }: World): string {
  const declared = question.cubes === null ? graph.nodes.filter((it) => first(it) === root) : [root];
  const own = declared.filter((it) => last(it) === last(node));
  if (own.length > 0) return own.length === 1 ? (own[0] ?? '') : 'several ways';
  // All ways, the shortest first.
  let ways = [root];
  for (let step = 0; step < graph.cubes.length; step += 1) {
    ways = ways.flatMap((way) =>
      cubeOf(graph, way)
        .edges.filter(({ target }) => !way.split('.').includes(target))
        .map(({ target }) => `${way}.${target}`),
    );
    const there = ways.filter((way) => last(way) === last(node));
    if (there.length > 0) return there.length === 1 ? (there[0] ?? '') : 'several ways';
  }
  return 'no way';
}

function joinedFrom(root: string, wanted: readonly string[], world: World) {
  const { graph, question } = world;
  const at = (node: string) => locate(root, node, world);
  const nodes = new Set([root]);
  for (const node of wanted.map(at)) {
    // A policy does not choose the root: what it filters by is there, or nothing is answered.
    if (node === 'no way' || node === 'several ways') throw new Refusal(node);
    const names = node.split('.');
    for (const [index] of names.entries()) nodes.add(names.slice(0, index + 1).join('.'));
  }
  const visible = (node: string) => visibleRows(cubeOf(graph, node));
  let rows: Joined[] = visible(root).map((row) => new Map([[root, row]]));
  for (const node of [...nodes].sort((one, other) => one.split('.').length - other.split('.').length)) {
    if (node === root) continue;
    const parent = node.slice(0, node.lastIndexOf('.'));
    const edge = cubeOf(graph, parent).edges.find(({ target }) => target === last(node));
    if (edge === undefined) throw new Error(`no join to ${node}`);
    const [own, others] = edgeColumns(last(parent), edge);
    rows = rows.flatMap((row) => {
      const value = row.get(parent)?.[own] ?? null;
      const matches = value === null ? [] : visible(node).filter((it) => it[others] === value);
      return (matches.length === 0 ? [null] : matches).map((it) => new Map([...row, [node, it]]));
    });
  }
  const viewFilter = question.cubes === null ? graph.viewFilterOn : null;
  const kept = rows.filter((row) => {
    if (viewFilter !== null && row.get(at(viewFilter))?.['g'] !== 'x') return false;
    return question.where.every(({ node, what }) => {
      const it = row.get(at(node));
      if (what === 'null') return (it?.['g'] ?? null) === null;
      if (what === 'is') return it?.['g'] === 'x';
      return typeof it?.['n'] === 'number' && it['n'] > 1;
    });
  });
  return { rows: kept, at };
}

const visibleRows = ({ rows, isRestricted }: GraphCube): readonly Row[] =>
  rows.filter(({ owner }) => !isRestricted || owner === 1);

/** How many rows of another cube a row is joined with. */
function made(graph: Graph, { name, counts }: GraphCube, row: Row): Value {
  if (counts === null) return row['n'] ?? null;
  const [own, others] = edgeColumns(name, counts);
  const value = row[own] ?? null;
  return value === null ? 0 : visibleRows(cubeOf(graph, counts.target)).filter((it) => it[others] === value).length;
}

function dimension(graph: Graph, node: string, joined: Joined, column: KeyColumn): Value {
  const row = joined.get(node) ?? null;
  if (row === null) return null;
  return column === 'made' ? made(graph, cubeOf(graph, node), row) : (row[column] ?? null);
}

/** Whether a row of a node may come several times, or be joined with several, when these nodes are joined: told by the declared joins. */
function isMultiplied(node: string, wanted: readonly string[], graph: Graph): boolean {
  const nodes = new Set([first(node)]);
  for (const path of wanted) {
    const names = path.split('.');
    for (const [index] of names.entries()) nodes.add(names.slice(0, index + 1).join('.'));
  }
  return [...nodes].some((path) => {
    if (!path.includes('.')) return false;
    const parent = path.slice(0, path.lastIndexOf('.'));
    const edge = cubeOf(graph, parent).edges.find(({ target }) => target === last(path));
    const isAbove = node === path || node.startsWith(`${path}.`);
    // Walked up, from the node towards the root, or down.
    return edge?.relationship === (isAbove ? 'many_to_one' : 'one_to_many');
  });
}

/** Whether there is no node whose rows come once each. */
function isCombination(root: string, nodes: readonly string[], graph: Graph): boolean {
  const all = new Set([
    root,
    ...nodes.flatMap((node) => node.split('.').map((_, at, names) => names.slice(0, at + 1).join('.'))),
  ]);
  return [...all].every((node) => isMultiplied(node, [...all], graph));
}

function measure(name: MeasureName, rows: readonly Row[], madeOf: (row: Row) => Value): Value {
  const numbers = (column: string, of = rows) =>
    of.flatMap((row) => (typeof row[column] === 'number' ? [row[column]] : []));
  const sum = (values: readonly number[]) => (values.length === 0 ? null : values.reduce((one, other) => one + other));
  const some = rows.filter(({ n }) => typeof n === 'number' && n > 1);
  switch (name) {
    case 'rows':
      return rows.length;
    case 'some':
      return some.length;
    case 'sum':
      return sum(numbers('v'));
    case 'mean': {
      const total = sum(numbers('n'));
      return total === null ? null : total / numbers('n').length;
    }
    case 'least':
      return numbers('n').length === 0 ? null : Math.min(...numbers('n'));
    case 'kinds':
      return new Set(rows.flatMap(({ g }) => g ?? [])).size;
    case 'custom':
    case 'somewhat': {
      const of = name === 'custom' ? rows : some;
      const total = sum(numbers('n', of));
      return total === null ? null : total * 10 + of.length;
    }
    case 'total':
      return sum(rows.map(madeOf).filter((value) => typeof value === 'number'));
    case 'ratio': {
      const total = sum(numbers('v'));
      return total === null || rows.length === 0 ? null : total / rows.length;
    }
  }
}
