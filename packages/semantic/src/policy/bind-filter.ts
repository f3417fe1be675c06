/**
 * A policy's row filter + one user → conditions with that user's values in them. What is missing, or not of the member's type, makes
 * its comparison false, whatever the operator: no rows, never all.
 */
import type { CubeMember, PolicyFilter } from '../model/data-model.ts';
import { isDateOperator, isTextOperator, policyOperators } from '../model/policy-operators.ts';
import { bindValue } from './bound-value.ts';
import { dateFilter } from './date-filter.ts';
import { combine, noRows, type PlacedValue, type RowFilter, type RowOperator } from './row-filter.ts';
import type { Subject } from './subject.ts';
import { subjectValue } from './subject-values.ts';

const isOrder = (operator: RowOperator): boolean => /^[gl]te?$/.test(operator);

/**
 * A filter with the values of this user.
 * @param place where its entry stands in the model: `"orders 0"`
 * @param dimensions the members that the filter may name
 */
export function bindFilter(
  filter: PolicyFilter,
  place: string,
  dimensions: (name: string) => CubeMember | undefined,
  subject: Subject,
): RowFilter {
  let written = 0;
  const bind = (it: PolicyFilter): RowFilter => {
    if (it.kind !== 'compare') return combine(it.kind, it.filters.map(bind));
    const { member, operator } = it;
    // Counted as they stand in the model, whatever a user has for them: a place is the same for all users.
    const first = written;
    written += it.values.length;
    const dimension = dimensions(member);
    if (dimension?.kind !== 'dimension') return noRows;
    const items = it.values.flatMap((value, at) =>
      spread(subjectValue(value, subject)).map((item, nth) => ({
        item,
        origin: `${place} ${first + at}.${nth}`,
        // An empty text is a value only where the model's author wrote it.
        isEmpty: item === '' && value.kind !== 'literal',
      })),
    );
    const takes = policyOperators[operator];
    if (isDateOperator(operator)) return dimension.type === 'time' ? dateFilter(member, operator, items) : noRows;
    if (takes === 'none') return { kind: 'compare', member, operator, values: [] };
    // The text of a number differs between warehouses.
    if (isTextOperator(operator) && dimension.type !== 'string') return noRows;
    if (isOrder(operator) && dimension.type === 'boolean') return noRows;
    const values = items.flatMap(({ item, origin, isEmpty }): PlacedValue[] => {
      const value = isEmpty ? null : bindValue(item, dimension.type);
      return value === null ? [] : [{ value, origin }];
    });
    if (values.length < items.length || values.length === 0) return noRows;
    return takes === 'one' && values.length > 1 ? noRows : { kind: 'compare', member, operator, values };
  };
  return bind(filter);
}

/** A list stands for its items; what is missing, for one item that no member's type has. */
const spread = (value: ReturnType<typeof subjectValue>): readonly unknown[] =>
  value === undefined ? [null] : Array.isArray(value) ? value : [value];
