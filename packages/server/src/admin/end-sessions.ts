/** The end of sessions whose ground is gone for a while or for good: they do not come to life again with it. */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';

/**
 * Revokes the sessions of a user, on a deployment, or naming an embed tenant. Publish what ended them.
 * @returns how many had not ended before.
 */
export async function endSessions(
  tx: Kysely<Schema>,
  { accountId, now }: { readonly accountId: number; readonly now: Date },
  of: { readonly column: 'user_id' | 'deployment_id' | 'embed_tenant_id'; readonly id: number },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update sessions set revoked_at = ${now}
    where account_id = ${accountId} and ${sql.ref(of.column)} = ${of.id} and revoked_at is null and ends_at > ${now}
  `.execute(tx);
  return Number(numAffectedRows);
}
