/** What the SQL of members, joins and row filters refers to: of the right kind, without circles, and not without end. */
import type { Cube, CubeMember, PolicyFilter, SqlTemplate } from './data-model.ts';
import type { CubeFile } from './model-file.ts';
import type { Report } from './report.ts';

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
  const find = (cube: string, name: string, way: ReadonlySet<string>): Reach | string => {
    const id = `${cube}.${name}`;
    if (way.has(id)) return `refers to itself, by ${[...way, id].slice(-4).join(' → ')}`;
    if (way.size > depthMax) return `leads over more than ${depthMax} references`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const member = cubes.get(cube)?.members.get(name);
    let references = 0;
    const reached = new Set([cube]);
    for (const part of (member === undefined ? [] : fragmentsOf(member)).flat()) {
      if (part.kind === 'cube') reached.add(part.cube);
      if (part.kind !== 'member') continue;
      const next = find(part.cube, part.member, new Set(way).add(id));
      if (typeof next === 'string') return next;
      references += 1 + next.references;
      for (const one of next.cubes) reached.add(one);
    }
    if (references > expandedMax) return `stands for more than ${expandedMax} references`;
    const reach = { references, cubes: reached };
    known.set(id, reach);
    return reach;
  };
  return (cube, member) => find(cube, member, new Set());
}

const fragmentsOf = (member: CubeMember): readonly SqlTemplate[] => [
  member.sql ?? [],
  ...('filters' in member ? member.filters : []),
];

/** Checks every reference that a cube holds. Cubes that are missing were reported before. */
export function checkReferences(
  file: CubeFile,
  cubes: ReadonlyMap<string, Cube>,
  reachOf: ReachOf,
  report: Report,
): void {
  const cube = cubes.get(file.name);
  if (cube === undefined) return;
  const kindOf = (part: { readonly cube: string; readonly member: string }) =>
    cubes.get(part.cube)?.members.get(part.member)?.kind;

  const check = (list: 'dimensions' | 'measures', index: number, name: string) => {
    const member = cube.members.get(name);
    if (member === undefined) return;
    const parts = fragmentsOf(member).flat();
    const references = parts.filter((part) => part.kind === 'member');
    const path = [list, index, 'sql'];
    if (member.kind === 'measure' && member.aggregation === 'number') {
      if (
        (parts.length > 0 && references.length === 0) ||
        references.length < parts.filter((part) => part.kind !== 'text').length
      ) {
        report(path, `number measure ${name} may refer to measures only, and has to refer to one`);
      } else if (references.some((part) => kindOf(part) === 'dimension')) {
        report(path, `number measure ${name} may refer to measures only`);
      }
    } else if (references.some((part) => kindOf(part) === 'measure')) {
      const hint = member.kind === 'measure' ? 'measure; use type number' : 'measure';
      report(path, `${member.kind} ${name} is computed row by row and cannot refer to a ${hint}`);
    }
    const reach = reachOf(cube.name, name);
    if (typeof reach === 'string') report(path, `${member.kind} ${name} ${reach}`);
  };
  for (const [index, { name }] of (file.dimensions ?? []).entries()) check('dimensions', index, name);
  for (const [index, { name }] of (file.measures ?? []).entries()) check('measures', index, name);

  for (const [index, { name }] of (file.joins ?? []).entries()) {
    for (const part of cube.joins.get(name)?.sql ?? []) {
      if (part.kind === 'text') continue;
      const isMeasure = part.kind === 'member' && kindOf(part) === 'measure';
      const reach = part.kind === 'member' ? reachOf(part.cube, part.member) : { cubes: new Set([part.cube]) };
      const isOutside = typeof reach !== 'string' && [...reach.cubes].some((it) => it !== cube.name && it !== name);
      if (isMeasure || isOutside) {
        report(['joins', index, 'sql'], `the join to ${name} may read dimensions of the two cubes only`);
      }
    }
  }

  for (const [index, { rowFilter }] of (cube.policy?.entries ?? []).entries()) {
    for (const name of rowFilter === null ? [] : filterMembers(rowFilter)) {
      const reach = reachOf(cube.name, name);
      if (typeof reach !== 'string' && reach.cubes.size > 1) {
        report(['access_policy', index, 'row_level', 'filters'], `the filter on ${name} reads another cube`);
      }
    }
  }
}

const filterMembers = (filter: PolicyFilter): readonly string[] =>
  filter.kind === 'compare' ? [filter.member] : filter.filters.flatMap(filterMembers);
