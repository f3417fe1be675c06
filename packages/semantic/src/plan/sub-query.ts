/** Dimensions that are a measure of another cube, computed per row of their own. */
import type { DimensionSource } from '../model/data-model.ts';
import { partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import type { GroupScope } from './group-scope.ts';
import { joinForest, type NodePath, pathOf } from './join-tree.ts';
import type { RowScope } from './row-scope.ts';
import { conjunctsOf } from './switch-dimension.ts';

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
  const forest = joinForest(model, relation);
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
    // Below the dimension's own cube a node has the same place inside; any other is found by its cube.
    locate(tree, named) {
      const node = groups.locate(outer, named).path ?? named;
      return tree.locate(
        node === path || node.startsWith(`${path}.`) ? `${cube.name}${node.slice(path.length)}` : node,
      );
    },
  };
  const isComputable = (condition: ResolvedExpression): boolean => {
    if (condition.kind !== 'dimension') return partsOf(condition).every(isComputable);
    const { member, path: named } = condition.member;
    // A condition on a sub-query stays outside: it would be computed within itself.
    if (member.kind === 'dimension' && member.source.kind === 'sub-query') return false;
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
