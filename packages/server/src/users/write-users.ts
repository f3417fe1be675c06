/**
 * Writes what the calls of a flight have changed, set by set: as many statements as there are kinds of things, however many calls.
 * The caller holds the locks of user-locks.ts.
 */
import { type Kysely, sql } from 'kysely';
import { changesChannel } from '../store/changes.ts';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import { type EntriesState, type FlightState, found, keyOf, type ScopeState, type UserState } from './flight-state.ts';

/** The store is not any more as it was read: somebody without the flight's locks changed it. To be begun anew. */
export class StoreMoved extends Error {}

/**
 * Writes all that `state` says has changed, and puts the ids of what is new into it.
 * @throws StoreMoved, and errors of the database where a name or a row came or went meanwhile; then the transaction has to end.
 */
export async function writeFlight(tx: Kysely<Schema>, state: FlightState): Promise<void> {
  await writeEmbedTenants(tx, state);
  const scopes = [...state.scopes.values()];
  await writeGroups(tx, scopes);
  await writeAttributes(tx, scopes);
  const users = [...state.users.values()];
  await deleteEnded(tx, users);
  await changeUsers(tx, users);
  await makeUsersAndWriteRights(tx, users, state.now);
}

async function writeEmbedTenants(tx: Kysely<Schema>, { embedTenants, now }: FlightState): Promise<void> {
  const made = [...embedTenants.values()].filter(({ isNew }) => isNew);
  if (made.length === 0) return;
  const given = made.map(({ accountId, name }) => ({ account_id: accountId, name }));
  const { rows } = await sql<{ id: number; account_id: number; name: string }>`
    insert into embed_tenants (account_id, name, created_at)
    select account_id, name, ${now}::timestamptz from jsonb_to_recordset(${json(given)}) as t(account_id int, name text)
    returning id, account_id, name`.execute(tx);
  for (const tenant of made) {
    tenant.id = idOf(rows.find((row) => row.account_id === tenant.accountId && row.name === tenant.name));
  }
}

/** The changed entries of the catalogues of embed tenants: those of the account are never written by a call. */
function changedEntries<Entry extends { readonly name: string }, Written extends object>(
  scopes: readonly ScopeState[],
  of: (scope: ScopeState) => EntriesState<Entry>,
  toWritten: (entry: Entry) => Written,
) {
  return scopes.flatMap((scope) => {
    const { entries, ids, changed } = of(scope);
    return Array.from(changed, (name) => {
      const entry = entries.get(name);
      const tenantId = scope.embedTenant?.id;
      if (entry === undefined || tenantId == null) throw new Error('Only an embed tenant can have definitions.');
      return { id: ids.get(name) ?? null, account_id: scope.accountId, embed_tenant_id: tenantId, ...toWritten(entry) };
    });
  });
}

interface WrittenEntry {
  readonly id: number;
  readonly embed_tenant_id: number;
  readonly name: string;
}

/** Keeps the ids of entries that were written. @throws StoreMoved when one that was to be changed is gone. */
function keepIds<Entry>(
  scopes: readonly ScopeState[],
  of: (scope: ScopeState) => EntriesState<Entry>,
  rows: readonly WrittenEntry[],
  givenCount: number,
): void {
  if (rows.length !== givenCount) throw new StoreMoved('A definition is gone.');
  const byTenant = new Map(scopes.map((scope) => [scope.embedTenant?.id, scope]));
  for (const { id, embed_tenant_id, name } of rows) {
    const scope = byTenant.get(embed_tenant_id);
    if (scope !== undefined) of(scope).ids.set(name, id);
  }
}

