/** Embed sessions as the management API sees them: who has one, and ending them (management-api.md). */
import type { Session, SessionQuery, SessionTarget } from '@inlay/contract/admin/sessions.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { revokeSessions as revoke } from '../users/revoke-sessions.ts';
import { sessionStands } from '../users/session-stands.ts';
import type { AdminCall } from './change.ts';

interface Row {
  readonly id: string;
  readonly state: Session['state'];
  readonly deployment_id: number;
  readonly user_id: number;
  readonly external_id: string | null;
  readonly username: string | null;
  readonly api_key_id: number;
  readonly embed_tenant_name: string | null;
  readonly is_creator_mode: boolean;
  readonly created_from: string | null;
  readonly created_at: Date;
  readonly exchanged_at: Date | null;
  readonly ends_at: Date;
  readonly revoked_at: Date | null;
}

const from = sql`sessions s join users u on u.id = s.user_id left join embed_tenants e on e.id = s.embed_tenant_id`;

const stateAt = (now: Date): RawBuilder<unknown> => sql`case when s.revoked_at is not null then 'revoked'
  when not ${sessionStands(now)} then 'ended'
  when s.exchanged_at is not null then 'active'
  when s.exchange_before > ${now} then 'waiting' else 'ended' end`;

const columnsAt = (now: Date): RawBuilder<unknown> => sql`s.id, ${stateAt(now)} as state, s.deployment_id, s.user_id,
  u.external_id, u.username, s.api_key_id, e.name as embed_tenant_name, s.is_creator_mode, s.created_from, s.created_at,
  s.exchanged_at, s.ends_at, s.revoked_at`;

const toSession = (row: Row): Session => ({
  id: row.id,
  state: row.state,
  deploymentId: row.deployment_id,
  userId: row.user_id,
  externalId: row.external_id,
  username: row.username,
  apiKeyId: row.api_key_id,
  embedTenantName: row.embed_tenant_name,
  isCreatorMode: row.is_creator_mode,
  createdFrom: row.created_from,
  createdAt: row.created_at.toISOString(),
  exchangedAt: row.exchanged_at?.toISOString() ?? null,
  endsAt: row.ends_at.toISOString(),
  revokedAt: row.revoked_at?.toISOString() ?? null,
});

/** A page of the sessions of an account, as they stand at `now`. @throws InlayError INVALID_CURSOR */
export function listSessions(
  db: Kysely<Schema>,
  { accountId, now }: { readonly accountId: number; readonly now: Date },
  query: SessionQuery,
): Promise<Page<Session>> {
  const { userId, externalId, apiKeyId, embedTenantName, deploymentId, isCreatorMode, state } = query;
  const userOf = (id: string): RawBuilder<unknown> =>
    sql`s.user_id = (select id from users where account_id = ${accountId} and external_id = ${id})`;
  const tenantOf = (name: string): RawBuilder<unknown> =>
    sql`s.embed_tenant_id = (select id from embed_tenants where account_id = ${accountId} and name = ${name})`;
  return keysetPage<Row, Session, 'createdAt'>(
    db,
    {
      columns: columnsAt(now),
      from,
      where: [
        sql`s.account_id = ${accountId}`,
        ...filters(
          equals(sql`s.user_id`, userId),
          externalId === undefined ? undefined : userOf(externalId),
          equals(sql`s.api_key_id`, apiKeyId),
          embedTenantName === undefined ? undefined : tenantOf(embedTenantName),
          equals(sql`s.deployment_id`, deploymentId),
          equals(sql`s.is_creator_mode`, isCreatorMode),
          equals(stateAt(now), state),
        ),
      ],
      sorts: { createdAt: { expression: sql`s.created_at`, type: 'timestamp' } },
      id: { expression: sql`s.id`, type: 'uuid' },
    },
    query,
    toSession,
  );
}

/** @throws InlayError NOT_FOUND when the account has no such session. */
export async function readSession(
  db: Kysely<Schema>,
  { accountId, now, id }: { readonly accountId: number; readonly now: Date; readonly id: string },
): Promise<Session> {
  const { rows } = await sql<Row>`
    select ${columnsAt(now)} from ${from} where s.id = ${id}::uuid and s.account_id = ${accountId}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('NOT_FOUND', 'Session not found');
  return toSession(row);
}

/** Revokes one session; one that has ended already stays as it is. @throws InlayError NOT_FOUND */
export async function revokeSession({ db, clock, accountId, actor }: AdminCall, id: string): Promise<void> {
  await readSession(db, { accountId, now: clock(), id });
  await revoke({ db, clock }, { accountId, actor, which: { kind: 'session', id, deploymentIds: null } });
}

/**
 * Revokes every session of a user, of an embed tenant, or that a key minted.
 * @returns how many had not ended. @throws InlayError NOT_FOUND when the account has no such user, embed tenant or key.
 */
export async function revokeSessions(
  { db, clock, accountId, actor }: AdminCall,
  target: SessionTarget,
): Promise<number> {
  return revoke({ db, clock }, { accountId, actor, which: await findOwner(db, accountId, target) });
}

interface Owner {
  readonly kind: 'user' | 'embed-tenant' | 'api-key';
  readonly id: number;
}

/** The one that the target names. */
async function findOwner(
  db: Kysely<Schema>,
  accountId: number,
  { userId, externalId, embedTenantName, apiKeyId }: SessionTarget,
): Promise<Owner> {
  const place = (column: string, value: number | string | undefined): RawBuilder<unknown> =>
    sql`account_id = ${accountId} and ${sql.ref(column)} = ${value}`;
  const query =
    userId !== undefined
      ? sql<Owner>`select 'user' as kind, id from users where ${place('id', userId)}`
      : externalId !== undefined
        ? sql<Owner>`select 'user' as kind, id from users where ${place('external_id', externalId)}`
        : embedTenantName !== undefined
          ? sql<Owner>`select 'embed-tenant' as kind, id from embed_tenants where ${place('name', embedTenantName)}`
          : sql<Owner>`select 'api-key' as kind, id from api_keys where ${place('id', apiKeyId)}`;
  const owner = (await query.execute(db)).rows[0];
  if (owner !== undefined) return owner;
  const what =
    userId !== undefined || externalId !== undefined
      ? 'user'
      : embedTenantName !== undefined
        ? 'embed tenant'
        : 'API key';
  throw new InlayError('NOT_FOUND', `The account has no such ${what}`);
}
