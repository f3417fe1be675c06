/**
 * The cubes that a query needs, as a tree that hangs from the relation's root by declared joins. A node is named by its
 * path of cube names, so that one cube reached by two paths is two nodes.
 */
import type { Cube, DataModel, Join, Relation } from '../model/data-model.ts';
import { SemanticError } from '../semantic-error.ts';

/** A node's path: cube names from the root, joined by dots. */
export type NodePath = string;

/** The path of a node from the cube names that lead to it. */
export const pathOf = (names: readonly string[]): NodePath => names.join('.');
const lastOf = (path: NodePath): string => path.slice(path.lastIndexOf('.') + 1);
const parentOf = (path: NodePath): NodePath | null =>
  path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : null;

const isWithin = (path: NodePath, ancestor: NodePath) => path === ancestor || path.startsWith(`${ancestor}.`);

/** The tree of one relation: its nodes, how they are joined, and which joins repeat rows. */
export interface JoinTree {
  readonly root: NodePath;
  cube(path: NodePath): Cube;
  /** The join that leads to a node from its parent; null for the root. */
  join(path: NodePath): { readonly parent: NodePath; readonly join: Join } | null;
  /**
   * The node that a reference to `cube`, written in the cube at `from`, stands for.
   * @param reader who reads, as the asking user knows it, for messages: cubes may be hidden from that user
   * @throws SemanticError QUERY_NOT_PLANNABLE when no join or more than one path leads there
   */
  refer(from: NodePath, cube: string, reader: string): NodePath;
  /** The nodes and all nodes above them, parents first. */
  close(paths: Iterable<NodePath>): readonly NodePath[];
  /** The nodes that lie on the ways between these nodes, and no others. */
  between(paths: ReadonlySet<NodePath>): readonly NodePath[];
  /**
   * The table alias of a node: the cube's name where it is the view's only path to that cube, else the path, whose dots no
   * cube's name holds.
   */
  alias(path: NodePath): string;
  /** Whether joining all these nodes repeats rows of `path`. */
  isMultiplied(path: NodePath, nodes: readonly NodePath[]): boolean;
}

/** The tree of a relation of the model. Its methods throw on paths that no declared joins lead along. */
export function joinTree(model: DataModel, relation: Relation): JoinTree {
  const declared = new Set(relation.paths.flatMap((path) => path.map((_, index) => pathOf(path.slice(0, index + 1)))));
  const cube = (path: NodePath): Cube => {
    const found = model.cubes.get(lastOf(path));
    if (found === undefined) throw new Error(`no cube ${lastOf(path)}`);
    return found;
  };
  const join = (path: NodePath) => {
    const parent = parentOf(path);
    if (parent === null) return null;
    const found = cube(parent).joins.get(lastOf(path));
    if (found === undefined) throw new Error(`no join to ${path}`);
    return { parent, join: found };
  };
  const tree: JoinTree = {
    root: relation.rootCube,
    cube,
    join,
    refer(from, name, reader) {
      if (lastOf(from) === name) return from;
      if (cube(from).joins.has(name)) return `${from}.${name}`;
      const candidates = [...declared].filter((path) => lastOf(path) === name);
      const [only, second] = candidates;
      if (only !== undefined && second === undefined) return only;
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${reader} reads data that ${relation.name} ${only === undefined ? 'does not join' : 'joins in more than one way'}.`,
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
      return isOnly ? lastOf(path) : path;
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
