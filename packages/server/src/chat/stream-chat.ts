/** The use case of the chat endpoint (service.md 4.3): a message or a look at the thread in, a stream of lines out. */
import type { ChatRequest, Frame } from '@inlay/contract/chat.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import { brokenOffFrames, endFrames, readEnding } from './ended-run.ts';
import type { Agent } from './find-agent.ts';
import { type Failure, failureOf, followRun, type Reader, type RunReading, toLine } from './follow-run.ts';
import { cutoffFrame, messageFrame } from './frames.ts';
import { highestSort, historyOf, type RunningRun, readThread, type ThreadSnapshot, type Told } from './read-thread.ts';
import type { StoredRun } from './run-store.ts';
import type { RunTails } from './run-tails.ts';
import type { Runs, Started } from './runs.ts';
import { readHistory } from './thread-history.ts';
import { insertThread, requireOwnThread } from './thread-store.ts';

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

/** @throws InlayError MESSAGE_ID_REUSED unless the call repeats the one that began the run. */
function requireSameMessage(stored: StoredRun, input: string, threadId: string | null, scopeId: number | null): void {
  // A message id counts for the user and agent, a thread for the scope as well: what was said in another is not repeated here.
  if (stored.input !== input || (threadId !== null && threadId !== stored.threadId) || stored.scopeId !== scopeId) {
    throw new InlayError('MESSAGE_ID_REUSED', 'The messageId was used before with another message.');
  }
}

/** A run that this process has just begun, from its first line on. */
function readNewRun(
  dependencies: ChatDependencies,
  { reader }: ChatCall,
  { runId, threadId, question, history }: Extract<Started, { kind: 'started' }>,
): AsyncIterable<string> {
  const lastSort = question.sort - 1;
  // What the agent is told of, is most often all there is.
  const before =
    history.length === lastSort ? history : readHistory(dependencies.db, { threadId, messages: [], lastSort });
  const frames = async function* (): AsyncGenerator<Frame> {
    for await (const message of before) yield messageFrame(message);
    yield cutoffFrame(threadId, true);
    yield messageFrame(question);
  };
  return tellRun(dependencies, reader, frames(), { runId, from: 0, open: [], missing: [], sort: question.sort });
}

/** The thread as it is; where a run goes on, the stream follows it to its end. */
async function joinThread(
  dependencies: ChatDependencies,
  call: ChatCall,
  threadId: string,
): Promise<AsyncIterable<string>> {
  const thread = await readThread(dependencies.db, threadId);
  if (thread.running !== null) return joinRun(dependencies, call, thread, thread.running);
  const frames = async function* (): AsyncGenerator<Frame> {
    yield* historyOf(dependencies.db, thread, { open: [], missing: [] });
    yield cutoffFrame(threadId, false);
  };
  return tellStored(call.reader, frames(), highestSort(thread));
}

function joinRun(
  dependencies: ChatDependencies,
  { reader }: ChatCall,
  thread: ThreadSnapshot,
  run: RunningRun,
): AsyncIterable<string> {
  const told: Told = { open: [], missing: [] };
  const frames = async function* (): AsyncGenerator<Frame> {
    yield* historyOf(dependencies.db, thread, told);
    yield cutoffFrame(thread.threadId, true);
  };
  const reading = { runId: run.id, from: run.upTo, sort: highestSort(thread), ...told };
  return tellRun(dependencies, reader, frames(), reading);
}

/** The run that a repeated message began: joined where it goes on, else replayed from the store after all other messages. */
async function repeatRun(
  dependencies: ChatDependencies,
  call: ChatCall,
  { id, threadId }: StoredRun,
): Promise<AsyncIterable<string>> {
  const { db } = dependencies;
  const thread = await readThread(db, threadId);
  if (thread.running?.id === id) return joinRun(dependencies, call, thread, thread.running);
  const ending = await readEnding(db, id);
  if (ending === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  const highest = highestSort(thread);
  const frames = async function* (): AsyncGenerator<Frame> {
    yield* historyOf(db, thread, { open: [], missing: [] }, id);
    yield cutoffFrame(threadId, true);
    for await (const message of readHistory(db, thread, { runId: id, isOfRun: true })) yield messageFrame(message);
    yield* endFrames(ending, highest + 1);
  };
  return tellStored(call.reader, frames(), highest);
}

/** What came before a run, then the run. When the reader may not read on meanwhile, or the thread is deleted, the run's end says so. */
function tellRun(
  dependencies: ChatDependencies,
  reader: Reader,
  before: AsyncIterable<Frame>,
  reading: RunReading,
): AsyncIterable<string> {
  return followRun(dependencies, reading, reader, tellFrames(reader, before));
}

/** What is stored, and where it breaks off, why. @param highest the highest sort number in it. */
async function* tellStored(reader: Reader, frames: AsyncIterable<Frame>, highest: number): AsyncGenerator<string> {
  const failure = yield* tellFrames(reader, frames);
  if (failure === null) return;
  for (const frame of brokenOffFrames({ ...failure, requestId: reader.requestId }, null, highest + 1))
    yield toLine(frame);
}

/** The lines. @returns why they broke off: the reader may not read on, or the thread is deleted; null: they did not. */
async function* tellFrames(
  { ended }: Reader,
  frames: AsyncIterable<Frame>,
): AsyncGenerator<string, Failure | null, undefined> {
  try {
    for await (const frame of frames) {
      if (ended.aborted) return failureOf(ended.reason);
      yield toLine(frame);
    }
    return null;
  } catch (error) {
    if (error instanceof InlayError && error.code === 'NOT_FOUND') return { code: error.code, message: error.message };
    throw error;
  }
}

async function* toLines(frames: readonly Frame[]): AsyncGenerator<string> {
  for (const frame of frames) yield toLine(frame);
}
