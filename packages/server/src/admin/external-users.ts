/** External users, as an administrator finds, inspects, switches off, keeps and deletes them. Sessions and chats make them. */
import type {
  ExternalUser,
  ExternalUserChanges,
  ExternalUserDetails,
  ExternalUserQuery,
} from '@inlay/contract/admin/external-users.ts';
import type { Page } from '@inlay/contract/page.ts';
import type { AttributeValue } from '@inlay/contract/user.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { AccountLimits, Schema } from '../store/schema.ts';
import { userLimitReached } from '../users/decide.ts';
import { lockKey, takeUserLocks } from '../users/user-locks.ts';
import { type AdminCall, change } from './change.ts';
import { endSessions } from './end-sessions.ts';

interface Row {
  readonly id: number;
  readonly external_id: string;
  readonly email: string | null;
  readonly display_name: string | null;
  readonly picture: string | null;
  readonly is_active: boolean;
  readonly lifetime: ExternalUser['lifetime'];
  readonly expires_at: Date | null;
  readonly created_at: Date;
}

/** SQL: which of the three a user is at `now`. */
const lifetimeAt = (now: Date): RawBuilder<unknown> => sql`
  case when u.expires_at is null then 'persistent' when u.expires_at > ${now} then 'ephemeral' else 'expired' end`;

const columnsAt = (now: Date): RawBuilder<unknown> => sql`u.id, u.external_id, u.email, u.display_name, u.picture,
  u.is_active, ${lifetimeAt(now)} as lifetime, u.expires_at, u.created_at`;

const toExternalUser = (row: Row): ExternalUser => ({
  id: row.id,
  externalId: row.external_id,
  email: row.email,
  displayName: row.display_name,
  picture: row.picture,
  isActive: row.is_active,
  lifetime: row.lifetime,
  expiresAt: row.expires_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
});

/** Which account, and at which instant users have or have not ended. */
interface At {
  readonly accountId: number;
  readonly now: Date;
}

/** A page of the external users of an account. @throws InlayError INVALID_CURSOR */
export function listExternalUsers(
  db: Kysely<Schema>,
  { accountId, now }: At,
  query: ExternalUserQuery,
): Promise<Page<ExternalUser>> {
  return keysetPage<Row, ExternalUser, 'createdAt' | 'name'>(
    db,
    {
      columns: columnsAt(now),
      from: sql`users u`,
      where: [
        sql`u.account_id = ${accountId}`,
        sql`u.kind = 'external'`,
        // Which kind says already; it lets the index of names begin where the names do.
        sql`u.external_id is not null`,
        ...filters(
          equals(sql`u.external_id`, query.externalId),
          query.email === undefined ? undefined : sql`lower(u.email) = lower(${query.email})`,
          equals(sql`u.is_active`, query.isActive),
          query.lifetime === undefined ? undefined : sql`${lifetimeAt(now)} = ${query.lifetime}`,
          holdsSomething(accountId, query),
          contains([sql`u.external_id`, sql`coalesce(u.email, '')`, sql`coalesce(u.display_name, '')`], query.search),
        ),
      ],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', name: { expression: sql`u.external_id`, type: 'text' } },
      id: { expression: sql`u.id`, type: 'integer' },
    },
    query,
    toExternalUser,
  );
}

/** SQL: the user is in the group that is asked for, or has a membership or value in the scope of the embed tenant. */
function holdsSomething(accountId: number, { group, embedTenantName }: ExternalUserQuery) {
  if (group === undefined && embedTenantName === undefined) return undefined;
  const scope =
    embedTenantName === undefined
      ? sql`0`
      : sql`(select id from embed_tenants where account_id = ${accountId} and name = ${embedTenantName})`;
  if (group !== undefined) {
    // The one id first: so the planner knows how few memberships it is about.
    return sql`exists (select 1 from user_groups ug where ug.user_id = u.id and ug.group_id = (
      select g.id from groups g
      where g.account_id = ${accountId} and coalesce(g.embed_tenant_id, 0) = ${scope} and g.name = ${group}))`;
  }
  return sql`(exists (
    select 1 from groups g join user_groups ug on ug.group_id = g.id
    where ug.user_id = u.id and g.account_id = ${accountId} and coalesce(g.embed_tenant_id, 0) = ${scope}) or exists (
    select 1 from user_attributes a join user_attribute_values v on v.attribute_id = a.id
    where v.user_id = u.id and a.account_id = ${accountId} and a.embed_tenant_id = ${scope}))`;
}

interface DetailsRow extends Row {
  readonly groups: readonly { readonly scope: string | null; readonly name: string }[];
  readonly attributes: readonly {
    readonly scope: string | null;
    readonly name: string;
    readonly value: AttributeValue;
  }[];
  readonly session_count: number;
  readonly thread_count: number;
}

