/** Buckets of time in SQL: from where to where they go, and which of them WHERE chooses. All times are of one wall clock. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Interval } from '../model/data-model.ts';
import { lengthOf } from '../model/interval.ts';
import { shiftTime } from '../query/calendar.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { emitExpression } from './emit-expression.ts';
import { emitTrunc, type Grain, unitOf } from './grain.ts';
import type { CompileContext } from './group-scope.ts';
import { negate, plus, roughSeconds } from './interval-arithmetic.ts';
import { isShownAgain, putBackBefore } from './shown-twice.ts';
import { allOf, type TimeAtom, type TimeBound, type TimeBounds } from './time-bounds.ts';
import { isAxis, type TimeAxis, timeFormOf } from './time-form.ts';

/** Buckets of one unit on one axis. */
export interface Buckets {
  readonly axis: TimeAxis;
  readonly grain: Grain;
  /** The zone whose wall clock they are on; null: that of the axis itself. */
  readonly timezone: string | null;
}

/** What SQL is emitted with. */
export type BucketScope = Pick<CompileContext, 'dialect' | 'binder' | 'subquery'>;

/** More buckets than an answer has rows. */
const maxBuckets = 100_000;

/** Where the bucket that begins there ends: the beginning of the next. */
const bucketEnd = (bucket: string, grain: Grain, dialect: Dialect): string =>
  dialect.addInterval(bucket, unitOf(grain));

/**
 * The conditions under which a bucket is chosen: that there is a time in it for which all conditions on the axis hold.
 * @param bucket the SQL of its beginning
 */
export function emitChosen(bucket: string, buckets: Buckets, bounds: TimeBounds, scope: BucketScope): string[] {
  const { fixed, alternatives } = bounds;
  const tests = (atoms: readonly TimeAtom[], others: readonly TimeAtom[]) => [
    ...atoms.map((atom) => emitAtom(atom, bucket, buckets, scope)),
    ...emitNotEmpty(atoms, [...atoms, ...others], buckets, scope),
  ];
  const choices = alternatives.map((atoms) => `(${tests(atoms, fixed).join(' AND ')})`);
  return [...new Set([...tests(fixed, []), ...(choices.length === 0 ? [] : [`(${choices.join(' OR ')})`])])];
}

function emitAtom(atom: TimeAtom, bucket: string, buckets: Buckets, scope: BucketScope): string {
  switch (atom.kind) {
    case 'from':
      return `${bucketEnd(bucket, buckets.grain, scope.dialect)} > ${emitBound(atom, buckets, scope)}`;
    case 'until':
      return `${bucket} ${atom.isInclusive ? '<=' : '<'} ${emitBound(atom, buckets, scope)}`;
    case 'same-in-bucket':
      return emitExpression(atom.condition, scope, (it) => {
        const form = timeFormOf(it);
        if (!isAxis(form, buckets.axis)) return null;
        return form.grain === null ? bucket : emitTrunc(form.grain, bucket, scope.dialect);
      });
  }
}

/** That each lower bound leaves something below each upper one: two bounds within one bucket may leave no time between them. */
function emitNotEmpty(
  atoms: readonly TimeAtom[],
  all: readonly TimeAtom[],
  buckets: Buckets,
  scope: BucketScope,
): string[] {
  const from = all.filter(isFrom);
  const until = all.filter(isUntil);
  return from.flatMap((lower) =>
    until
      .filter((upper) => atoms.includes(lower) || atoms.includes(upper))
      .map((upper) => {
        const operator = lower.isInclusive && upper.isInclusive ? '<=' : '<';
        const isClear = [lower, upper].every(({ literal, rounded }) => rounded === null && !literal.time.isLocal);
        // Instants are compared as such: the wall clock shows some of them twice.
        const [from, to] = [lower, upper].map((it) =>
          isClear ? emitInstant(it, scope) : emitBound(it, buckets, scope),
        );
        return `${from} ${operator} ${to}`;
      }),
  );
}

function emitInstant({ literal: { time, moved } }: TimeBound, { dialect, binder }: BucketScope): string {
  const written = binder.bind(time.value, 'time');
  return moved === null ? written : dialect.addInterval(written, moved);
}

/**
 * A bound of instants that the wall clock shows twice, as a bound of buckets; null: it is as any other.
 * @throws SemanticError QUERY_NOT_PLANNABLE where buckets are so short that they are not one stretch of the wall clock
 */
function putBack(
  { kind, literal: { time, moved }, isInclusive }: TimeBound,
  { timezone, grain }: Buckets,
): string | null {
  if (time.isLocal || timezone === null || timezone === 'UTC') return null;
  const instant = moved === null ? time.value : shiftTime(time.value, moved);
  if (instant === null) return null;
  const end = kind === 'until' ? putBackBefore(instant, timezone) : null;
  const { seconds: length } = unitOf(grain);
  if (length % 3600 !== 0 && (end !== null || (kind === 'from' && isShownAgain(instant, timezone)))) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      'The range of time in WHERE begins or ends in an hour that clocks show twice, which units of less than an hour cannot be told by.',
      'Ask by hours, or for a range around that hour.',
    );
  }
  // All that clocks showed before they were put back lies before the bound.
  return end !== null && isInclusive ? shiftTime(end, { months: 0, days: 0, seconds: -1 }) : end;
}

