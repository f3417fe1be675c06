/** Taking over the runs that nobody writes any more, and stopping those of this node that are to be stopped. */
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { isStoreAway } from '../store/store-away.ts';
import { readLeft } from './carry-on.ts';
import { type ClaimedRun, claimRuns, findAborted, readLeftOver } from './claim-runs.ts';
import { noUsage } from './frames.ts';
import { interruption } from './interrupted-runs.ts';
import type { RunPlaces } from './run-queue.ts';
import type { RunWork } from './run-work.ts';
import { writeLog } from './write-log.ts';

/** Runs that are taken in one round. */
const claimsMax = 20;

/** What it needs. */
export interface RunTakerDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: { error(fields: object, message: string): void };
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
   * One round. @param beginningIds the runs that this node is about to begin.
   * @returns how many runs were taken.
   */
  take(beginningIds: readonly string[]): Promise<number>;
}

/** Makes the taker of a process. */
export function createRunTaker(dependencies: RunTakerDependencies): RunTaker {
  const { db, clock, log, brand, nodeId, runAttemptsMax, leaseMs, work, places } = dependencies;
  /** This node's by the store, but not yet at work: the store went away in between. */
  const claimed = new Map<string, ClaimedRun>();
  let isTaking = false;

  /** Why the run ends without its agent. */
  function causeOf({ isAbortAsked, attempts, agent }: ClaimedRun): InlayError | null {
    if (isAbortAsked) return new InlayError('ABORTED', 'Stopped by the user.');
    if (attempts > runAttemptsMax) return interruption();
    return agent.name === null ? new InlayError('NOT_FOUND', 'The agent has been deleted.') : null;
  }

  async function takeUp(run: ClaimedRun): Promise<void> {
    const { rows, messages } = await readLeftOver(db, run);
    const question = messages.find(({ id }) => id === run.messageId);
    if (question === undefined) throw new Error('a run without its question');
    const left = readLeft(brand, question.sort, rows);
    const history = messages.filter(({ sort }) => sort < question.sort);
    const agent = { ...run.agent, name: run.agent.name ?? '' };
    work.launch({ ...run, agent, history, question, left, cause: causeOf(run) });
  }

  /** A run of which nothing can be made any more. */
  async function giveUp(run: ClaimedRun): Promise<void> {
    const error = { code: 'INTERNAL', message: 'Something failed inside.', requestId: run.requestId };
    const end = { state: 'failed', usage: noUsage, error } as const;
    await writeLog(db, nodeId, [{ run, rows: [], closed: [], voided: [], end }], clock());
  }

  async function round(beginningIds: readonly string[]): Promise<number> {
    if (work.ids.length > 0) {
      for (const id of await findAborted(db, nodeId)) {
        work.find(id)?.stop(new InlayError('ABORTED', 'Stopped by the user.'));
      }
    }
    const ownIds = [...work.ids, ...beginningIds, ...claimed.keys()];
    const max = Math.min(claimsMax, places.room - beginningIds.length);
    if (max > 0) for (const run of await claimRuns(db, { nodeId, ownIds, leaseMs, max })) claimed.set(run.id, run);
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
    async take(beginningIds) {
      isTaking = true;
      try {
        return await round(beginningIds);
      } finally {
        isTaking = false;
        work.settle();
      }
    },
  };
}
