/** Taking over the runs that nobody writes any more, and stopping those of this node that are to be stopped. */
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Schema } from '../store/schema.ts';
import { isStoreAway } from '../store/store-away.ts';
import type { Metrics } from '../telemetry/telemetry.ts';
import { type RunProgress, readDamaged, readProgress } from './carry-on.ts';
import { type ClaimedRun, claimRuns, readRunsNews, readStoppedRun } from './claim-runs.ts';
import { failedInside, interruption, stoppedByUser } from './end-causes.ts';
import type { RunPlaces } from './run-queue.ts';
import type { RunTask, RunWork } from './run-work.ts';

/** Runs that are taken in one round. */
const claimsMax = 20;

/** What it needs. */
export interface RunTakerDependencies {
  readonly db: Kysely<Schema>;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly metrics: Pick<Metrics, 'runCarriedOn'>;
  readonly brand: string;
  readonly nodeId: string;
  readonly runAttemptsMax: number;
  readonly leaseMs: number;
  readonly work: RunWork;
  readonly places: RunPlaces;
}

/** Takes runs over. */
export interface RunTaker {
  /** A round is under way. */
  readonly isTaking: boolean;
  /**
   * One round. @param listBeginning the runs that this node is about to begin.
   * @returns how many runs were taken.
   */
  take(listBeginning: () => readonly string[]): Promise<number>;
  /**
   * Resolves when no runs are just being chosen. A run that began meanwhile would stand in the store as one of this node that nobody
   * writes, and be taken: whoever begins one waits, and is on the list of the next round.
   */
  whenChosen(): Promise<void>;
}

/** Makes the taker of a process. */
export function createRunTaker(dependencies: RunTakerDependencies): RunTaker {
  const { db, log, metrics, brand, nodeId, runAttemptsMax, leaseMs, work, places } = dependencies;
  /** This node's by the store, but not yet at work: the store went away in between. */
  const claimed = new Map<string, ClaimedRun>();
  let isTaking = false;
  let choosing: Promise<void> = Promise.resolve();

  /** Why the run ends without its agent. */
  function causeOf({ isAbortAsked, attempts, agent }: ClaimedRun): InlayError | null {
    if (isAbortAsked) return stoppedByUser();
    if (attempts > runAttemptsMax) return interruption();
    return agent.name === null ? new InlayError('NOT_FOUND', 'The agent has been deleted.') : null;
  }

  async function takeUp(run: ClaimedRun): Promise<void> {
    const { log: entries, question, history } = await readStoppedRun(db, run);
    if (question === undefined) throw new Error('a run without its question');
    const progress = readProgress(brand, question.sort, entries);
    const cause = causeOf(run);
    const fields = { runId: run.id, requestId: run.requestId, attempt: run.attempts };
    if (cause === null) {
      log.info(fields, 'a run is carried on');
      metrics.runCarriedOn();
    } else if (cause.code === 'ABORTED') log.info(fields, 'a run that nobody wrote is stopped, as its user asked');
    else log.warn({ ...fields, code: cause.code }, 'a run that nobody wrote is given up');
    launch(run, progress, cause === null ? { history, question } : { cause });
  }

  /** A run that can not be gone on with: it ends, and what can be read of its messages is kept. */
  async function giveUp(run: ClaimedRun): Promise<void> {
    const { log: entries, question } = await readStoppedRun(db, run);
    launch(run, readDamaged(brand, question?.sort ?? 0, entries), { cause: causeOf(run) ?? failedInside() });
  }

  function launch(run: ClaimedRun, progress: RunProgress, task: RunTask): void {
    work.launch({ ...run, agent: { ...run.agent, name: run.agent.name ?? '' }, progress, task });
  }

  async function round(listBeginning: () => readonly string[]): Promise<number> {
    if (work.ids.length > 0) {
      const { aborted, lost } = await readRunsNews(db, nodeId, work.claims);
      for (const id of aborted) work.find(id)?.stop(stoppedByUser());
      for (const id of lost) work.find(id)?.leave();
    }
    // Now and not before: all that may be in the store when it is asked.
    const beginningIds = listBeginning();
    const ownIds = [...work.ids, ...beginningIds, ...claimed.keys()];
    const max = Math.min(claimsMax, places.room - beginningIds.length);
    if (max > 0) {
      const choice = claimRuns(db, { nodeId, ownIds, leaseMs, max });
      choosing = choice.then(
        () => undefined,
        () => undefined,
      );
      for (const run of await choice) claimed.set(run.id, run);
    }
    let taken = 0;
    for (const run of [...claimed.values()]) {
      try {
        await takeUp(run);
        taken += 1;
      } catch (err) {
        if (isStoreAway(err)) throw err;
        log.error({ err, runId: run.id, requestId: run.requestId }, 'a run could not be carried on');
        await giveUp(run);
      }
      claimed.delete(run.id);
    }
    return taken;
  }

  return {
    get isTaking() {
      return isTaking;
    },
    whenChosen: () => choosing,
    async take(listBeginning) {
      isTaking = true;
      try {
        return await round(listBeginning);
      } finally {
        isTaking = false;
        work.settle();
      }
    },
  };
}
