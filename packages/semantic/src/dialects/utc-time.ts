/** Wall clocks as UTC, in engines that read one which is there twice as the later time. */
import type { Dialect } from './dialect.ts';

/**
 * See Dialect.utcTime.
 * @param read the engine's own reading: the later of two times; what is left out, by what the zone was off by before
 */
export function earlierUtcTime(
  sql: string,
  timezone: string,
  { addInterval, localTime }: Pick<Dialect, 'addInterval' | 'localTime'>,
  read: (local: string) => string,
): string {
  const byDays = (time: string, days: number) => addInterval(time, { months: 0, days, seconds: 0 });
  // Read by what the zone was off by a day before: of two times it is the earlier, and of one it is that, or another.
  const before = byDays(read(byDays(sql, -1)), 1);
  return `CASE WHEN ${localTime(before, timezone)} = ${sql} THEN ${before} ELSE ${read(sql)} END`;
}
