/** Where what members refer to leads in the end: without circles, not without end, and not to other cubes where that is no use. */
import type { Cube, CubeMember, PolicyFilter, SqlTemplate } from './data-model.ts';
import type { CubeSource } from './read-sources.ts';

/** References that may lead from one to the next. */
const depthMax = 32;
/** References within one member once those within its references are counted, too: they all become SQL. */
const expandedMax = 1000;

/** What one member leads to, its references' references included. */
interface Reach {
  readonly references: number;
  readonly cubes: ReadonlySet<string>;
}

/** Finds the reach of a member, or a sentence that says why it has none. */
export type ReachOf = (cube: string, member: string) => Reach | string;

/** Each member of these cubes is looked into once, however many refer to it. */
export function reachOfMembers(cubes: ReadonlyMap<string, Cube>): ReachOf {
  const known = new Map<string, Reach>();
  const way: string[] = [];
  const open = new Set<string>();
  const find = (cube: string, name: string): Reach | string => {
    const id = `${cube}.${name}`;
    if (open.has(id)) {
      const hint = way.at(-1) === id ? `; its column is written {CUBE}.${name}` : '';
      return `refers to itself, by ${[...way, id].slice(-4).join(' → ')}${hint}`;
    }
    if (way.length > depthMax) return `leads over more than ${depthMax} references`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const member = cubes.get(cube)?.members.get(name);
    let references = 0;
    let reached: ReadonlySet<string> = new Set([cube]);
    way.push(id);
    open.add(id);
    try {
      for (const part of (member === undefined ? [] : fragmentsOf(member)).flat()) {
        if (part.kind === 'cube' && !reached.has(part.cube)) reached = new Set(reached).add(part.cube);
        if (part.kind !== 'member') continue;
        const next = find(part.cube, part.member);
        if (typeof next === 'string') return next;
        references += 1 + next.references;
        if (!next.cubes.isSubsetOf(reached)) reached = reached.union(next.cubes);
      }
    } finally {
      way.pop();
      open.delete(id);
    }
    if (references > expandedMax) return `stands for more than ${expandedMax} references`;
    const reach = { references, cubes: reached };
    known.set(id, reach);
    return reach;
  };
  return find;
}

/** Every SQL fragment of a member. */
function fragmentsOf(member: CubeMember): readonly SqlTemplate[] {
  if (member.kind === 'segment') return [member.sql];
  if (member.kind === 'measure') {
    if (member.aggregation !== 'multi_stage') {
      return [member.sql ?? [], ...('filters' in member ? member.filters : [])];
    }
    const { sql } = member;
    return 'switch' in sql ? [...sql.cases.map((one) => one.sql), sql.otherwise] : [sql];
  }
  switch (member.source.kind) {
    case 'sql':
      return [member.source.sql];
    case 'geo':
      return [member.source.latitude, member.source.longitude];
    case 'sub-query':
      return [[{ kind: 'member', cube: member.source.cube, member: member.source.measure }]];
    case 'switch':
      return [];
  }
}

/** Checks where every reference that a cube holds leads. What does not load was reported before. */
export function checkReferences(
  source: CubeSource,
  cube: Cube,
  cubes: ReadonlyMap<string, Cube>,
  reachOf: ReachOf,
): void {
  const members = [...source.dimensions, ...source.measures, ...source.segments];
  for (const { file, report } of members) {
    const member = cube.members.get(file.name);
    if (member === undefined) continue;
    const reach = reachOf(cube.name, file.name);
    if (typeof reach === 'string')
      report.error('sql' in file && file.sql !== undefined ? ['sql'] : [], `${member.kind} ${file.name} ${reach}`);
    if (member.kind === 'dimension' && member.source.kind === 'sub-query') {
      const { cube: other } = member.source;
      if (cube.primaryKey.length === 0) {
        report.error(
          ['sub_query'],
          `${file.name} is computed for each row: cube ${cube.name} needs a primary key`,
          'key',
        );
      }
      if (!isReachable(cube.name, other, cubes) && cubes.get(other)?.joins.has(cube.name) !== true) {
        report.error(
          ['sql'],
          `no joins lead from cube ${cube.name} to ${other}, and ${other} does not join ${cube.name}`,
        );
      }
    }
    if (member.kind === 'dimension' && member.isPrimaryKey && typeof reach !== 'string' && reach.cubes.size > 1) {
      report.error(['primary_key'], `the primary key ${file.name} reads another cube`, 'key');
    }
  }

  for (const { file, report } of source.joins) {
    if (!cubes.has(file.name)) continue;
    for (const part of cube.joins.get(file.name)?.sql ?? []) {
      if (part.kind === 'text' || part.kind === 'literal') continue;
      const found = part.kind === 'member' ? cubes.get(part.cube)?.members.get(part.member) : undefined;
      const reach = part.kind === 'member' ? reachOf(part.cube, part.member) : { cubes: new Set([part.cube]) };
      const isOutside =
        typeof reach !== 'string' && [...reach.cubes].some((it) => it !== cube.name && it !== file.name);
      const isSubQuery = found?.kind === 'dimension' && found.source.kind === 'sub-query';
      if (isOutside || isSubQuery) {
        report.error(['sql'], `the join to ${file.name} may read dimensions of the two cubes only`);
      }
    }
  }

  for (const [index, { rowFilter }] of (cube.policy?.entries ?? []).entries()) {
    for (const name of rowFilter === null ? [] : filterMembers(rowFilter)) {
      const reach = reachOf(cube.name, name);
      if (typeof reach === 'string' || reach.cubes.size <= 1) continue;
      const here = source.policy?.[index]?.report ?? source.report;
      here.error(['row_level', 'filters'], `the filter on ${name} reads another cube`);
    }
  }
}

/** Whether joins lead from one cube to another, in the direction in which they are declared. */
export function isReachable(from: string, to: string, cubes: ReadonlyMap<string, Cube>): boolean {
  const seen = new Set([from]);
  for (const name of seen) {
    for (const target of cubes.get(name)?.joins.keys() ?? []) seen.add(target);
  }
  return seen.has(to);
}

const filterMembers = (filter: PolicyFilter): readonly string[] =>
  filter.kind === 'compare' ? [filter.member] : filter.filters.flatMap(filterMembers);
