/** Names in expressions → what they stand for in one SELECT, with every type checked. */
import { SemanticError } from '../semantic-error.ts';
import { checkExpression, requireType, sameType } from './check-expression.ts';
import { contains, mapParts, type ResolvedExpression } from './resolved-expression.ts';
import type { ResolvedStatement } from './resolved-statement.ts';
import type { Location, NamedExpression, NameLeaf } from './semantic-query.ts';
import type { Statement } from './statement.ts';
import { presentTime } from './times.ts';
import { typeOf } from './value-type.ts';

/** An aggregate as parsed. */
export type NamedAggregate = NameLeaf & { readonly kind: 'aggregate' };

/** A column that `*` stands for. */
export interface StarColumn {
  readonly name: string;
  readonly expression: ResolvedExpression;
}

/** What names mean in a SELECT. */
export interface Scope {
  /** `UTC`, or a name of the zone database. */
  readonly timezone: string;
  readonly now: Date;
  /** @throws SemanticError for a name that stands for nothing */
  column(qualifier: string | null, name: string, location: Location): ResolvedExpression;
  /** Whether an unqualified name is a column of FROM. */
  has(name: string): boolean;
  /** What `*` or `qualifier.*` stands for. */
  star(qualifier: string | null, location: Location): readonly StarColumn[];
  aggregate(aggregate: NamedAggregate, resolve: (argument: NamedExpression) => ResolvedExpression): ResolvedExpression;
  /** A query within an expression. */
  subquery(statement: Statement): ResolvedStatement;
}

/** @throws SemanticError that says what cannot be resolved, or does not fit */
export function resolveExpression(expression: NamedExpression, scope: Scope): ResolvedExpression {
  const resolve = (it: NamedExpression): ResolvedExpression => resolveExpression(it, scope);
  const { location } = expression;
  switch (expression.kind) {
    case 'column':
      return scope.column(expression.qualifier, expression.name, location);
    case 'aggregate':
      return scope.aggregate(expression, resolve);
    case 'now':
      return presentTime(scope.now, expression.isDate, scope.timezone, location);
    case 'window':
      return resolveWindow(expression, resolve, scope.timezone);
    case 'subquery': {
      const statement = scope.subquery(expression.statement);
      if (expression.form === 'scalar') {
        requireOneColumn(statement, location);
        if (!givesOneRow(statement)) {
          throw new SemanticError(
            'SQL_NOT_SUPPORTED',
            'Semantic SQL does not allow a subquery as a value that may give more than one row.',
            'Aggregate without GROUP BY, or write LIMIT 1.',
            location,
          );
        }
      }
      return { kind: 'subquery', form: expression.form, statement, location };
    }
    case 'in-subquery': {
      const statement = scope.subquery(expression.statement);
      const type = requireOneColumn(statement, location);
      const column: ResolvedExpression = { kind: 'column', source: 0, column: 0, type, name: '', location };
      const [operand, compared] = sameType([resolve(expression.operand), column], 'IN', location, scope.timezone);
      if (operand === undefined || compared !== column) {
        throw new SemanticError(
          'TYPE_MISMATCH',
          'IN mixes instants and local times.',
          'Write date_trunc in both.',
          location,
        );
      }
      return { kind: 'in-subquery', operand, statement, isNegated: expression.isNegated, location };
    }
    default:
      return checkExpression(mapParts(expression, resolve), scope.timezone);
  }
}

function resolveWindow(
  window: NameLeaf & { readonly kind: 'window' },
  resolve: (part: NamedExpression) => ResolvedExpression,
  timezone: string,
): ResolvedExpression {
  const { function: name, location, frame } = window;
  const args = window.args.map(resolve);
  const partitionBy = window.partitionBy.map(resolve);
  const orderBy = window.orderBy.map((it) => ({ ...it, expression: resolve(it.expression) }));
  for (const part of [...args, ...partitionBy, ...orderBy.map((it) => it.expression)]) {
    if (contains(part, 'window')) {
      throw new SemanticError('SQL_INVALID', 'A window function cannot stand in another.', 'Use a subquery.', location);
    }
  }
  const [value, , fallback] = args;
  if ((name === 'sum' || name === 'avg') && value !== undefined) requireType(value, 'number', name);
  const over = { kind: 'window', function: name, partitionBy, orderBy, frame, location } as const;
  if (value === undefined || fallback === undefined) return { ...over, args };
  // A warehouse would make the default a value of the first one's type, an integer of 0.5. A row that is there has a 1.
  const [found = value, otherwise = fallback] = sameType([value, fallback], name, location, timezone);
  const distance = args.slice(1, 2);
  const row: ResolvedExpression = { ...over, args: [{ kind: 'number', text: '1', location }, ...distance] };
  return {
    kind: 'case',
    branches: [{ when: { kind: 'is-null', operand: row, isNegated: false, location }, result: otherwise }],
    otherwise: { ...over, args: [found, ...distance] },
    location,
  };
}

function requireOneColumn(statement: ResolvedStatement, location: Location) {
  const [column, second] = statement.columns;
  if (column !== undefined && second === undefined)
    return typeOf({ kind: 'column', source: 0, column: 0, ...column, location });
  throw new SemanticError('SQL_INVALID', 'A subquery here has to give one column.', '', location);
}

/** Whether a statement gives one row at most, whatever the data. */
function givesOneRow(statement: ResolvedStatement): boolean {
  if (statement.kind === 'set') return statement.limit !== null && statement.limit <= 1;
  const { limit, groupBy } = statement.kind === 'block' ? statement.query : statement.select;
  if (limit !== null && limit <= 1) return true;
  if (groupBy !== null) return groupBy.length === 0;
  return statement.kind === 'plain' && joinsOneRow(statement.select.from);
}

function joinsOneRow(from: (ResolvedStatement & { kind: 'plain' })['select']['from']): boolean {
  if (from.kind === 'source') return givesOneRow(from.statement);
  return from.type !== 'full' && joinsOneRow(from.left) && joinsOneRow(from.right);
}
