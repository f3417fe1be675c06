/**
 * What the store holds of everything that the calls of one flight name, and what they make of it, one call after the other: the
 * second call sees what the first one changed. In memory only; read-users.ts fills it, write-users.ts writes what has changed.
 */
import type { AttributeValue } from '@inlay/contract/user.ts';
import { InlayError } from '../errors.ts';
import { type Changes, type Decision, decide, isSameUser } from './decide.ts';
import type { Places, Stored, StoredAttribute, StoredGroup, UserFields } from './stored.ts';
import type { ExternalUserSettings, Scope, UserCall } from './user-call.ts';

/** A call as a flight takes it: `deploymentId` null names no deployment. */
export interface FlightCall extends UserCall {
  readonly deploymentId: number | null;
}

/** An account. The counts are null until its users have been counted. */
export interface AccountState {
  readonly useCreatorMode: boolean;
  /** Of the account's own settings; null: the limit of the process. */
  readonly externalUsersMax: number | null;
  readonly ephemeralUsersMax: number | null;
  persistentUsers: number | null;
  ephemeralUsers: number | null;
}

/** An embed tenant that some call names; `id` null until it is written. */
export interface EmbedTenantState {
  readonly accountId: number;
  readonly name: string;
  id: number | null;
  isNew: boolean;
}

/** The named part of one kind of entries of a catalogue, by name. An entry has an id once it is written. */
export interface EntriesState<Entry> {
  readonly entries: Map<string, Entry>;
  readonly ids: Map<string, number>;
  readonly changed: Set<string>;
}

/** The named part of the catalogue of one scope. `embedTenant` null is tenant-wide. */
export interface ScopeState {
  readonly accountId: number;
  readonly embedTenant: EmbedTenantState | null;
  readonly groups: EntriesState<StoredGroup>;
  readonly attributes: EntriesState<StoredAttribute>;
}

/** What a user has in one scope; see StoredRights. */
export interface RightsState {
  readonly scope: ScopeState;
  groups: ReadonlySet<string> | null;
  areGroupsChanged: boolean;
  readonly values: Map<string, AttributeValue>;
  readonly changedValues: Set<string>;
}

/** An external user, as they are; `fields` null: nobody of that name. */
export interface UserState {
  readonly accountId: number;
  readonly externalId: string;
  id: number | null;
  fields: UserFields | null;
  isActive: boolean;
  areFieldsChanged: boolean;
  /** The id of one who had ended, and has to go before a new one comes. */
  endedId: number | null;
  /** By the key of the scope. */
  readonly rights: Map<string, RightsState>;
}

/** All of a flight. Keys: {@link keyOf}. */
export interface FlightState {
  readonly now: Date;
  /** Null: the account is gone. */
  readonly accounts: ReadonlyMap<number, AccountState | null>;
  readonly deployments: ReadonlySet<string>;
  readonly embedTenants: ReadonlyMap<string, EmbedTenantState>;
  readonly scopes: ReadonlyMap<string, ScopeState>;
  readonly users: ReadonlyMap<string, UserState>;
  /** The id of the one active internal user of a name. */
  readonly internalUsers: ReadonlyMap<string, number | null>;
}

/** The key of something that an account has: a name, or for a scope the embed tenant's name or null. */
export const keyOf = (accountId: number, name: string | number | null): string => JSON.stringify([accountId, name]);

/** The key of the scope in which a call's names are looked up. */
export const scopeKeyOf = ({ accountId, scope }: { readonly accountId: number; readonly scope: Scope }): string =>
  keyOf(accountId, scope.kind === 'embed-tenant' ? scope.embedTenantName : null);

/** Decides over a call by the state as it is; UNAUTHENTICATED where its account is gone. @see decide */
export function decideInFlight(state: FlightState, call: FlightCall): Decision {
  const account = found(state.accounts, call.accountId);
  if (account !== null) return decide(call, storedFor(state, account, call), state.now);
  return { kind: 'refused', error: new InlayError('UNAUTHENTICATED', 'The API key is unknown, expired or revoked') };
}

