/**
 * A resolved SELECT over one relation → SQL of a dialect with bound parameters.
 *
 * An inner query computes keys (what rows are grouped by) and measures; an outer one computes the selected expressions, HAVING, ORDER BY
 * and LIMIT from those. Each cube is a leaf that its row filter is part of, so that nothing outside can reach a filtered row. Where a join
 * would repeat the rows of a measure's cube, the measure is computed from the distinct (keys, primary key) of that cube.
 */
import type { RelationMember } from '../model/data-model.ts';
import type { ResolvedQuery } from '../query/resolve-query.ts';
import {
  contains,
  type ExpressionNumbers,
  isWrittenOut,
  numberExpressions,
  partsOf,
  type ResolvedExpression,
} from '../query/resolved-expression.ts';
import { typeOf } from '../query/value-type.ts';
import { emitEnd, emitSort } from './emit-end.ts';
import { emitExpression } from './emit-expression.ts';
import { emitRows } from './facts.ts';
import { emitFilled } from './fill.ts';
import type { CompileContext, GroupKey, GroupMeasure, GroupRequest, GroupScope } from './group-scope.ts';
import { emitGroups } from './groups.ts';
import { joinForest, pathOf } from './join-tree.ts';
import { queryAccess } from './query-access.ts';
import { takenMembers } from './taken-members.ts';

/** A compiled SELECT, which can stand alone or as a table of another. */
export interface CompiledBlock {
  readonly sql: string;
  /** The names of its columns, in order. */
  readonly columns: readonly string[];
  /** The names of the cubes whose rows it reads. */
  readonly cubes: ReadonlySet<string>;
}

/** A selected column with its name: `sql AS name`. The query's own names are the default; they need not differ. */
export type EmitColumn = (sql: string, index: number) => string;

/**
 * Compiles a query that was resolved for the same model and rights.
 * @param column writes a selected column: as a table of another query wants it, or whoever reads the answer
 * @throws SemanticError QUERY_NOT_PLANNABLE when the data model does not allow a right answer
 */
export function compileBlock(query: ResolvedQuery, context: CompileContext, column?: EmitColumn): CompiledBlock {
  const scope = scopeOf(query, context);
  const numberOf = numberExpressions();
  const measures = measuresOf(query);
  const { request, nameOf } = requestOf(query, [...measures.values()], numberOf);
  const groups = query.groupBy === null ? emitRows(request, scope) : scope.groups(request, scope);
  const rows = query.fill ? emitFilled(groups, request, scope) : groups;
  const emit = (expression: ResolvedExpression): string =>
    emitExpression(expression, context, (it) => {
      const key = isWrittenOut(it) ? undefined : nameOf.get(numberOf(it));
      if (key !== undefined) return `g.${key}`;
      if (it.kind !== 'measure') return null;
      const measure = measures.get(it.member.name);
      return measure === undefined ? null : `g.${measure.name}`;
    });
  const columns = query.select.map(({ name }) => name);
  const named: EmitColumn = (sql, index) => `${sql} AS ${context.dialect.quote(columns[index] ?? '')}`;
  const sql = emitOuter(query, rows, emit, numberOf, { context, column: column ?? named });
  return { sql, columns, cubes: scope.cubes };
}

function scopeOf(query: ResolvedQuery, context: CompileContext): GroupScope {
  const { model, rights } = context;
  const forest = joinForest(model, query.relation);
  return {
    context,
    forest,
    access: queryAccess(forest, rights, query.taken, takenMembers(query.taken.values(), model)),
    cubes: new Set(),
    locate: (tree, path) => tree.locate(path),
    groups: emitGroups,
  };
}

/** What the inner query computes: the grouping keys, or for rows as they are every output expression, and the measures. */
function requestOf(query: ResolvedQuery, measures: readonly GroupMeasure[], numberOf: ExpressionNumbers) {
  const candidates =
    query.groupBy ?? [...query.select, ...query.orderBy].flatMap(({ expression }) => rowParts(expression));
  const nameOf = new Map<number, string>();
  const keys: GroupKey[] = [];
  for (const expression of candidates) {
    const number = numberOf(expression);
    // A literal is no key: it would be a parameter in GROUP BY, and means the same outside.
    if (isWrittenOut(expression) || nameOf.has(number)) continue;
    const name = `k${keys.length}`;
    nameOf.set(number, name);
    keys.push({ name, expression });
  }
  // Grouped by literals alone, there is one group, and none where there are no rows.
  if (keys.length === 0 && query.groupBy !== null && query.groupBy.length > 0) {
    keys.push({ name: 'k0', expression: { kind: 'number', text: '1', location: 0 } });
  }
  const request: GroupRequest = { keys, measures, where: query.where, shifts: new Map() };
  return { request, nameOf };
}

/** The parts of an expression that are computed with the rows; what stands around a subquery is computed outside, beside it. */
const rowParts = (expression: ResolvedExpression): readonly ResolvedExpression[] =>
  contains(expression, 'in-subquery') ? partsOf(expression).flatMap(rowParts) : [expression];

/** The measures that the query names, by their names in it. */
function measuresOf(query: ResolvedQuery): ReadonlyMap<string, GroupMeasure> {
  const found = new Map<string, GroupMeasure>();
  const add = ({ name, path, member }: RelationMember): void => {
    if (member.kind !== 'measure' || found.has(name)) return;
    found.set(name, { name: `m${found.size}`, measure: member, path: pathOf(path), reader: name });
  };
  const visit = (expression: ResolvedExpression): void => {
    if (expression.kind === 'measure') add(expression.member);
    for (const part of partsOf(expression)) visit(part);
  };
  for (const { expression } of [...query.select, ...query.orderBy]) visit(expression);
  if (query.having !== null) visit(query.having);
  return found;
}

/** The outer SELECT: what the query selects, of which groups or rows, in which order. */
function emitOuter(
  query: ResolvedQuery,
  rows: string,
  emit: (expression: ResolvedExpression) => string,
  numberOf: ExpressionNumbers,
  { context, column }: { readonly context: CompileContext; readonly column: EmitColumn },
): string {
  const end = (place: (expression: ResolvedExpression) => string): string => {
    const sorts = query.orderBy.map((it) =>
      emitSort({ sql: place(it.expression), type: typeOf(it.expression) }, it, context.dialect),
    );
    return emitEnd(sorts, query);
  };
  const from = `FROM (${rows}) AS g${query.having === null ? '' : ` WHERE ${emit(query.having)}`}`;
  if (!query.isDistinct) {
    const select = query.select.map(({ expression }, index) => column(emit(expression), index));
    return `SELECT ${select.join(', ')} ${from}${end(emit)}`;
  }
  // Made distinct first: what rows are sorted by may be another expression over the same column, as a collation is.
  const placeOf = new Map(query.select.map(({ expression }, index) => [numberOf(expression), `o.c${index}`]));
  const distinct = query.select.map(({ expression }, index) => `${emit(expression)} AS c${index}`);
  const select = query.select.map((_, index) => column(`o.c${index}`, index));
  const inner = `SELECT DISTINCT ${distinct.join(', ')} ${from}`;
  const ordered = end((expression) => placeOf.get(numberOf(expression)) ?? emit(expression));
  return `SELECT ${select.join(', ')} FROM (${inner}) AS o${ordered}`;
}
