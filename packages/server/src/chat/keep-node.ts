/**
 * This node and its runs among those of others on the same store: it says that it is alive, and looks every second for runs that
 * nobody writes and for those of its own that are to be stopped.
 */
import type { Kysely } from 'kysely';
import { repeat } from '../repeat.ts';
import { forgetNodes, type Node } from '../store/node.ts';
import { logOutages, type OutageLog } from '../store/outages.ts';
import type { Schema } from '../store/schema.ts';
import { closeFirstRuns } from './interrupted-runs.ts';
import type { Runs } from './runs.ts';

/** How often it looks. */
const lookMs = 1000;
/** Every how many looks it closes what nodes of version 0.1 have left, which may run beside this one during an upgrade. */
const looksPerClosing = 10;

/** What it needs. `isAlone`: no other process can use this store now, so that all earlier nodes are gone. */
export interface KeepNodeDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: OutageLog;
  readonly node: Node;
  readonly runs: Pick<Runs, 'carryOn'>;
  readonly isAlone: boolean;
  /** A node that has said nothing for so long is gone. */
  readonly leaseMs: number;
}

/**
 * Starts the node, takes over the runs that nodes which are gone have left, and goes on to do so until disposed. To be called when
 * the store has its tables, before the first run.
 */
export async function keepNode({
  db,
  clock,
  log,
  node,
  runs,
  isAlone,
  leaseMs,
}: KeepNodeDependencies): Promise<AsyncDisposable> {
  if (isAlone) await forgetNodes(db);
  await node.start();
  await closeFirstRuns(db, leaseMs, clock());
  await runs.carryOn();
  const outages = logOutages(log, 'runs that nobody writes could not be looked for');
  let looks = 0;
  const look = async (): Promise<void> => {
    await runs.carryOn();
    looks += 1;
    if (looks % looksPerClosing === 0) await closeFirstRuns(db, leaseMs, clock());
    outages.succeeded();
  };
  return repeat(look, { firstMs: lookMs, everyMs: lookMs }, outages.failed);
}
