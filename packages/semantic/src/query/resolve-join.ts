/** Joins of plain SELECTs: which conditions every warehouse joins by alike. */
import { SemanticError } from '../semantic-error.ts';
import { conjunctsOf, partsOf, type ResolvedExpression } from './resolved-expression.ts';
import type { PlainFrom } from './resolved-statement.ts';
import type { JoinType } from './statement.ts';

/** The sides of a join that an expression reads. */
interface Sides {
  readonly left: boolean;
  readonly right: boolean;
}

/** @param middle the number of the first source on the right */
function sidesOf(expression: ResolvedExpression, middle: number): Sides {
  let [left, right] = [false, false];
  const visit = (it: ResolvedExpression): void => {
    if (it.kind === 'column') {
      if (it.source < middle) left = true;
      else right = true;
    }
    for (const part of partsOf(it)) visit(part);
  };
  visit(expression);
  return { left, right };
}

/** Whether it says that something on one side equals something on the other. */
export function isEquality(expression: ResolvedExpression, middle: number): boolean {
  if (expression.kind !== 'compare' || expression.operator !== '=') return false;
  const [one, other] = [sidesOf(expression.left, middle), sidesOf(expression.right, middle)];
  return (
    (one.left && !one.right && other.right && !other.left) || (one.right && !one.left && other.left && !other.right)
  );
}

/**
 * A join with a condition. Outer joins take equalities of both sides, one at least, and conditions on the side of which rows may be
 * missing; with anything else the warehouses differ in what they can do.
 * @param middle the number of the first source on the right
 * @throws SemanticError SQL_NOT_SUPPORTED
 */
export function joinOn(
  type: JoinType,
  left: PlainFrom,
  right: PlainFrom,
  on: ResolvedExpression,
  middle: number,
): PlainFrom {
  if (type !== 'inner') {
    const conditions = conjunctsOf(on);
    const isAllowed = (it: ResolvedExpression): boolean => {
      if (isEquality(it, middle)) return true;
      const sides = sidesOf(it, middle);
      return (type === 'left' && !sides.left && sides.right) || (type === 'right' && sides.left && !sides.right);
    };
    if (!conditions.some((it) => isEquality(it, middle)) || !conditions.every(isAllowed)) {
      throw new SemanticError(
        'SQL_NOT_SUPPORTED',
        `Semantic SQL does not allow a ${type.toUpperCase()} JOIN on such a condition.`,
        'Join by equal values of both sides (a.x = b.x AND …), and filter the rest in the subqueries.',
        on.location,
      );
    }
  }
  return { kind: 'join', type, left, right, on };
}