/** A user with everything kept of them, one that has expired too as long as it is there. @throws InlayError NOT_FOUND */
export async function readExternalUser(
  db: Kysely<Schema>,
  { accountId, now }: At,
  id: number,
): Promise<ExternalUserDetails> {
  const { rows } = await sql<DetailsRow>`
    select ${columnsAt(now)},
      (select coalesce(jsonb_agg(jsonb_build_object('scope', e.name, 'name', g.name) order by g.name), '[]'::jsonb)
        from user_groups ug join groups g on g.id = ug.group_id left join embed_tenants e on e.id = g.embed_tenant_id
        where ug.user_id = u.id) as groups,
      (select coalesce(jsonb_agg(jsonb_build_object('scope', e.name, 'name', a.name, 'value', v.value) order by a.name),
          '[]'::jsonb)
        from user_attribute_values v join user_attributes a on a.id = v.attribute_id
          left join embed_tenants e on e.id = a.embed_tenant_id
        where v.user_id = u.id) as attributes,
      (select count(*)::int from sessions where user_id = u.id and revoked_at is null and ends_at > ${now})
        as session_count,
      (select count(*)::int from threads where user_id = u.id) as thread_count
    from users u where u.id = ${id} and u.account_id = ${accountId} and u.kind = 'external'`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  // Tenant-wide first, then by name.
  const named = [...row.groups, ...row.attributes].flatMap(({ scope }) => (scope === null ? [] : [scope]));
  const scopes = [null, ...[...new Set(named)].sort()].map((embedTenantName) => ({
    embedTenantName,
    groups: row.groups.filter(({ scope }) => scope === embedTenantName).map(({ name }) => name),
    userAttributes: row.attributes
      .filter(({ scope }) => scope === embedTenantName)
      .map(({ name, value }) => ({ name, value })),
  }));
  return { ...toExternalUser(row), scopes, sessionCount: row.session_count, threadCount: row.thread_count };
}

/**
 * Switches a user off or on. Off ends every session for good.
 * @throws InlayError NOT_FOUND, also for one that has expired
 */
export function updateExternalUser(
  call: AdminCall,
  id: number,
  { isActive }: ExternalUserChanges,
): Promise<ExternalUserDetails> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const stored = await lockUser(tx, { accountId, now }, id);
    if (isActive !== undefined && isActive !== stored.is_active) {
      await tx.updateTable('users').set({ is_active: isActive }).where('id', '=', id).execute();
      // On the way back too: a call for a session that came at the same instant may have missed the way out.
      const revokedSessions = await endSessions(tx, { accountId, now }, { column: 'user_id', id });
      const object = { kind: 'external-user', id, name: stored.external_id };
      await audit('external-user.update', object, { fields: ['isActive'], isActive, revokedSessions });
      await publish(tx, { kind: 'user', id });
    }
    return readExternalUser(tx, { accountId, now }, id);
  });
}

/**
 * Makes an ephemeral user persistent, which then counts (service.md 4.1 rule 10). One that is persistent stays so.
 * @param externalUsersMax the limit of the process, for an account without one of its own.
 * @throws InlayError NOT_FOUND (also expired), EXTERNAL_USER_LIMIT
 */
export function persistExternalUser(
  call: AdminCall,
  externalUsersMax: number,
  id: number,
): Promise<ExternalUserDetails> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const { externalId } = await readExternalUser(tx, { accountId, now }, id);
    // Those of the calls for sessions: they write the end of a user as well, and the count stays as it is until the commit.
    const locks = [
      { kind: 'user', accountId, externalId },
      { kind: 'places', accountId },
    ] as const;
    await takeUserLocks(tx, locks.map(lockKey));
    const stored = await lockUser(tx, { accountId, now }, id);
    if (stored.expires_at !== null) {
      await requirePlace(tx, accountId, externalUsersMax);
      await tx.updateTable('users').set({ expires_at: null }).where('id', '=', id).execute();
      await audit('external-user.persist', { kind: 'external-user', id, name: stored.external_id });
    }
    return readExternalUser(tx, { accountId, now }, id);
  });
}

/** @throws InlayError EXTERNAL_USER_LIMIT when the account has as many persistent external users as it may have. */
async function requirePlace(tx: Kysely<Schema>, accountId: number, processMax: number): Promise<void> {
  const { rows } = await sql<{ limits: AccountLimits; count: number }>`
    select a.limits, (select count(*)::int from users
      where account_id = a.id and kind = 'external' and expires_at is null) as count
    from accounts a where a.id = ${accountId}`.execute(tx);
  const row = rows[0];
  if (row === undefined) throw notFound();
  const usersMax = row.limits.externalUsersMax ?? processMax;
  if (row.count < usersMax) return;
  throw userLimitReached('persistent', usersMax);
}

async function lockUser(tx: Kysely<Schema>, { accountId, now }: At, id: number) {
  const stored = await tx
    .selectFrom('users')
    .select(['external_id', 'is_active', 'expires_at'])
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('kind', '=', 'external')
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (stored === undefined) throw notFound();
  return stored;
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'External user not found');
