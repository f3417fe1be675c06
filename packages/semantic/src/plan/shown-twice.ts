/** Bounds within the hour that clocks show twice, when they are put back: what lies before or behind one is no single stretch of the wall clock then. */
import { parseTime } from '../parse-time.ts';
import { shiftTime } from '../query/calendar.ts';
import { localToUtc, utcToLocal } from '../query/zoned-time.ts';

const secondsOf = (time: string): number => Date.parse(`${time.slice(0, 19).replace(' ', 'T')}Z`) / 1000;
const shifted = (time: string, seconds: number): string => shiftTime(time, { months: 0, days: 0, seconds }) ?? time;

/**
 * Whether a wall clock's time is shown twice, and the instant is the second one.
 * @returns the time at which clocks were put back, as they showed it before (`03:00`, where they went from 3 to 2); null: it is not
 * @param instant UTC, as parse-time.ts gives it
 */
export function putBackBefore(instant: string, timezone: string): string | null {
  const first = localToUtc(utcToLocal(instant, timezone), timezone);
  const length = secondsOf(instant) - secondsOf(first);
  if (length <= 0) return null;
  // Between the two the clock is put back once: halve until that second is found.
  let [before, behind] = [0, length];
  while (behind - before > 1) {
    const middle = Math.floor((before + behind) / 2);
    const time = shifted(first, middle);
    if (localToUtc(utcToLocal(time, timezone), timezone) === time) before = middle;
    else behind = middle;
  }
  // Clocks are put back at a whole second.
  const local = shifted(utcToLocal(first, timezone), behind);
  return parseTime(local.slice(0, 19));
}

/** Whether clocks will show again what they show at an instant, and something before it, too. */
export function isShownAgain(instant: string, timezone: string): boolean {
  const local = utcToLocal(instant, timezone);
  const later = utcToLocal(shifted(instant, 86_400), timezone);
  const length = secondsOf(local) + 86_400 - secondsOf(later);
  if (length <= 0) return false;
  const [again, sooner] = [length, length - 1].map((seconds) => utcToLocal(shifted(instant, seconds), timezone));
  return again === local && sooner === shifted(local, -1);
}