/** The part of the state that one call names. */
function storedFor(state: FlightState, account: AccountState, call: FlightCall): Stored {
  const { accountId, scope, settings, deploymentId, limits } = call;
  const scopeKey = scopeKeyOf(call);
  const { groups, attributes } = found(state.scopes, scopeKey);
  const user = settings.kind === 'external' ? found(state.users, keyOf(accountId, settings.externalId)) : null;
  const rights = user?.rights.get(scopeKey);
  return {
    useCreatorMode: account.useCreatorMode,
    persistentUsers: placesOf(account.persistentUsers, account.externalUsersMax ?? limits.externalUsersMax),
    ephemeralUsers: placesOf(account.ephemeralUsers, account.ephemeralUsersMax ?? limits.ephemeralUsersMax),
    hasDeployment: deploymentId === null || state.deployments.has(keyOf(accountId, deploymentId)),
    hasEmbedTenant:
      scope.embedTenantName === null || isThere(found(state.embedTenants, keyOf(accountId, scope.embedTenantName))),
    groups: groups.entries,
    attributes: attributes.entries,
    user:
      user?.fields == null || rights === undefined
        ? null
        : { ...user.fields, isActive: user.isActive, groups: rights.groups, values: rights.values },
    hasInternalUser:
      settings.kind === 'internal' && found(state.internalUsers, keyOf(accountId, settings.internalId)) !== null,
  };
}

/** Makes the state what it is after a call whose decision was `changes`. */
export function applyChanges(state: FlightState, call: FlightCall, changes: Changes): void {
  const { accountId, scope, settings } = call;
  if (changes.makesEmbedTenant && scope.embedTenantName !== null) {
    found(state.embedTenants, keyOf(accountId, scope.embedTenantName)).isNew = true;
  }
  const { groups, attributes } = found(state.scopes, scopeKeyOf(call));
  for (const group of changes.groups) putEntry(groups, group);
  for (const attribute of changes.attributes) putEntry(attributes, attribute);
  if (changes.user !== null && settings.kind === 'external') applyUserChange(state, call, settings, changes.user);
}

function applyUserChange(
  state: FlightState,
  call: FlightCall,
  { externalId }: ExternalUserSettings,
  change: NonNullable<Changes['user']>,
): void {
  const user = found(state.users, keyOf(call.accountId, externalId));
  const scopeKey = scopeKeyOf(call);
  if (change.isNew) {
    user.endedId ??= user.id;
    user.id = null;
    user.isActive = true;
    for (const rights of user.rights.values()) clearRights(rights);
  }
  const account = found(state.accounts, call.accountId);
  if (account !== null) countUser(account, change);
  user.areFieldsChanged ||= user.fields === null || change.isNew || !isSameUser(change.fields, user.fields);
  user.fields = change.fields;

  const rights = found(user.rights, scopeKey);
  if (change.groups !== null) {
    rights.groups = change.groups;
    rights.areGroupsChanged = true;
  }
  for (const [name, value] of change.values) {
    rights.values.set(name, value);
    rights.changedValues.add(name);
  }
}

/** Counts one more where users were counted. An ephemeral user who becomes persistent leaves a place. */
function countUser(account: AccountState, { takesPlace, isNew }: NonNullable<Changes['user']>): void {
  const { persistentUsers, ephemeralUsers } = account;
  if (takesPlace === 'persistent') {
    if (persistentUsers !== null) account.persistentUsers = persistentUsers + 1;
    if (ephemeralUsers !== null && !isNew) account.ephemeralUsers = ephemeralUsers - 1;
  }
  if (takesPlace === 'ephemeral' && ephemeralUsers !== null) account.ephemeralUsers = ephemeralUsers + 1;
}

/** A new user has nothing in any scope. */
function clearRights(rights: RightsState): void {
  rights.groups = new Set();
  rights.areGroupsChanged = false;
  rights.values.clear();
  rights.changedValues.clear();
}

function putEntry<Entry extends { readonly name: string }>(into: EntriesState<Entry>, entry: Entry): void {
  into.entries.set(entry.name, entry);
  into.changed.add(entry.name);
}

const isThere = ({ id, isNew }: EmbedTenantState): boolean => id !== null || isNew;
const placesOf = (count: number | null, max: number): Places => ({ count, max });

/** @throws Error when the flight was read without it, which is a defect. */
export function found<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = map.get(key);
  if (value === undefined) throw new Error('The flight was read without something that a call names.');
  return value;
}
