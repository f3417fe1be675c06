/** Times as people write them. */

const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(Z|[+-]00(?::?00)?)?)?$/;

/**
 * Reads a time in UTC as people write it in SQL: `2024-01-31`, `2024-01-31 13:45`, `2024-01-31T13:45:00.123Z`.
 * @returns it as `YYYY-MM-DD HH:MM:SS.ffffff`, or null when it is not a time of the calendar, whose first year is 1: of a year 0
 * each engine thinks something else
 */
export function parseTime(text: string): string | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction = ''] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // A Date rolls 31 February over to March: what comes back must be what went in.
  const isReal =
    year !== '0000' &&
    !Number.isNaN(date.getTime()) &&
    date.toISOString().startsWith(`${year}-${month}-${day}T${hour}:${minute}:${second}`);
  return isReal ? `${year}-${month}-${day} ${hour}:${minute}:${second}.${fraction.padEnd(6, '0')}` : null;
}
