/** What an entry of a policy grants of which member, whoever asks. */
import type { Cube, CubeMember, DataModel, PolicyEntry, Relation } from '../model/data-model.ts';
import { memberReads } from './member-reads.ts';

/** How an entry grants a member; null: not at all. */
export type Grant = 'full' | 'masked' | null;

/** What one entry grants. */
export interface EntryGrants {
  of(name: string): Grant;
  /** Whether it grants any member. */
  readonly isAny: boolean;
  /** The members that it masks among those that a member reads. */
  maskedReads(name: string): readonly string[];
  /** Whether it masks what a name means, by this name or by another. */
  masks(name: string): boolean;
}

/** A cube or view as its policy sees it. */
export interface PolicyPlace {
  readonly name: string;
  /** The member that a name in the policy means. */
  member(name: string): CubeMember | undefined;
  /** Tells apart the ways to one cube, where a view has more than one. */
  path(name: string): string;
}

/** A cube, or a view, whose names are its own. */
export function policyPlace(model: DataModel, name: string): PolicyPlace {
  const relation: Relation | undefined = model.relations.get(name);
  if (relation?.type === 'view') {
    return {
      name,
      member: (member) => relation.members.get(member)?.member,
      path: (member) => relation.members.get(member)?.path.join('.') ?? '',
    };
  }
  const cube: Cube | undefined = model.cubes.get(name);
  return { name, member: (member) => cube?.members.get(member), path: () => name };
}

const known = new WeakMap<PolicyEntry, EntryGrants>();

/** The grants of an entry of the policy at `place`. They are worked out once: neither changes. */
export function entryGrants(entry: PolicyEntry, place: PolicyPlace, model: DataModel): EntryGrants {
  const before = known.get(entry);
  if (before !== undefined) return before;
  const { maskedMembers, excludedMembers } = entry;
  const masked = [...maskedMembers];
  const excluded = [...excludedMembers];
  const isMasked = (name: string) => masked.some((other) => isSame(name, other, place));
  const grants = new Map<string, Grant>();
  for (const name of entry.members) {
    // What the entry says must not be seen is not seen through another member, or by another name, either.
    if (excluded.some((other) => readsOrIs(name, other, place, model))) continue;
    grants.set(name, isMasked(name) ? 'masked' : 'full');
  }
  for (const name of masked) grants.set(name, 'masked');
  const reads = new Map<string, readonly string[]>();
  const made: EntryGrants = {
    of: (name) => grants.get(name) ?? null,
    isAny: grants.size > 0,
    maskedReads(name) {
      if (masked.length === 0) return masked;
      const found = reads.get(name) ?? masked.filter((other) => readsOrIs(name, other, place, model));
      reads.set(name, found);
      return found;
    },
    masks: isMasked,
  };
  known.set(entry, made);
  return made;
}

/** Whether two names mean one member, reached in one way. */
function isSame(name: string, other: string, place: PolicyPlace): boolean {
  const [one, another] = [place.member(name), place.member(other)];
  return one?.cube === another?.cube && one?.name === another?.name && place.path(name) === place.path(other);
}

/** Whether a member reads another, or is the same by another name: of its own cube by the same path, of other cubes by any. */
function readsOrIs(name: string, other: string, place: PolicyPlace, model: DataModel): boolean {
  if (name === other) return false;
  const [member, target] = [place.member(name), place.member(other)];
  if (member === undefined || target === undefined) return false;
  const doesRead = memberReads(model)(member.cube, member.name).has(`${target.cube}.${target.name}`);
  if (target.cube !== member.cube) return doesRead;
  return place.path(other) === place.path(name) && (doesRead || target.name === member.name);
}
