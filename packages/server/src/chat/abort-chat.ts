/** The use case of the abort endpoint (service.md 4.4). */
import { InlayError } from '../errors.ts';
import type { Agent } from './find-agent.ts';
import type { ChatDependencies } from './stream-chat.ts';
import { type Asker, findThread, isThreadOf } from './thread-store.ts';

/** An abort call. */
export interface AbortCall {
  readonly agent: Agent;
  readonly asker: Asker;
  readonly chatId: string;
}

/**
 * Stops what the thread's agent does: language model, tool and warehouse query. Resolves when the run has ended, after a second
 * at the latest; at once when none goes on. Writes no user.
 * @throws InlayError NOT_FOUND (no such thread), THREAD_NOT_OWNED.
 */
export async function abortChat(
  { db, runs }: Pick<ChatDependencies, 'db' | 'runs'>,
  { agent, asker, chatId }: AbortCall,
): Promise<void> {
  const thread = await findThread(db, { accountId: agent.accountId, agentId: agent.id, chatId });
  if (thread === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  if (!isThreadOf(asker, thread)) {
    throw new InlayError('THREAD_NOT_OWNED', 'The chat thread belongs to another user, or to another scope.');
  }
  await runs.abort(thread.id);
}
