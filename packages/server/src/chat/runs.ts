/**
 * The runs of this process. A run lives apart from any connection: it is written to its log in the store, which any node can read;
 * nobody has to listen for it to go on, and another node carries it on when this one can not.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Limits } from '@inlay/contract/limits.ts';
import type { Kysely } from 'kysely';
import type { RunAgent } from '../agent/run-agent.ts';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Changes } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';
import type { Metrics } from '../telemetry/telemetry.ts';
import type { Principal } from '../users/principal.ts';
import type { PrincipalWatches } from '../users/principal-watch.ts';
import { withinMs } from '../waiting.ts';
import { handOnRuns } from './claim-runs.ts';
import { stoppedByUser } from './end-causes.ts';
import { type Message, noUsage, startRun } from './frames.ts';
import { createLogWriter } from './log-writer.ts';
import { createRunPlaces } from './run-queue.ts';
import { askAbort, findRun, insertRun, isRunning, type RunInsertion, type StoredRun } from './run-store.ts';
import { createRunWork, type RunUser } from './run-work.ts';
import { createRunTaker } from './take-runs.ts';
import type { LogReaders } from './thread-log.ts';

/** Characters of the first input that become the title of a thread. */
const titleCharactersMax = 80;
/** How long an abort waits for the run to end, in milliseconds. */
const abortWaitMs = 1000;
/** How often it looks into the store meanwhile, when another node writes the run. */
const abortLookMs = 20;
/** How long agents that are told to stop may take when the process ends. */
const stopWaitMs = 2000;
const retryAfterSeconds = 5;

/** The limits on runs (settings.md). */
export type RunLimits = Pick<
  Limits,
  | 'runsPerUserMax'
  | 'runsPerAccountMax'
  | 'runsMax'
  | 'runsWaitingMax'
  | 'runLeaseMs'
  | 'runAttemptsMax'
  | 'threadMessagesMax'
  | 'threadBytesMax'
>;

/** What runs need. `brand` stands for `platform` in `graphPath`. */
export interface RunsDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly metrics: Pick<Metrics, 'runStarted' | 'runEnded' | 'runCarriedOn' | 'runLeft' | 'logFlushed'>;
  readonly brand: string;
  readonly runAgent: RunAgent;
  readonly limits: RunLimits;
  /** Brings word from other nodes. */
  readonly changes: Changes;
  /** Tells when whoever asked may not ask any more. */
  readonly watches: PrincipalWatches;
  /** This process. */
  readonly nodeId: string;
  /** Gets every line of the runs of this process, once it is durable. */
  readonly readers: LogReaders;
}

/** Where a user message goes that asks for a run. */
export interface StartRequest {
  readonly principal: Principal;
  readonly agent: { readonly id: number; readonly name: string; readonly deploymentId: number };
  /** The branch of the data model; null: the default one. */
  readonly branch: string | null;
  /** A thread of this user and agent; null: a new one. */
  readonly threadId: string | null;
  readonly input: string;
  /** The client's own id for the message, if it gave one. */
  readonly messageId: string | undefined;
  readonly requestId: string;
}

/** `repeated`: the message id began this run before, maybe with another text or in another thread. */
export type Started =
  | {
      readonly kind: 'started';
      readonly runId: string;
      readonly threadId: string;
      /** The sort number of the question: everything below is history, and closed. */
      readonly firstSort: number;
      /** The user's message. It is no line of the run's log: those begin with the agent's first word, at seq 1. */
      readonly question: Message;
      /** The thread before the question, in order; of a long one the latest messages only. */
      readonly history: readonly Message[];
    }
  | { readonly kind: 'repeated'; readonly stored: StoredRun };

/** The runs of this process. */
export interface Runs {
  /**
   * Begins a run: thread, run and user message are kept when it resolves.
   * @throws InlayError RUN_IN_PROGRESS, TOO_MANY_RUNS, THREAD_TOO_LONG, NOT_FOUND (what it belongs to is deleted), NOT_READY (the process is stopping).
   */
  start(request: StartRequest): Promise<Started>;
  /** Stops the run of the thread, if there is one, on whichever node; resolves when its end is durable or a second has passed. */
  abort(threadId: string): Promise<void>;
  /** How many runs this process works on, and how many wait until it does. */
  counts(): { readonly active: number; readonly waiting: number };
  /** Carries on what nodes that are gone have left, as far as there is room; gives how many runs. To be called again and again. */
  carryOn(): Promise<number>;
  /**
   * Begins no more runs, gives those that go on `drainMs` to end, then leaves the rest to other nodes: their streams end without a
   * usage line. Resolves when nothing is written any more.
   */
  close(drainMs: number): Promise<void>;
}

