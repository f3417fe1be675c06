/** Who a call means, by the names that callers use. Reads only. */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';

/**
 * The id of the active internal user whose username or email address is `internalId`, whatever its case (http-api.md);
 * null when there is none. Should the one name space of both ever hold two, neither is meant.
 */
export async function findInternalUser(
  db: Kysely<Schema>,
  accountId: number,
  internalId: string,
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    select id from users
    where account_id = ${accountId} and kind = 'internal' and is_active
      and (lower(username) = lower(${internalId}) or lower(email) = lower(${internalId}))
    limit 2`.execute(db);
  const [user, another] = rows;
  return user === undefined || another !== undefined ? null : user.id;
}

/** The id of the active external user `externalId` who has not expired at `now`; null when there is none. */
export async function findExternalUser(
  db: Kysely<Schema>,
  accountId: number,
  externalId: string,
  now: Date,
): Promise<number | null> {
  const user = await db
    .selectFrom('users')
    .select('id')
    .where('account_id', '=', accountId)
    .where('external_id', '=', externalId)
    .where('is_active', '=', true)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .executeTakeFirst();
  return user?.id ?? null;
}
