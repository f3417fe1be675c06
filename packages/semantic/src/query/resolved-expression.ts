/** Expressions whose names are resolved to members, and what can be asked of them. */
import type { RelationMember } from '../model/data-model.ts';
import type { Expression, Location } from './semantic-query.ts';

/** What stands for names once they are resolved. A `time` literal is a text that was compared with a time. */
export type ResolvedLeaf =
  | { readonly kind: 'dimension'; readonly member: RelationMember; readonly location: Location }
  | { readonly kind: 'measure'; readonly member: RelationMember; readonly location: Location }
  | { readonly kind: 'time'; readonly value: string; readonly location: Location };

/** An expression whose names are members. */
export type ResolvedExpression = Expression<ResolvedLeaf>;

/** The expressions directly inside an expression. */
export function partsOf(expression: ResolvedExpression): readonly ResolvedExpression[] {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
    case 'time':
    case 'literal':
    case 'number':
      return [];
    case 'compare':
    case 'arithmetic':
      return [expression.left, expression.right];
    case 'and':
    case 'or':
      return expression.operands;
    case 'in':
      return [expression.operand, ...expression.items];
    case 'between':
      return [expression.operand, expression.low, expression.high];
    case 'case':
      return [
        ...expression.branches.flatMap(({ when, result }) => [when, result]),
        ...(expression.otherwise === null ? [] : [expression.otherwise]),
      ];
    case 'call':
      return expression.args;
    case 'not':
    case 'negate':
    case 'is-null':
    case 'like':
    case 'date-trunc':
      return [expression.operand];
  }
}

/** Whether a leaf of that kind stands anywhere in the expression. */
export const contains = (expression: ResolvedExpression, kind: ResolvedLeaf['kind']): boolean =>
  expression.kind === kind || partsOf(expression).some((part) => contains(part, kind));

/** Numbers expressions: two have the same number exactly when they say the same, wherever they stand in the text. */
export type ExpressionNumbers = (expression: ResolvedExpression) => number;

/** A numbering for one query. An expression is told by its own words and its parts' numbers, so each is read once. */
export function numberExpressions(): ExpressionNumbers {
  const numbers = new Map<string, number>();
  const known = new WeakMap<ResolvedExpression, number>();
  const numberOf = (expression: ResolvedExpression): number => {
    const before = known.get(expression);
    if (before !== undefined) return before;
    const text = JSON.stringify([expression.kind, ...ownWords(expression), ...partsOf(expression).map(numberOf)]);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    known.set(expression, number);
    return number;
  };
  return numberOf;
}

/** What an expression says besides its parts. */
function ownWords(expression: ResolvedExpression): readonly (string | boolean | null)[] {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
      return [expression.member.name];
    case 'time':
    case 'literal':
      return [expression.value];
    case 'number':
      return [expression.text];
    case 'compare':
    case 'arithmetic':
      return [expression.operator];
    case 'in':
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
    case 'and':
    case 'or':
    case 'not':
    case 'negate':
      return [];
  }
}
