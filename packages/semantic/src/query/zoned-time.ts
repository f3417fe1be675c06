/**
 * Wall clocks and UTC. Times are texts as `parse-time.ts` gives them: `YYYY-MM-DD HH:MM:SS.ffffff`. Pure, by `Intl` alone: no engine
 * is asked what a wall clock means, so that the same question reads the same rows on each of them.
 */
import { SemanticError } from '../semantic-error.ts';

/** A name of the zone database. Offsets (`+02:00`) are no zones: engines read their signs in different ways. */
const namePattern = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;
/** Written as the database spells names: some engines look them up in that spelling only. */
const capitalised = /^[A-Z][^/]*(\/[A-Z][^/]*)*$/;
const timePattern = /^(\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})\.(\d{6})$/;
const dayMs = 86_400_000;
/** Names may be written in any case, so there are many; making a formatter is what takes long. */
const maxKnown = 1_000;
const known = new Map<string, { readonly name: string; readonly format: Intl.DateTimeFormat } | null>();

/** The zone in which instants and wall clocks are the same. */
export const utc = 'UTC';

/**
 * The zone that a query is asked in: `UTC` for all names of that, and where none is given.
 * @throws SemanticError QUERY_NOT_PLANNABLE for a name of no zone
 */
export function zoneNamed(name: string | undefined): string {
  if (name === undefined) return utc;
  const known = timeZoneNamed(name);
  if (known !== null) return /^(Etc\/)?(UTC|UCT|Zulu|Universal)$/.test(known) ? utc : known;
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `No time zone "${name.slice(0, 64)}".`,
    'Write a name such as Europe/Berlin.',
  );
}

/** The name of a zone as engines know it (`europe/berlin` → `Europe/Berlin`), or null when there is none. */
export const timeZoneNamed = (name: string): string | null => zone(name)?.name ?? null;

/**
 * The wall clock in a zone → UTC. A wall clock that does not exist (clocks were put forward over it) is the first instant behind
 * the gap, one that exists twice is the earlier: `>=` and `<` then cut a day at its first instant, and no row falls between two days.
 * Dialect.utcTime, which reads values, differs in one thing: in a gap it keeps two times apart, which bounds need not.
 * @param timezone a name that {@link timeZoneNamed} knows
 */
export function localToUtc(local: string, timezone: string): string {
  const wall = read(local);
  const offsets = [wall.ms - dayMs, wall.ms + dayMs].map((near) => wallClock(near, timezone) - near);
  const instants = offsets.map((offset) => wall.ms - offset);
  const exact = instants.filter((instant) => wallClock(instant, timezone) === wall.ms);
  if (exact.length > 0) return write(Math.min(...exact), wall.fraction);
  // In the gap the wall clock is below `local` at the one end and above it at the other: halve until they meet, in seconds.
  let [before, behind] = [Math.min(...instants) - 1_000, Math.max(...instants)];
  while (behind - before > 1_000) {
    const middle = before + Math.floor((behind - before) / 2_000) * 1_000;
    if (wallClock(middle, timezone) > wall.ms) behind = middle;
    else before = middle;
  }
  return write(behind, '000000');
}

/**
 * UTC → what the wall clock in a zone shows.
 * @param timezone a name that {@link timeZoneNamed} knows
 */
export function utcToLocal(utc: string, timezone: string): string {
  const { ms, fraction } = read(utc);
  return write(wallClock(ms, timezone), fraction);
}

function zone(name: string) {
  const before = known.get(name);
  if (before !== undefined) return before;
  if (known.size >= maxKnown) known.clear();
  const found = namePattern.test(name) ? makeZone(name) : null;
  known.set(name, found);
  return found;
}

function makeZone(name: string) {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    const canonical = format.resolvedOptions().timeZone;
    const isCanonical = canonical.toLowerCase() === name.toLowerCase();
    // ICU's own names are the oldest ones, which not every engine's database has any more.
    return { name: !isCanonical && capitalised.test(name) ? name : canonical, format };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** What the wall clock shows at an instant, as the milliseconds at which a clock in UTC shows the same. Whole seconds. */
function wallClock(ms: number, timezone: string): number {
  const found = zone(timezone);
  if (found === null) throw new Error('not a time zone');
  const parts = new Map(found.format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const year = parts.get('era')?.startsWith('B') === true ? 1 - part('year') : part('year');
  return utcMs(year, part('month'), part('day'), part('hour'), part('minute'), part('second'));
}

/** `Date.UTC` reads years below 100 as 19xx. */
function utcMs(year: number, month: number, day: number, hour: number, minute: number, second: number): number {
  return new Date(Date.UTC(2000, month - 1, day, hour, minute, second)).setUTCFullYear(year, month - 1, day);
}

function read(text: string) {
  const match = timePattern.exec(text);
  if (match === null) throw new Error('not a time as parse-time.ts gives it');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  return { ms: utcMs(year, month, day, hour, minute, second), fraction: match[7] ?? '000000' };
}

/** Beyond the years of four digits the nearest time that has them: bounds there mean all or nothing anyway. */
function write(ms: number, fraction: string): string {
  const [first, last] = [utcMs(1, 1, 1, 0, 0, 0), utcMs(9999, 12, 31, 23, 59, 59)];
  const text = new Date(Math.min(Math.max(ms, first), last)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.${fraction}`;
}
