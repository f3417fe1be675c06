/** Dimensions that are a measure of another cube, computed per row of their own. */
import { isReachable } from '../model/check-references.ts';
import type { Cube, CubeMember, DataModel, DimensionSource } from '../model/data-model.ts';
import { memberReads } from '../policy/member-reads.ts';
import { conjunctsOf, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import type { GroupScope } from './group-scope.ts';
import { cubeAt, isWithin, joinForest, type NodePath, parentOf, pathOf, rootOf } from './join-tree.ts';
import type { RowScope } from './row-scope.ts';

const isSubQuery = (member: CubeMember | undefined): boolean =>
  member?.kind === 'dimension' && member.source.kind === 'sub-query';

/**
 * A SELECT of the primary key of the cube at `path` (`k0`, …) and the measure (`m0`) for each of its rows. The policies of all cubes hold
 * inside as they do outside.
 * @throws SemanticError QUERY_NOT_PLANNABLE
 */
export function subQuerySelect(
  source: Extract<DimensionSource, { kind: 'sub-query' }>,
  path: NodePath,
  scope: RowScope,
): string {
  const { groups, tree: outer, where } = scope.request;
  const { model } = groups.context;
  const cube = outer.cube(path);
  const relation = model.relations.get(cube.name);
  if (relation === undefined || cube.primaryKey.length === 0) {
    throw new SemanticError('QUERY_NOT_PLANNABLE', `${scope.reader} cannot be computed: its cube has no primary key.`);
  }
  const forest = joinForest(withJoinBack(model, cube, source.cube), relation);
  const own = forest.tree(cube.name);
  const target = own.refer(cube.name, source.cube, scope.reader);
  const measure = own.cube(target).members.get(source.measure);
  if (measure?.kind !== 'measure') throw new Error(`${source.cube}.${source.measure} is no measure`);
  const keys = cube.primaryKey.map(({ name }, at) => {
    const member = relation.members.get(name);
    if (member === undefined) throw new Error(`no member ${name}`);
    return { name: `k${at}`, expression: { kind: 'dimension', member, location: 0 } as const, isReal: true };
  });
  const inside: GroupScope = {
    ...groups,
    forest,
    access: { ...groups.access, viewFilter: null },
    // Below the dimension's own cube, and below a cube on the way to the measure, a node has the same place inside; any other is found
    // by its cube.
    locate(tree, named) {
      if (rootOf(named) === tree.root) return tree.locate(named);
      const place = groups.locate(outer, named);
      const node = place.path ?? named;
      if (isWithin(node, path)) return tree.locate(`${cube.name}${node.slice(path.length)}`);
      if (place.path === null && place.why === 'several') return place;
      for (let above: NodePath | null = node; above !== null; above = parentOf(above)) {
        const way = waysTo(target).find((step) => cubeAt(step) === cubeAt(above ?? ''));
        if (way !== undefined) return tree.locate(`${way}${node.slice(above.length)}`);
      }
      return groups.forest.inRole(node, tree.locate(node));
    },
  };
  const isComputable = (condition: ResolvedExpression): boolean => {
    if (condition.kind !== 'dimension') return partsOf(condition).every(isComputable);
    const { member, path: named } = condition.member;
    // A condition on a sub-query, or on what reads one, stays outside: it would be computed within itself.
    const reads = memberReads(model)(member.cube, member.name).values();
    if (isSubQuery(member) || [...reads].some((it) => isSubQuery(model.cubes.get(it.cube)?.members.get(it.member))))
      return false;
    return inside.locate(own, pathOf(named)).path !== null;
  };
  const conditions = source.propagatesFilters ? conjunctsOf(where).filter(isComputable) : [];
  return groups.groups(
    {
      keys,
      measures: [{ name: 'm0', measure, path: target, reader: scope.reader }],
      where: conditions.length === 0 ? null : { kind: 'and', operands: conditions, location: 0 },
      shifts: new Map(),
    },
    inside,
  );
}

const joinedBack = new WeakMap<DataModel, Map<string, DataModel>>();
const turned = { many_to_one: 'one_to_many', one_to_many: 'many_to_one', one_to_one: 'one_to_one' } as const;

/**
 * The model in which a sub-query finds its measure. Where joins lead there from the dimension's cube, it is the model as it is; where only
 * the other cube joins that one, a model in which the same join is declared there as well, turned round: the rows that belong to each
 * other are the same. Elsewhere no join is walked against its direction.
 */
function withJoinBack(model: DataModel, cube: Cube, other: string): DataModel {
  const known = joinedBack.get(model) ?? new Map<string, DataModel>();
  joinedBack.set(model, known);
  const key = `${cube.name} ${other}`;
  const found = known.get(key) ?? joinBack(model, cube, other);
  known.set(key, found);
  return found;
}

function joinBack(model: DataModel, cube: Cube, other: string): DataModel {
  const back = model.cubes.get(other)?.joins.get(cube.name);
  if (back === undefined || isReachable(cube.name, other, model.cubes)) return model;
  const join = { target: other, relationship: turned[back.relationship], sql: back.sql };
  const joined = { ...cube, joins: new Map([...cube.joins, [other, join]]) };
  return { ...model, cubes: new Map([...model.cubes, [cube.name, joined]]) };
}

/** The nodes from below the root to a node. */
function waysTo(path: NodePath): readonly NodePath[] {
  const steps: NodePath[] = [];
  for (let at: NodePath | null = path; at?.includes('.'); at = parentOf(at)) steps.push(at);
  return steps;
}
