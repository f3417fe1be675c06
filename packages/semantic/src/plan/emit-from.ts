/** The joined rows that an inner query reads: leaves with their row filters, joins, the view's filter, the condition. */
import { SemanticError } from '../semantic-error.ts';
import { emitCubeFilter, emitTemplate, emitViewFilter } from './emit-member.ts';
import type { NodePath } from './join-tree.ts';
import { askedScope, type Needs, newNeeds, realScope, type TreeRequest } from './row-scope.ts';

/** What rows are read, and which of them. */
export interface RowsSource {
  readonly request: TreeRequest;
  /** The nodes, columns of leaves and further tables. Nodes above them are added. */
  readonly needs: Needs;
  /** The SQL of the view's own row filter and of the query's conditions on rows. */
  readonly conditions: readonly string[];
  /** The nodes to read, parents first, where they do not begin at the root. */
  readonly nodes?: readonly NodePath[];
}

/**
 * `FROM … WHERE …`. An engine may try a condition of the query on rows that a policy hides: none can fail on a value, which would tell of
 * them; each dialect sees to that.
 * @throws SemanticError QUERY_NOT_PLANNABLE
 */
export function emitFrom(source: RowsSource): string {
  const { request, needs, conditions, nodes = request.tree.close(needs.nodes) } = source;
  const joins = nodes.map((path, at) => {
    const leaf = emitLeaf(path, source);
    return at === 0 ? leaf : `LEFT JOIN ${leaf} ON (${joinCondition(path, request)})`;
  });
  // In the order of their names: the same tables whatever was asked for first.
  const extras = [...needs.extras].sort(([one], [other]) => (one < other ? -1 : 1));
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `FROM ${[...joins, ...extras.map(([, join]) => join)].join(' ')}${where}`;
}

/** The SQL of the view's row filter over a tree, with what it reads; null: every row passes. */
export function viewFilterOf(request: TreeRequest, needs: Needs, reader: string): string | null {
  const { viewFilter } = request.groups.access;
  return viewFilter === null ? null : emitViewFilter(viewFilter, askedScope(request, reader, needs));
}

/** The table of a node, with the cube's row filter and masks for this user. */
function emitLeaf(path: NodePath, { request, needs }: RowsSource): string {
  const { tree, groups } = request;
  const cube = tree.cube(path);
  groups.cubes.add(cube.name);
  const alias = groups.context.dialect.quote(tree.alias(path));
  const { filter } = groups.access.cube(cube);
  const columns = [...(needs.columns.get(path) ?? [])].sort(([one], [other]) => (one < other ? -1 : 1));
  if (filter === null && columns.length === 0) return `${cube.source} AS ${alias}`;
  const list = ['*', ...columns.map(([name, sql]) => `${sql} AS ${name}`)].join(', ');
  const condition =
    filter === null ? '' : ` WHERE ${emitCubeFilter(filter, path, askedScope(request, 'An access policy'))}`;
  return `(SELECT ${list} FROM ${cube.source} AS ${alias}${condition}) AS ${alias}`;
}

/** The condition of the join that leads to a node from its parent. */
function joinCondition(path: NodePath, request: TreeRequest): string {
  const edge = request.tree.join(path);
  if (edge === null) throw new Error(`no join leads to ${path}`);
  const needs = newNeeds();
  const on = emitTemplate(edge.join.sql, edge.parent, realScope(askedScope(request, 'A join', needs)));
  if (needs.extras.size === 0 && [...needs.nodes].every((node) => node === path || node === edge.parent)) return on;
  throw new SemanticError('QUERY_NOT_PLANNABLE', 'A join reads another cube than the two that it joins.');
}
