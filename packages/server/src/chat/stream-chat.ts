/** The use case of the chat endpoint (service.md 4.3): a message or a look at the thread in, a stream of lines out. */
import type { ChatRequest, Frame } from '@inlay/contract/chat.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import type { Agent } from './find-agent.ts';
import { followRun, type Reader } from './follow-run.ts';
import { abortedFrame, cutoffFrame, errorFrame, joinRun, messageFrame, toHistory, usageFrame } from './frames.ts';
import { findRun, type StoredRun } from './run-store.ts';
import type { Run, Runs } from './runs.ts';
import { findThread, insertThread, isThreadOf, readMessages, type ThreadOwner } from './thread-store.ts';
import { noUsage } from './write-run.ts';

/** What the chat needs. */
export interface ChatDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly runs: Runs;
}

/** A chat call, parsed and authorised. */
export interface ChatCall {
  readonly principal: Principal;
  readonly agent: Agent;
  readonly request: Pick<ChatRequest, 'input' | 'chatId' | 'messageId'>;
  readonly requestId: string;
  /** Who reads: reading ends when the client is gone, or may not read any more; the run goes on. */
  readonly reader: Reader;
}

/**
 * Decides everything that can be refused, begins a run where there is an input, and gives the lines to send.
 * @throws InlayError NOT_FOUND (thread), MESSAGE_ID_REUSED, and what {@link Runs} `start` throws.
 */
export async function openChatStream(dependencies: ChatDependencies, call: ChatCall): Promise<AsyncIterable<Frame>> {
  const { db, runs, clock } = dependencies;
  const { principal, agent, request, requestId, reader } = call;
  const { chatId, input, messageId } = request;
  const { userId, scopeId } = principal;
  const owner = { accountId: agent.accountId, userId, scopeId, agentId: agent.id };

  const threadId = chatId === undefined ? null : await requireOwnThread(db, agent, principal, chatId);
  if (input === undefined) {
    if (threadId !== null) return readThread(dependencies, threadId, reader);
    return toLines([cutoffFrame(await insertThread(db, owner, '', clock()), false)]);
  }
  const started = await runs.start({
    principal,
    agentId: agent.id,
    deploymentId: agent.deploymentId,
    threadId,
    input,
    messageId,
    requestId,
  });
  if (started.kind === 'repeated') {
    requireSameMessage(started.stored, input, threadId, scopeId);
    return repeatRun(dependencies, owner, started.stored, reader);
  }
  const { run, history } = started;
  const { head, from } = joinRun(run.threadId, history, run.log.frames, 0);
  return toLines(head, followRun(run, from, reader));
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

/** The thread as it is; where a run goes on, the stream follows it to its end. */
async function readThread(
  { db, runs }: ChatDependencies,
  chatId: string,
  reader: Reader,
): Promise<AsyncIterable<Frame>> {
  return runs.whileNoneStarts(chatId, async (run) => {
    if (run !== undefined) return joinLiveRun(db, run, reader);
    const messages = await readMessages(db, chatId);
    return toLines([...messages.map(messageFrame), cutoffFrame(chatId, false)]);
  });
}

/** A run from where it stands now; its lines stay in memory for this reader even when it ends meanwhile. */
async function joinLiveRun(db: Kysely<Schema>, run: Run, reader: Reader): Promise<AsyncIterable<Frame>> {
  const { threadId, firstSort, log } = run;
  const before = await readMessages(db, threadId, { before: firstSort });
  const { head, from } = joinRun(threadId, before.map(messageFrame), log.frames, log.frames.length);
  return toLines(head, followRun(run, from, reader));
}

/** The run that a repeated message began: joined where it goes on, else replayed from the store after all other messages. */
async function repeatRun(
  { db, runs }: ChatDependencies,
  owner: ThreadOwner,
  { messageId, threadId }: StoredRun,
  reader: Reader,
): Promise<AsyncIterable<Frame>> {
  return runs.whileNoneStarts(threadId, async (run) => {
    if (run?.messageId === messageId) return joinLiveRun(db, run, reader);
    // Read anew: it may have ended since it was found.
    const stored = await findRun(db, owner, messageId);
    if (stored === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
    const others = await readMessages(db, threadId, { exceptRunId: stored.id, ...(run && { before: run.firstSort }) });
    const lines = [
      ...others.map(messageFrame),
      ...(run === undefined ? [] : toHistory(run.log.frames)),
      cutoffFrame(threadId, true),
      ...stored.messages.map(messageFrame),
    ];
    return toLines([...lines, ...endFrames(stored, Math.max(...lines.map(({ sort }) => sort)) + 1)]);
  });
}

/** The control lines that ended a run. */
function endFrames({ state, error, usage }: StoredRun, sort: number): Frame[] {
  if (state === 'aborted') return [abortedFrame(sort), usageFrame(usage ?? noUsage, sort + 1)];
  if (error !== null) return [errorFrame(error, sort), usageFrame(usage ?? noUsage, sort + 1)];
  return [usageFrame(usage ?? noUsage, sort)];
}

async function* toLines(head: readonly Frame[], live?: AsyncIterable<Frame>): AsyncGenerator<Frame> {
  yield* head;
  if (live !== undefined) yield* live;
}
