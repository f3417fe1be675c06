/** The one name space of internal users: no one's username is another's address, whatever the case (http-api.md). */
import { type Kysely, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Makes whoever else adds or renames internal users of the account wait until this transaction ends. The indexes keep
 * usernames apart, and addresses, but not the ones from the others.
 */
export async function lockInternalUsers(tx: Kysely<Schema>, accountId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`internal users of ${accountId}`}, 0))`.execute(tx);
}

/**
 * Those of `names` that are the username or address of an internal user of the account other than `exceptId`. Hold
 * {@link lockInternalUsers}.
 */
export async function takenNames(
  tx: Kysely<Schema>,
  accountId: number,
  names: readonly string[],
  exceptId: number | null,
): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select wanted.name from jsonb_array_elements_text(${json(names)}) as wanted (name)
    where exists (
      select 1 from users u
      where u.account_id = ${accountId} and u.kind = 'internal' and u.id is distinct from ${exceptId}::int
        and (lower(u.username) = lower(wanted.name) or lower(u.email) = lower(wanted.name)))`.execute(tx);
  return rows.map(({ name }) => name);
}