/** The time of a bound on the wall clock of the buckets. */
function emitBound(it: TimeBound, buckets: Buckets, scope: BucketScope): string {
  const { literal, rounded } = it;
  const { timezone } = buckets;
  const { dialect, binder } = scope;
  const { time } = literal;
  const end = rounded === null ? putBack(it, buckets) : null;
  if (end !== null) return binder.bind(end, 'time');
  const bound = emitInstant(it, scope);
  const local = time.isLocal || timezone === null ? bound : dialect.localTime(bound, timezone);
  if (rounded === null) return local;
  const begin = emitTrunc(rounded.grain, local, dialect);
  const next = bucketEnd(begin, rounded.grain, dialect);
  return rounded.to === 'next' ? next : `CASE WHEN ${begin} = ${local} THEN ${local} ELSE ${next} END`;
}

/**
 * An item for FROM with the column `"bucket"`: every bucket from the first to the last that WHERE asks for, and maybe some more.
 * Where WHERE sets not both ends, from the first to the last that there is.
 * @param data the SQL of the first and last bucket's beginning; null ones: there is none
 * @throws SemanticError QUERY_NOT_PLANNABLE when there would be too many
 */
export function emitSeries(
  buckets: Buckets,
  bounds: TimeBounds,
  data: { readonly first: string; readonly last: string } | null,
  alias: string,
  scope: BucketScope,
): string {
  const { grain } = buckets;
  const ends = endsOf(bounds);
  if (ends === null) {
    if (data === null) throw new Error('buckets without an end');
    return scope.dialect.series(data.first, data.last, unitOf(grain), alias);
  }
  if ((seconds(ends.until) - seconds(ends.from)) / roughSeconds(unitOf(grain)) > maxBuckets) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `The range of time in WHERE has more than ${maxBuckets} units.`,
      'Ask for a shorter range, or by a longer unit.',
    );
  }
  const [first, last] = [ends.from, ends.until].map((bound) =>
    emitTrunc(grain, emitBound(bound, buckets, scope), scope.dialect),
  );
  return scope.dialect.series(first ?? '', last ?? '', unitOf(grain), alias);
}

const isFrom = (atom: TimeAtom): atom is TimeBound => atom.kind === 'from';
const isUntil = (atom: TimeAtom): atom is TimeBound => atom.kind === 'until';

/** About where a bound lies, in seconds since 1970. */
const seconds = ({ literal: { time, moved } }: TimeBound): number =>
  Date.parse(`${time.value}Z`) / 1000 + (moved === null ? 0 : roughSeconds(moved));

/** The ends that WHERE sets; null: not both. */
export function endsOf({ fixed }: TimeBounds): { readonly from: TimeBound; readonly until: TimeBound } | null {
  const from = fixed.find(isFrom);
  const until = fixed.find(isUntil);
  return from === undefined || until === undefined ? null : { from, until };
}

/** February cuts up to three days off a month, and time zones shift a day's ends. */
const slack = lengthOf(5, 'day');

/**
 * WHERE over rows, without the conditions on the axis. Where these set both ends, rows that lie farther off than is said are left out:
 * it leaves every row of the chosen buckets and of what lies that far before and behind, and more. Where they do not, none is: from
 * which bucket to which there are rows depends on all of them.
 * @param before null: without end
 */
export function widened(
  bounds: TimeBounds,
  grain: Grain,
  before: Interval | null,
  behind: Interval | null,
): ResolvedExpression | null {
  if (endsOf(bounds) === null) return bounds.rest;
  const conditions = bounds.fixed.flatMap((atom): ResolvedExpression[] => {
    if (atom.kind === 'same-in-bucket') return [];
    const { literal, untruncated, rounded, kind } = atom;
    const reach = kind === 'from' ? before : behind;
    if (reach === null) return [];
    const units = [unitOf(grain), reach, slack, ...(rounded === null ? [] : [unitOf(rounded.grain)])].reduce(plus);
    const interval = [
      kind === 'from' ? negate(units) : units,
      ...(literal.moved === null ? [] : [literal.moved]),
    ].reduce(plus);
    const right = { kind: 'shift-time', operand: literal.time, interval, location: 0 } as const;
    return [{ kind: 'compare', operator: kind === 'from' ? '>=' : '<=', left: untruncated, right, location: 0 }];
  });
  return allOf([...(bounds.rest === null ? [] : [bounds.rest]), ...conditions]);
}
