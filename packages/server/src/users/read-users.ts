/** Reads what the store holds of everything that the calls of a flight name: one statement, so one snapshot. */
import type { AttributeValue } from '@inlay/contract/user.ts';
import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { type Asked, type FlightRow, flightQuery, type UserRow } from './flight-query.ts';
import {
  type AccountState,
  type EmbedTenantState,
  type EntriesState,
  type FlightCall,
  type FlightState,
  found,
  keyOf,
  type RightsState,
  type ScopeState,
  scopeKeyOf,
  type UserState,
} from './flight-state.ts';

/**
 * The state of the store for `calls`, of one snapshot.
 * @param counted the accounts whose users are counted; exact while their lock is held, see user-locks.ts
 */
export async function readFlight(
  db: Kysely<Schema>,
  calls: readonly FlightCall[],
  now: Date,
  counted: ReadonlySet<number>,
): Promise<FlightState> {
  const asked = askFor(calls, counted);
  const { rows } = await flightQuery(asked, now).execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('A select without from gave no row.');
  return stateOf(asked, row, now);
}

function askFor(calls: readonly FlightCall[], counted: ReadonlySet<number>): Asked {
  const asked: Asked = {
    accounts: new Map(),
    deployments: new Map(),
    embedTenants: new Map(),
    scopes: new Map(),
    users: new Map(),
    internalUsers: new Map(),
  };
  for (const call of calls) {
    const { accountId, deploymentId, settings } = call;
    const { embedTenantName } = call.scope;
    const tenant = call.scope.kind === 'embed-tenant' ? embedTenantName : null;
    asked.accounts.set(accountId, { id: accountId, counts: counted.has(accountId) });
    if (deploymentId !== null) {
      asked.deployments.set(keyOf(accountId, deploymentId), { account_id: accountId, id: deploymentId });
    }
    if (embedTenantName !== null) {
      asked.embedTenants.set(keyOf(accountId, embedTenantName), { account_id: accountId, name: embedTenantName });
    }
    const scopeKey = scopeKeyOf(call);
    const scope = getOrPut(asked.scopes, scopeKey, () => ({
      account_id: accountId,
      tenant,
      groups: new Set<string>(),
      attributes: new Set<string>(),
    }));
    for (const { name } of call.definitions?.groups ?? []) scope.groups.add(name);
    for (const { name } of call.definitions?.attributes ?? []) scope.attributes.add(name);
    if (settings.kind === 'internal') {
      const { internalId } = settings;
      asked.internalUsers.set(keyOf(accountId, internalId), { account_id: accountId, internal_id: internalId });
      continue;
    }
    const { externalId, groups, userAttributes = [] } = settings;
    const user = getOrPut(asked.users, keyOf(accountId, externalId), () => ({
      account_id: accountId,
      external_id: externalId,
      rights: new Map(),
    }));
    const rights = getOrPut(user.rights, scopeKey, () => ({ hasGroups: false }));
    rights.hasGroups ||= groups !== undefined;
    for (const name of groups ?? []) scope.groups.add(name);
    for (const { name } of userAttributes) scope.attributes.add(name);
  }
  return asked;
}

function stateOf(asked: Asked, row: FlightRow, now: Date): FlightState {
  const embedTenants = pair(asked.embedTenants, row.embedTenants, ({ account_id, name }, id): EmbedTenantState => {
    return { accountId: account_id, name, id, isNew: false };
  });
  const scopes = pair(asked.scopes, row.scopes, ({ account_id, tenant }, { groups, attributes }): ScopeState => {
    const embedTenant = tenant === null ? null : found(embedTenants, keyOf(account_id, tenant));
    return { accountId: account_id, embedTenant, groups: entriesOf(groups), attributes: entriesOf(attributes) };
  });
  return {
    now,
    scopes,
    embedTenants,
    accounts: pair(asked.accounts, row.accounts, (_asked, account): AccountState | null => {
      if (account === null) return null;
      const { useCreatorMode, limits, persistentUsers, ephemeralUsers } = account;
      const { externalUsersMax = null, ephemeralUsersMax = null } = limits;
      return { useCreatorMode, externalUsersMax, ephemeralUsersMax, persistentUsers, ephemeralUsers };
    }),
    deployments: new Set([...asked.deployments.keys()].filter((_key, index) => row.deployments[index] === true)),
    users: usersOf(asked, row.users, scopes),
    internalUsers: pair(asked.internalUsers, row.internalUsers, (_asked, ids) => {
      return ids !== null && ids.length === 1 ? (ids[0] ?? null) : null;
    }),
  };
}

/** The users, of whom there is a row for each of their scopes. */
function usersOf(
  asked: Asked,
  rows: FlightRow['users'],
  scopes: ReadonlyMap<string, ScopeState>,
): ReadonlyMap<string, UserState> {
  const namesOf = new Map(
    Array.from(scopes.values(), (scope) => [
      scope,
      new Map(Array.from(scope.attributes.ids, ([name, id]) => [id, name])),
    ]),
  );
  const rightsOf = (stored: UserRow | null, key: string, hasGroups: boolean): RightsState => {
    const scope = found(scopes, key);
    const names = namesOf.get(scope);
    const values = new Map<string, AttributeValue>();
    for (const [id, value] of stored?.[7] ?? []) {
      const name = names?.get(id);
      if (name !== undefined) values.set(name, value);
    }
    const groups = hasGroups ? new Set(stored?.[6]) : null;
    return { scope, groups, areGroupsChanged: false, values, changedValues: new Set() };
  };
  let next = 0;
  const users = new Map<string, UserState>();
  for (const [userKey, { account_id, external_id, rights }] of asked.users) {
    const own = rows.slice(next, next + rights.size);
    next += rights.size;
    if (own.length < rights.size) throw new Error('The statement gave fewer users than were asked for.');
    const states = Array.from(
      rights,
      ([key, { hasGroups }], index) => [key, rightsOf(own[index] ?? null, key, hasGroups)] as const,
    );
    users.set(userKey, userOf(account_id, external_id, own[0] ?? null, new Map(states)));
  }
  return users;
}

function userOf(accountId: number, externalId: string, stored: UserRow | null, rights: UserState['rights']): UserState {
  const [id, email, displayName, picture, isActive, expiresAtMs] = stored ?? [null, null, null, null, true, null];
  const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs);
  return {
    accountId,
    externalId,
    id,
    fields: stored === null ? null : { email, displayName, picture, expiresAt },
    isActive,
    areFieldsChanged: false,
    endedId: null,
    rights,
  };
}

function entriesOf<Entry extends { readonly name: string }>(
  stored: readonly ((Entry & { readonly id: number }) | null)[] | null,
): EntriesState<Entry> {
  const there = (stored ?? []).filter((entry) => entry !== null);
  return {
    entries: new Map(there.map((entry) => [entry.name, entry])),
    ids: new Map(there.map(({ id, name }) => [name, id])),
    changed: new Set(),
  };
}

/** The answers beside what was asked, under the same keys. */
function pair<Key, Value, Answer, State>(
  asked: ReadonlyMap<Key, Value>,
  answers: readonly Answer[],
  toState: (value: Value, answer: Answer) => State,
): ReadonlyMap<Key, State> {
  const states = new Map<Key, State>();
  let index = 0;
  for (const [key, value] of asked) {
    const answer = answers[index];
    if (answer === undefined) throw new Error('The statement gave fewer answers than were asked for.');
    states.set(key, toState(value, answer));
    index += 1;
  }
  return states;
}

function getOrPut<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}
