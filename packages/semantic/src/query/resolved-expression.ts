/** Expressions whose names are resolved to members, and what can be asked of them. */
import type { MemberType, RelationMember } from '../model/data-model.ts';
import type { ResolvedStatement } from './resolved-statement.ts';
import type { Composite, Expression, Location } from './semantic-query.ts';
import type { Frame, WindowFunction } from './window.ts';

/**
 * The type of a value. `time` is an instant, in UTC; `local-time` a wall clock's time or a date, of no zone or of the query's;
 * `null` fits with all.
 */
export type ValueType = MemberType | 'local-time' | 'null';

/** An aggregate over the rows of a plain SELECT. */
export type PlainAggregate = 'count' | 'count_distinct' | 'sum' | 'avg' | 'min' | 'max';

/** What a sorted thing is sorted by. */
export interface ResolvedSort {
  readonly expression: ResolvedExpression;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/**
 * What stands for names once they are resolved. `dimension`, a dimension or a segment, and `measure` stand in a semantic SELECT;
 * `column`, `aggregate` and `window` in a plain one, over the results of others.
 */
export type ResolvedLeaf =
  | { readonly kind: 'dimension'; readonly member: RelationMember; readonly location: Location }
  | { readonly kind: 'measure'; readonly member: RelationMember; readonly location: Location }
  /**
   * `YYYY-MM-DD HH:MM:SS.ffffff`. `isLocal`: a wall clock's; else UTC. A time that was written, or is the present one: where it
   * meets an instant it has been turned into one.
   */
  | { readonly kind: 'time'; readonly value: string; readonly isLocal: boolean; readonly location: Location }
  /** A column of a query in FROM: `source` numbers these from 0, as they are written. */
  | {
      readonly kind: 'column';
      readonly source: number;
      readonly column: number;
      readonly type: ValueType;
      readonly name: string;
      readonly location: Location;
    }
  /** `argument` null is `count(*)`. */
  | {
      readonly kind: 'aggregate';
      readonly function: PlainAggregate;
      readonly argument: ResolvedExpression | null;
      readonly location: Location;
    }
  | {
      readonly kind: 'window';
      readonly function: WindowFunction;
      readonly args: readonly ResolvedExpression[];
      readonly partitionBy: readonly ResolvedExpression[];
      readonly orderBy: readonly ResolvedSort[];
      readonly frame: Frame | null;
      readonly location: Location;
    }
  /** `scalar`: the one value of a query of one column and at most one row; `exists`: whether it has a row. */
  | {
      readonly kind: 'subquery';
      readonly form: 'scalar' | 'exists';
      readonly statement: ResolvedStatement;
      readonly location: Location;
    }
  /** Null where the operand is null; nulls of the query are left out. */
  | {
      readonly kind: 'in-subquery';
      readonly operand: ResolvedExpression;
      readonly statement: ResolvedStatement;
      readonly isNegated: boolean;
      readonly location: Location;
    };

/** An expression whose names are members or columns. */
export type ResolvedExpression = Expression<ResolvedLeaf>;

/** The expressions directly inside an expression; those of a subquery are its own. */
export function partsOf(expression: ResolvedExpression): readonly ResolvedExpression[] {
  const parts: ResolvedExpression[] = [];
  mapResolvedParts(expression, (part) => {
    parts.push(part);
    return part;
  });
  return parts;
}

/** The same expression over other parts. */
function mapResolvedParts(
  expression: ResolvedExpression,
  map: (part: ResolvedExpression) => ResolvedExpression,
): ResolvedExpression {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
    case 'time':
    case 'column':
    case 'subquery':
      return expression;
    case 'aggregate':
      return expression.argument === null ? expression : { ...expression, argument: map(expression.argument) };
    case 'in-subquery':
      return { ...expression, operand: map(expression.operand) };
    case 'window':
      return {
        ...expression,
        args: expression.args.map(map),
        partitionBy: expression.partitionBy.map(map),
        orderBy: expression.orderBy.map((it) => ({ ...it, expression: map(it.expression) })),
      };
    default:
      return mapParts(expression, map);
  }
}

