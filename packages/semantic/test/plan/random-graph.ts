/**
 * Random graphs of cubes with consistent data, a view with one or two roots over them, and questions, as plain values. Every cube has the
 * same columns: `id` unique, `g` text, `n` whole number, `v` decimal with two places, `owner` whose row it is; an edge between two cubes
 * is a pair of columns, `to_<cube>` what points and `at` what is pointed at. Tables may be read by two cubes, and cubes may lack a key.
 */
import type { ColumnType, Value } from '../engines.ts';
import { type Random, randomFrom } from '../random-model.ts';
import type { Condition, Question } from './ask.ts';

export { type Random, randomFrom };

/** A row, by column. */
export type Row = Readonly<Record<string, Value>>;

/** A join as a cube declares it. */
export interface Edge {
  readonly target: string;
  readonly relationship: 'many_to_one' | 'one_to_many' | 'one_to_one';
}

/** A cube with its rows. */
export interface GraphCube {
  readonly name: string;
  readonly table: string;
  readonly hasKey: boolean;
  /** Whether its policy shows only rows whose owner is 1. */
  readonly isRestricted: boolean;
  readonly edges: readonly Edge[];
  readonly rows: readonly Row[];
  /** Its dimension `made` counts the rows of that cube for each of its own; null: it is `n`. */
  readonly counts: Edge | null;
}

/** Cubes, and the paths of the view over them. */
export interface Graph {
  readonly cubes: readonly GraphCube[];
  /** Every node of the view, parents before children: cube names joined by dots. */
  readonly nodes: readonly string[];
  /** The node of which the view shows only joined rows with g = x; null: all. */
  readonly viewFilterOn: string | null;
}

