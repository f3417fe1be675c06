/** The branch of the data model that a chat or data call names (chat-stream.md). */
import type { ChatRequest } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import type { Caller } from './authenticate.ts';

/**
 * This version has one branch, `main`, and it is the default.
 * @throws InlayError BRANCH_NOT_FOUND, BRANCH_NOT_ALLOWED (an embed token), INVALID_REQUEST when `isDefaultBranch` contradicts.
 */
export function requireDefaultBranch(
  { activeBranchName, isDefaultBranch }: Pick<ChatRequest, 'activeBranchName' | 'isDefaultBranch'>,
  caller: Pick<Caller, 'kind'>,
): void {
  if (activeBranchName !== undefined && activeBranchName !== 'main') {
    if (caller.kind === 'embed-token')
      throw new InlayError('BRANCH_NOT_ALLOWED', 'An embed token is bound to the default branch.');
    throw new InlayError('BRANCH_NOT_FOUND', 'The data model has no such branch.');
  }
  if (isDefaultBranch === false) {
    const message =
      activeBranchName === undefined ? 'needs activeBranchName' : 'is false, but main is the default branch';
    throw new InlayError('INVALID_REQUEST', `isDefaultBranch ${message}.`, {
      issues: [{ path: 'isDefaultBranch', message }],
    });
  }
}
