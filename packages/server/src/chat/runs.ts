/**
 * The runs of this process. A run lives apart from any connection: it is written to the store and to a log that readers
 * follow; nobody has to listen for it to go on.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Frame } from '@inlay/contract/chat.ts';
import type { Kysely } from 'kysely';
import type { RunAgent } from '../agent/agent-loop.ts';
import type { ConversationMessage } from '../agent/language-models/language-model.ts';
import { InlayError } from '../errors.ts';
import { type Changes, publish } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import type { PrincipalWatches } from '../users/principal-watch.ts';
import { toConversation } from './conversation.ts';
import { createLocks } from './exclusively.ts';
import { type Message, messageFrame, startRun } from './frames.ts';
import { interrupted } from './interrupted-runs.ts';
import { findRun, insertRun, isRunning, type StoredRun } from './run-store.ts';
import { createThreadLog, type ThreadLog } from './thread-log.ts';
import { readMessages, type ThreadOwner } from './thread-store.ts';
import { writeRun } from './write-run.ts';

/** Characters of the first input that become the title of a thread. */
const titleCharactersMax = 80;
/** How long an abort waits for the run to end, in milliseconds. */
const abortWaitMs = 1000;
/** How often it looks into the store meanwhile, when another node writes the run. */
const abortLookMs = 50;
const retryAfterSeconds = 5;

/** What runs need. `brand` stands for `platform` in `graphPath`. */
export interface RunsDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: { error(fields: object, message: string): void };
  readonly brand: string;
  readonly runAgent: RunAgent;
  /** Runs at a time of one user, and in this process. */
  readonly runsPerUserMax: number;
  readonly runsMax: number;
  /** Brings word from other nodes. */
  readonly changes: Changes;
  /** Tells when whoever asked may not ask any more. */
  readonly watches: PrincipalWatches;
  /** This process. */
  readonly nodeId: string;
}

/** A run that goes on in this process, or has just ended. */
export interface Run {
  readonly id: string;
  readonly threadId: string;
  /** The id of the user message that began it. */
  readonly messageId: string;
  /** The sort number of the user message that began it: everything below is history, and closed. */
  readonly firstSort: number;
  readonly log: ThreadLog;
  /** Resolves when the run has ended and its end is kept; never rejects. */
  readonly done: Promise<void>;
  /** Aborts when the run is told to stop, by whomever; it then ends soon. */
  readonly stopping: AbortSignal;
}

/** A user message that asks for a run. */
export interface StartRequest {
  readonly principal: Principal;
  readonly agentId: number;
  readonly deploymentId: number;
  /** A thread of this user and agent; null: a new one. */
  readonly threadId: string | null;
  readonly input: string;
  /** The client's own id for the message, if it gave one. */
  readonly messageId: string | undefined;
  readonly requestId: string;
}

/** `repeated`: the message id began this run before, maybe with another text or in another thread. */
export type Started =
  | { readonly kind: 'started'; readonly run: Run; readonly history: readonly Frame[] }
  | { readonly kind: 'repeated'; readonly stored: StoredRun };

/** The runs of this process. */
export interface Runs {
  /**
   * Begins a run: thread, run and user message are kept when it resolves.
   * @throws InlayError RUN_IN_PROGRESS, TOO_MANY_RUNS, NOT_READY (the process is stopping).
   */
  start(request: StartRequest): Promise<Started>;
  /** Gives `read` the run that goes on in the thread, if any; no run begins in the thread before `read` has settled. */
  whileNoneStarts<T>(threadId: string, read: (run: Run | undefined) => Promise<T>): Promise<T>;
  /** Stops the run of the thread, if there is one, on whichever node; resolves when it has ended or a second has passed. */
  abort(threadId: string): Promise<void>;
  /** Stops all runs: others have taken this process for gone and closed them. */
  interrupt(): void;
  /** Begins no more runs, gives those that go on `drainMs` to end, stops the rest, and waits until their end is kept. */
  close(drainMs: number): Promise<void>;
}

interface ActiveRun extends Run {
  readonly stop: AbortController;
}

