/**
 * "Find or make this user and apply what the call says": the use case that minting a session and every call with
 * `sessionSettings` share. All of it happens in the caller's transaction, so that a call that fails changes nothing.
 *
 * Locks, always in this order, so that no two calls wait for each other: the user's advisory lock (one per call), then
 * the row of the account, which is taken only where the number of users may grow, and makes its limit exact.
 */
import type { UserProfile } from '@inlay/contract/user.ts';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { findInternalUser } from './find-user.ts';
import { findUnchangedUser } from './unchanged-user.ts';
import {
  type CatalogueEntries,
  catalogueColumns,
  type NamedRights,
  type Rights,
  resolveRights,
  writeRights,
} from './user-rights.ts';

/**
 * How long a user lives (http-api.md). `unchanged`: a new one is persistent, one that exists keeps its end.
 * `persistent`: also one that exists. `ephemeral`: a new one ends `ttlSeconds` from now; one that exists ends at the
 * earlier of its end and that; a persistent user stays persistent.
 */
export type Lifetime =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'persistent' }
  | { readonly kind: 'ephemeral'; readonly ttlSeconds: number };

/** An external user as a call describes it; what is undefined keeps its stored value. */
export interface ExternalUserSettings extends NamedRights {
  readonly kind: 'external';
  readonly externalId: string;
  readonly email: string | undefined;
  readonly userProfile: UserProfile | undefined;
  readonly lifetime: Lifetime;
}

/** Whom a call means: an internal user, whose rights stay as they are, or an external one. */
export type UserSettings = ExternalUserSettings | { readonly kind: 'internal'; readonly internalId: string };

/** How many external users an account may have: persistent ones (service.md 4.1 rule 10), and ephemeral ones. */
export interface UserLimits {
  readonly externalUsersMax: number;
  readonly ephemeralUsersMax: number;
}

/** A call that means a user. */
export interface UserCall {
  readonly accountId: number;
  readonly settings: UserSettings;
  readonly now: Date;
  readonly limits: UserLimits;
}
/** One that means an external user. */
export type ExternalCall = UserCall & { readonly settings: ExternalUserSettings };

/**
 * Runs `work` in a transaction such as {@link resolveUser} needs: what one statement waited for, the next one sees.
 * PGlite has one connection: `work` must use the transaction alone.
 */
export function inUserTransaction<T>(db: Kysely<Schema>, work: (tx: Transaction<Schema>) => Promise<T>): Promise<T> {
  return db.transaction().setIsolationLevel('read committed').execute(work);
}

/**
 * The id of the user that the call means, made or changed as it says. Round trips: one for an internal user; for an
 * external one three (lock, read, write), and one more when the user is new.
 * @throws InlayError NOT_FOUND (internal user unknown; user inactive), USER_ATTRIBUTES_NOT_FOUND, GROUPS_NOT_FOUND,
 * ATTRIBUTE_TYPE_MISMATCH, EXTERNAL_USER_LIMIT. The caller lets it end the transaction.
 */
export async function resolveUser(tx: Transaction<Schema>, call: UserCall): Promise<number> {
  const { settings } = call;
  if (settings.kind === 'internal') {
    const id = await findInternalUser(tx, call.accountId, settings.internalId);
    if (id === null) throw new InlayError('NOT_FOUND', 'Internal user not found');
    return id;
  }
  return resolveExternalUser(tx, { ...call, settings });
}

/**
 * The same in a transaction of its own, or, where the user is already as the call says, in one statement.
 * @throws InlayError as {@link resolveUser}
 */
export async function resolveUserAlone(db: Kysely<Schema>, call: UserCall): Promise<number> {
  const { settings } = call;
  const unchanged = settings.kind === 'external' ? await findUnchangedUser(db, { ...call, settings }) : null;
  return unchanged ?? inUserTransaction(db, (tx) => resolveUser(tx, call));
}

async function resolveExternalUser(tx: Transaction<Schema>, call: ExternalCall): Promise<number> {
  const { accountId, settings } = call;
  await sql`select pg_advisory_xact_lock(${accountId}::int, hashtext(${settings.externalId}))`.execute(tx);
  const { user, ...catalogue } = await readUserAndCatalogue(tx, call);
  const rights = resolveRights(settings, catalogue);
  if (user === null) return createUser(tx, call, rights);
  if (user.is_expired) {
    // Nothing of the old user may be reachable from the new one: threads, sessions, values and memberships go with it.
    await tx.deleteFrom('users').where('id', '=', user.id).execute();
    return createUser(tx, call, rights);
  }
  if (!user.is_active) throw new InlayError('NOT_FOUND', 'External user not found');
  if (user.is_ephemeral && settings.lifetime.kind === 'persistent') await reservePersistentPlace(tx, call);
  const id = await writeRights(tx, changedUser(user.id, call), rights);
  if (id === undefined) throw new Error('The user is gone although its lock is held.');
  return id;
}

