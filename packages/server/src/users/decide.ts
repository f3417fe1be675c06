/**
 * The rules of a call that means a user (service.md 2.2–2.5, 4.1 rules 1–10; http-api.md): what it says and what is stored in, a
 * refusal or what has to change out. Pure: nothing is read or written here.
 */
import type { AttributeValue } from '@inlay/contract/user.ts';
import { InlayError } from '../errors.ts';
import { type DefinitionChanges, mergeDefinitions } from './decide-definitions.ts';
import { namedValues, refuseRights } from './decide-rights.ts';
import type { Places, Stored, StoredUser, UserFields } from './stored.ts';
import type { ExternalUserSettings, Lifetime, UserCall } from './user-call.ts';

/** Kinds of external users, each with a limit of its own. */
export type UserKind = 'persistent' | 'ephemeral';

/** What becomes of an external user. */
export interface UserChange {
  /** Nobody of that name is there, or one who has ended and goes with all that was theirs. */
  readonly isNew: boolean;
  /** Whole, also where nothing of it changes. */
  readonly fields: UserFields;
  /** The kind of user of which the account has one more afterwards; null: none. */
  readonly takesPlace: UserKind | null;
  /** The names of all memberships in the scope afterwards; null keeps them. */
  readonly groups: ReadonlySet<string> | null;
  /** Values to store in the scope, by name. */
  readonly values: ReadonlyMap<string, AttributeValue>;
}

/** What has to be written for a call. */
export interface Changes extends DefinitionChanges {
  /** The embed tenant that the call names does not exist yet. */
  readonly makesEmbedTenant: boolean;
  /** Null: the user is as the call says, or internal. */
  readonly user: UserChange | null;
}

/** What comes of a call. A refusal is NOT_FOUND and the like: an expected failure. */
export type Decision =
  | { readonly kind: 'refused'; readonly error: InlayError }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changes'; readonly changes: Changes };

/**
 * Decides over one call at the instant `now`. Refusals in the order of http-api.md: CREATOR_MODE_NOT_ALLOWED (403);
 * USER_ATTRIBUTES_NOT_FOUND, GROUPS_NOT_FOUND, ATTRIBUTE_TYPE_MISMATCH (400); NOT_FOUND (404): deployment, user unknown or
 * inactive; ATTRIBUTE_TYPE_IMMUTABLE (409); EXTERNAL_USER_LIMIT, EPHEMERAL_USER_LIMIT (429). Definitions come before the
 * groups and values that refer to them (service.md 4.1 rule 7), so that one in conflict hides what those would be refused for.
 */
export function decide(
  call: Pick<UserCall, 'scope' | 'definitions' | 'settings'>,
  stored: Stored,
  now: Date,
): Decision {
  try {
    const changes = changesOf(call, stored, now);
    const { makesEmbedTenant, groups, attributes, user } = changes;
    const isUnchanged = !makesEmbedTenant && groups.length === 0 && attributes.length === 0 && user === null;
    return isUnchanged ? { kind: 'unchanged' } : { kind: 'changes', changes };
  } catch (error) {
    if (error instanceof InlayError) return { kind: 'refused', error };
    throw error;
  }
}

/** @throws InlayError, the refusal */
function changesOf(
  { scope, definitions, settings }: Pick<UserCall, 'scope' | 'definitions' | 'settings'>,
  stored: Stored,
  now: Date,
): Changes {
  if (scope.kind === 'embed-tenant' && !stored.useCreatorMode) {
    throw new InlayError('CREATOR_MODE_NOT_ALLOWED', 'Creator mode is not enabled for this account');
  }
  const merged = mergeDefinitions(definitions, stored);
  if (merged.conflict === null && settings.kind === 'external') refuseRights(settings, merged.catalogue);
  if (!stored.hasDeployment) throw new InlayError('NOT_FOUND', 'Deployment not found');
  if (settings.kind === 'internal' && !stored.hasInternalUser) {
    throw new InlayError('NOT_FOUND', 'Internal user not found');
  }
  const standing = stored.user !== null && !hasEnded(stored.user, now) ? stored.user : null;
  if (standing?.isActive === false) throw new InlayError('NOT_FOUND', 'External user not found');
  if (merged.conflict !== null) throw merged.conflict;
  const user = settings.kind === 'internal' ? null : changeOfUser(settings, standing, now);
  if (user?.takesPlace === 'persistent') requirePlace('persistent', stored.persistentUsers);
  if (user?.takesPlace === 'ephemeral') requirePlace('ephemeral', stored.ephemeralUsers);
  return { ...merged.changes, makesEmbedTenant: !stored.hasEmbedTenant, user };
}

