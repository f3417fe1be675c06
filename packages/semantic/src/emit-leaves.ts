/** Row filters in SQL: a cube's own in the leaf that stands for the cube, a view's on the joined row. */
import { rowFilter } from './access-policy.ts';
import type { CubeMember } from './data-model.ts';
import { type EmitScope, emitDimension, emitRowFilter } from './emit-expression.ts';
import { type NodePath, pathOf } from './join-tree.ts';
import type { ResolvedQuery } from './resolve-query.ts';
import { SemanticError } from './semantic-error.ts';
import type { Subject } from './subject.ts';

/**
 * The leaf of a node: its table, or its table with the row filter that the cube's policy gives this subject.
 * @param taken the members that the query takes from the cube: names, and what other cubes' members read of it
 */
export function emitLeaf(
  path: NodePath,
  taken: ReadonlySet<string>,
  subject: Subject,
  scope: EmitScope,
): { readonly sql: string; readonly isFiltered: boolean } {
  const cube = scope.tree.cube(path);
  const alias = scope.dialect.quote(scope.tree.alias(path));
  const filter = rowFilter(cube.policy, taken, (name) => cube.members.get(name), subject);
  if (filter === null) return { sql: `${cube.source} AS ${alias}`, isFiltered: false };
  const condition = emitRowFilter(filter, scope.binder, (name) => column(cube.members.get(name), path, scope));
  if (![...scope.nodes].every((node) => node === path)) {
    throw new SemanticError('QUERY_NOT_PLANNABLE', `${scope.reader} reads another cube.`);
  }
  return { sql: `(SELECT * FROM ${cube.source} AS ${alias} WHERE ${condition}) AS ${alias}`, isFiltered: true };
}

/** The row filter of a view's own policy, on the joined row. A cube's own filter stands in its leaf already. */
export function emitViewFilter(query: ResolvedQuery, subject: Subject, scope: EmitScope): string | null {
  const { relation, taken } = query;
  if (relation.type === 'cube') return null;
  const memberOf = (name: string) => relation.members.get(name)?.member;
  const filter = rowFilter(relation.policy, new Set(taken.keys()), memberOf, subject);
  if (filter === null) return null;
  return emitRowFilter(filter, scope.binder, (name) =>
    column(memberOf(name), pathOf(relation.members.get(name)?.path ?? []), scope),
  );
}

function column(member: CubeMember | undefined, path: NodePath, scope: EmitScope) {
  if (member?.kind !== 'dimension') throw new Error('a row filter names no dimension');
  return { sql: emitDimension(member, path, scope), type: member.type };
}
