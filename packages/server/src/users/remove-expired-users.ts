/** The end of ephemeral users: refused at their instant, and soon after removed with all that was theirs (http-api.md). */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';

/** Users removed by one statement, so that none holds its locks for long. */
const batchMax = 200;

/**
 * Removes the external users who have ended at `now`, with their threads, values, memberships and sessions. One whose answer
 * is still being written stays until it is; nothing of theirs can be reached meanwhile.
 * @returns how many were removed.
 */
export async function removeExpiredUsers(db: Kysely<Schema>, now: Date): Promise<number> {
  let removed = 0;
  while (true) {
    const { numAffectedRows = 0n } = await sql`
      delete from users where expires_at <= ${now} and id in (
        select u.id from users u
        where u.kind = 'external' and u.expires_at <= ${now}
          and not exists (select 1 from runs r where r.user_id = u.id and r.state = 'running')
        limit ${batchMax})`.execute(db);
    removed += Number(numAffectedRows);
    if (numAffectedRows < batchMax) return removed;
  }
}