async function writeGroups(tx: Kysely<Schema>, scopes: readonly ScopeState[]): Promise<void> {
  const given = changedEntries(
    scopes,
    ({ groups }) => groups,
    ({ name, description }) => ({ name, description }),
  );
  if (given.length === 0) return;
  const { rows } = await sql<WrittenEntry>`
    with given as (
      select * from jsonb_to_recordset(${json(given)})
        as g(id int, account_id int, embed_tenant_id int, name text, description text)),
    changed as (
      update groups g set description = given.description from given where g.id = given.id
      returning g.id, g.embed_tenant_id, g.name),
    made as (
      insert into groups (account_id, embed_tenant_id, name, description)
      select account_id, embed_tenant_id, name, description from given where id is null
      returning id, embed_tenant_id, name)
    select id, embed_tenant_id, name from changed union all select id, embed_tenant_id, name from made`.execute(tx);
  keepIds(scopes, ({ groups }) => groups, rows, given.length);
}

async function writeAttributes(tx: Kysely<Schema>, scopes: readonly ScopeState[]): Promise<void> {
  const given = changedEntries(
    scopes,
    ({ attributes }) => attributes,
    ({ name, type, displayName, defaultValue, description }) => {
      return { name, type, display_name: displayName, default_value: defaultValue, description };
    },
  );
  if (given.length === 0) return;
  // The type is never written over another: it is immutable (service.md 4.1 rule 9).
  const { rows } = await sql<WrittenEntry>`
    with given as (
      select * from jsonb_to_recordset(${json(given)})
        as a(id int, account_id int, embed_tenant_id int, name text, type text, display_name text, default_value text,
             description text)),
    changed as (
      update user_attributes a
      set display_name = given.display_name, default_value = given.default_value, description = given.description
      from given where a.id = given.id and a.type = given.type
      returning a.id, a.embed_tenant_id, a.name),
    made as (
      insert into user_attributes (account_id, embed_tenant_id, name, type, display_name, default_value, description)
      select account_id, embed_tenant_id, name, type, display_name, default_value, description
      from given where id is null
      returning id, embed_tenant_id, name)
    select id, embed_tenant_id, name from changed union all select id, embed_tenant_id, name from made`.execute(tx);
  keepIds(scopes, ({ attributes }) => attributes, rows, given.length);
}

/** Nothing of an ended user may be reachable from the new one: threads, sessions, values and memberships go along. */
async function deleteEnded(tx: Kysely<Schema>, users: readonly UserState[]): Promise<void> {
  const ended = users.flatMap(({ endedId }) => endedId ?? []);
  if (ended.length === 0) return;
  await sql`
    with ended as (
      select u.id from users u where u.id in (select value::int from jsonb_array_elements_text(${json(ended)}))
      order by u.id for update)
    delete from users where id in (select id from ended)`.execute(tx);
}

interface WrittenUser {
  readonly id: number;
  readonly account_id: number;
  readonly external_id: string;
}

const fieldsOf = ({ fields }: UserState) => ({
  email: fields?.email ?? null,
  display_name: fields?.displayName ?? null,
  picture: fields?.picture ?? null,
  expires_at: fields?.expiresAt ?? null,
});

/**
 * Tells of users who end earlier than they would have: somebody may have a stream open for them. The list of ids and `offset 0`
 * keep the planner from joining with all users there are.
 */
async function changeUsers(tx: Kysely<Schema>, users: readonly UserState[]): Promise<void> {
  const changed = users.filter(({ id, areFieldsChanged }) => id !== null && areFieldsChanged);
  if (changed.length === 0) return;
  const given = changed.map((user) => ({ id: user.id, ...fieldsOf(user) }));
  const { rows } = await sql`
    with given as (
      select * from jsonb_to_recordset(${json(given)})
        as u(id int, email text, display_name text, picture text, expires_at timestamptz)),
    changed as (
      update users u
      set email = given.email, display_name = given.display_name, picture = given.picture, expires_at = given.expires_at
      from given where u.id = given.id and u.id = any(array(select id from given))
      returning u.id),
    told as (
      select pg_notify(${changesChannel}, jsonb_build_object('kind', 'user', 'id', given.id)::text)
      from given cross join lateral (select u.expires_at from users u where u.id = given.id offset 0) as u
      where given.expires_at < u.expires_at)
    select id, (select count(*) from told) as told from changed`.execute(tx);
  if (rows.length !== changed.length) throw new StoreMoved('A user is gone.');
}

