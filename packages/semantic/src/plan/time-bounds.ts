/**
 * What WHERE says of one time dimension, read out of it as a choice of buckets: windows and shifted measures read rows that it
 * leaves out, so it must not cut rows there. What cannot be read as a choice among whole buckets is refused.
 */
import { asWritten } from '../closest-names.ts';
import type { Interval, RelationMember } from '../model/data-model.ts';
import { conjunctsOf, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import type { ComparisonOperator, DatePart } from '../query/semantic-query.ts';
import { SemanticError } from '../semantic-error.ts';
import { type Grain, nests, unitOfPart } from './grain.ts';
import { pathOf } from './join-tree.ts';
import { axisId, dimensionsIn, isAxis, reads, type TimeAxis, type TimeForm, timeFormOf } from './time-form.ts';

/** A time that a query names, moved by some length where it widens a condition. */
export interface TimeLiteral {
  readonly time: ResolvedExpression & { readonly kind: 'time' };
  readonly moved: Interval | null;
}

/**
 * One end of a range of times. `rounded`: the beginning of the first bucket of a unit at or behind it, or behind the bucket that it
 * lies in: `date_trunc('day', t) > x` is a bound for t, too.
 */
export interface TimeBound {
  readonly kind: 'from' | 'until';
  readonly literal: TimeLiteral;
  readonly rounded: { readonly to: 'this-or-next' | 'next'; readonly grain: Grain } | null;
  readonly isInclusive: boolean;
  /** The dimension as it is compared: as it is, or as local time. */
  readonly untruncated: ResolvedExpression;
}

/** A condition on the axis: a bound, or an expression that is the same for all times of one bucket. */
export type TimeAtom = TimeBound | { readonly kind: 'same-in-bucket'; readonly condition: ResolvedExpression };

/** A condition on the axis: one of these, each of which is all of its atoms. */
export type TimeCondition = readonly (readonly TimeAtom[])[];

/** WHERE, taken apart for one axis. All of it has to hold. */
export interface TimeBounds {
  /** What does not read the axis; null: nothing. */
  readonly rest: ResolvedExpression | null;
  /** What holds for all times that are asked for. */
  readonly fixed: readonly TimeAtom[];
  /** Beside that, one of these holds, each of which is all of its atoms; empty: no more than `fixed` is asked. */
  readonly alternatives: TimeCondition;
}

/** More alternatives than a query has that someone means. */
const maxAlternatives = 16;

/** The unit of the buckets, and who reads them. */
interface Place {
  readonly axis: TimeAxis;
  readonly grain: Grain;
  readonly reader: string;
  /** The condition as the query has it, for messages. */
  readonly whole: ResolvedExpression | null;
}

/**
 * Takes WHERE apart.
 * @param grain the unit of the buckets that are chosen
 * @param reader the member that is computed, for messages
 * @throws SemanticError QUERY_NOT_PLANNABLE for a condition on the axis that does not choose among whole buckets
 */
export function readBounds(where: ResolvedExpression | null, axis: TimeAxis, grain: Grain, reader: string): TimeBounds {
  const all = conjunctsOf(where);
  const others = all.filter((it) => !reads(it, axis));
  const place: Place = { axis, grain, reader, whole: null };
  const conditions = all.filter((it) => reads(it, axis)).map((it) => readCondition(it, { ...place, whole: it }));
  const choices = conditions.filter((it) => it.length !== 1);
  return {
    rest: allOf(others),
    fixed: conditions.filter((it) => it.length === 1).flat(2),
    alternatives: choices.length === 0 ? [] : eachOf(choices, place),
  };
}

/** Conditions as one; null: none. */
export function allOf(conditions: readonly ResolvedExpression[]): ResolvedExpression | null {
  const [first, second] = conditions;
  if (first === undefined || second === undefined) return first ?? null;
  return { kind: 'and', operands: conditions, location: 0 };
}

function readCondition(expression: ResolvedExpression, place: Place, isNegated = false): TimeCondition {
  if (isSameInBucket(expression, place)) {
    const { location } = expression;
    const condition = isNegated ? ({ kind: 'not', operand: expression, location } as const) : expression;
    return [[{ kind: 'same-in-bucket', condition }]];
  }
  switch (expression.kind) {
    case 'not':
      return readCondition(expression.operand, place, !isNegated);
    case 'and':
    case 'or': {
      const parts = expression.operands.map((it) => readCondition(it, place, isNegated));
      return (expression.kind === 'and') === isNegated ? anyOf(parts, place) : eachOf(parts, place);
    }
    case 'compare': {
      const { left, right, operator } = expression;
      return readComparison(left, operator, right, place, isNegated) ?? refuse(place);
    }
    case 'between': {
      const { operand, low, high } = expression;
      const isOutside = expression.isNegated !== isNegated;
      const lower = readComparison(operand, '>=', low, place, isOutside) ?? refuse(place);
      const upper = readComparison(operand, '<=', high, place, isOutside) ?? refuse(place);
      return isOutside ? anyOf([lower, upper], place) : eachOf([lower, upper], place);
    }
    case 'in': {
      const isOutside = expression.isNegated !== isNegated;
      const items = expression.items.map(
        (item) => readComparison(expression.operand, '=', item, place, isOutside) ?? refuse(place),
      );
      return isOutside ? eachOf(items, place) : anyOf(items, place);
    }
    default:
      return refuse(place);
  }
}

function anyOf(conditions: readonly TimeCondition[], place: Place): TimeCondition {
  const alternatives = conditions.flat();
  return alternatives.length > maxAlternatives ? refuse(place) : alternatives;
}

function eachOf(conditions: readonly TimeCondition[], place: Place): TimeCondition {
  let all: TimeCondition = [[]];
  for (const condition of conditions) {
    if (all.length * condition.length > maxAlternatives) refuse(place);
    all = all.flatMap((one) => condition.map((other) => [...one, ...other]));
  }
  return all;
}

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};
const inverted: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
};

