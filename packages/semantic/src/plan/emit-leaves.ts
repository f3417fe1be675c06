/** Row filters in SQL: a cube's own in the leaf that stands for the cube, a view's on the joined row. */

import type { CubeMember, MemberType } from '../model/data-model.ts';
import { type RowFilter, rowFilter } from '../policy/access-policy.ts';
import type { Subject } from '../policy/subject.ts';
import type { ResolvedQuery } from '../query/resolve-query.ts';
import { SemanticError } from '../semantic-error.ts';
import { type Binder, type EmitScope, emitDimension } from './emit-expression.ts';
import { type NodePath, pathOf } from './join-tree.ts';

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

/** The SQL of a row filter. `columnOf` gives the SQL and type of the dimension that a condition names. */
function emitRowFilter(
  filter: RowFilter,
  binder: Binder,
  columnOf: (member: string) => { readonly sql: string; readonly type: MemberType },
): string {
  if (filter.kind !== 'compare') {
    if (filter.filters.length === 0) return filter.kind === 'and' ? 'TRUE' : 'FALSE';
    const parts = filter.filters.map((it) => emitRowFilter(it, binder, columnOf));
    if (parts.length === 1) return parts.join('');
    return `(${parts.join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
  const { sql, type } = columnOf(filter.member);
  // Bound only where it is used: a parameter that the text does not name is an error.
  const values = () => filter.values.map((value) => binder.bind(value, type)).join(', ');
  const like = (pattern: (value: string) => string) =>
    filter.values.map((value) => {
      const escaped = String(value).replaceAll(/[\\%_]/g, (character) => `\\${character}`);
      return `CAST(${sql} AS VARCHAR) ILIKE ${binder.bind(pattern(escaped), 'string')} ESCAPE '\\'`;
    });
  switch (filter.operator) {
    case 'equals':
      return `(${sql} IN (${values()}))`;
    case 'notEquals':
      return `(${sql} NOT IN (${values()}) OR ${sql} IS NULL)`;
    case 'contains':
      return `(${like((value) => `%${value}%`).join(' OR ')})`;
    case 'notContains':
      return `(NOT (${like((value) => `%${value}%`).join(' OR ')}) OR ${sql} IS NULL)`;
    case 'startsWith':
      return `(${like((value) => `${value}%`).join(' OR ')})`;
    case 'endsWith':
      return `(${like((value) => `%${value}`).join(' OR ')})`;
    case 'gt':
      return `(${sql} > ${values()})`;
    case 'gte':
      return `(${sql} >= ${values()})`;
    case 'lt':
      return `(${sql} < ${values()})`;
    case 'lte':
      return `(${sql} <= ${values()})`;
    case 'set':
      return `(${sql} IS NOT NULL)`;
    case 'notSet':
      return `(${sql} IS NULL)`;
  }
}
