/** Conditions on rows with one user's values in them, as policies make them. */
import type { DateOperator, PolicyOperator } from '../model/policy-operators.ts';
import type { BoundValue } from './bound-value.ts';

/**
 * A value with its place in the model: `"orders 0 2.1"` is the second item of the third value that is written in the first entry of
 * the policy of orders. Two values of one place are the same value for one user; the value of a place differs from user to user.
 */
export interface PlacedValue {
  readonly value: BoundValue;
  readonly origin: string;
}

/** The operators that are left when dates have become comparisons. */
export type RowOperator = Exclude<PolicyOperator, DateOperator>;

/** A condition on rows. An empty `and` is true, an empty `or` is false; neither stands inside another filter. */
export type RowFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly RowFilter[] }
  | {
      readonly kind: 'compare';
      /** A dimension of the relation that the policy stands on. */
      readonly member: string;
      readonly operator: RowOperator;
      /** None for `set` and `notSet`, one for an order, else at least one. */
      readonly values: readonly PlacedValue[];
    };

/** Every row. */
export const allRows: RowFilter = { kind: 'and', filters: [] };
/** No row. */
export const noRows: RowFilter = { kind: 'or', filters: [] };

/** Whether a filter leaves every row, whatever the rows are. */
export const isAllRows = (filter: RowFilter): boolean => filter.kind === 'and' && filter.filters.length === 0;
/** Whether a filter leaves no row, whatever the rows are. */
export const isNoRows = (filter: RowFilter): boolean => filter.kind === 'or' && filter.filters.length === 0;

/** Filters put together, shortened where one decides alone. */
export function combine(kind: 'and' | 'or', filters: readonly RowFilter[]): RowFilter {
  const [neutral, deciding] = kind === 'and' ? [isAllRows, isNoRows] : [isNoRows, isAllRows];
  const decided = filters.find(deciding);
  if (decided !== undefined) return decided;
  const left = filters
    .filter((filter) => !neutral(filter))
    .flatMap((filter) => (filter.kind === kind ? filter.filters : [filter]));
  const [only, second] = left;
  return only !== undefined && second === undefined ? only : { kind, filters: left };
}
