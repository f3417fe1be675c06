/** The branch of the data model that a chat or data call asks (chat-stream.md, http-api.md). */
import type { ChatRequest } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import type { Deployments } from '../query/deployments.ts';
import type { Principal } from '../users/principal.ts';
import type { Caller } from './authenticate.ts';
import { type PrincipalDependencies, resolvePrincipal } from './resolve-principal.ts';

/** What a call says of its branch (service.md 4.3). */
export type NamedBranch = Pick<ChatRequest, 'activeBranchName' | 'isDefaultBranch'>;

type BranchDependencies = { readonly deployments: Pick<Deployments, 'defaultBranch' | 'findBranch'> };

/**
 * The branch that a caller asks: null is the default one. An API key may name any; an embed token has the one of its session's
 * settings, else the default one, since another branch may carry other policies. The repository alone decides which is the default.
 * @param deploymentId one that the caller's account has
 * @throws InlayError BRANCH_NOT_ALLOWED when an embed token names another, whether there is one or not; BRANCH_NOT_FOUND;
 * INVALID_REQUEST when `isDefaultBranch` contradicts
 */
async function resolveBranch(
  { deployments }: BranchDependencies,
  caller: Caller,
  deploymentId: number,
  { activeBranchName, isDefaultBranch }: NamedBranch,
): Promise<string | null> {
  const { accountId } = caller;
  const ofSession = caller.kind === 'embed-token' ? caller.settings.branchName : undefined;
  if (caller.kind === 'embed-token' && activeBranchName !== undefined) {
    const own = ofSession ?? (await deployments.defaultBranch(accountId, deploymentId));
    if (activeBranchName !== own) {
      throw new InlayError('BRANCH_NOT_ALLOWED', 'An embed token is bound to the branch of its session.');
    }
  }
  const name = activeBranchName ?? ofSession;
  const branch = name === undefined ? null : await deployments.findBranch(accountId, deploymentId, name);
  if (isDefaultBranch !== undefined && isDefaultBranch !== (branch === null)) {
    const message =
      name === undefined ? 'needs activeBranchName' : `is ${isDefaultBranch}, but the repository says otherwise`;
    throw new InlayError('INVALID_REQUEST', `isDefaultBranch ${message}.`, {
      issues: [{ path: 'isDefaultBranch', message }],
    });
  }
  return branch;
}

/** What is asked of a deployment, before it is known as whom. */
export interface AskedScope {
  readonly deploymentId: number;
  readonly branch: NamedBranch;
  /** Still to be checked. */
  readonly sessionSettings: unknown;
  /** As in {@link resolvePrincipal}. */
  readonly beforeWriting?: ((findUserId: () => Promise<number | null>) => Promise<unknown>) | undefined;
}

/**
 * As whom, and of which branch, a chat or data call asks. In the order of checks: `sessionSettings` that are not well-formed, then
 * the branch, and only then is a user written, so that a call that is refused changes nothing.
 * @throws InlayError what {@link resolveBranch} and {@link resolvePrincipal} throw
 */
export async function resolveScope(
  dependencies: PrincipalDependencies & BranchDependencies,
  caller: Caller,
  { deploymentId, branch: named, sessionSettings, beforeWriting }: AskedScope,
): Promise<{ readonly principal: Principal; readonly branch: string | null }> {
  const findBranch = (): Promise<string | null> => resolveBranch(dependencies, caller, deploymentId, named);
  if (caller.kind === 'embed-token') return { principal: caller.principal, branch: await findBranch() };
  let branch: string | null = null;
  const principal = await resolvePrincipal(dependencies, caller, sessionSettings, async (findUserId) => {
    branch = await findBranch();
    await beforeWriting?.(findUserId);
  });
  return { principal, branch };
}
