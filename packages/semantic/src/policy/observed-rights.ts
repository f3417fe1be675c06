/** Rights that tell what is asked of them: which policies a query consults, and for which members. */
import type { PolicyOwner } from './grants.ts';
import type { Rights } from './rights.ts';

/** The same rights; `onAccess` is told of each cube and view whose rows are asked for, with the members taken from it. */
export function observedRights(
  rights: Rights,
  onAccess: (owner: PolicyOwner, taken: ReadonlySet<string>) => void,
): Rights {
  return {
    ...rights,
    access(owner, taken) {
      onAccess(owner, taken);
      return rights.access(owner, taken);
    },
  };
}