interface UserAndCatalogue extends CatalogueEntries {
  readonly user: {
    readonly id: number;
    readonly is_active: boolean;
    readonly is_ephemeral: boolean;
    readonly is_expired: boolean;
  } | null;
}

async function readUserAndCatalogue(tx: Transaction<Schema>, call: ExternalCall): Promise<UserAndCatalogue> {
  const { accountId, settings, now } = call;
  const { rows } = await sql<UserAndCatalogue>`
    select ${catalogueColumns(accountId, settings)},
      (select jsonb_build_object('id', id, 'is_active', is_active, 'is_ephemeral', expires_at is not null,
                                 'is_expired', coalesce(expires_at <= ${now}, false))
       from users where account_id = ${accountId} and external_id = ${settings.externalId}) as "user"`.execute(tx);
  const row = rows[0];
  if (row === undefined) throw new Error('A select without from gave no row.');
  return row;
}

const endOf = (now: Date, ttlSeconds: number): Date => new Date(now.getTime() + ttlSeconds * 1000);

/** The queries for {@link writeRights} of a user that exists: its id, and what the call says anew. */
function changedUser(id: number, { settings, now }: ExternalCall): RawBuilder<unknown> {
  const { lifetime, email, userProfile } = settings;
  const changes: RawBuilder<unknown>[] = [];
  const differences: RawBuilder<unknown>[] = [];
  const set = (column: string, value: RawBuilder<unknown>): void => {
    changes.push(sql`${sql.ref(column)} = ${value}`);
    differences.push(sql`${sql.ref(column)} is distinct from ${value}`);
  };
  if (email !== undefined) set('email', sql`${email}::text`);
  if (userProfile?.displayName !== undefined) set('display_name', sql`${userProfile.displayName}::text`);
  if (userProfile?.picture !== undefined) set('picture', sql`${userProfile.picture}::text`);
  if (lifetime.kind === 'persistent') set('expires_at', sql`null::timestamptz`);
  if (lifetime.kind === 'ephemeral') {
    const end = endOf(now, lifetime.ttlSeconds);
    // `least` alone would pass over the null of a persistent user.
    set('expires_at', sql`case when expires_at is null then null else least(expires_at, ${end}::timestamptz) end`);
  }
  if (changes.length === 0) return sql`subject as (select ${id}::int as id)`;
  return sql`subject as (select ${id}::int as id), changed as (
    update users set ${sql.join(changes)} where id = ${id} and (${sql.join(differences, sql` or `)}))`;
}

async function createUser(tx: Transaction<Schema>, call: ExternalCall, rights: Rights): Promise<number> {
  const { accountId, settings, now, limits } = call;
  const { lifetime, userProfile } = settings;
  const isEphemeral = lifetime.kind === 'ephemeral';
  const expiresAt = isEphemeral ? endOf(now, lifetime.ttlSeconds) : null;
  const usersMax = isEphemeral ? limits.ephemeralUsersMax : limits.externalUsersMax;
  const count = isEphemeral ? ephemeralCount(accountId, now) : persistentCount(accountId);
  await lockAccount(tx, accountId);
  const id = await writeRights(
    tx,
    sql`subject as (insert into users (account_id, kind, external_id, email, display_name, picture, expires_at, created_at)
      select ${accountId}::int, 'external', ${settings.externalId}, ${settings.email ?? null}::text,
        ${userProfile?.displayName ?? null}::text, ${userProfile?.picture ?? null}::text, ${expiresAt}::timestamptz,
        ${now}::timestamptz
      where (${count}) < ${usersMax}::int
      returning id)`,
    rights,
  );
  if (id === undefined) throw limitReached(usersMax, isEphemeral);
  return id;
}

/** @throws InlayError EXTERNAL_USER_LIMIT when the account has no place for one more persistent user. */
async function reservePersistentPlace(tx: Transaction<Schema>, { accountId, limits }: UserCall): Promise<void> {
  await lockAccount(tx, accountId);
  const { rows } = await sql<{ count: number }>`${persistentCount(accountId)}`.execute(tx);
  if ((rows[0]?.count ?? 0) >= limits.externalUsersMax) throw limitReached(limits.externalUsersMax, false);
}

/** Makes the account's other calls that add a user wait; not those that only refer to the account. */
async function lockAccount(tx: Transaction<Schema>, accountId: number): Promise<void> {
  await sql`select 1 from accounts where id = ${accountId} for no key update`.execute(tx);
}

const persistentCount = (accountId: number): RawBuilder<unknown> =>
  sql`select count(*)::int as count from users
    where account_id = ${accountId} and kind = 'external' and expires_at is null`;

const ephemeralCount = (accountId: number, now: Date): RawBuilder<unknown> =>
  sql`select count(*)::int as count from users
    where account_id = ${accountId} and kind = 'external' and expires_at > ${now}`;

const limitReached = (usersMax: number, isEphemeral: boolean): InlayError =>
  new InlayError(
    'EXTERNAL_USER_LIMIT',
    `The account has as many ${isEphemeral ? 'ephemeral' : 'external'} users as it may have: ${usersMax}`,
  );
