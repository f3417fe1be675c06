/** The use case of generate-session (service.md 4.1): a key and a call in, a sessionId out. */
import { InlayError } from '../errors.ts';
import type { Actor } from '../store/audit-log.ts';
import type { SessionMinter } from './session-minter.ts';
import type { SessionCall } from './session-rules.ts';

/** The API key that asks. `deploymentIds` null: it may use every deployment of its account. */
export interface MintingKey {
  readonly accountId: number;
  readonly keyId: number;
  readonly deploymentIds: readonly number[] | null;
}

/**
 * A new session. The user, the definitions of the call and the session are kept together when it resolves; a call that fails
 * changes nothing (http-api.md).
 * @param actor the same key as the audit log names it, and from where it asks
 * @throws InlayError FORBIDDEN when the key may not use the deployment, and what {@link SessionMinter.mint} throws
 */
export async function generateSession(
  minter: SessionMinter,
  { accountId, keyId, deploymentIds }: MintingKey,
  call: SessionCall,
  actor: Actor,
): Promise<{ readonly sessionId: string }> {
  if (deploymentIds !== null && !deploymentIds.includes(call.deploymentId)) {
    throw new InlayError('FORBIDDEN', 'The API key may not use this deployment');
  }
  return minter.mint({ accountId, keyId, actor, call });
}
