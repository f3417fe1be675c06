/** Buckets of time that a data model declares: a fiscal year, ten days, ninety minutes. */
import type { Interval } from '../model/data-model.ts';
import { parseTime } from '../parse-time.ts';
import { SemanticError } from '../semantic-error.ts';

/** Where buckets are counted from. */
export interface BinOrigin {
  /** `2024-04-01 00:00:00`. */
  readonly text: string;
  /** Its month, counted from the beginning of year 0: `year * 12 + month`, January being 1. */
  readonly months: number;
  /** From the beginning of its month. */
  readonly days: number;
  /** From midnight. */
  readonly seconds: number;
}

function refuse(message: string): never {
  throw new SemanticError('QUERY_NOT_PLANNABLE', `A granularity cannot be computed: ${message}.`);
}

/**
 * Reads the origin of buckets of an interval.
 * @throws SemanticError QUERY_NOT_PLANNABLE where buckets would not be of one kind: months beside days, or months that begin on a day
 *   that not every month has
 */
export function binOrigin(interval: Interval, origin: string): BinOrigin {
  const time = parseTime(origin) ?? refuse('its origin is no time');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = time.split(/\D/).map(Number);
  if (interval.months !== 0) {
    if (interval.days !== 0 || interval.seconds !== 0) refuse('its interval mixes months with days or times');
    if (interval.months < 0) refuse('its interval is negative');
    if (day > 28) refuse('its buckets of months begin on a day that not every month has');
  }
  return {
    text: time.slice(0, 19),
    months: year * 12 + month,
    days: day - 1,
    seconds: hour * 3600 + minute * 60 + second,
  };
}

/** The length of buckets that are no months, in seconds. @throws SemanticError QUERY_NOT_PLANNABLE when it is not positive */
export function binSeconds({ days, seconds }: Interval): number {
  const length = days * 86_400 + seconds;
  return length > 0 ? length : refuse('its interval is not positive');
}
