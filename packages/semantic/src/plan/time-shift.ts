/**
 * Measures at another time. Where a length of time moves each unit of the query onto one other unit, or rows are not grouped by time,
 * the rows are moved: their time is read with the length added, in keys and conditions alike. Where it does not (days moved by a month:
 * 28, 29, 30 and 31 March all look back at 28 February) each unit looks up the one unit that lies that length before it.
 */
import type { DataModel, Interval, Measure, TimeShift } from '../model/data-model.ts';
import { lengthOf } from '../model/interval.ts';
import { memberReads } from '../policy/member-reads.ts';
import { conjunctsOf, mapParts, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { emitChosen, widened } from './buckets.ts';
import { type Grain, unitOf } from './grain.ts';
import type { GroupKey, GroupRequest, GroupScope } from './group-scope.ts';
import { hasMonths, kindOf, negate, plus } from './interval-arithmetic.ts';
import { type NodePath, pathOf, rootOf } from './join-tree.ts';
import { readBounds } from './time-bounds.ts';
import {
  axisId,
  derivedFrom,
  dimensionsIn,
  isAxis,
  reads,
  type TimeAxis,
  type TimeForm,
  timeFormOf,
} from './time-form.ts';

/** Who reads, from where, and the measures that it is made of. */
export interface ShiftReader {
  readonly reader: string;
  readonly path: NodePath;
  readonly inner: readonly Measure[];
}

/** A unit of the query that is looked up. */
interface Lookup {
  readonly key: GroupKey;
  readonly form: TimeForm;
  readonly grain: Grain;
  readonly interval: Interval;
}

/**
 * A SELECT of the request's keys and measures, at times moved by the shifts.
 * @throws SemanticError QUERY_NOT_PLANNABLE where it is not clear which time the query's units are moved to
 */
export function emitShifted(
  request: GroupRequest,
  timeShifts: readonly TimeShift[],
  from: ShiftReader,
  scope: GroupScope,
): string {
  const moved = axesOf(request, timeShifts, from, scope);
  const shifts = new Map(request.shifts);
  const lookups: Lookup[] = [];
  for (const { axis, interval } of moved) {
    const lookup = lookupOf(axis, interval, request, from, scope.context.model);
    if (lookup !== null) {
      lookups.push(lookup);
      continue;
    }
    const before = shifts.get(axisId(axis));
    const sum = before === undefined ? interval : plus(before, interval);
    if (before !== undefined && kindOf(sum) === 'mixed')
      refuse(from, 'its time is moved by months and by other lengths');
    shifts.set(axisId(axis), sum);
  }
  const [lookup, second] = lookups;
  if (lookup === undefined) {
    const where = request.where === null ? null : onWallClock(request.where, moved, scope.context.timezone);
    return scope.groups({ ...request, where, shifts }, scope);
  }
  if (second !== undefined) refuse(from, 'the query has units of two times that it moves');
  return emitLookup({ ...request, shifts }, lookup, from, scope);
}

/**
 * Moved times are those of a wall clock, where some do not exist: comparisons of instants are made ones of wall clocks, so that no
 * engine has to say which instant such a one is.
 */
function onWallClock(
  expression: ResolvedExpression,
  moved: readonly { readonly axis: TimeAxis }[],
  timezone: string,
): ResolvedExpression {
  const isRaw = (it: ResolvedExpression) => {
    const form = it.kind === 'dimension' ? timeFormOf(it) : null;
    return form !== null && !form.axis.dimension.isLocalTime && moved.some(({ axis }) => isAxis(form, axis));
  };
  const inside = (it: ResolvedExpression) => onWallClock(it, moved, timezone);
  switch (expression.kind) {
    case 'and':
    case 'or':
    case 'not':
      return mapParts(expression, inside);
    case 'compare':
    case 'between':
    case 'in':
      if (timezone === 'UTC' || !partsOf(expression).some(isRaw)) return expression;
      return mapParts(expression, (operand) => ({ kind: 'local-time', operand, timezone, location: operand.location }));
    default:
      return expression;
  }
}

/** The time dimensions that are moved, each with its length. */
function axesOf(
  request: GroupRequest,
  timeShifts: readonly TimeShift[],
  { reader, path }: ShiftReader,
  { context, forest }: GroupScope,
): readonly { readonly axis: TimeAxis; readonly interval: Interval }[] {
  const asked = askedAxes(request, context.model);
  const moved = new Map<string, { readonly axis: TimeAxis; readonly interval: Interval }>();
  for (const { timeDimension, interval } of timeShifts) {
    const axes = asked.filter(
      ({ dimension }) =>
        timeDimension === null || (dimension.cube === timeDimension.cube && dimension.name === timeDimension.member),
    );
    if (axes.length === 0) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${reader} is computed at another time: the query has to group or filter by its time dimension.`,
        "Group by date_trunc('month', …), say, or filter by a range of times.",
      );
    }
    // One named by the model is the measure's own, however many ways lead there.
    const own = timeDimension === null ? null : forest.tree(rootOf(path)).refer(path, timeDimension.cube, reader);
    const owned = axes.filter((axis) => axis.path === own);
    for (const axis of owned.length > 0 ? owned : axes) {
      const before = moved.get(axisId(axis))?.interval;
      moved.set(axisId(axis), { axis, interval: before === undefined ? interval : plus(before, interval) });
    }
  }
  return [...moved.values()];
}

/** The time dimensions that keys and conditions read, also through other members of the same cube. */
function askedAxes({ keys, where }: GroupRequest, model: DataModel): readonly TimeAxis[] {
  const axes = new Map<string, TimeAxis>();
  const add = (axis: TimeAxis) => axes.set(axisId(axis), axis);
  const read = memberReads(model);
  const asked = [
    ...keys.filter((key) => key.isReal !== true).map(({ expression }) => expression),
    ...conjunctsOf(where),
  ];
  for (const { member, path } of asked.flatMap(dimensionsIn)) {
    if (member.kind === 'dimension' && member.type === 'time') add({ path: pathOf(path), dimension: member });
    for (const reference of read(member.cube, member.name).values()) {
      if (reference.cube !== member.cube) continue;
      const other = model.cubes.get(reference.cube)?.members.get(reference.member);
      if (other?.kind === 'dimension' && other.type === 'time') add({ path: pathOf(path), dimension: other });
    }
  }
  return [...axes.values()];
}

/** The unit that has to be looked up; null: rows can be moved. @throws SemanticError QUERY_NOT_PLANNABLE when neither is right */
function lookupOf(
  axis: TimeAxis,
  interval: Interval,
  { keys, where }: GroupRequest,
  from: ShiftReader,
  model: DataModel,
): Lookup | null {
  const users = keys.filter(
    ({ expression }) => reads(expression, axis) || derivedFrom(expression, axis, model) !== null,
  );
  const kind = kindOf(interval);
  const mayMoveRows = kind === 'clock' || users.every(({ expression }) => isMonthly(expression, axis, model));
  if (users.length === 0 || !from.inner.some(isRolling)) {
    if (mayMoveRows && (kind !== 'mixed' || users.length === 0)) {
      const conditions = conjunctsOf(where);
      if (kind === 'clock' || conditions.every((it) => isMonthly(it, axis, model) || isRange(it, axis, model)))
        return null;
      refuse(from, 'its time is moved by months, while WHERE asks for a finer part of it');
    }
  }
  const [key, second] = users;
  const form = key === undefined ? null : timeFormOf(key.expression);
  if (key === undefined || second !== undefined || !isAxis(form, axis) || form.grain === null) {
    return refuse(from, 'the query does not group by its time as one truncated unit');
  }
  if (!linesUp(interval, form.grain)) refuse(from, 'the length does not lead from one of these units to another');
  if (from.inner.some((measure) => isOfAllUnits(measure, axis)) && where !== null && reads(where, axis))
    refuse(from, 'it holds a figure of the whole range of time, which has no unit before it', wholeRangeHint);
  return { key, form, grain: form.grain, interval };
}

const isRolling = (measure: Measure): boolean => 'rollingWindow' in measure && measure.rollingWindow !== null;

/** Whether a measure puts the units of a time together: what it comes to depends on the range that WHERE leaves, not on one unit. */
function isOfAllUnits(measure: Measure, { dimension }: TimeAxis): boolean {
  if (measure.aggregation !== 'multi_stage') return false;
  const { grain } = measure;
  if (grain.kind !== 'group_by' && grain.kind !== 'reduce_by') return false;
  const isListed = grain.dimensions.some((it) => it.cube === dimension.cube && it.member === dimension.name);
  return isListed === (grain.kind === 'reduce_by');
}

/** Whether an expression tells months apart at most, where it reads the axis: then each month moves as a whole. */
function isMonthly(expression: ResolvedExpression, axis: TimeAxis, model: DataModel): boolean {
  const form = timeFormOf(expression);
  if (isAxis(form, axis)) return form.grain !== null && isOfMonths(form.grain);
  if (expression.kind === 'date-part' && isAxis(timeFormOf(expression.operand), axis)) {
    return expression.part === 'year' || expression.part === 'quarter' || expression.part === 'month';
  }
  if (expression.kind === 'dimension') return derivedFrom(expression, axis, model) === null;
  return partsOf(expression).every((part) => isMonthly(part, axis, model));
}

/** Whether a condition compares the axis with times, and does nothing else with it. */
function isRange(expression: ResolvedExpression, axis: TimeAxis, model: DataModel): boolean {
  if (isAxis(timeFormOf(expression), axis)) return true;
  switch (expression.kind) {
    case 'and':
    case 'or':
    case 'not':
    case 'compare':
    case 'between':
    case 'is-null':
      return partsOf(expression).every((part) => isRange(part, axis, model));
    default:
      return isMonthly(expression, axis, model);
  }
}

/** Units of whole months, of which no end lies where months are of different lengths: so does one on the 28th, behind its midnight. */
function isOfMonths(grain: Grain): boolean {
  const unit = unitOf(grain);
  if (grain.kind === 'built-in') return hasMonths(unit);
  return kindOf(unit) === 'months' && grain.granularity.origin.slice(8, 19) <= '28T00:00:00';
}

/** Whether a length leads from the beginning of a unit to that of another. Months lead from days to days. */
function linesUp(interval: Interval, grain: Grain): boolean {
  const unit = unitOf(grain);
  switch (kindOf(interval)) {
    case 'months':
      if (hasMonths(unit)) return interval.months % unit.months === 0;
      return grain.kind === 'built-in' && grain.granularity !== 'week';
    case 'clock': {
      if (hasMonths(unit)) return false;
      const length = (it: Interval) => it.days * 86_400 + it.seconds;
      return length(interval) % length(unit) === 0;
    }
    case 'mixed':
      return false;
  }
}

/** The measures of the units that lie before those of the query. Conditions on the axis choose units of the query. */
function emitLookup(
  request: GroupRequest,
  { key, form, grain, interval }: Lookup,
  { reader }: ShiftReader,
  scope: GroupScope,
): string {
  const { dialect } = scope.context;
  const bounds = readBounds(request.where, form.axis, grain, reader);
  // A rolling measure within counts the bounds as its own, and a plain one reads the rows of whole units.
  const where = widened(bounds, grain, interval, negate(interval));
  const { asked = request.where } = request;
  const inner = scope.groups({ ...request, where, asked }, scope);
  const old = `s.${key.name}`;
  const others = [
    ...request.keys.filter((it) => it !== key).map(({ name }) => name),
    ...request.measures.map(({ name }) => name),
  ];
  const columns = (time: string) =>
    [`${time} AS ${key.name}`, ...others.map((name) => `s.${name} AS ${name}`)].join(', ');
  // The end of a month is looked up by up to four days of a longer one.
  const isEndOfMonthShared = hasMonths(interval) && !hasMonths(unitOf(grain));
  let sql: string;
  if (isEndOfMonthShared) {
    const later = [0, 1, 2, 3];
    const times = later.map(
      (days) => `WHEN ${days} THEN ${dialect.addInterval(old, plus(interval, lengthOf(days, 'day')))}`,
    );
    const time = `CASE n.later ${times.join(' ')} END`;
    const candidates = later.map((days) => `SELECT ${days} AS later`).join(' UNION ALL ');
    const back = `${dialect.addInterval(`(${time})`, negate(interval))} = ${old}`;
    sql = `SELECT ${columns(time)} FROM (${inner}) AS s CROSS JOIN (${candidates}) AS n WHERE ${back} OR (${old} IS NULL AND n.later = 0)`;
  } else sql = `SELECT ${columns(dialect.addInterval(old, interval))} FROM (${inner}) AS s`;
  const chosen = emitChosen(
    `c.${key.name}`,
    { axis: form.axis, grain, timezone: form.timezone },
    bounds,
    scope.context,
  );
  if (chosen.length === 0) return sql;
  const all = [key.name, ...others].map((name) => `c.${name} AS ${name}`);
  return `SELECT ${all.join(', ')} FROM (${sql}) AS c WHERE ${chosen.join(' AND ')}`;
}

const unitHint = 'Group by a day, or by a unit of which the length is a multiple.';
const wholeRangeHint = 'Group by a unit of months, or leave the time out of WHERE.';

/** The dimension is not named: the measure may move one that the user does not see. */
function refuse({ reader }: ShiftReader, why: string, hint = unitHint): never {
  throw new SemanticError('QUERY_NOT_PLANNABLE', `${reader} is computed at another time, and ${why}.`, hint);
}
