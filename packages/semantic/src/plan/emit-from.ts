/** The joined rows that an inner query reads: leaves with their row filters, joins, the view's filter, the condition. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Subject } from '../policy/subject.ts';
import { SemanticError } from '../semantic-error.ts';
import { type EmitScope, emitTemplate } from './emit-expression.ts';
import { emitLeaf } from './emit-leaves.ts';
import type { JoinTree, NodePath } from './join-tree.ts';

/** What is the same for all inner queries of a query. */
export interface RowSource {
  readonly tree: JoinTree;
  readonly dialect: Dialect;
  readonly subject: Subject;
  /** A scope to emit in; `reader` names who reads, for messages. */
  readonly newScope: (reader: string) => EmitScope;
  /** The members that the query takes from a cube. */
  readonly takenFrom: (cube: string) => ReadonlySet<string>;
  /** The SQL of the view's own row filter, and of WHERE; null: none. */
  readonly viewFilter: string | null;
  readonly condition: string | null;
  /** Whether a condition of the query can fail on some values. */
  readonly canFail: boolean;
}

/**
 * `FROM … WHERE …` over the given nodes, which are closed: parents first. Where rows are filtered by a policy and a condition
 * of the query can fail, the permitted rows are fenced off first: an engine that moves the condition below a join would
 * run it on hidden rows, and a failure would tell of them.
 * @throws SemanticError QUERY_NOT_PLANNABLE
 */
export function emitFrom(nodes: readonly NodePath[], source: RowSource): string {
  const { tree, dialect, subject, newScope, takenFrom, viewFilter, condition, canFail } = source;
  const leaves = nodes.map((path) => ({
    ...emitLeaf(path, takenFrom(tree.cube(path).name), subject, newScope('An access policy')),
    path,
  }));
  const joins = leaves.map(({ path, sql }) =>
    tree.join(path) === null ? sql : `LEFT JOIN ${sql} ON (${joinCondition(path, tree, newScope('A join'))})`,
  );
  const rows = `FROM ${joins.join(' ')}`;
  const isRestricted = viewFilter !== null || leaves.some(({ isFiltered }) => isFiltered);
  if (!canFail || !isRestricted) return `${rows}${where([viewFilter, condition])}`;
  const aliases = nodes.map((path) => dialect.quote(tree.alias(path)));
  return `${dialect.fence(aliases, `${rows}${where([viewFilter])}`)}${where([condition])}`;
}

function where(conditions: readonly (string | null)[]): string {
  const all = conditions.filter((it) => it !== null);
  return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`;
}

/** The condition of the join that leads to a node; the root has none. */
function joinCondition(path: NodePath, tree: JoinTree, scope: EmitScope): string {
  const edge = tree.join(path);
  if (edge === null) return 'TRUE';
  const on = emitTemplate(edge.join.sql, edge.parent, scope);
  if ([...scope.nodes].every((node) => node === path || node === edge.parent)) return on;
  throw new SemanticError('QUERY_NOT_PLANNABLE', `${scope.reader} reads another cube than the two that it joins.`);
}
