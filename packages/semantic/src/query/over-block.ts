/**
 * A semantic SELECT with window functions or values of subqueries → a plain SELECT over a semantic one. The inner computes keys and
 * measures, or rows; the outer filters groups, computes the windows over what is left, then what depends on them.
 */
import { windowOrder } from './resolve-clauses.ts';
import type { ResolvedQuery } from './resolve-query.ts';
import { contains, numberExpressions, partsOf, type ResolvedExpression, replaceParts } from './resolved-expression.ts';
import type { PlainSelect, ResolvedStatement } from './resolved-statement.ts';
import { typeOf } from './value-type.ts';

/** A resolved query as a statement, its windows above it. */
export function statementOf(query: ResolvedQuery): ResolvedStatement {
  const columns = query.select.map(({ name, expression }) => ({ name, type: typeOf(expression) }));
  const outputs = [...query.select, ...query.orderBy].map(({ expression }) => expression);
  const groups = query.having === null ? outputs : [...outputs, query.having];
  // What compares with the value of a subquery is left to a plain SELECT as well, which computes that beside its rows.
  const isBlock = !groups.some((it) => contains(it, 'window') || contains(it, 'subquery'));
  if (isBlock) return { kind: 'block', query, columns };

  const numberOf = numberExpressions();
  const keys = new Set(query.groupBy?.map(numberOf) ?? []);
  const inner = new Map<number, { readonly expression: ResolvedExpression; readonly column: number }>();
  const isInner = (it: ResolvedExpression): boolean =>
    keys.has(numberOf(it)) || it.kind === 'measure' || it.kind === 'dimension';
  const collect = (it: ResolvedExpression): void => {
    if (isInner(it)) {
      const number = numberOf(it);
      if (!inner.has(number)) inner.set(number, { expression: it, column: inner.size });
    } else for (const part of partsOf(it)) collect(part);
  };
  const ties = query.groupBy ?? [];
  for (const it of [...groups, ...ties]) collect(it);
  const innerSelect = [...inner.values()].map(({ expression, column }) => ({ name: `c${column}`, expression }));
  // A SELECT needs a column.
  if (innerSelect.length === 0) {
    innerSelect.push({ name: 'c0', expression: { kind: 'number', text: '1', location: 0 } });
  }
  const block: ResolvedStatement = {
    kind: 'block',
    query: { ...query, select: innerSelect, having: null, isDistinct: false, orderBy: [], limit: null, offset: null },
    columns: innerSelect.map(({ name, expression }) => ({ name, type: typeOf(expression) })),
  };

  const asColumn = (it: ResolvedExpression): ResolvedExpression | null => {
    if (!isInner(it)) return null;
    const column = inner.get(numberOf(it))?.column ?? 0;
    const name = it.kind === 'dimension' || it.kind === 'measure' ? it.member.name : '';
    return { kind: 'column', source: 0, column, type: typeOf(it), name, location: it.location };
  };
  // Grouped rows are told apart by their keys, others by everything that is read of them.
  const tieColumns = (query.groupBy === null ? [...inner.values()].map((it) => it.expression) : ties).map((it) =>
    replaceParts(it, asColumn),
  );
  const order = windowOrder(tieColumns);
  const lift = (it: ResolvedExpression): ResolvedExpression => order(replaceParts(it, asColumn));
  const select: PlainSelect = {
    from: { kind: 'source', source: 0, statement: block },
    where: query.having === null ? null : lift(query.having),
    groupBy: null,
    having: null,
    select: query.select.map(({ name, expression }) => ({ name, expression: lift(expression) })),
    isDistinct: query.isDistinct,
    orderBy: query.orderBy.map((it) => ({ ...it, expression: lift(it.expression) })),
    limit: query.limit,
    offset: query.offset,
  };
  return { kind: 'plain', select, columns };
}
