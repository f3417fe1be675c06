/** Lengths of calendar time, and what can be said of them without a calendar. */
import type { Interval } from '../model/data-model.ts';

/** Whether it holds months. */
export const hasMonths = ({ months }: Interval): boolean => months !== 0;
/** Whether it holds days. */
export const hasDays = ({ days }: Interval): boolean => days !== 0;
/** Whether it holds seconds. */
export const hasSeconds = ({ seconds }: Interval): boolean => seconds !== 0;

/** The same length the other way. */
export const negate = ({ months, days, seconds }: Interval): Interval => ({
  months: 0 - months,
  days: 0 - days,
  seconds: 0 - seconds,
});

/** Part by part. Only with months in one of the two at most is it the same as adding one after the other. */
export const plus = (one: Interval, other: Interval): Interval => ({
  months: one.months + other.months,
  days: one.days + other.days,
  seconds: one.seconds + other.seconds,
});

/** About how many seconds it is long: months of 30.4 days. For limits only. */
export const roughSeconds = ({ months, days, seconds }: Interval): number =>
  months * 2_629_746 + days * 86_400 + seconds;

/**
 * What an interval consists of: `months` alone, `clock` (days and seconds, which move every time by the same length of wall clock and
 * never two to one place), or both.
 */
export function kindOf(interval: Interval): 'months' | 'clock' | 'mixed' {
  if (!hasMonths(interval)) return 'clock';
  return hasDays(interval) || hasSeconds(interval) ? 'mixed' : 'months';
}