/** What becomes of the user, of whom `standing` is there now; null when nothing does. */
function changeOfUser(settings: ExternalUserSettings, standing: StoredUser | null, now: Date): UserChange | null {
  const { email, userProfile, lifetime } = settings;
  const fields: UserFields = {
    email: email ?? standing?.email ?? null,
    displayName: userProfile?.displayName ?? standing?.displayName ?? null,
    picture: userProfile?.picture ?? standing?.picture ?? null,
    expiresAt: endOf(lifetime, standing, now),
  };
  const groups = settings.groups === undefined ? null : new Set(settings.groups);
  if (standing === null) {
    const takesPlace = fields.expiresAt === null ? 'persistent' : 'ephemeral';
    return { isNew: true, fields, takesPlace, groups, values: namedValues(settings, new Map()) };
  }
  const takesPlace = fields.expiresAt === null && standing.expiresAt !== null ? 'persistent' : null;
  const changed = {
    isNew: false,
    fields,
    takesPlace,
    groups: groups === null || (standing.groups !== null && isSame(groups, standing.groups)) ? null : groups,
    values: namedValues(settings, standing.values),
  } as const;
  const isUnchanged = isSameUser(fields, standing) && changed.groups === null && changed.values.size === 0;
  return isUnchanged ? null : changed;
}

/** When the user ends (http-api.md, how long users live); null for a persistent one. */
function endOf(lifetime: Lifetime, standing: StoredUser | null, now: Date): Date | null {
  if (lifetime.kind === 'persistent') return null;
  if (lifetime.kind === 'unchanged') return standing?.expiresAt ?? null;
  const end = new Date(now.getTime() + lifetime.ttlSeconds * 1000);
  if (standing === null) return end;
  // A persistent user is never made ephemeral, and the end of an ephemeral one only ever comes nearer.
  return standing.expiresAt === null || standing.expiresAt < end ? standing.expiresAt : end;
}

/** An ephemeral user has ended from the instant of their end on. */
const hasEnded = ({ expiresAt }: UserFields, now: Date): boolean => expiresAt !== null && expiresAt <= now;

/** Whether the fields of a user are the same. */
export const isSameUser = (one: UserFields, other: UserFields): boolean =>
  one.email === other.email &&
  one.displayName === other.displayName &&
  one.picture === other.picture &&
  one.expiresAt?.getTime() === other.expiresAt?.getTime();

const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && one.isSubsetOf(other);

/** @throws InlayError EXTERNAL_USER_LIMIT or EPHEMERAL_USER_LIMIT when there is no place for one more. */
function requirePlace(kind: UserKind, { count, max }: Places): void {
  // Not counted: no place is taken by this decision, and the next one is made under the lock.
  if (count !== null && count >= max) throw userLimitReached(kind, max);
}

/** The refusal of one user more than an account may have: without Retry-After, since no waiting helps (service.md 4.1 rule 10). */
export function userLimitReached(kind: UserKind, max: number): InlayError {
  return kind === 'persistent'
    ? new InlayError('EXTERNAL_USER_LIMIT', `The account has as many external users as it may have: ${max}`)
    : new InlayError('EPHEMERAL_USER_LIMIT', `The account has as many ephemeral users as it may have: ${max}`);
}
