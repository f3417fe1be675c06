/**
 * What measures made of each other come to, by the definitions of docs/reference/time.md alone: row by row and unit by unit. It knows
 * nothing of the compiler. Times are milliseconds of the wall clock in the query's zone.
 */
import { back, day, type Length, lengthOf, move, next, truncate, unitLength } from './composition-times.ts';
import type { Dim, Plain, RandomMeasure, RandomWindow, Unit } from './random-measures.ts';

/** An order beside one of its pieces, or beside none, as joins give them; or a refund. */
export interface JoinedRow {
  readonly id: number;
  readonly item: number | null;
  readonly at: number | null;
  readonly amount: number | null;
  readonly n: number | null;
  readonly channel: string | null;
  readonly region: string | null;
  readonly buyer: number | null;
  readonly kind: string | null;
}

/** What is grouped by: a unit of the time, or a dimension. */
export type GroupBy = { readonly unit: Unit } | { readonly dim: Dim };

/** A question: one row per combination of keys that a measure has rows for. Times from `from` to before `until`. */
export interface Asked {
  readonly keys: readonly GroupBy[];
  readonly from: number | null;
  readonly until: number | null;
  /** Only rows of which a dimension has this value. */
  readonly only?: { readonly dim: Dim; readonly value: string } | null;
}

/** The joined rows of each root. */
export interface Facts {
  readonly orders: readonly JoinedRow[];
  readonly refunds: readonly JoinedRow[];
}

/** There is no right answer. */
export class Refused extends Error {}

type Cell = string | number | null;
/** Combinations of keys, as JSON, each with a value. */
type Values = ReadonlyMap<string, number | null>;
function aggregate({ of, aggregation, isWebOnly }: Plain, rows: readonly JoinedRow[]): number | null {
  const seen = new Map<number, JoinedRow>();
  for (const row of rows) {
    const id = of === 'items' ? row.item : row.id;
    if (id !== null && (!isWebOnly || (of === 'items' ? row.kind === 'a' : row.channel === 'web'))) seen.set(id, row);
  }
  const each = [...seen.values()];
  if (aggregation === 'count') return each.length;
  const value = (row: JoinedRow) =>
    of === 'items' ? row.n : aggregation === 'count_distinct' ? row.buyer : row.amount;
  const values = each.flatMap((row) => value(row) ?? []);
  if (aggregation === 'count_distinct') return new Set(values).size;
  return values.length === 0 ? null : reduce(aggregation, values);
}

function reduce(aggregation: 'sum' | 'avg' | 'min' | 'max', values: readonly number[]): number {
  const sum = values.reduce((one, other) => one + other, 0);
  switch (aggregation) {
    case 'sum':
      return sum;
    case 'avg':
      return sum / values.length;
    case 'min':
      return Math.min(...values);
    case 'max':
      return Math.max(...values);
  }
}

const hasTime = ({ keys, from, until }: Asked) => from !== null || until !== null || keys.some((key) => 'unit' in key);
const isIn = (time: number | null, { from, until }: Asked) =>
  (from === null && until === null) ||
  (time !== null && (from === null || time >= from) && (until === null || time < until));
/** Whether there is a time in a unit that is asked for. */
const isChosen = (unit: Unit, bucket: number, { from, until }: Asked) =>
  Math.max(bucket, from ?? bucket) < Math.min(next(unit, bucket), until ?? Number.POSITIVE_INFINITY);
const comboOf = (row: JoinedRow, keys: readonly GroupBy[]): Cell[] =>
  keys.map((key) => ('dim' in key ? row[key.dim] : row.at === null ? null : truncate(key.unit, row.at)));

