/** The sweeper of a process: rounds of store/sweep.ts, one after the other, until it is disposed. */
import type { Kysely } from 'kysely';
import { repeat } from '../repeat.ts';
import type { Metrics } from '../telemetry/telemetry.ts';
import type { Schema } from './schema.ts';
import { type SweepSettings, sweep } from './sweep.ts';

/** What the sweeper needs. */
export interface SweeperDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly log: { error(fields: object, message: string): void };
  readonly metrics: Pick<Metrics, 'swept' | 'sweepEnded'>;
  readonly settings: SweepSettings;
}

/** Begins a round now and then one `everyMs` after the end of each. Disposing waits for the batch that is under way. */
export function startSweeper(
  { db, clock, log, metrics, settings }: SweeperDependencies,
  everyMs: number,
): AsyncDisposable {
  return repeat(
    async (signal) => metrics.sweepEnded(await sweep(db, clock(), settings, { removed: metrics.swept, signal })),
    { firstMs: 0, everyMs },
    (err) => {
      metrics.sweepEnded('failed');
      log.error({ err }, 'what has ended could not be removed');
    },
  );
}
