/** The clauses of a SELECT: positions and aliases, what is grouped, what may stand where. The rules are PostgreSQL's. */
import { asWritten } from '../closest-names.ts';
import { SemanticError } from '../semantic-error.ts';
import { requireBoolean } from './check-expression.ts';
import { resolveExpression, type Scope } from './resolve-expression.ts';
import {
  contains,
  isWrittenOut,
  numberExpressions,
  partsOf,
  type ResolvedExpression,
  type ResolvedSort,
  replaceParts,
} from './resolved-expression.ts';
import type { NamedExpression, SelectClauses } from './semantic-query.ts';
import { columnsMax } from './statement.ts';
import { dependsOnTies } from './window.ts';

/** Clauses of which every name is known. */
export interface ResolvedClauses {
  readonly select: readonly { readonly name: string; readonly expression: ResolvedExpression }[];
  readonly isDistinct: boolean;
  readonly where: ResolvedExpression | null;
  /** The expressions that rows are grouped by; null: rows are not grouped. */
  readonly groupBy: readonly ResolvedExpression[] | null;
  readonly having: ResolvedExpression | null;
  readonly orderBy: readonly ResolvedSort[];
  readonly limit: number | null;
  readonly offset: number | null;
}

/** What aggregates are called where a message speaks of them. */
const nouns = { measure: 'A measure', aggregate: 'An aggregate' } as const;

/**
 * Resolves the clauses of a SELECT.
 * @param aggregate the kind of leaf that makes a SELECT a grouped one
 * @throws SemanticError that says what cannot be resolved, with the closest names as hint
 */
export function resolveClauses(
  clauses: SelectClauses,
  scope: Scope,
  aggregate: 'measure' | 'aggregate',
): ResolvedClauses {
  const resolve = (expression: NamedExpression) => resolveExpression(expression, scope);
  const select = clauses.select.flatMap((item) => {
    if (item.kind === 'star') return scope.star(item.qualifier, item.location);
    return [{ name: item.alias ?? columnName(item.expression, aggregate), expression: resolve(item.expression) }];
  });
  if (select.length > columnsMax) {
    throw new SemanticError('SQL_TOO_LARGE', `SELECT has more than ${columnsMax} columns.`);
  }
  const numberOf = numberExpressions();

  const byOrdinal = (expression: NamedExpression, clause: string) => {
    if (expression.kind !== 'number') return undefined;
    const item = /^\d+$/.test(expression.text) ? select[Number(expression.text) - 1] : undefined;
    if (item !== undefined) return item.expression;
    throw new SemanticError(
      'SQL_INVALID',
      `${clause} ${expression.text} is not the position of a selected column.`,
      '',
      expression.location,
    );
  };
  const byAlias = (expression: NamedExpression, clause: string) => {
    if (expression.kind !== 'column' || expression.qualifier !== null) return undefined;
    const named = select.filter(({ name }) => name === expression.name).map((it) => it.expression);
    if (new Set(named.map(numberOf)).size > 1) {
      throw new SemanticError('SQL_INVALID', `${clause} "${expression.name}" is ambiguous.`, '', expression.location);
    }
    return named[0];
  };
  const forbid = (expression: ResolvedExpression, clause: string, hint: string): void => {
    if (contains(expression, aggregate)) {
      const message = clause === 'GROUP BY' ? 'cannot be grouped by' : `cannot stand in ${clause}`;
      throw new SemanticError('MEASURE_MISUSED', `${nouns[aggregate]} ${message}.`, hint, expression.location);
    }
    forbidWindow(expression, clause);
  };

  const filtered = (condition: NamedExpression) => resolveExpression(condition, besideSelect(scope, clauses.select));
  const where = clauses.where === null ? null : filtered(clauses.where);
  if (where !== null) forbid(where, 'WHERE', 'Filter groups with HAVING.');
  // GROUP BY prefers a column of FROM over an alias of the same name, ORDER BY the alias: PostgreSQL's rules.
  const groupBy = clauses.groupBy.map((expression) => {
    const isColumn = expression.kind === 'column' && scope.has(expression.name);
    const key =
      byOrdinal(expression, 'GROUP BY') ??
      (isColumn ? undefined : byAlias(expression, 'GROUP BY')) ??
      resolve(expression);
    forbid(key, 'GROUP BY', '');
    return key;
  });
  const having = clauses.having === null ? null : filtered(clauses.having);
  if (having !== null) forbidWindow(having, 'HAVING');
  const orderBy = clauses.orderBy.map(({ expression, isDescending, nullsFirst }) => ({
    expression: byOrdinal(expression, 'ORDER BY') ?? byAlias(expression, 'ORDER BY') ?? resolve(expression),
    isDescending,
    nullsFirst,
  }));

  const outputs = [...select, ...orderBy].map(({ expression }) => expression);
  const isGrouped =
    groupBy.length > 0 || having !== null || outputs.some((expression) => contains(expression, aggregate));
  if (isGrouped) {
    const keys = new Set(groupBy.map(numberOf));
    const isKey = (expression: ResolvedExpression) => keys.has(numberOf(expression));
    for (const expression of having === null ? outputs : [...outputs, having]) requireGrouped(expression, isKey);
  }
  const selected = new Set(select.map(({ expression }) => numberOf(expression)));
  const { isDistinct, limit, offset } = clauses;
  if (isDistinct && !orderBy.every(({ expression }) => selected.has(numberOf(expression)))) {
    throw new SemanticError('SQL_INVALID', 'With SELECT DISTINCT, ORDER BY may name selected columns only.');
  }
  if (where !== null) requireBoolean(where, 'WHERE');
  if (having !== null) requireBoolean(having, 'HAVING');
  return {
    select,
    isDistinct,
    where,
    groupBy: isGrouped ? groupBy : null,
    having,
    orderBy: untied({ select, isDistinct, isGrouped, orderBy, limit, offset }, numberOf),
    limit,
    offset,
  };
}