/** The bounds that a comparison of the axis with a time sets; null: it is no such comparison. */
function readComparison(
  left: ResolvedExpression,
  operator: ComparisonOperator,
  right: ResolvedExpression,
  place: Place,
  isNegated: boolean,
): TimeCondition | null {
  if (literalOf(left) !== null) return readComparison(right, mirrored[operator], left, place, isNegated);
  const form = timeFormOf(left);
  const literal = literalOf(right);
  if (literal === null || !isAxis(form, place.axis)) return null;
  switch (isNegated ? inverted[operator] : operator) {
    case '>=':
      return [[lower(form, literal, true)]];
    case '>':
      return [[lower(form, literal, false)]];
    case '<':
      return [[upper(form, literal, false)]];
    case '<=':
      return [[upper(form, literal, true)]];
    case '=':
      return [[lower(form, literal, true), upper(form, literal, true)]];
    case '<>':
      return [[upper(form, literal, false)], [lower(form, literal, false)]];
  }
}

/** The time that an expression is by itself; null: it is none. */
function literalOf(expression: ResolvedExpression): TimeLiteral | null {
  if (expression.kind === 'time') return { time: expression, moved: null };
  // Compared with a wall clock it is turned to one: the buckets' own.
  if (expression.kind === 'local-time') return literalOf(expression.operand);
  if (expression.kind !== 'shift-time' || expression.operand.kind !== 'time') return null;
  return { time: expression.operand, moved: expression.interval };
}

/** `form >= time`, or `>`. A bucket's beginning is at or above a time as soon as the next bucket that begins there does. */
function lower({ grain, untruncated }: TimeForm, literal: TimeLiteral, isInclusive: boolean): TimeBound {
  if (grain === null) return { kind: 'from', literal, rounded: null, isInclusive, untruncated };
  const to = isInclusive ? 'this-or-next' : 'next';
  return { kind: 'from', literal, rounded: { to, grain }, isInclusive: true, untruncated };
}

/** `form < time`, or `<=`. */
function upper({ grain, untruncated }: TimeForm, literal: TimeLiteral, isInclusive: boolean): TimeBound {
  if (grain === null) return { kind: 'until', literal, rounded: null, isInclusive, untruncated };
  const to = isInclusive ? 'next' : 'this-or-next';
  return { kind: 'until', literal, rounded: { to, grain }, isInclusive: false, untruncated };
}

/** Whether an expression has one value for all times of one bucket, and reads nothing but the axis. */
function isSameInBucket(expression: ResolvedExpression, place: Place): boolean {
  const form = timeFormOf(expression);
  if (isAxis(form, place.axis)) return form.grain !== null && nests(place.grain, form.grain);
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
    case 'column':
    case 'aggregate':
    case 'window':
      return false;
    case 'is-null':
      return isAxis(timeFormOf(expression.operand), place.axis) || partsAreSame(expression, place);
    case 'date-part':
      return isSamePart(expression.part, expression.operand, place) || partsAreSame(expression, place);
    default:
      return partsAreSame(expression, place);
  }
}

function isSamePart(part: DatePart, operand: ResolvedExpression, place: Place): boolean {
  const unit = unitOfPart(part);
  const form = timeFormOf(operand);
  return unit !== null && isAxis(form, place.axis) && form.grain === null && nests(place.grain, unit);
}

const partsAreSame = (expression: ResolvedExpression, place: Place): boolean =>
  partsOf(expression).every((part) => isSameInBucket(part, place));

function refuse({ axis, reader, whole }: Place): never {
  const read = whole === null ? [] : dimensionsIn(whole);
  const isOwn = ({ path, member }: RelationMember) => axisId(axis) === `${pathOf(path)} ${member.name}`;
  const own = read.find(isOwn);
  const name = own === undefined ? 'its time' : asWritten(own.name);
  const other = read.find((it) => !isOwn(it));
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    other === undefined
      ? `${reader} reads rows that WHERE leaves out, and this condition on ${name} does not choose whole units of time.`
      : `${reader} reads rows that WHERE leaves out, and this condition mixes ${name} with ${asWritten(other.name)}.`,
    `Write ${name} >= '…' AND ${name} < '…', apart from other conditions.`,
  );
}
