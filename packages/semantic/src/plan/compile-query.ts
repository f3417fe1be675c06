/**
 * A resolved query → one SELECT of a dialect with bound parameters.
 *
 * Inner queries compute keys (what rows are grouped by) and measures; an outer one computes the selected expressions,
 * HAVING, ORDER BY and LIMIT from those. Each cube is a leaf that its row filter is part of, so that nothing outside can
 * reach a filtered row. Where a join would repeat the rows of a measure's cube, the measure is computed from the distinct
 * (keys, primary key) of that cube, in an inner query of its own; the inner queries have the same keys and are joined.
 */

import type { Dialect } from '../dialects/dialect.ts';
import type { DataModel, Measure } from '../model/data-model.ts';
import type { Subject } from '../policy/subject.ts';
import type { ResolvedQuery } from '../query/resolve-query.ts';
import { type ExpressionNumbers, numberExpressions, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { createBinder, type EmitScope, emitDimension, emitExpression, type Parameter } from './emit-expression.ts';
import { emitFrom, type RowSource } from './emit-from.ts';
import { emitViewFilter } from './emit-leaves.ts';
import { type JoinTree, joinTree, type NodePath, pathOf } from './join-tree.ts';
import { mayFail } from './may-fail.ts';
import { emitBlock, measureId, neededMeasures, planBlocks, referToMeasure } from './plan-blocks.ts';

/** A compiled query: SQL with numbered parameters, and the names of its columns. */
export interface CompiledQuery {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
  readonly columns: readonly string[];
}

/**
 * Compiles a query that was resolved for the same model and subject.
 * @throws SemanticError QUERY_NOT_PLANNABLE when the data model does not allow a right answer
 */
export function compileQuery(
  query: ResolvedQuery,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
): CompiledQuery {
  const tree = joinTree(model, query.relation);
  const binder = createBinder(dialect);
  const numberOf = numberExpressions();
  const taken = takenMembers(query);
  const newScope = (reader: string): EmitScope => ({
    tree,
    dialect,
    binder,
    nodes: new Set(),
    reader,
    onRead: () => {},
  });
  // What a member reads of another cube is taken from that cube as if the query had named it; what joins and row filters
  // read is not.
  const memberScope = (reader: string): EmitScope => ({ ...newScope(reader), onRead: taken.add });

  const shared = newScope('This query');
  /** Dimensions in a row expression are emitted where they stand; the nodes that they need are shared. */
  const emitRow = (expression: ResolvedExpression) =>
    emitExpression(expression, shared, (it) => {
      if (it.kind !== 'dimension' || it.member.member.kind !== 'dimension') return null;
      const scope = { ...memberScope(it.member.name), nodes: shared.nodes };
      return emitDimension(it.member.member, pathOf(it.member.path), scope);
    });

  const isGrouped = query.groupBy !== null;
  const keys = keyExpressions(query, numberOf).map(([number, expression], index) => ({
    number,
    name: `k${index}`,
    sql: emitRow(expression),
  }));
  // Grouped by literals alone, there is one group, and none where there are no rows.
  if (keys.length === 0 && isGrouped && query.groupBy.length > 0) keys.push({ number: -1, name: 'k0', sql: '1' });
  const viewFilter = emitViewFilter(query, subject, { ...shared, reader: 'An access policy' });
  const condition = query.where === null ? null : emitRow(query.where);
  if (!isGrouped) requireOneGrain(query, tree, shared.nodes);

  const measures = neededMeasures(query, memberScope);
  const blocks = planBlocks(measures.values(), shared.nodes, tree, memberScope);
  const rows: RowSource = {
    tree,
    dialect,
    subject,
    newScope,
    takenFrom: taken.of,
    viewFilter,
    condition,
    canFail: [query.where, query.having].some((it) => it !== null && mayFail(it)),
  };

  const columnOf = new Map(
    blocks.flatMap((block, index) => block.measures.map(({ column }) => [column, `b${index}.${column}`] as const)),
  );
  const emitMeasure = (measure: Measure, path: NodePath, scope: EmitScope): string => {
    if (measure.aggregation !== 'number') {
      return columnOf.get(measures.get(measureId(path, measure))?.column ?? '') ?? 'NULL';
    }
    const parts = measure.sql.map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'cube') throw new Error(`measure ${measure.name} reads a column`);
      const target = referToMeasure(path, part.cube, part.member, scope);
      return emitMeasure(target.measure, target.path, scope);
    });
    return `(${parts.join('')})`;
  };
  const keyNames = new Map(keys.map(({ number, name }) => [number, `b0.${name}`]));
  const emitOuter = (expression: ResolvedExpression) =>
    emitExpression(expression, { dialect, binder }, (it) => {
      const key = isKeyLike(it) ? keyNames.get(numberOf(it)) : undefined;
      if (key !== undefined) return key;
      if (it.kind !== 'measure' || it.member.member.kind !== 'measure') return null;
      return emitMeasure(it.member.member, pathOf(it.member.path), newScope(it.member.name));
    });

  const select = query.select.map(({ name, expression }) => `${emitOuter(expression)} AS ${dialect.quote(name)}`);
  const joined = blocks.map((block, index) => {
    const sql = emitBlock(block, keys, emitFrom(block.nodes, rows), isGrouped);
    if (index === 0) return `(${sql}) AS b0`;
    if (keys.length === 0) return `CROSS JOIN (${sql}) AS b${index}`;
    const on = keys.map(({ name }) => dialect.isNotDistinct(`b0.${name}`, `b${index}.${name}`)).join(' AND ');
    return `LEFT JOIN (${sql}) AS b${index} ON ${on}`;
  });
  const sql = [
    `SELECT ${query.isDistinct ? 'DISTINCT ' : ''}${select.join(', ')} FROM ${joined.join(' ')}`,
    ...(query.having === null ? [] : [`WHERE ${emitOuter(query.having)}`]),
    ...emitOrder(query, numberOf, emitOuter),
    ...(query.limit === null ? [] : [`LIMIT ${query.limit}`]),
    ...(query.offset === null ? [] : [`OFFSET ${query.offset}`]),
  ].join(' ');
  return { sql, parameters: binder.parameters, columns: query.select.map(({ name }) => name) };
}