/** Makes the runs of a process; none is going on. */
export function createRuns(dependencies: RunsDependencies): Runs {
  const { db, clock, log, metrics, brand, runAgent, limits, changes, watches, nodeId, readers } = dependencies;
  const { runsPerUserMax, runsPerAccountMax, runsMax, runsWaitingMax, runLeaseMs, runAttemptsMax } = limits;
  const writer = createLogWriter({ db, clock, log, metrics, nodeId, readers, leaseMs: runLeaseMs });
  const places = createRunPlaces(runsMax, runsWaitingMax);
  const work = createRunWork({ log, metrics, runAgent, watches, writer, places });
  const taking = { db, log, metrics, brand, nodeId, runAttemptsMax, leaseMs: runLeaseMs, work, places };
  const taker = createRunTaker(taking);
  /** Runs that are being begun, with whose they are: counted before the store is asked, so that parallel calls cannot pass a cap. */
  const beginning = new Map<string, RunUser>();
  let isClosing = false;
  let lastMessageMs = 0;

  /** An id that this process has not given before: the clock's milliseconds, or the next that are free. */
  function nextMessageId(): string {
    lastMessageMs = Math.max(clock().getTime(), lastMessageMs + 1);
    return `${lastMessageMs}-message`;
  }

  /** By what this process knows alone; the store counts the runs of all. */
  function isFull({ userId, accountId }: RunUser): boolean {
    const count = (isCounted: (user: RunUser) => boolean): number =>
      [...beginning.values()].filter(isCounted).length + work.count(isCounted);
    return (
      places.room - beginning.size <= 0 ||
      count((user) => user.userId === userId) >= runsPerUserMax ||
      count((user) => user.accountId === accountId) >= runsPerAccountMax
    );
  }

  async function begin(request: StartRequest, runId: string): Promise<Started> {
    const { principal, branch, threadId, input, requestId } = request;
    const { id, name, deploymentId } = request.agent;
    const agent = { id, name, deploymentId };
    const title = [...input.replaceAll(/\s+/g, ' ').trim()].slice(0, titleCharactersMax).join('').trimEnd();
    while (true) {
      const messageId = request.messageId ?? nextMessageId();
      const startedAt = clock();
      const run = { nodeId, runId, principal, agent, branch, threadId, messageId, input, title, requestId };
      const inserted = await insertRun(db, run, limits, startedAt);
      if (inserted.kind === 'inserted') {
        const { message: question, history } = inserted;
        const firstSort = question.sort;
        const progress = { seq: 0, state: startRun(brand, firstSort + 1), resume: null, usage: noUsage };
        const ids = { id: runId, threadId: inserted.threadId, attempts: 1 };
        metrics.runStarted();
        const task = { history, question };
        work.launch({ ...ids, principal, agent, branch, requestId, startedAt, progress, task });
        return { kind: 'started', runId, threadId: inserted.threadId, firstSort, question, history };
      }
      const repeated = await refuse(request, messageId, inserted.kind);
      if (repeated !== null) return repeated;
    }
  }

  /** Why a run was not begun: the one that the message began before; null when another message id is to be tried. */
  async function refuse(
    request: StartRequest,
    messageId: string | null,
    why: Exclude<RunInsertion['kind'], 'inserted'>,
  ): Promise<Started | null> {
    const { principal, agent, threadId } = request;
    const { userId } = principal;
    const stored = messageId === null ? undefined : await findRun(db, { userId, agentId: agent.id }, messageId);
    if (stored !== undefined) return request.messageId === undefined ? null : { kind: 'repeated', stored };
    if (why === 'too long') {
      throw new InlayError('THREAD_TOO_LONG', 'The chat thread is as long as one may be. Begin a new one.');
    }
    if (why === 'refused' || (threadId !== null && (await isRunning(db, threadId)))) throw runInProgress();
    throw new InlayError('TOO_MANY_RUNS', 'Too many answers are being written at this moment.', { retryAfterSeconds });
  }

  const subscription = changes.subscribe((news) => {
    if (news.kind === 'run-abort') work.inThread(news.id)?.stop(stoppedByUser());
  });

  return {
    async start(request) {
      if (isClosing) throw new InlayError('NOT_READY', 'The server is stopping.', { retryAfterSeconds });
      const { principal } = request;
      await taker.whenChosen();
      if (isFull(principal)) {
        const repeated = await refuse(request, request.messageId ?? null, 'full');
        if (repeated !== null) return repeated;
      }
      const runId = randomUUID();
      beginning.set(runId, principal);
      try {
        return await begin(request, runId);
      } finally {
        beginning.delete(runId);
        work.settle();
      }
    },

    async abort(threadId) {
      const deadlineMs = performance.now() + abortWaitMs;
      const run = work.inThread(threadId);
      if (run !== undefined) {
        run.stop(stoppedByUser());
        const isDone = await withinMs(
          run.done.then(() => true),
          abortWaitMs,
          false,
        );
        if (isDone && !run.isLost) return;
      }
      // Also where this node could not bring it to its end: whoever carries the run on finds that it is to stop.
      if (!(await askAbort(db, threadId, clock()))) return;
      do await pause(abortLookMs);
      while (performance.now() < deadlineMs && (await isRunning(db, threadId)));
    },

    counts: () => ({ active: places.taken, waiting: places.waiting }),

    carryOn: async () => (isClosing ? 0 : await taker.take(() => [...beginning.keys()])),

    async close(drainMs) {
      isClosing = true;
      const whenQuiet = (): Promise<void> => work.whenIdle(() => beginning.size === 0 && !taker.isTaking);
      await withinMs(whenQuiet(), drainMs, undefined);
      const left = work.leave();
      const isAnyLeft = left > 0 || beginning.size > 0 || taker.isTaking;
      await withinMs(whenQuiet(), stopWaitMs, undefined);
      await writer.idle();
      if (isAnyLeft) {
        await handOnRuns(db, nodeId).then(
          () => log.info({ runs: left }, 'runs that go on are handed on'),
          (err: unknown) => log.error({ err }, 'runs could not be handed on'),
        );
      }
      subscription[Symbol.dispose]();
    },
  };
}

function runInProgress(): InlayError {
  return new InlayError('RUN_IN_PROGRESS', 'Streaming for thread is in progress');
}