/**
 * New users, and what users have: memberships that were replaced, in their scope only, and values that were overwritten (service.md
 * 4.1 rules 4 and 5). Old memberships are found by user: `offset 0` keeps the planner from joining with all that there are.
 */
async function makeUsersAndWriteRights(tx: Kysely<Schema>, users: readonly UserState[], now: Date): Promise<void> {
  const written = users.flatMap((user) => {
    const all = [...user.rights.values()];
    const replaced = all
      .filter(({ areGroupsChanged }) => areGroupsChanged)
      .map(({ scope, groups }) => ({
        scope: scope.embedTenant?.id ?? 0,
        group_ids: Array.from(groups ?? [], (name) => idIn(scope.groups, name)),
      }));
    const assigned = all.flatMap(({ scope, values, changedValues }) =>
      Array.from(changedValues, (name) => {
        return { attribute_id: idIn(scope.attributes, name), value: values.get(name) ?? null };
      }),
    );
    const isNew = user.id === null && user.areFieldsChanged;
    return isNew || replaced.length > 0 || assigned.length > 0 ? [{ user, isNew, replaced, assigned }] : [];
  });
  if (written.length === 0) return;
  const given = written.map(({ user, isNew, replaced, assigned }) => ({
    id: isNew ? null : idOf(user),
    account_id: user.accountId,
    external_id: user.externalId,
    ...(isNew ? fieldsOf(user) : {}),
    replaced,
    assigned,
  }));
  const { rows } = await sql<WrittenUser>`
    with given as (
      select * from jsonb_to_recordset(${json(given)})
        as u(id int, account_id int, external_id text, email text, display_name text, picture text, expires_at timestamptz,
             replaced jsonb, assigned jsonb)),
    made as (
      insert into users (account_id, kind, external_id, email, display_name, picture, expires_at, created_at)
      select account_id, 'external', external_id, email, display_name, picture, expires_at, ${now}::timestamptz
      from given where id is null
      returning id, account_id, external_id),
    written as (
      select coalesce(given.id, made.id) as id, given.replaced, given.assigned
      from given left join made on made.account_id = given.account_id and made.external_id = given.external_id),
    left_groups as (
      delete from user_groups where ctid = any(array(
        select ug.ctid from given
        cross join lateral jsonb_to_recordset(given.replaced) as r(scope int, group_ids jsonb)
        cross join lateral (select ug.ctid, ug.group_id from user_groups ug where ug.user_id = given.id offset 0) as ug
        cross join lateral (
          select coalesce(g.embed_tenant_id, 0) as scope from groups g where g.id = ug.group_id offset 0) as g
        where given.id is not null and g.scope = r.scope and not r.group_ids @> to_jsonb(ug.group_id)))),
    joined_groups as (
      insert into user_groups (user_id, group_id)
      select written.id, value::int from written
      cross join lateral jsonb_to_recordset(written.replaced) as r(group_ids jsonb)
      cross join lateral jsonb_array_elements_text(r.group_ids)
      on conflict do nothing),
    assigned_values as (
      insert into user_attribute_values as stored (user_id, attribute_id, value)
      select written.id, v.attribute_id, v.value from written
      cross join lateral jsonb_to_recordset(written.assigned) as v(attribute_id int, value jsonb)
      on conflict (user_id, attribute_id) do update set value = excluded.value
      where stored.value is distinct from excluded.value)
    select id, account_id, external_id from made`.execute(tx);
  const ids = new Map(rows.map(({ id, account_id, external_id }) => [keyOf(account_id, external_id), id]));
  for (const { user, isNew } of written) {
    if (isNew) user.id = found(ids, keyOf(user.accountId, user.externalId));
  }
}

/** @throws Error when it has no id, which is a defect: it is written by then. */
function idOf(written: { readonly id: number | null } | undefined): number {
  if (written?.id == null) throw new Error('What the flight refers to was not written.');
  return written.id;
}

function idIn<Entry>({ ids }: EntriesState<Entry>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error('A name was resolved that is not in the catalogue.');
  return id;
}
