/** The use case of generate-session (service.md 4.1): a key and a call in, a sessionId out. */
import { InlayError } from '../errors.ts';
import type { Deployments } from '../query/deployments.ts';
import type { Actor } from '../store/audit-log.ts';
import type { SessionMinter } from './session-minter.ts';
import type { SessionCall } from './session-rules.ts';

/** The API key that asks. `deploymentIds` null: it may use every deployment of its account. */
export interface MintingKey {
  readonly accountId: number;
  readonly keyId: number;
  readonly deploymentIds: readonly number[] | null;
}

/** What generate-session needs. */
export interface GenerateSessionDependencies {
  readonly minter: SessionMinter;
  readonly deployments: Pick<Deployments, 'findBranch'>;
}

/**
 * A new session. The user, the definitions of the call and the session are kept together when it resolves; a call that fails
 * changes nothing (http-api.md).
 * @param actor the same key as the audit log names it, and from where it asks
 * @throws InlayError FORBIDDEN when the key may not use the deployment, NOT_FOUND or BRANCH_NOT_FOUND when the settings name a
 * branch that the deployment does not have, and what {@link SessionMinter.mint} throws
 */
export async function generateSession(
  { minter, deployments }: GenerateSessionDependencies,
  { accountId, keyId, deploymentIds }: MintingKey,
  call: SessionCall,
  actor: Actor,
): Promise<{ readonly sessionId: string }> {
  const { deploymentId, settings } = call;
  if (deploymentIds !== null && !deploymentIds.includes(deploymentId)) {
    throw new InlayError('FORBIDDEN', 'The API key may not use this deployment');
  }
  // The name is kept as it is: whether it is the default branch is looked at whenever the token asks.
  if (settings.branchName !== undefined) await deployments.findBranch(accountId, deploymentId, settings.branchName);
  return minter.mint({ accountId, keyId, actor, call });
}