/** A literal is never a key: it would be a parameter in GROUP BY, and means the same outside. */
const isKeyLike = ({ kind }: ResolvedExpression) => kind !== 'literal' && kind !== 'number' && kind !== 'time';

/** What the inner queries compute per row or group: the grouping keys, or for ungrouped rows every output expression. */
function keyExpressions(query: ResolvedQuery, numberOf: ExpressionNumbers) {
  const candidates = query.groupBy ?? [...query.select, ...query.orderBy].map(({ expression }) => expression);
  return [...new Map(candidates.filter(isKeyLike).map((expression) => [numberOf(expression), expression]))];
}

/** The members that the query takes from each cube, to which may be added. */
function takenMembers(query: ResolvedQuery) {
  const taken = new Map<string, Set<string>>();
  const of = (cube: string): ReadonlySet<string> => taken.get(cube) ?? new Set();
  const add = (cube: string, member: string) => {
    taken.set(cube, new Set(of(cube)).add(member));
  };
  for (const { member } of query.taken.values()) add(member.cube, member.name);
  return { of, add };
}

function emitOrder(
  query: ResolvedQuery,
  numberOf: ExpressionNumbers,
  emit: (expression: ResolvedExpression) => string,
): string[] {
  const positions = new Map<number, number>();
  for (const [index, { expression }] of query.select.entries()) positions.set(numberOf(expression), index + 1);
  const columns = query.orderBy.map(({ expression, isDescending, nullsFirst }) => {
    // With DISTINCT an expression may only be sorted by as the column that it is.
    const column = positions.get(numberOf(expression)) ?? emit(expression);
    return `${column} ${isDescending ? 'DESC' : 'ASC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`;
  });
  return columns.length === 0 ? [] : [`ORDER BY ${columns.join(', ')}`];
}

/** Rows without grouping need one cube whose rows they are: two branches of many rows each would be a cross product. */
function requireOneGrain(query: ResolvedQuery, tree: JoinTree, nodes: ReadonlySet<NodePath>): void {
  const closed = tree.close(nodes);
  if (closed.some((path) => !tree.isMultiplied(path, closed))) return;
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `Rows of ${query.relation.name} with these members would be every combination of unrelated rows.`,
    'Group by dimensions and select measures, or select members of fewer cubes.',
  );
}
