/**
 * The cubes that a query needs, as trees that hang from the roots of its relation by declared joins. A node is named by its path of
 * cube names from the root, so that one cube reached by two paths is two nodes.
 */
import type { Cube, DataModel, Join, Relation } from '../model/data-model.ts';
import { SemanticError } from '../semantic-error.ts';
import { type FindWay, findWays } from './join-graph.ts';
import { shortName } from './short-name.ts';

/** A node's path: cube names from a root, joined by dots. */
export type NodePath = string;

/** The path of a node from the cube names that lead to it. */
export const pathOf = (names: readonly string[]): NodePath => names.join('.');
/** The name of the cube at a path. */
export const cubeAt = (path: NodePath): string => path.slice(path.lastIndexOf('.') + 1);
/** The path of the node above; null for a root. */
export const parentOf = (path: NodePath): NodePath | null =>
  path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : null;
/** The cube that a path begins at. */
export const rootOf = (path: NodePath): string => path.split('.', 1)[0] ?? path;

/** Whether a node is another, or hangs below it. */
export const isWithin = (path: NodePath, ancestor: NodePath) => path === ancestor || path.startsWith(`${ancestor}.`);

/** Where a node of another root is found in a tree, or why it is not. `inDoubt`: the node that it may be. */
export type Located =
  | { readonly path: NodePath }
  | { readonly path: null; readonly why: 'none' | 'several'; readonly inDoubt?: NodePath };

/** The tree of one root: its nodes, how they are joined, and which joins repeat rows. */
export interface JoinTree {
  readonly root: NodePath;
  cube(path: NodePath): Cube;
  /** The join that leads to a node from its parent; null for the root. */
  join(path: NodePath): { readonly parent: NodePath; readonly join: Join } | null;
  /**
   * The node of this tree that stands for a node of the relation. That of another root is found by its cube: on the relation's own
   * paths from this root, else along the shortest way of declared joins; see {@link JoinForest.inRole}.
   */
  locate(path: NodePath): Located;
  /**
   * The node that a reference to `cube`, written in the cube at `from`, stands for.
   * @param reader who reads, as the asking user knows it, for messages: cubes may be hidden from that user
   * @throws SemanticError QUERY_NOT_PLANNABLE when no join or more than one path leads there
   */
  refer(from: NodePath, cube: string, reader: string): NodePath;
  /** Whether a reference to `cube`, written in the cube at `from`, stands for a node that is near or on the relation's own paths. */
  declares(from: NodePath, cube: string): boolean;
  /** The nodes and all nodes above them, parents first. */
  close(paths: Iterable<NodePath>): readonly NodePath[];
  /** The nodes that lie on the ways between these nodes, and no others. */
  between(paths: ReadonlySet<NodePath>): readonly NodePath[];
  /**
   * The table alias of a node: the cube's name where it is the relation's only path to that cube, else the path, whose dots no
   * cube's name holds.
   */
  alias(path: NodePath): string;
  /** Whether joining all these nodes repeats rows of `path`. */
  isMultiplied(path: NodePath, nodes: readonly NodePath[]): boolean;
}

/** The trees of one relation. */
export interface JoinForest {
  readonly relation: Relation;
  /** The cubes that join paths begin at, in the order of the relation's paths. */
  readonly roots: readonly string[];
  /** The tree of a root. */
  tree(root: string): JoinTree;
  /**
   * The node that a measure's reference to a measure of `cube` stands for: as {@link JoinTree.refer}, and a measure of another root of
   * the relation is found, too, since it is computed apart.
   * @throws SemanticError QUERY_NOT_PLANNABLE
   */
  referMeasure(from: NodePath, cube: string, reader: string): NodePath;
  /**
   * What was found for a node of the relation in another tree, where it means the same there. Of a cube that the relation reaches from
   * one root in two ways (the city of a customer, the city of a warehouse) each way means something else: found is the one that is
   * reached there by the same last steps, and the other is not.
   */
  inRole(path: NodePath, found: Located): Located;
}

/** Trees hold nothing of a query: those of a relation are made once for as long as its model lives. */
const forests = new WeakMap<DataModel, { findWay: FindWay; of: WeakMap<Relation, JoinForest> }>();

/** The trees of a relation. Their methods throw on paths that no declared joins lead along. */
export function joinForest(model: DataModel, relation: Relation): JoinForest {
  const known = forests.get(model) ?? { findWay: findWays(model), of: new WeakMap<Relation, JoinForest>() };
  forests.set(model, known);
  const forest = known.of.get(relation) ?? createForest(model, relation, known.findWay);
  known.of.set(relation, forest);
  return forest;
}

