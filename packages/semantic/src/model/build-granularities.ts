/** Builds the units of time that a time dimension declares. */
import type { CustomGranularity } from './data-model.ts';
import {
  addToLocalTime,
  intervalOf,
  parseInterval,
  parseLocalTime,
  parseQuantities,
  type Quantity,
} from './interval.ts';
import { didYouMean, readShape } from './read-shape.ts';
import type { Reporter } from './report.ts';
import { granularityShape } from './shapes.ts';
import { titleFromName } from './title.ts';
import { isRecord } from './yaml-source.ts';

/** How many of each unit make the next larger one: a unit that divides it begins where that begins. */
const perLarger: Readonly<Record<Quantity['unit'], number>> = {
  second: 60,
  minute: 60,
  hour: 24,
  day: 1,
  week: 1,
  month: 12,
  quarter: 4,
  year: 1,
};

/** The units by name. What is wrong goes to `report`, and is left out. */
export function buildGranularities(
  items: readonly unknown[],
  report: Reporter,
): ReadonlyMap<string, CustomGranularity> {
  const built = new Map<string, CustomGranularity>();
  for (const [index, item] of items.entries()) {
    const here = report.under(index);
    if (isRecord(item) && Object.hasOwn(item, 'sql')) {
      here.error(['sql'], 'a granularity in SQL is not supported: write interval, with offset or origin', 'key');
      continue;
    }
    const file = readShape(granularityShape, item, here, 'granularity');
    if (file === null) continue;
    if (built.has(file.name)) here.error(['name'], `the dimension has two granularities named ${file.name}`);
    const { name, title = titleFromName(name), interval: text, offset, origin } = file;
    const quantities = parseQuantities(text);
    const interval = quantities === null ? null : intervalOf(quantities);
    if (quantities === null || interval === null || quantities.some(({ count }) => count < 0)) {
      const unit = /^\d+ ([a-z]+)$/i.exec(text)?.[1] ?? '';
      here.error(
        ['interval'],
        `"${text}" is no interval: write "15 minutes", "1 year" …${didYouMean(unit, Object.keys(perLarger))}`,
      );
      continue;
    }
    if (interval.months !== 0 && (interval.days !== 0 || interval.seconds !== 0)) {
      here.error(['interval'], `"${text}" has no fixed length: months do not go with smaller units`);
      continue;
    }
    if (offset !== undefined && origin !== undefined) {
      here.error(['offset'], 'a granularity has an origin or an offset, not both');
      continue;
    }
    const begins = beginOf(quantities, offset, origin, here);
    if (begins === null) continue;
    // Months from the 31st on have no 31st to begin at.
    if (interval.months !== 0 && Number(begins.slice(8, 10)) > 28) {
      here.error(
        [origin === undefined ? 'offset' : 'origin'],
        'months have to begin on a day that all months have: the 1st to the 28th',
      );
      continue;
    }
    built.set(name, { name, title, interval, origin: begins });
  }
  return built;
}

/** The beginning of one bucket; null when it is not clear, which was reported then. */
function beginOf(
  quantities: readonly Quantity[],
  offset: string | undefined,
  origin: string | undefined,
  report: Reporter,
): string | null {
  if (origin !== undefined) {
    const time = parseLocalTime(origin);
    if (time === null) report.error(['origin'], `"${origin}" is no time: write "2024-04-01" or "2024-04-01T06:00:00"`);
    return time;
  }
  const [quantity, second] = quantities;
  if (quantity === undefined || second !== undefined || perLarger[quantity.unit] % quantity.count !== 0) {
    report.error(
      ['interval'],
      'where these intervals begin is not clear: give an origin (without one, an interval divides the next larger unit)',
    );
    return null;
  }
  // The first of January of 2000 begins every unit but the week; the third is a Monday.
  const begins = quantity.unit === 'week' ? '2000-01-03T00:00:00' : '2000-01-01T00:00:00';
  if (offset === undefined) return begins;
  const shift = parseInterval(offset);
  const moved = shift === null ? null : addToLocalTime(begins, shift);
  if (moved === null) report.error(['offset'], `"${offset}" is no offset: write "-1 day", "3 months" …`);
  return moved;
}