/** A scope in which a name that only a selected column has is told as that. */
function besideSelect(scope: Scope, select: SelectClauses['select']): Scope {
  return {
    ...scope,
    column(qualifier, name, location) {
      try {
        return scope.column(qualifier, name, location);
      } catch (error) {
        if (!(error instanceof SemanticError) || error.code !== 'MEMBER_NOT_FOUND' || qualifier !== null) throw error;
        const selected = select.find((it) => it.kind === 'expression' && it.alias === name);
        if (selected?.kind !== 'expression') throw error;
        const { expression } = selected;
        const argument = expression.kind === 'aggregate' ? expression.argument : null;
        const written =
          expression.kind === 'aggregate' && !expression.isDistinct && argument?.kind === 'column'
            ? `${expression.function.toUpperCase()}(${asWritten(argument.name)})`
            : 'its expression';
        const hint = `${asWritten(name)} is a name that SELECT gives; WHERE and HAVING do not know it. Write ${written}.`;
        throw new SemanticError('MEMBER_NOT_FOUND', error.message, hint, location);
      }
    },
  };
}

function forbidWindow(expression: ResolvedExpression, clause: string): void {
  if (!contains(expression, 'window')) return;
  throw new SemanticError(
    'SQL_INVALID',
    `A window function cannot stand in ${clause}.`,
    'Put the query in a subquery and filter around it.',
    expression.location,
  );
}

const isConstant = (expression: ResolvedExpression): boolean =>
  isWrittenOut(expression) || expression.kind === 'subquery';

/**
 * The order by which a LIMIT cuts: the written one, then every selected column, so that rows that it leaves equal are cut the same
 * way each time. Single rows without ORDER BY are not sorted for it: any of them are asked for, perhaps of very many.
 */
function untied(
  clauses: Pick<ResolvedClauses, 'select' | 'isDistinct' | 'orderBy' | 'limit' | 'offset'> & { isGrouped: boolean },
  numberOf: (expression: ResolvedExpression) => number,
): readonly ResolvedSort[] {
  const { select, isDistinct, isGrouped, orderBy, limit, offset } = clauses;
  if (limit === null && offset === null) return orderBy;
  if (orderBy.length === 0 && !isGrouped && !isDistinct) return orderBy;
  const sorted = new Set(orderBy.map(({ expression }) => numberOf(expression)));
  const ties: ResolvedSort[] = [];
  for (const { expression } of select) {
    if (isConstant(expression) || sorted.has(numberOf(expression))) continue;
    sorted.add(numberOf(expression));
    ties.push({ expression, isDescending: false, nullsFirst: false });
  }
  return [...orderBy, ...ties];
}

/** Every column of a grouped SELECT stands within an expression that is grouped by. */
function requireGrouped(expression: ResolvedExpression, isKey: (part: ResolvedExpression) => boolean): void {
  if (isKey(expression) || expression.kind === 'measure' || expression.kind === 'aggregate') return;
  if (expression.kind === 'dimension' || expression.kind === 'column') {
    const name = expression.kind === 'dimension' ? expression.member.name : expression.name;
    throw new SemanticError(
      'GROUP_BY_REQUIRED',
      `${name} has to be grouped by.`,
      `Add ${asWritten(name)} to GROUP BY.`,
      expression.location,
    );
  }
  for (const part of partsOf(expression)) requireGrouped(part, isKey);
}

/** Columns that windows may be sorted by all together besides what is written. */
const tiesMax = 5000;

/**
 * Makes what window functions give depend on the rows alone: behind the ORDER BY of each whose result would depend on which of two
 * equal rows comes first, the given expressions are sorted by.
 */
export function windowOrder(
  ties: readonly ResolvedExpression[],
): (expression: ResolvedExpression) => ResolvedExpression {
  const more = ties
    .filter((it) => !isConstant(it))
    .map((it) => ({ expression: it, isDescending: false, nullsFirst: false }));
  let added = 0;
  const replace = (part: ResolvedExpression): ResolvedExpression | null => {
    if (part.kind !== 'window' || !dependsOnTies(part.function, part.frame)) return null;
    added += more.length;
    if (added > tiesMax) {
      throw new SemanticError(
        'SQL_TOO_LARGE',
        'There are too many window functions over too many columns.',
        'Select fewer columns in the subquery.',
        part.location,
      );
    }
    return { ...part, orderBy: [...part.orderBy, ...more] };
  };
  return (expression) => replaceParts(expression, replace);
}

/** The name of a column without AS: as PostgreSQL names it, and a measure by its own name. */
function columnName(expression: NamedExpression, aggregate: 'measure' | 'aggregate'): string {
  switch (expression.kind) {
    case 'column':
      return expression.name;
    case 'aggregate': {
      const { argument } = expression;
      return aggregate === 'measure' && argument?.kind === 'column' ? argument.name : expression.function;
    }
    case 'window':
      return expression.function;
    case 'call':
      return expression.name === '||' ? '?column?' : expression.name;
    case 'date-trunc':
      return 'date_trunc';
    case 'date-part':
      return 'date_part';
    case 'cast': {
      const inner = columnName(expression.operand, aggregate);
      return inner === '?column?' ? expression.type : inner;
    }
    case 'now':
      return expression.isDate ? 'current_date' : 'now';
    case 'case':
      return 'case';
    default:
      return '?column?';
  }
}