function createForest(model: DataModel, relation: Relation, findWay: FindWay): JoinForest {
  const declared = new Set(relation.paths.flatMap((path) => path.map((_, index) => pathOf(path.slice(0, index + 1)))));
  const roots = [...new Set(relation.paths.flatMap((path) => path.slice(0, 1)))];
  const trees = new Map<string, JoinTree>();
  const forest: JoinForest = {
    relation,
    roots,
    tree(root) {
      const tree = trees.get(root) ?? createTree(model, forest, root, declared, findWay);
      trees.set(root, tree);
      return tree;
    },
    referMeasure(from, cube, reader) {
      const tree = forest.tree(rootOf(from));
      const others = [...declared].filter((path) => rootOf(path) !== tree.root && cubeAt(path) === cube);
      const [only, second] = others;
      const isElsewhere = only !== undefined && second === undefined && !tree.declares(from, cube);
      return isElsewhere ? only : tree.refer(from, cube, reader);
    },
    inRole(path, found) {
      if (found.path === null) return found;
      const twins = [...declared].filter(
        (other) => other !== path && rootOf(other) === rootOf(path) && cubeAt(other) === cubeAt(path),
      );
      const target = found.path;
      const steps = sameSteps(path, target);
      if (twins.every((twin) => sameSteps(twin, target) < steps)) return found;
      return { path: null, why: 'several', inDoubt: target };
    },
  };
  return forest;
}

/** How much two paths have in common at their end: the more cubes the more; of as many, more where both are one step from a root. */
function sameSteps(one: NodePath, other: NodePath): number {
  const [steps = [], others = []] = [one, other].map((path) => path.split('.').reverse());
  const first = steps.findIndex((step, at) => step !== others[at]);
  return 2 * (first === -1 ? steps.length : first) + (steps.length === 2 && others.length === 2 ? 1 : 0);
}

function createTree(
  model: DataModel,
  { relation, inRole }: JoinForest,
  root: string,
  declaredAnywhere: ReadonlySet<NodePath>,
  findWay: FindWay,
): JoinTree {
  const declared = [...declaredAnywhere].filter((path) => rootOf(path) === root);
  const located = new Map<NodePath, Located>();
  const aliases = new Map<NodePath, string>();
  const multiplied = new Map<string, boolean>();
  const cube = (path: NodePath): Cube => {
    const found = model.cubes.get(cubeAt(path));
    if (found === undefined) throw new Error(`no cube ${cubeAt(path)}`);
    return found;
  };
  const join = (path: NodePath) => {
    const parent = parentOf(path);
    if (parent === null) return null;
    const found = cube(parent).joins.get(cubeAt(path));
    if (found === undefined) throw new Error(`no join to ${path}`);
    return { parent, join: found };
  };
  /** The cube itself, one that it joins, or one above it. */
  const near = (from: NodePath, name: string): Located | null => {
    if (cubeAt(from) === name) return { path: from };
    if (cube(from).joins.has(name)) return { path: `${from}.${name}` };
    for (let at = parentOf(from); at !== null; at = parentOf(at)) if (cubeAt(at) === name) return { path: at };
    return null;
  };
  /** A cube as the relation declares it, else along the declared joins from `from`. */
  const find = (from: NodePath, name: string): Located => {
    const [only, second] = declared.filter((path) => cubeAt(path) === name);
    if (only !== undefined) return second === undefined ? { path: only } : { path: null, why: 'several' };
    const way = findWay(cubeAt(from), name);
    return way.cubes === null ? { path: null, why: way.why } : { path: pathOf([from, ...way.cubes.slice(1)]) };
  };
  const tree: JoinTree = {
    root,
    cube,
    join,
    locate(path) {
      if (rootOf(path) === root) return { path };
      const found = located.get(path) ?? inRole(path, find(root, cubeAt(path)));
      located.set(path, found);
      return found;
    },
    declares: (from, name) => near(from, name) !== null || declared.some((path) => cubeAt(path) === name),
    refer(from, name, reader) {
      const found = near(from, name) ?? find(from, name);
      if (found.path !== null) return found.path;
      const how = found.why === 'none' ? 'does not join' : 'joins in more than one way';
      throw new SemanticError('QUERY_NOT_PLANNABLE', `${reader} reads data that ${relation.name} ${how}.`);
    },
    close(paths) {
      const all = new Set<NodePath>([root]);
      for (const path of paths) for (let at: NodePath | null = path; at !== null; at = parentOf(at)) all.add(at);
      return [...all].sort((one, other) => one.split('.').length - other.split('.').length);
    },
    between(paths) {
      const closed = tree.close(paths);
      const shared = closed.filter((path) => [...paths].every((other) => isWithin(other, path))).at(-1);
      return closed.filter((path) => shared === undefined || isWithin(path, shared));
    },
    alias(path) {
      const known = aliases.get(path);
      if (known !== undefined) return known;
      const isOnly =
        declared.includes(path) && declared.every((other) => other === path || cubeAt(other) !== cubeAt(path));
      const name = isOnly ? cubeAt(path) : path;
      const alias = shortName(name);
      aliases.set(path, alias);
      return alias;
    },
    isMultiplied(path, nodes) {
      const key = `${path} ${nodes.join(' ')}`;
      const known = multiplied.get(key);
      if (known !== undefined) return known;
      const found = repeatsRows(path, nodes, join);
      if (multiplied.size < memoMax) multiplied.set(key, found);
      return found;
    },
  };
  return tree;
}

/** Answers of one tree that are kept. */
const memoMax = 1000;

/** Walks the tree from `path`, along edges both ways: a step that leads from one row to many repeats rows. */
function repeatsRows(path: NodePath, nodes: readonly NodePath[], join: JoinTree['join']): boolean {
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
}
