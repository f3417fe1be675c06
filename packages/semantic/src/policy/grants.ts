/** The entries of policies that are for one user, with what each grants and its row filter with the user's values. */
import type { DataModel, Policy } from '../model/data-model.ts';
import { bindFilter } from './bind-filter.ts';
import { type EntryGrants, entryGrants, policyPlace } from './entry-grants.ts';
import { mismatchOf } from './match-entry.ts';
import { allRows, type RowFilter } from './row-filter.ts';
import type { Subject } from './subject.ts';

/** A cube or view, with the policy that stands on it. */
export interface PolicyOwner {
  readonly name: string;
  readonly policy: Policy | null;
}

/** An entry of a cube's or view's policy that is for this user. */
export interface OwnerEntry {
  /** Its position in the policy. */
  readonly index: number;
  readonly grants: EntryGrants;
  /** Its row filter with the values of the user in it. */
  filter(): RowFilter;
}

/** Gives the entries for a subject, in the order of the policy; each owner's are worked out once. */
export function grantsOf(model: DataModel, subject: Subject): (owner: PolicyOwner) => readonly OwnerEntry[] {
  const known = new Map<string, readonly OwnerEntry[]>();
  return ({ name, policy }) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const place = policyPlace(model, name);
    const entries = (policy?.entries ?? []).flatMap((entry, index): OwnerEntry[] => {
      if (mismatchOf(entry, subject) !== null) return [];
      let bound: RowFilter | null = entry.rowFilter === null ? allRows : null;
      const filter = () => {
        bound ??=
          entry.rowFilter === null ? allRows : bindFilter(entry.rowFilter, `${name} ${index}`, place.member, subject);
        return bound;
      };
      return [{ index, grants: entryGrants(entry, place, model), filter }];
    });
    known.set(name, entries);
    return entries;
  };
}
