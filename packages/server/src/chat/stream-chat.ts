/** The use case of the chat endpoint (service.md 4.3): a message or a look at the thread in, a stream of lines out. */
import type { ChatRequest, Frame } from '@inlay/contract/chat.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import { endFrames, readEnding } from './ended-run.ts';
import type { Agent } from './find-agent.ts';
import { followRun, type Reader, toLine } from './follow-run.ts';
import { cutoffFrame, messageFrame } from './frames.ts';
import { historyOf, type RunningRun, readThread, type ThreadSnapshot } from './read-thread.ts';
import type { StoredRun } from './run-store.ts';
import type { RunTails } from './run-tails.ts';
import type { Runs, Started } from './runs.ts';
import { findThread, insertThread, isThreadOf } from './thread-store.ts';

/** What the chat needs. */
export interface ChatDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly runs: Runs;
  readonly tails: RunTails;
}

/** A chat call, parsed and authorised. */
export interface ChatCall {
  readonly principal: Principal;
  readonly agent: Agent;
  /** The branch of the data model; null: the default one. */
  readonly branch: string | null;
  readonly request: Pick<ChatRequest, 'input' | 'chatId' | 'messageId'>;
  readonly requestId: string;
  /** Who reads: reading ends when the client is gone, or may not read any more; the run goes on. */
  readonly reader: Reader;
}

/**
 * Decides everything that can be refused, begins a run where there is an input, and gives the lines to send, each with its `\n`.
 * @throws InlayError NOT_FOUND (thread), MESSAGE_ID_REUSED, and what {@link Runs} `start` throws.
 */
export async function openChatStream(dependencies: ChatDependencies, call: ChatCall): Promise<AsyncIterable<string>> {
  const { db, runs, clock } = dependencies;
  const { principal, agent, branch, request, requestId } = call;
  const { chatId, input, messageId } = request;
  const { accountId, userId, scopeId } = principal;

  const threadId = chatId === undefined ? null : await requireOwnThread(db, agent, principal, chatId);
  if (input === undefined) {
    if (threadId !== null) return joinThread(dependencies, call, threadId);
    const id = await insertThread(db, { accountId, userId, scopeId, agentId: agent.id }, '', clock());
    return toLines([cutoffFrame(id, false)]);
  }
  const started = await runs.start({ principal, agent, branch, threadId, input, messageId, requestId });
  if (started.kind === 'started') return readNewRun(dependencies, call, started);
  requireSameMessage(started.stored, input, threadId, scopeId);
  return repeatRun(dependencies, call, started.stored);
}

/**
 * The id of the thread that a client calls `chatId`.
 * @throws InlayError NOT_FOUND unless it is a thread of this user in this scope with this agent; nobody (null) has a thread.
 */
export async function requireOwnThread(
  db: Kysely<Schema>,
  agent: Agent,
  asker: Pick<Principal, 'userId' | 'scopeId'> | null,
  chatId: string,
): Promise<string> {
  const thread = await findThread(db, { accountId: agent.accountId, agentId: agent.id, chatId });
  if (thread === undefined || !isThreadOf(asker, thread)) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  return thread.id;
}

/** @throws InlayError MESSAGE_ID_REUSED unless the call repeats the one that began the run. */
function requireSameMessage(stored: StoredRun, input: string, threadId: string | null, scopeId: number | null): void {
  const isSame = stored.messages.some(({ role, content }) => role === 'user' && content === input);
  // A message id counts for the user and agent, a thread for the scope as well: what was said in another is not repeated here.
  if (!isSame || (threadId !== null && threadId !== stored.threadId) || stored.scopeId !== scopeId) {
    throw new InlayError('MESSAGE_ID_REUSED', 'The messageId was used before with another message.');
  }
}

/** A run that this process has just begun, from its first line on. */
function readNewRun(
  dependencies: ChatDependencies,
  { reader }: ChatCall,
  { runId, threadId, question, history }: Extract<Started, { kind: 'started' }>,
): AsyncIterable<string> {
  const reading = { runId, from: 0, open: [], sort: question.sort, endsWithReader: true };
  const live = followRun(dependencies, reading, reader);
  return toLines([...history.map(messageFrame), cutoffFrame(threadId, true), messageFrame(question)], live);
}

/** The thread as it is; where a run goes on, the stream follows it to its end. */
async function joinThread(
  dependencies: ChatDependencies,
  call: ChatCall,
  threadId: string,
): Promise<AsyncIterable<string>> {
  const thread = await readThread(dependencies.db, threadId);
  if (thread.running !== null) return joinRun(dependencies, call, threadId, thread, thread.running);
  return toLines([...historyOf(thread), cutoffFrame(threadId, false)]);
}

function joinRun(
  dependencies: ChatDependencies,
  { principal: { sessionId, apiKeyId }, reader }: ChatCall,
  threadId: string,
  thread: ThreadSnapshot,
  run: RunningRun,
): AsyncIterable<string> {
  const history = historyOf(thread);
  const live = followRun(
    dependencies,
    {
      runId: run.id,
      from: run.upTo,
      open: run.open.filter(({ isInProcess }) => isInProcess === true),
      sort: history.at(-1)?.sort ?? 0,
      endsWithReader: run.sessionId === sessionId && run.apiKeyId === apiKeyId,
    },
    reader,
  );
  return toLines([...history, cutoffFrame(threadId, true)], live);
}

/** The run that a repeated message began: joined where it goes on, else replayed from the store after all other messages. */
async function repeatRun(
  dependencies: ChatDependencies,
  call: ChatCall,
  { id, threadId }: StoredRun,
): Promise<AsyncIterable<string>> {
  const { db } = dependencies;
  const thread = await readThread(db, threadId);
  const { running, messages } = thread;
  if (running?.id === id) return joinRun(dependencies, call, threadId, thread, running);
  const ending = await readEnding(db, id);
  if (ending === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  const own = messages.filter(({ runId }) => runId === id);
  const lines = [
    ...historyOf({ running, messages: messages.filter(({ runId }) => runId !== id) }),
    cutoffFrame(threadId, true),
    ...own.map(messageFrame),
  ];
  return toLines([...lines, ...endFrames(ending, Math.max(...lines.map(({ sort }) => sort)) + 1)]);
}

async function* toLines(head: readonly Frame[], live?: AsyncIterable<string>): AsyncGenerator<string> {
  for (const frame of head) yield toLine(frame);
  if (live !== undefined) yield* live;
}