/** The values of each measure of a list for a question. */
export function answer(measures: readonly RandomMeasure[], asked: Asked, facts: Facts) {
  const rowsOf = ({ of }: Plain, { keys, only = null }: Asked): readonly JoinedRow[] => {
    const read = [...keys.flatMap((key) => ('dim' in key ? [key.dim] : [])), ...(only === null ? [] : [only.dim])];
    if (of === 'refunds' && (read.includes('channel') || read.includes('kind'))) throw new Refused('no way');
    const rows = facts[of === 'refunds' ? 'refunds' : 'orders'];
    return only === null ? rows : rows.filter((row) => row[only.dim] === only.value);
  };
  /** Times are read with `moved` added. */
  const evaluate = (at: number, question: Asked, moved: Length): Values => {
    const measure = measures[at];
    if (measure === undefined) throw new Error(`no measure ${at}`);
    switch (measure.kind) {
      case 'plain': {
        const rows = rowsOf(measure.plain, question).map((row) => ({
          ...row,
          at: row.at === null ? null : move(row.at, moved),
        }));
        const kept = rows.filter((row) => isIn(row.at, question));
        const groups = Map.groupBy(kept, (row) => JSON.stringify(comboOf(row, question.keys)));
        if (question.keys.length === 0) groups.set('[]', kept);
        return new Map([...groups].map(([combo, group]) => [combo, aggregate(measure.plain, group)]));
      }
      case 'window':
        return windows(measure.plain, measure.window, question, moved);
      case 'formula': {
        const [left, right] = [measure.left, measure.right].map((it) => evaluate(it, question, moved));
        const combos = new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])]);
        return new Map(
          [...combos].map((combo) => {
            const [one, other] = [left?.get(combo) ?? null, right?.get(combo) ?? null];
            if (one === null || other === null) return [combo, null];
            return [combo, measure.operator === '+' ? one + other : other === 0 ? null : one / other];
          }),
        );
      }
      case 'shift':
        return shifted(measure, question, moved);
      case 'stage':
        return staged(measure, question, moved);
    }
  };

  const windows = (plain: Plain, window: RandomWindow, question: Asked, moved: Length): Values => {
    const axes = question.keys.flatMap((key, place) => ('unit' in key ? [{ unit: key.unit, place }] : []));
    const [axis] = axes;
    const all = rowsOf(plain, question);
    if (axis === undefined) {
      if (hasTime(question) || window.kind !== 'fixed' || window.trailing !== 'unbounded') throw new Refused('window');
      const groups = Map.groupBy(all, (row) => JSON.stringify(comboOf(row, question.keys)));
      if (question.keys.length === 0) groups.set('[]', [...all]);
      return new Map([...groups].map(([combo, group]) => [combo, aggregate(plain, group)]));
    }
    if (moved.months !== 0 || moved.ms !== 0) throw new Error('windows are looked up');
    const { unit, place } = axis;
    const times = all.flatMap(({ at }) => at ?? []);
    const { from, until } = question;
    const hasBoth = from !== null && until !== null;
    const ends = hasBoth ? [from, until] : [Math.min(...times), Math.max(...times)];
    const [first = 0, last = 0] = times.length === 0 && !hasBoth ? [1, 0] : ends;
    const found = new Map<string, number | null>();
    for (let bucket = truncate(unit, first); bucket <= last; bucket = next(unit, bucket)) {
      if (!isChosen(unit, bucket, question)) continue;
      const [begin, end] = edges(window, unit, bucket);
      const inside = all.filter(({ at }) => at !== null && at >= begin && at < end);
      const groups = Map.groupBy(inside, (row) =>
        JSON.stringify(comboOf(row, question.keys).map((cell, index) => (index === place ? bucket : cell))),
      );
      for (const [combo, group] of groups) found.set(combo, aggregate(plain, group));
    }
    return found;
  };

  const hasWindow = (at: number): boolean => {
    const measure = measures[at];
    if (measure === undefined || measure.kind === 'plain') return false;
    if (measure.kind === 'formula') return hasWindow(measure.left) || hasWindow(measure.right);
    return measure.kind === 'window' || hasWindow(measure.inner);
  };

  /** Whether a figure of all units of time that are asked for is in it. */
  const hasWhole = (at: number): boolean => {
    const measure = measures[at];
    if (measure === undefined || measure.kind === 'plain' || measure.kind === 'window') return false;
    if (measure.kind === 'formula') return hasWhole(measure.left) || hasWhole(measure.right);
    const isWhole =
      measure.kind === 'stage' &&
      measure.grain !== 'add_group_by' &&
      measure.dims.includes('at') === (measure.grain === 'reduce_by');
    return isWhole || hasWhole(measure.inner);
  };

  const shifted = (
    { inner, by, type }: RandomMeasure & { readonly kind: 'shift' },
    question: Asked,
    moved: Length,
  ): Values => {
    if (!hasTime(question)) throw new Refused('no time');
    const length = type === 'prior' ? lengthOf(by) : back(lengthOf(by));
    const place = question.keys.findIndex((key) => 'unit' in key);
    const key = question.keys[place];
    const isMonths = length.months !== 0;
    const unit = key !== undefined && 'unit' in key ? key.unit : null;
    const isMonthly = unit === null || unitLength[unit].months !== 0;
    if ((!hasWindow(inner) && (!isMonths || (isMonthly && unit !== 'mid_month'))) || unit === null) {
      const sum = { months: moved.months + length.months, ms: moved.ms + length.ms };
      if (sum.months !== 0 && sum.ms !== 0) throw new Refused('mixed');
      return evaluate(inner, question, sum);
    }
    const own = unitLength[unit];
    const linesUp = isMonths
      ? own.months === 0
        ? unit === 'hour' || unit === 'day'
        : length.months % own.months === 0
      : own.months === 0 && length.ms % own.ms === 0;
    if (!linesUp) throw new Refused('does not line up');
    if (hasWhole(inner) && (question.from !== null || question.until !== null)) throw new Refused('whole range');
    const wide = 40 * day + 4 * Math.abs(length.ms) + 4 * 31 * day * (Math.abs(length.months) + own.months) + own.ms;
    const hasBoth = question.from !== null && question.until !== null;
    const around = {
      ...question,
      from: hasBoth && question.from !== null ? question.from - wide : null,
      until: hasBoth && question.until !== null ? question.until + wide : null,
    };
    const found = new Map<string, number | null>();
    for (const [combo, value] of evaluate(inner, around, moved)) {
      const cells: Cell[] = JSON.parse(combo);
      const old = cells[place];
      const later =
        typeof old === 'number'
          ? (own.months === 0 ? [0, 1, 2, 3] : [0])
              .map((days) => move(old, length) + days * day)
              .filter((it) => move(it, back(length)) === old)
          : [null];
      for (const bucket of later) {
        const isAsked =
          bucket === null ? question.from === null && question.until === null : isChosen(unit, bucket, question);
        if (isAsked) found.set(JSON.stringify(cells.map((cell, index) => (index === place ? bucket : cell))), value);
      }
    }
    return found;
  };

  const staged = (
    { inner, outer, grain, dims }: RandomMeasure & { readonly kind: 'stage' },
    question: Asked,
    moved: Length,
  ): Values => {
    const rows = (keys: readonly GroupBy[]) => evaluate(inner, { ...question, keys }, moved);
    if (grain === 'add_group_by') {
      const has = question.keys.map((key) => ('dim' in key ? key.dim : 'at'));
      const added = dims.flatMap((dim): GroupBy[] => (dim === 'at' || has.includes(dim) ? [] : [{ dim }]));
      return collect(
        rows([...question.keys, ...added]),
        question.keys.map((_, at) => at),
        outer,
      );
    }
    const listed = question.keys.map((key) => dims.includes('dim' in key ? key.dim : 'at'));
    const places = listed.flatMap((isListed, at) => (isListed === (grain === 'group_by') ? [at] : []));
    const fine = rows(question.keys);
    if (places.length === question.keys.length) return fine;
    const keys = places.flatMap((at) => question.keys[at] ?? []);
    const coarse = outer === 'sum' ? rows(keys) : collect(fine, places, outer);
    return new Map([...fine.keys()].map((combo) => [combo, coarse.get(project(combo, places)) ?? null]));
  };
  return (at: number) => evaluate(at, asked, { months: 0, ms: 0 });
}

