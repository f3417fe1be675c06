/** The runs that this process works on, or is going to as soon as there is a place: each with its log, its agent, and its end. */
import type { AgentInput, RunAgent } from '../agent/run-agent.ts';
import type { InlayError } from '../errors.ts';
import type { Metrics } from '../telemetry/telemetry.ts';
import type { Principal } from '../users/principal.ts';
import type { PrincipalWatches } from '../users/principal-watch.ts';
import type { RunProgress } from './carry-on.ts';
import { resultIdOf, toConversation } from './conversation.ts';
import { interruption } from './end-causes.ts';
import type { Message } from './frames.ts';
import type { LogWriter } from './log-writer.ts';
import type { RunPlaces } from './run-queue.ts';
import type { RunClaim } from './write-log.ts';
import { writeRun } from './write-run.ts';

/** A run that is this node's by the store. */
export interface OwnRun {
  readonly id: string;
  readonly threadId: string;
  readonly attempts: number;
  readonly principal: Principal;
  readonly agent: AgentInput['agent'];
  readonly branch: string | null;
  readonly requestId: string;
  readonly startedAt: Date;
  /** Where it goes on from. */
  readonly progress: RunProgress;
  readonly task: RunTask;
}

/** What is to be done for a run: to answer a question, after the thread before it, or to end it without its agent, for a cause. */
export type RunTask =
  | { readonly history: readonly Message[]; readonly question: Message }
  | { readonly cause: InlayError };

/** A run that this process works on. */
export interface RunAtWork {
  readonly id: string;
  /** Resolves when its end is durable, or when it is not this node's any more. Never rejects. */
  readonly done: Promise<void>;
  /** It is not this node's any more: it goes on elsewhere, or will. */
  readonly isLost: boolean;
  /** The run ends soon, with what it has. */
  stop(reason: InlayError): void;
  /** Stops it without a word: it goes on elsewhere, or is deleted. */
  leave(): void;
}

/** Whose run it is. */
export type RunUser = Pick<Principal, 'userId' | 'accountId'>;

/** The work of a process. */
export interface RunWork {
  /** The runs at work and those that wait. */
  readonly ids: readonly string[];
  /** The same, each with its attempt. */
  readonly claims: readonly RunClaim[];
  /** From here on the run belongs to nobody but itself. */
  launch(run: OwnRun): void;
  find(id: string): RunAtWork | undefined;
  inThread(threadId: string): RunAtWork | undefined;
  /** How many runs there are whose user is counted. */
  count(isCounted: (user: RunUser) => boolean): number;
  /** Stops all without a word, and those that are launched from now on: they go on elsewhere. @returns how many there are. */
  leave(): number;
  /** Resolves when there is no run and `isQuiet` holds; it is asked again whenever a run ends and at {@link RunWork.settle}. */
  whenIdle(isQuiet: () => boolean): Promise<void>;
  settle(): void;
}

interface Entry extends RunAtWork {
  readonly threadId: string;
  readonly user: RunUser;
  readonly attempts: number;
}

/** What work needs. */
export interface RunWorkDependencies {
  readonly log: { error(fields: object, message: string): void };
  readonly metrics: Pick<Metrics, 'runLeft'>;
  readonly runAgent: RunAgent;
  readonly watches: PrincipalWatches;
  readonly writer: LogWriter;
  readonly places: RunPlaces;
}

/** Makes the work of a process; there is none. */
export function createRunWork(dependencies: RunWorkDependencies): RunWork {
  const { log, metrics, runAgent, watches, writer, places } = dependencies;
  const byId = new Map<string, Entry>();
  const byThread = new Map<string, Entry>();
  let news = Promise.withResolvers<void>();
  let isLeft = false;

  function settle(): void {
    news.resolve();
    news = Promise.withResolvers();
  }

  function launch(run: OwnRun): void {
    const { id, threadId, principal, requestId, progress, task } = run;
    const stop = new AbortController();
    const watch = watches.watch(principal);
    watch.signal.addEventListener('abort', () => stop.abort(watch.signal.reason), { once: true });
    const runLog = writer.open({ id, attempts: run.attempts }, progress.seq, () => stop.abort(interruption()));
    const done = Promise.withResolvers<void>();
    const entry: Entry = {
      id,
      threadId,
      user: principal,
      attempts: run.attempts,
      done: done.promise,
      get isLost() {
        return runLog.isLost;
      },
      stop: (reason) => stop.abort(reason),
      leave() {
        // First the log, which takes nothing more: what the agent says now is not the run's.
        runLog.drop();
        stop.abort(interruption());
      },
    };
    byId.set(id, entry);
    byThread.set(threadId, entry);
    const write = async (): Promise<void> => {
      await writeRun(
        { log, runAgent },
        { id, requestId, runLog, state: progress.state, usage: progress.usage, signal: stop.signal },
        () => toInput(run, stop.signal),
      );
      watch[Symbol.dispose]();
      if (runLog.isLost) metrics.runLeft();
      // One that was lost may be at work here again, before the agent that it had has stopped.
      if (byId.get(id) === entry) byId.delete(id);
      if (byThread.get(threadId) === entry) byThread.delete(threadId);
      done.resolve();
      settle();
    };
    // First of all: the agent of a run that is to end is not begun.
    if ('cause' in task) stop.abort(task.cause);
    if (isLeft) entry.leave();
    const hurry = places.enter(principal.accountId, write);
    // One that is told to stop while it waits has nothing to do but to end, and needs no place for that.
    if (stop.signal.aborted) hurry();
    else stop.signal.addEventListener('abort', hurry, { once: true });
  }

  return {
    get ids() {
      return [...byId.keys()];
    },
    get claims() {
      return [...byId.values()].map(({ id, attempts }) => ({ id, attempts }));
    },
    launch,
    find: (id) => byId.get(id),
    inThread: (threadId) => byThread.get(threadId),
    count: (isCounted) => [...byId.values()].filter(({ user }) => isCounted(user)).length,
    leave() {
      isLeft = true;
      const left = [...byId.values()];
      for (const entry of left) entry.leave();
      return left.length;
    },
    async whenIdle(isQuiet) {
      while (byId.size > 0 || !isQuiet()) await news.promise;
    },
    settle,
  };
}

function toInput(run: OwnRun, signal: AbortSignal): AgentInput {
  const { principal, agent, branch, requestId, startedAt, progress, task } = run;
  if ('cause' in task) throw task.cause;
  const { history, question } = task;
  const { messages, resultIds } = toConversation(history);
  const ownResults = [...(progress.resume?.results.values() ?? [])];
  return {
    messages: [...messages, { role: 'user', content: question.content }],
    resultIds: [...resultIds, ...ownResults.flatMap(resultIdOf)],
    principal,
    agent,
    branch,
    requestId,
    startedAt,
    resume: progress.resume,
    signal,
  };
}
