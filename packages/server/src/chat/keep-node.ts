/** This node and its runs among those of others on the same store: it says that it is alive, and closes what dead ones have left. */
import type { Kysely } from 'kysely';
import { repeat } from '../repeat.ts';
import { forgetNodes, type Node } from '../store/node.ts';
import type { Schema } from '../store/schema.ts';
import { closeInterruptedRuns } from './interrupted-runs.ts';
import type { Runs } from './runs.ts';

/** How often the runs of nodes that are gone are looked for. */
const closeMs = 5000;

/** What it needs. `isAlone`: no other process can use this store now, so that all earlier nodes are gone. */
export interface KeepNodeDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: { error(fields: object, message: string): void };
  readonly node: Node;
  readonly runs: Pick<Runs, 'interrupt'>;
  readonly isAlone: boolean;
}

/**
 * Starts the node, closes the runs that nodes which are gone have left, and goes on to do so until disposed. To be called when
 * the store has its tables, before the first run.
 */
export async function keepNode({
  db,
  clock,
  log,
  node,
  runs,
  isAlone,
}: KeepNodeDependencies): Promise<AsyncDisposable> {
  if (isAlone) await forgetNodes(db);
  await node.start(() => runs.interrupt());
  const close = async (): Promise<void> => void (await closeInterruptedRuns(db, clock()));
  await close();
  return repeat(close, { firstMs: closeMs, everyMs: closeMs }, (err) =>
    log.error({ err }, 'the runs of nodes that are gone could not be closed'),
  );
}
