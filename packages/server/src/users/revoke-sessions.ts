/** Revocation of sessions: one, or all of a user, of an embed tenant or of an API key. It is effective on every node within a second. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Actor, appendAuditEntry } from '../store/audit-log.ts';
import { type Change, publish } from '../store/changes.ts';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';

/** Which sessions of the account. `deploymentIds` null: on any deployment; else only those on one of them. */
export type SessionsToRevoke =
  | { readonly kind: 'session'; readonly id: string; readonly deploymentIds: readonly number[] | null }
  | { readonly kind: 'user' | 'embed-tenant' | 'api-key'; readonly id: number };

/** What revoking needs. */
export interface RevocationDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
}

/**
 * Revokes the sessions of the account that stand. They open nothing from the moment on at which this resolves, and on nodes
 * that have a stream open for one of them, within a second. Revoked again, or unknown, or of another account: nothing happens.
 * Audited as `session.revoke`, in the same transaction.
 * @returns how many were revoked
 */
export async function revokeSessions(
  { db, clock }: RevocationDependencies,
  { accountId, actor, which }: { readonly accountId: number; readonly actor: Actor; readonly which: SessionsToRevoke },
): Promise<number> {
  const now = clock();
  return db.transaction().execute(async (transaction) => {
    // In the order of their ids: two revocations at once never wait for each other in a circle.
    const { rows } = await sql<{ readonly id: string }>`
      update sessions set revoked_at = ${now}
      where id in (
        select s.id from sessions s
        where s.account_id = ${accountId} and s.revoked_at is null and s.ends_at > ${now} and ${conditionOf(which)}
        order by s.id for update)
      returning id`.execute(transaction);
    if (rows.length === 0) return 0;
    await publish(transaction, changeOf(which));
    await appendAuditEntry(
      transaction,
      {
        accountId,
        actor,
        action: 'session.revoke',
        object: { kind: which.kind, id: String(which.id), name: null },
        result: 'OK',
        details: { revoked: rows.length },
      },
      now,
    );
    return rows.length;
  });
}

function conditionOf(which: SessionsToRevoke): RawBuilder<boolean> {
  switch (which.kind) {
    case 'session':
      return which.deploymentIds === null
        ? sql<boolean>`s.id = ${which.id}::uuid`
        : sql<boolean>`s.id = ${which.id}::uuid
            and s.deployment_id in (select jsonb_array_elements_text(${json(which.deploymentIds)})::int)`;
    case 'user':
      return sql<boolean>`s.user_id = ${which.id}`;
    case 'embed-tenant':
      return sql<boolean>`s.embed_tenant_id = ${which.id}`;
    case 'api-key':
      return sql<boolean>`s.api_key_id = ${which.id}`;
  }
}

/** One message for all of them: whoever watches one looks into the store. */
function changeOf(which: SessionsToRevoke): Change {
  return which.kind === 'session' ? { kind: 'session', id: which.id } : { kind: which.kind, id: which.id };
}