/** The same composite over other parts. */
export function mapParts<A, B>(expression: Composite<A>, map: (part: Expression<A>) => Expression<B>): Composite<B> {
  switch (expression.kind) {
    case 'literal':
    case 'number':
      return expression;
    case 'compare':
    case 'arithmetic':
      return { ...expression, left: map(expression.left), right: map(expression.right) };
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(map) };
    case 'in':
      return { ...expression, operand: map(expression.operand), items: expression.items.map(map) };
    case 'between':
      return {
        ...expression,
        operand: map(expression.operand),
        low: map(expression.low),
        high: map(expression.high),
      };
    case 'case':
      return {
        ...expression,
        branches: expression.branches.map(({ when, result }) => ({ when: map(when), result: map(result) })),
        otherwise: expression.otherwise === null ? null : map(expression.otherwise),
      };
    case 'call':
      return { ...expression, args: expression.args.map(map) };
    case 'not':
    case 'negate':
    case 'is-null':
    case 'like':
    case 'date-trunc':
    case 'date-part':
    case 'shift-time':
    case 'cast':
    case 'is-truth':
    case 'local-time':
      return { ...expression, operand: map(expression.operand) };
  }
}

/** The same expression with some of its parts replaced, at any depth; where `replace` gives null, the parts within are looked at. */
export function replaceParts(
  expression: ResolvedExpression,
  replace: (part: ResolvedExpression) => ResolvedExpression | null,
): ResolvedExpression {
  const map = (part: ResolvedExpression): ResolvedExpression => replace(part) ?? mapResolvedParts(part, map);
  return map(expression);
}

/** The conditions that all have to hold for this one to; of null none. */
export function conjunctsOf(condition: ResolvedExpression | null): readonly ResolvedExpression[] {
  if (condition === null) return [];
  return condition.kind === 'and' ? condition.operands.flatMap(conjunctsOf) : [condition];
}

/** Whether it is a value that the query says itself. */
export const isWrittenOut = ({ kind }: ResolvedExpression): boolean =>
  kind === 'literal' || kind === 'number' || kind === 'time';

/** Whether a leaf of that kind stands anywhere in the expression, subqueries left out. */
export const contains = (expression: ResolvedExpression, kind: ResolvedLeaf['kind']): boolean =>
  expression.kind === kind || partsOf(expression).some((part) => contains(part, kind));

/** Numbers expressions: two have the same number exactly when they say the same, wherever they stand in the text. */
export type ExpressionNumbers = (expression: ResolvedExpression) => number;

/** A numbering for one query. An expression is told by its own words and its parts' numbers, so each is read once. */
export function numberExpressions(): ExpressionNumbers {
  const numbers = new Map<string, number>();
  const known = new WeakMap<ResolvedExpression, number>();
  const statements = new Map<ResolvedStatement, number>();
  const numberOf = (expression: ResolvedExpression): number => {
    const before = known.get(expression);
    if (before !== undefined) return before;
    const words: (string | number | boolean | null)[] = [expression.kind, ...ownWords(expression)];
    if (expression.kind === 'subquery' || expression.kind === 'in-subquery') {
      // Two subqueries are the same only where they are one object.
      const statement = statements.get(expression.statement) ?? statements.size;
      statements.set(expression.statement, statement);
      words.push(statement);
    }
    for (const part of partsOf(expression)) words.push(numberOf(part));
    const text = JSON.stringify(words);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    known.set(expression, number);
    return number;
  };
  return numberOf;
}

/** What an expression says besides its parts. */
function ownWords(expression: ResolvedExpression): readonly (string | number | boolean | null)[] {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
      return [expression.member.name];
    case 'time':
      return [expression.value, expression.isLocal];
    case 'column':
      return [expression.source, expression.column];
    case 'aggregate':
      return [expression.function];
    case 'window':
      return [
        expression.function,
        expression.args.length,
        expression.partitionBy.length,
        ...expression.orderBy.flatMap(({ isDescending, nullsFirst }) => [isDescending, nullsFirst]),
        JSON.stringify(expression.frame),
      ];
    case 'subquery':
      return [expression.form];
    case 'literal':
      return [expression.value];
    case 'number':
      return [expression.text];
    case 'compare':
    case 'arithmetic':
      return [expression.operator];
    case 'in':
    case 'in-subquery':
    case 'between':
    case 'is-null':
      return [expression.isNegated];
    case 'like':
      return [expression.pattern, expression.isCaseSensitive, expression.isNegated];
    case 'case':
      return [expression.otherwise !== null];
    case 'call':
      return [expression.name];
    case 'date-trunc':
      return [expression.granularity];
    case 'date-part':
      return [expression.part];
    case 'shift-time': {
      const { months, days, seconds } = expression.interval;
      return [months, days, seconds];
    }
    case 'cast':
      return [expression.type, expression.places];
    case 'is-truth':
      return [expression.value, expression.isNegated];
    case 'local-time':
      return [expression.timezone];
    case 'and':
    case 'or':
    case 'not':
    case 'negate':
      return [];
  }
}
