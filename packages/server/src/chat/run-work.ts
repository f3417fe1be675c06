/** The runs that this process works on, or is going to as soon as there is a place: each with its log, its agent, and its end. */
import type { AgentInput, RunAgent } from '../agent/run-agent.ts';
import type { InlayError } from '../errors.ts';
import type { Principal } from '../users/principal.ts';
import type { PrincipalWatches } from '../users/principal-watch.ts';
import type { Left } from './carry-on.ts';
import { resultIdOf, toConversation } from './conversation.ts';
import type { Message } from './frames.ts';
import { interruption } from './interrupted-runs.ts';
import type { LogWriter, RunLog } from './log-writer.ts';
import type { RunPlaces } from './run-queue.ts';
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
  /** The thread before the question. */
  readonly history: readonly Message[];
  readonly question: Message;
  /** Where it goes on from. */
  readonly left: Left;
  /** Why it is to end without its agent; null: it is not. */
  readonly cause: InlayError | null;
}

/** A run that this process works on. */
export interface RunAtWork {
  readonly id: string;
  /** Resolves when its end is durable, or when it is not this node's any more. Never rejects. */
  readonly done: Promise<void>;
  /** The run ends soon, with what it has. */
  stop(reason: InlayError): void;
}

/** The work of a process. */
export interface RunWork {
  /** The runs at work and those that wait. */
  readonly ids: readonly string[];
  /** From here on the run belongs to nobody but itself. */
  launch(run: OwnRun): void;
  find(id: string): RunAtWork | undefined;
  inThread(threadId: string): RunAtWork | undefined;
  /** How many runs of the user there are. */
  countOf(userId: number): number;
  /**
   * Stops all without a word: they go on elsewhere. @returns how many.
   * @param isForGood those that are launched from now on are left as well.
   */
  leave(isForGood: boolean): number;
  /** Resolves when there is no run and `isQuiet` holds; it is asked again whenever a run ends and at {@link RunWork.settle}. */
  whenIdle(isQuiet: () => boolean): Promise<void>;
  settle(): void;
}

interface Entry extends RunAtWork {
  readonly threadId: string;
  readonly userId: number;
  readonly runLog: RunLog;
}

/** What work needs. */
export interface RunWorkDependencies {
  readonly log: { error(fields: object, message: string): void };
  readonly runAgent: RunAgent;
  readonly watches: PrincipalWatches;
  readonly writer: LogWriter;
  readonly places: RunPlaces;
}

/** Makes the work of a process; there is none. */
export function createRunWork({ log, runAgent, watches, writer, places }: RunWorkDependencies): RunWork {
  const byId = new Map<string, Entry>();
  const byThread = new Map<string, Entry>();
  let news = Promise.withResolvers<void>();
  let isLeft = false;

  function leaveRun({ runLog, stop }: Entry): void {
    // First the log, which takes nothing more: what the agent says now is not the run's.
    runLog.drop();
    stop(interruption());
  }

  function settle(): void {
    news.resolve();
    news = Promise.withResolvers();
  }

  function launch(run: OwnRun): void {
    const { id, threadId, principal, left } = run;
    const stop = new AbortController();
    const watch = watches.watch(principal);
    watch.signal.addEventListener('abort', () => stop.abort(watch.signal.reason), { once: true });
    const runLog = writer.open({ id, attempts: run.attempts }, left.seq, () => stop.abort(interruption()));
    const done = Promise.withResolvers<void>();
    const entry: Entry = {
      id,
      threadId,
      userId: principal.userId,
      runLog,
      done: done.promise,
      stop: (reason) => stop.abort(reason),
    };
    byId.set(id, entry);
    byThread.set(threadId, entry);
    const write = async (): Promise<void> => {
      await writeRun(
        { log, runAgent },
        { id, runLog, state: left.state, usage: left.usage },
        toInput(run, stop.signal),
      );
      watch[Symbol.dispose]();
      byId.delete(id);
      if (byThread.get(threadId) === entry) byThread.delete(threadId);
      done.resolve();
      settle();
    };
    // First of all: the agent of a run that is to end is not begun.
    if (run.cause !== null) stop.abort(run.cause);
    if (isLeft) leaveRun(entry);
    const hurry = places.enter(principal.accountId, write);
    // One that is told to stop while it waits has nothing to do but to end, and needs no place for that.
    if (stop.signal.aborted) hurry();
    else stop.signal.addEventListener('abort', hurry, { once: true });
  }

  return {
    get ids() {
      return [...byId.keys()];
    },
    launch,
    find: (id) => byId.get(id),
    inThread: (threadId) => byThread.get(threadId),
    countOf: (userId) => [...byId.values()].filter((entry) => entry.userId === userId).length,
    leave(isForGood) {
      isLeft ||= isForGood;
      const left = [...byId.values()];
      for (const entry of left) leaveRun(entry);
      return left.length;
    },
    async whenIdle(isQuiet) {
      while (byId.size > 0 || !isQuiet()) await news.promise;
    },
    settle,
  };
}

function toInput(run: OwnRun, signal: AbortSignal): AgentInput {
  const { principal, agent, branch, requestId, startedAt, history, question, left } = run;
  const { messages, resultIds } = toConversation(history);
  const ownResults = [...(left.resume?.results.values() ?? [])];
  return {
    messages: [...messages, { role: 'user', content: question.content }],
    resultIds: [...resultIds, ...ownResults.flatMap(resultIdOf)],
    principal,
    agent,
    branch,
    requestId,
    startedAt,
    resume: left.resume,
    signal,
  };
}
