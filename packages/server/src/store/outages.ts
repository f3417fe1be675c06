/** What a loop that asks the store again and again logs while the store is away: one line when that begins, one when it is over. */
import { isStoreAway } from './store-away.ts';

/** What one loop tells of its rounds. */
export interface Outages {
  /** A round has failed. Of an outage the first failure is logged, as a warning; any other failure is a defect, and an error each time. */
  failed(error: unknown): void;
  /** A round has succeeded: an outage, if there was one, is over. */
  succeeded(): void;
}

/** Where it is logged. */
export type OutageLog = Record<'error' | 'warn' | 'info', (fields: object, message: string) => void>;

/** Begins without an outage. @param failure what could not be done, as the log says it. */
export function logOutages(log: OutageLog, failure: string): Outages {
  /** Failures of the outage that lasts. */
  let failures = 0;
  return {
    failed(err) {
      if (!isStoreAway(err)) {
        log.error({ err }, failure);
        return;
      }
      if (failures === 0) log.warn({ err }, failure);
      failures += 1;
    },
    succeeded() {
      if (failures > 0) log.info({ failures, was: failure }, 'the store is there again');
      failures = 0;
    },
  };
}
