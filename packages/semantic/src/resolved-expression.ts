/** Expressions whose names are resolved to members, and what can be asked of them. */
import type { RelationMember } from './data-model.ts';
import type { Expression, Location } from './semantic-query.ts';

/** What stands for names once they are resolved. A `time` literal is a text that was compared with a time. */
export type ResolvedLeaf =
  | { readonly kind: 'dimension'; readonly member: RelationMember; readonly location: Location }
  | { readonly kind: 'measure'; readonly member: RelationMember; readonly location: Location }
  | { readonly kind: 'time'; readonly value: string; readonly location: Location };

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

/** Whether two expressions say the same, wherever they stand in the text. */
export const sameExpression = (one: ResolvedExpression, other: ResolvedExpression): boolean =>
  expressionKey(one) === expressionKey(other);

/** A text that two expressions share exactly when they say the same. */
export const expressionKey = (expression: ResolvedExpression): string =>
  JSON.stringify(expression, (key, value: unknown) => {
    if (key === 'location') return undefined;
    return key === 'member' && typeof value === 'object' && value !== null && 'path' in value && 'name' in value
      ? value.name
      : value;
  });
