/**
 * The cubes that a query needs, as a tree that hangs from the relation's root by declared joins. A node is named by its
 * path of cube names, so that one cube reached by two paths is two nodes.
 */
import type { Cube, DataModel, Join, Measure, Relation, SqlTemplate } from './data-model.ts';
import { SemanticError } from './semantic-error.ts';

/** A node's path: cube names from the root, joined by dots. */
export type NodePath = string;

export const pathOf = (names: readonly string[]): NodePath => names.join('.');
const lastOf = (path: NodePath): string => path.slice(path.lastIndexOf('.') + 1);
const parentOf = (path: NodePath): NodePath | null =>
  path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : null;

const isWithin = (path: NodePath, ancestor: NodePath) => path === ancestor || path.startsWith(`${ancestor}.`);

export interface JoinTree {
  readonly root: NodePath;
  cube(path: NodePath): Cube;
  /** The join that leads to a node from its parent; null for the root. */
  join(path: NodePath): { readonly parent: NodePath; readonly join: Join } | null;
  /** The node that a reference to `cube`, written in the cube at `from`, stands for. */
  refer(from: NodePath, cube: string): NodePath;
  /** The nodes and all nodes above them, parents first. */
  close(paths: Iterable<NodePath>): readonly NodePath[];
  /** The nodes that lie on the ways between these nodes, and no others. */
  between(paths: ReadonlySet<NodePath>): readonly NodePath[];
  /** The table alias of a node: the cube's name where it is the view's only path to that cube, else made from the path. */
  alias(path: NodePath): string;
  /** Whether joining all these nodes repeats rows of `path`. */
  isMultiplied(path: NodePath, nodes: readonly NodePath[]): boolean;
}

export function joinTree(model: DataModel, relation: Relation): JoinTree {
  const declared = new Set(relation.paths.flatMap((path) => path.map((_, index) => pathOf(path.slice(0, index + 1)))));
  const cube = (path: NodePath): Cube => {
    const found = model.cubes.get(lastOf(path));
    if (found === undefined) throw new SemanticError('QUERY_NOT_PLANNABLE', `No cube "${lastOf(path)}".`);
    return found;
  };
  const join = (path: NodePath) => {
    const parent = parentOf(path);
    if (parent === null) return null;
    const found = cube(parent).joins.get(lastOf(path));
    if (found === undefined) {
      throw new SemanticError('QUERY_NOT_PLANNABLE', `Cube ${lastOf(parent)} declares no join to ${lastOf(path)}.`);
    }
    return { parent, join: found };
  };
  const tree: JoinTree = {
    root: relation.rootCube,
    cube,
    join,
    refer(from, name) {
      if (lastOf(from) === name) return from;
      if (cube(from).joins.has(name)) return `${from}.${name}`;
      const candidates = [...declared].filter((path) => lastOf(path) === name);
      const [only, second] = candidates;
      if (only !== undefined && second === undefined) return only;
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        only === undefined
          ? `Cube ${lastOf(from)} refers to ${name}, but no join leads there.`
          : `Cube ${lastOf(from)} refers to ${name}, which ${relation.name} joins in more than one way: ${candidates.join(', ')}.`,
      );
    },
    close(paths) {
      const all = new Set<NodePath>([relation.rootCube]);
      for (const path of paths) for (let at: NodePath | null = path; at !== null; at = parentOf(at)) all.add(at);
      return [...all].sort((one, other) => one.split('.').length - other.split('.').length);
    },
    between(paths) {
      const shared = tree
        .close(paths)
        .filter((path) => [...paths].every((other) => isWithin(other, path)))
        .at(-1);
      return tree.close(paths).filter((path) => shared === undefined || isWithin(path, shared));
    },
    alias(path) {
      const isOnly =
        declared.has(path) && [...declared].every((other) => other === path || lastOf(other) !== lastOf(path));
      return isOnly ? lastOf(path) : path.replaceAll('.', '__');
    },
    isMultiplied(path, nodes) {
      // Walk the tree from `path`, along edges both ways: a step that leads from one row to many repeats rows.
      const seen = new Set<NodePath>([path]);
      const queue: NodePath[] = [path];
      for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
        for (const node of nodes) {
          const edge = join(node);
          if (edge === null || !nodes.includes(edge.parent)) continue;
          const isDown = edge.parent === at && !seen.has(node);
          const isUp = node === at && !seen.has(edge.parent);
          if (!isDown && !isUp) continue;
          if (edge.join.relationship === (isDown ? 'one_to_many' : 'many_to_one')) return true;
          const next = isDown ? node : edge.parent;
          seen.add(next);
          queue.push(next);
        }
      }
      return false;
    },
  };
  return tree;
}

/** The measures that a calculated measure is made of, itself when it is none, each with its node. */
export function baseMeasures(tree: JoinTree, path: NodePath, measure: Measure): { path: NodePath; measure: Measure }[] {
  if (measure.aggregation !== 'number') return [{ path, measure }];
  return measureReferences(tree, path, measure.sql).flatMap((reference) =>
    baseMeasures(tree, reference.path, reference.measure),
  );
}

/** The measures that a calculated measure's SQL names, in order. @throws SemanticError when it names a dimension */
function measureReferences(tree: JoinTree, path: NodePath, sql: SqlTemplate): { path: NodePath; measure: Measure }[] {
  return sql.flatMap((part) => {
    if (part.kind !== 'member') return [];
    return [referToMeasure(tree, path, part.cube, part.member)];
  });
}

/** The measure that `{cube.member}` in the cube at `path` stands for. */
export function referToMeasure(tree: JoinTree, path: NodePath, cubeName: string, name: string) {
  const target = tree.refer(path, cubeName);
  const member = tree.cube(target).members.get(name);
  if (member?.kind !== 'measure') {
    throw new SemanticError('QUERY_NOT_PLANNABLE', `${cubeName}.${name} is no measure, but a number measure uses it.`);
  }
  return { path: target, measure: member };
}