/** Makes the runs of a process; none is going on. */
export function createRuns(dependencies: RunsDependencies): Runs {
  const { db, clock, brand, runsPerUserMax, runsMax, changes, watches, nodeId } = dependencies;
  const exclusively = createLocks();
  const active = new Map<string, ActiveRun>();
  /** Places taken, by user; taken before the store is asked, so that parallel calls cannot pass the cap. */
  const places = new Map<number, number>();
  let placesTaken = 0;
  let isClosing = false;
  /** Why no run may go on, once that is so. */
  let stopped: InlayError | null = null;
  const idle = Promise.withResolvers<void>();
  let lastMessageMs = 0;

  function takePlace(userId: number): void {
    if (isClosing) throw new InlayError('NOT_READY', 'The server is stopping.', { retryAfterSeconds });
    const own = places.get(userId) ?? 0;
    if (own >= runsPerUserMax || placesTaken >= runsMax) {
      throw new InlayError('TOO_MANY_RUNS', 'Too many answers are being written at this moment.', {
        retryAfterSeconds,
      });
    }
    places.set(userId, own + 1);
    placesTaken += 1;
  }

  function givePlaceBack(userId: number): void {
    const own = (places.get(userId) ?? 1) - 1;
    if (own === 0) places.delete(userId);
    else places.set(userId, own);
    placesTaken -= 1;
    if (isClosing && placesTaken === 0) idle.resolve();
  }

  /** An id that this process has not given before: the clock's milliseconds, or the next that are free. */
  function nextMessageId(): string {
    lastMessageMs = Math.max(clock().getTime(), lastMessageMs + 1);
    return `${lastMessageMs}-message`;
  }

  async function begin(request: StartRequest, history: readonly Message[]): Promise<Started> {
    const { principal, agentId, threadId, input } = request;
    const { accountId, userId, scopeId } = principal;
    const owner: ThreadOwner = { accountId, userId, scopeId, agentId };
    const title = [...input].slice(0, titleCharactersMax).join('');
    while (true) {
      const messageId = request.messageId ?? nextMessageId();
      const inserted = await insertRun(db, { nodeId, owner, threadId, messageId, input, title }, clock());
      if (inserted.kind === 'inserted') {
        const run = launch(request, { id: inserted.runId, threadId: inserted.threadId }, history, inserted.message);
        return { kind: 'started', run, history: history.map(messageFrame) };
      }
      const stored = await findRun(db, owner, messageId);
      if (stored === undefined) throw runInProgress();
      if (request.messageId !== undefined) return { kind: 'repeated', stored };
    }
  }

  /** From here on the run belongs to nobody but itself. */
  function launch(
    request: StartRequest,
    ids: { id: string; threadId: string },
    history: readonly Message[],
    question: Message,
  ): Run {
    const { principal, deploymentId, requestId } = request;
    const log = createThreadLog();
    log.append(messageFrame(question));
    const stop = new AbortController();
    const { messages, resultIds } = toConversation(history);
    const asked: ConversationMessage = { role: 'user', content: question.content };
    const watch = watches.watch(principal);
    watch.signal.addEventListener('abort', () => stop.abort(watch.signal.reason), { once: true });
    const onLost = (reason: InlayError): void => stop.abort(reason);
    const onEnd = (): void => {
      watch[Symbol.dispose]();
      active.delete(ids.threadId);
      givePlaceBack(principal.userId);
    };
    const agentInput = {
      messages: [...messages, asked],
      resultIds,
      principal,
      deploymentId,
      requestId,
      signal: stop.signal,
    };
    const done = writeRun(
      dependencies,
      { ...ids, log, state: startRun(brand, question.sort + 1), onEnd, onLost },
      agentInput,
    );
    const run: ActiveRun = {
      ...ids,
      messageId: question.id,
      firstSort: question.sort,
      log,
      done,
      stop,
      stopping: stop.signal,
    };
    active.set(ids.threadId, run);
    if (stopped !== null) stop.abort(stopped);
    return run;
  }

  async function startInThread(request: StartRequest): Promise<Started> {
    const { principal, agentId, threadId, messageId } = request;
    if (messageId !== undefined) {
      const stored = await findRun(db, { userId: principal.userId, agentId }, messageId);
      if (stored !== undefined) return { kind: 'repeated', stored };
    }
    if (threadId !== null && active.has(threadId)) throw runInProgress();
    takePlace(principal.userId);
    let isLaunched = false;
    try {
      const history = threadId === null ? [] : await readMessages(db, threadId);
      const started = await begin(request, history);
      isLaunched = started.kind === 'started';
      return started;
    } finally {
      if (!isLaunched) givePlaceBack(principal.userId);
    }
  }

  const subscription = changes.subscribe((news) => {
    if (news.kind === 'run-abort') active.get(news.id)?.stop.abort(stoppedByUser());
  });

  /** Tells the other nodes, and looks whether the one that writes the run has ended it. */
  async function abortElsewhere(threadId: string): Promise<void> {
    if (!(await isRunning(db, threadId))) return;
    await publish(db, { kind: 'run-abort', id: threadId });
    const deadlineMs = performance.now() + abortWaitMs;
    do await pause(abortLookMs);
    while (performance.now() < deadlineMs && (await isRunning(db, threadId)));
  }

  return {
    start(request) {
      const { principal, agentId, threadId, messageId } = request;
      const inThread = (): Promise<Started> =>
        threadId === null ? startInThread(request) : exclusively(threadId, () => startInThread(request));
      // The same message sent twice at once: the second waits until the first has begun its run, then joins it.
      return messageId === undefined
        ? inThread()
        : exclusively(JSON.stringify([principal.userId, agentId, messageId]), inThread);
    },

    whileNoneStarts: (threadId, read) => exclusively(threadId, () => read(active.get(threadId))),

    async abort(threadId) {
      const run = await exclusively(threadId, async () => active.get(threadId));
      if (run === undefined) return abortElsewhere(threadId);
      run.stop.abort(stoppedByUser());
      await withinMs(run.done, abortWaitMs);
    },

    interrupt() {
      for (const { stop } of active.values()) stop.abort(new InlayError(interrupted.code, interrupted.message));
    },

    async close(drainMs) {
      isClosing = true;
      if (placesTaken === 0) idle.resolve();
      await withinMs(idle.promise, drainMs);
      stopped = new InlayError(interrupted.code, interrupted.message);
      for (const { stop } of active.values()) stop.abort(stopped);
      await idle.promise;
      subscription[Symbol.dispose]();
    },
  };
}

function stoppedByUser(): InlayError {
  return new InlayError('ABORTED', 'Stopped by the user.');
}

function runInProgress(): InlayError {
  return new InlayError('RUN_IN_PROGRESS', 'Streaming for thread is in progress');
}

/** Resolves with the work, or when the time is over. */
async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, over]);
  clearTimeout(timer);
}