const pick = <T>(random: Random, list: readonly T[]): T => {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** The columns of every table of a graph of so many cubes. */
export const columnsOf = (graph: Graph): Record<string, ColumnType> => ({
  id: 'integer',
  at: 'integer',
  g: 'text',
  n: 'integer',
  v: 'decimal(12,2)',
  owner: 'integer',
  ...Object.fromEntries(
    graph.cubes.flatMap(({ name }) => [`to_${name}`, `from_${name}`].map((key) => [key, 'integer' as const])),
  ),
});

/** Three to five cubes of up to five rows, and a view. */
export function randomGraph(random: Random): Graph {
  const names = times(3 + random(3), (index) => `c${index}`);
  const edges = new Map<string, Edge[]>(names.map((name) => [name, []]));
  for (const [at, one] of names.entries()) {
    for (const other of names.slice(at + 1)) {
      if (random(5) < 2) continue;
      const [from, target] = random(4) === 0 ? [other, one] : [one, other];
      const relationship = pick(random, [
        'many_to_one',
        'many_to_one',
        'one_to_many',
        'one_to_many',
        'one_to_one',
      ] as const);
      edges.get(from)?.push({ target, relationship });
    }
  }
  const makeRows = () =>
    times(
      random(6),
      (index): Row => ({
        id: index + 1,
        at: index + 1,
        g: pick(random, ['x', 'y', null]),
        n: pick(random, [0, 1, 2, 3, null]),
        v: pick(random, [1.1, 2.5, -0.75, 0, null]),
        owner: 1 + random(2),
        // Keys point anywhere: to a row, to none, or to nothing; one to one, each row to one of its own.
        ...Object.fromEntries(
          names.flatMap((name) => [
            [`to_${name}`, random(6) === 0 ? null : 1 + random(6)],
            [`from_${name}`, random(6) === 0 ? null : index + 1],
          ]),
        ),
      }),
    );
  const keyed = new Set(names.filter(() => random(6) > 0));
  const cubes: GraphCube[] = [];
  for (const name of names) {
    // Now and then the table of another cube: the same rows in another role.
    const other = cubes.length > 0 && random(5) === 0 ? pick(random, cubes) : undefined;
    cubes.push({
      name,
      table: other?.table ?? name,
      hasKey: keyed.has(name),
      isRestricted: random(3) === 0,
      edges: edges.get(name) ?? [],
      rows: other?.rows ?? makeRows(),
      counts: keyed.has(name) ? (edges.get(name)?.find(({ target }) => keyed.has(target)) ?? null) : null,
    });
  }
  const nodes = new Set<string>();
  for (let root = 0; root < 1 + random(3); root += 1) {
    let path = pick(random, names);
    nodes.add(path);
    for (let walk = 0; walk < 3; walk += 1) {
      let [here = path] = path.split('.', 1);
      for (let step = 0; step < 3; step += 1) {
        const next = edges.get(here.split('.').at(-1) ?? '') ?? [];
        const target = next.length === 0 ? undefined : pick(random, next).target;
        if (target === undefined || here.split('.').includes(target)) break;
        here = `${here}.${target}`;
        nodes.add(here);
      }
      path = here;
    }
  }
  const list = [...nodes].slice(0, 8);
  return { cubes, nodes: list, viewFilterOn: random(5) === 0 ? pick(random, list) : null };
}

const measureNames = ['rows', 'some', 'sum', 'mean', 'least', 'kinds', 'custom', 'somewhat', 'ratio', 'total'] as const;
/** A measure of a cube. */
export type MeasureName = (typeof measureNames)[number];

/** A dimension of a cube. */
export type KeyColumn = 'g' | 'n' | 'made';

/** A question about a view, or about cubes; members are told by their nodes. */
export interface GraphQuestion {
  /** Null: the view; else the cubes that are joined. */
  readonly cubes: readonly string[] | null;
  readonly keys: readonly { readonly node: string; readonly column: KeyColumn }[];
  readonly measures: readonly { readonly node: string; readonly name: MeasureName }[];
  readonly where: readonly { readonly node: string; readonly what: 'more' | 'is' | 'null' }[];
  readonly isUngrouped: boolean;
}

/** A question about a graph. */
export function randomQuestion(random: Random, graph: Graph): GraphQuestion {
  const isJoined = random(3) === 0;
  const nodes = isJoined ? [...new Set(times(2 + random(2), () => pick(random, graph.cubes).name))] : graph.nodes;
  const isUngrouped = random(8) === 0;
  const keys = times(random(3) + (isUngrouped ? 1 : 0), () => ({
    node: pick(random, nodes),
    column: pick(random, ['g', 'g', 'n', 'made'] as const),
  }));
  return {
    cubes: isJoined ? nodes : null,
    keys,
    measures: isUngrouped
      ? []
      : times(random(4) + (keys.length === 0 ? 1 : 0), () => ({
          node: pick(random, nodes),
          name: pick(random, measureNames),
        })),
    where: times(random(5) < 2 ? 1 : 0, () => ({
      node: pick(random, nodes),
      what: pick(random, ['more', 'is', 'null'] as const),
    })),
    isUngrouped,
  };
}

/** The question as the planner takes it. */
export function toQuestion(question: GraphQuestion): Question {
  const name = (node: string, member: string) =>
    question.cubes === null ? `${node.replaceAll('.', '_')}_${member}` : `${node}.${member}`;
  return {
    from: question.cubes ?? 'world',
    keys: question.keys.map(({ node, column }) => name(node, column)),
    measures: question.measures.map((it) => name(it.node, it.name)),
    where: question.where.map(({ node, what }): Condition => {
      if (what === 'more') return [name(node, 'n'), '>', 1];
      return what === 'is' ? [name(node, 'g'), '=', 'x'] : [name(node, 'g'), 'null'];
    }),
    isUngrouped: question.isUngrouped,
  };
}

/** The columns of an edge, in the cube that declares it and in the other. */
export const edgeColumns = (from: string, { target, relationship }: Edge): readonly [own: string, others: string] => {
  if (relationship === 'many_to_one') return [`to_${target}`, 'at'];
  return ['at', relationship === 'one_to_many' ? `to_${from}` : `from_${from}`];
};

/** The data model, for users of the group `u` whose attribute `owner` is 1. */
export function yamlOf(graph: Graph, prefix: string): string {
  const cubes = graph.cubes.map(({ name, table, hasKey, isRestricted, edges, counts }) => {
    const joins = edges.map((edge) => {
      const [own, others] = edgeColumns(name, edge);
      return `{ name: ${edge.target}, relationship: ${edge.relationship}, sql: "{CUBE}.${own} = {${edge.target}}.${others}" }`;
    });
    return `
  - name: ${name}
    sql_table: ${prefix}${table}
    joins: [${joins.join(', ')}]
    dimensions:
      - { name: id, sql: id, type: number${hasKey ? ', primary_key: true, public: true' : ''} }
      - { name: g, sql: g, type: string }
      - { name: n, sql: "{CUBE}.n", type: number }
      - { name: owner, sql: owner, type: number }
      - { name: made, sql: "{${counts === null ? 'n' : `${counts.target}.rows`}}", type: number, sub_query: ${counts !== null} }
    measures:
      - { name: rows, type: count }
      - { name: some, type: count, filters: [{ sql: "{n} > 1" }] }
      - { name: sum, sql: v, type: sum }
      - { name: mean, sql: "{n}", type: avg }
      - { name: least, sql: n, type: min }
      - { name: kinds, sql: g, type: count_distinct }
      - { name: custom, sql: "SUM({CUBE}.n) * 10 + COUNT(*)", type: number_agg }
      - { name: somewhat, sql: "SUM({CUBE}.n) * 10 + COUNT(*)", type: number_agg, filters: [{ sql: "{n} > 1" }] }
      - { name: ratio, sql: "{sum} / {rows}", type: number }
      - { name: total, sql: "{made}", type: sum }
    access_policy:
      - { group: u${isRestricted ? ', row_level: { filters: [{ member: owner, operator: equals, values: ["{ userAttributes.owner }"] }] }' : ''} }`;
  });
  const filter = `, row_level: { filters: [{ member: ${graph.viewFilterOn?.replaceAll('.', '_')}_g, operator: equals, values: [x] }] }`;
  return `cubes:${cubes.join('')}
views:
  - name: world
    cubes:
${graph.nodes.map((node) => `      - { join_path: ${node}, includes: "*", prefix: true, alias: ${node.replaceAll('.', '_')} }`).join('\n')}
    access_policy: [{ group: u${graph.viewFilterOn === null ? '' : filter} }]
`;
}
