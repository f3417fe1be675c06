/** Windows around buckets of time: where they begin and end, and how finely rows have to be told apart for them. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Interval, RollingWindow } from '../model/data-model.ts';
import { lengthOf } from '../model/interval.ts';
import type { Granularity } from '../query/semantic-query.ts';
import { beginsAt, emitTrunc, type Grain, unitOf } from './grain.ts';
import { hasDays, hasMonths, hasSeconds, negate } from './interval-arithmetic.ts';

/** Which rows around a bucket count. `to_date`: from the beginning of the larger unit on. */
export type Window = (RollingWindow & { readonly kind: 'fixed' }) | { readonly kind: 'to_date'; readonly grain: Grain };

/** A time of a window: a row counts at or behind `from`, and before `until`. Null: no end there. */
export interface WindowEnds {
  readonly from: string | null;
  readonly until: string | null;
}

/**
 * The ends of the window of a bucket. Fixed ones are counted from the end of the bucket, or, with `offset: start`, from its beginning,
 * so that the bucket itself is not in what trails it.
 * @param bucket the SQL of its beginning
 */
export function windowEnds(window: Window, bucket: string, grain: Grain, dialect: Dialect): WindowEnds {
  const end = dialect.addInterval(bucket, unitOf(grain));
  if (window.kind === 'to_date') return { from: emitTrunc(window.grain, bucket, dialect), until: end };
  const anchor = window.offset === 'start' ? bucket : end;
  const { trailing, leading } = window;
  const at = (interval: Interval | null) => (interval === null ? anchor : dialect.addInterval(anchor, interval));
  return {
    from: trailing === 'unbounded' ? null : at(trailing === null ? null : negate(trailing)),
    until: leading === 'unbounded' ? null : at(leading),
  };
}

/** How far before and behind a bucket its window reaches, at most; null: without end. */
export function reachOf(
  window: Window,
  grain: Grain,
): { readonly before: Interval | null; readonly behind: Interval | null } {
  if (window.kind === 'to_date') return { before: unitOf(window.grain), behind: unitOf(grain) };
  const reach = (interval: Interval | 'unbounded' | null) =>
    interval === 'unbounded' ? null : (interval ?? lengthOf(0, 'day'));
  return { before: reach(window.trailing), behind: reach(window.leading) };
}

/** The coarsest unit that no end of a window cuts: rows of one such unit are all in a window, or all out of it. */
export function fineGrain(window: Window, grain: Grain): Granularity {
  const lengths: Interval[] = [];
  if (window.kind === 'fixed') {
    for (const length of [window.trailing, window.leading]) {
      if (length !== null && length !== 'unbounded') lengths.push(length);
    }
  }
  const grains = [grain, ...(window.kind === 'to_date' ? [window.grain] : [])].map(beginsAt);
  if (!grains.every(({ midnight }) => midnight) || lengths.some(hasSeconds)) {
    const isWhole = (unit: number) =>
      [unitOf(grain), ...lengths].every((length) => length.seconds % unit === 0) && isBuiltIn(grain, window);
    return isWhole(3600) ? 'hour' : isWhole(60) ? 'minute' : 'second';
  }
  const isMonths =
    grains.every(({ firstOfMonth }) => firstOfMonth) && lengths.every((it) => hasMonths(it) && !hasDays(it));
  return isMonths ? 'month' : 'day';
}

/** Units of the model may begin at any second. */
const isBuiltIn = (grain: Grain, window: Window): boolean =>
  grain.kind === 'built-in' && (window.kind === 'fixed' || window.grain.kind === 'built-in');
