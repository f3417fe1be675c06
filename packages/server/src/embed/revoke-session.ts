/** Revocation of a session by its sessionId, as the host's server knows it (http-api.md). */
import type { Actor } from '../store/audit-log.ts';
import { hashSecret } from '../store/secret.ts';
import { type RevocationDependencies, revokeSessions } from '../users/revoke-sessions.ts';

/** Who revokes what. `deploymentIds` null: the API key may use every deployment of its account. */
export interface SessionRevocation {
  readonly accountId: number;
  readonly deploymentIds: readonly number[] | null;
  readonly actor: Actor;
  readonly sessionId: string;
}

/**
 * Ends the session and its tokens. Nothing happens, and nothing tells, when it has ended already, is unknown, belongs to
 * another account, or is on a deployment that the key may not use.
 */
export async function revokeSession(
  dependencies: RevocationDependencies,
  { accountId, deploymentIds, actor, sessionId }: SessionRevocation,
): Promise<void> {
  const session = await dependencies.db
    .selectFrom('sessions')
    .select('id')
    .where('secret_hash', '=', hashSecret(sessionId))
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (session === undefined) return;
  await revokeSessions(dependencies, { accountId, actor, which: { kind: 'session', id: session.id, deploymentIds } });
}