function edges(window: RandomWindow, unit: Unit, bucket: number): readonly [number, number] {
  const end = next(unit, bucket);
  if (window.kind === 'to_date') return [truncate(window.unit, bucket), end];
  const anchor = window.offset === 'start' ? bucket : end;
  const { trailing, leading } = window;
  return [
    trailing === 'unbounded'
      ? Number.NEGATIVE_INFINITY
      : trailing === null
        ? anchor
        : move(anchor, back(lengthOf(trailing))),
    leading === 'unbounded' ? Number.POSITIVE_INFINITY : leading === null ? anchor : move(anchor, lengthOf(leading)),
  ];
}

const project = (combo: string, places: readonly number[]): string => {
  const cells: Cell[] = JSON.parse(combo);
  return JSON.stringify(places.map((at) => cells[at]));
};

/** Values put together by some of their keys. */
function collect(values: Values, places: readonly number[], outer: 'sum' | 'avg' | 'min' | 'max'): Values {
  const groups = Map.groupBy(values, ([combo]) => project(combo, places));
  if (places.length === 0 && !groups.has('[]')) groups.set('[]', []);
  return new Map(
    [...groups].map(([combo, group]) => {
      const known = group.flatMap(([, value]) => value ?? []);
      return [combo, known.length === 0 ? null : reduce(outer, known)];
    }),
  );
}
