/** Whether an entry of a policy is for this user. */
import type { PolicyCondition, PolicyEntry, PolicyFilter } from '../model/data-model.ts';
import { holds } from './conditions.ts';
import type { Subject } from './subject.ts';

/** Why an entry is not for a user. */
export type Mismatch =
  | { readonly kind: 'group' }
  /** It grants all rows, and the user's groups are an embed tenant's own. */
  | { readonly kind: 'embed-tenant' }
  /** `missing`: a value that the condition compares is not there. */
  | { readonly kind: 'condition'; readonly condition: PolicyCondition; readonly isMissing: boolean };

/**
 * Null when the entry is for this user. An entry that grants all rows matches a customer-chosen group name only if it says so: it
 * might be anybody's name.
 */
export function mismatchOf(entry: PolicyEntry, subject: Subject): Mismatch | null {
  if (!entry.groups.some((group) => group === '*' || subject.groups.includes(group))) return { kind: 'group' };
  const grantsAll = entry.rowFilter === null || isAlwaysTrue(entry.rowFilter);
  if (grantsAll && subject.isEmbedTenantScope && !entry.matchesEmbedTenants) return { kind: 'embed-tenant' };
  for (const condition of entry.conditions) {
    const result = holds(condition, subject);
    if (result !== true) return { kind: 'condition', condition, isMissing: result === null };
  }
  return null;
}

/** Whether a filter leaves all rows by its form: a list of no filters does. */
const isAlwaysTrue = (filter: PolicyFilter): boolean =>
  filter.kind === 'and'
    ? filter.filters.every(isAlwaysTrue)
    : filter.kind === 'or' && filter.filters.some(isAlwaysTrue);
