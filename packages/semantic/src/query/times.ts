/**
 * Times in expressions: texts that stand for times, instants and wall clocks, and what can be computed of literals beforehand.
 *
 * A member is an instant, in UTC. A literal is what a wall clock in the query's zone shows, unless it ends in `Z`; beside an instant it
 * becomes one. What is made of an instant (`date_trunc`, a date part, a day later) is made of the wall clock's time.
 */
import { parseTime } from '../parse-time.ts';
import { SemanticError } from '../semantic-error.ts';
import { shiftTime, truncateTime } from './calendar.ts';
import type { ResolvedExpression, ResolvedLeaf } from './resolved-expression.ts';
import { type Composite, granularities } from './semantic-query.ts';
import { typeOf } from './value-type.ts';
import { localToUtc, utc, utcToLocal } from './zoned-time.ts';

type TimeLiteral = ResolvedLeaf & { kind: 'time' };

const isTime = (expression: ResolvedExpression): boolean => {
  const type = typeOf(expression);
  return type === 'time' || type === 'local-time';
};

/** The moment `now` as an expression: an instant, or the day that it lies in, in the query's zone. */
export function presentTime(now: Date, isDate: boolean, timezone: string, location: number): TimeLiteral {
  const value = `${now.toISOString().slice(0, 23).replace('T', ' ')}000`;
  if (!isDate) return { kind: 'time', value, isLocal: false, location };
  const day = truncateTime('day', inZone(value, timezone));
  return { kind: 'time', value: day ?? value, isLocal: true, location };
}

const inZone = (value: string, timezone: string): string => (timezone === utc ? value : utcToLocal(value, timezone));

/** An instant as the wall clock of the query's zone shows it; anything else is left. */
export function toLocal(expression: ResolvedExpression, timezone: string): ResolvedExpression {
  if (typeOf(expression) !== 'time') return expression;
  const { location } = expression;
  if (expression.kind === 'time') {
    return { ...expression, value: inZone(expression.value, timezone), isLocal: true };
  }
  return timezone === utc ? expression : { kind: 'local-time', operand: expression, timezone, location };
}

function toInstant(literal: TimeLiteral, timezone: string): TimeLiteral {
  if (!literal.isLocal) return literal;
  const value = timezone === utc ? literal.value : localToUtc(literal.value, timezone);
  return { ...literal, value, isLocal: false };
}

/**
 * Expressions that are compared with each other or stand for each other: where one of them is a time, texts become times, and times
 * are all instants or all wall clocks'.
 * @param isAlways whether texts become times in any case
 * @throws SemanticError TYPE_MISMATCH for a text that is no time
 */
export function alignTimes(
  expressions: readonly ResolvedExpression[],
  timezone: string,
  isAlways = false,
): readonly ResolvedExpression[] {
  if (!isAlways && !expressions.some(isTime)) return expressions;
  const read = expressions.map((it) => readLiteral(it) ?? it);
  const others = read.filter((it) => it.kind !== 'time').map((it) => typeOf(it));
  const isInstant = others.includes('time') && !others.includes('local-time');
  return read.map((it) => {
    if (it.kind === 'time')
      return isInstant ? toInstant(it, timezone) : others.length === 0 ? it : toLocal(it, timezone);
    return others.includes('local-time') ? toLocal(it, timezone) : it;
  });
}

/** A text literal as a time; null for anything else. @throws SemanticError TYPE_MISMATCH */
function readLiteral(expression: ResolvedExpression): TimeLiteral | null {
  if (expression.kind !== 'literal' || typeof expression.value !== 'string') return null;
  const value = parseTime(expression.value.trim());
  const isInstant = /(Z|[+-]00(:?00)?)$/.test(expression.value.trim());
  if (value !== null) return { kind: 'time', value, isLocal: !isInstant, location: expression.location };
  throw new SemanticError(
    'TYPE_MISMATCH',
    `"${expression.value.slice(0, 40)}" is not a time.`,
    "Write '2024-01-31' or '2024-01-31 13:45:00'.",
    expression.location,
  );
}

/** A time within what a literal can be. */
function literal(value: string | null, isLocal: boolean, location: number): TimeLiteral {
  if (value !== null) return { kind: 'time', value, isLocal, location };
  throw new SemanticError('TYPE_MISMATCH', 'A time lies outside the years 1 to 9999.', '', location);
}

/**
 * A time cut to a unit that is built in, or that the time dimension declares; units of the model come first.
 * @throws SemanticError SQL_NOT_SUPPORTED for another unit, TYPE_MISMATCH for what is no time
 */
export function truncatedTime(
  node: Composite<ResolvedLeaf> & { kind: 'date-trunc' },
  timezone: string,
): ResolvedExpression {
  const [operand = node.operand] = alignTimes([node.operand], timezone, true);
  if (!isTime(operand) && typeOf(operand) !== 'null') {
    throw new SemanticError('TYPE_MISMATCH', `Date_trunc takes a time, not a ${typeOf(operand)}.`, '', node.location);
  }
  const member = operand.kind === 'dimension' ? operand.member.member : null;
  const declared = member?.kind === 'dimension' ? [...member.granularities.keys()] : [];
  const name = node.granularity.toLowerCase();
  const builtIn = granularities.find((it) => it === name);
  const granularity = declared.find((it) => it === node.granularity) ?? declared.find((it) => it === name) ?? builtIn;
  if (granularity === undefined) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      `Semantic SQL does not allow date_trunc to "${name.slice(0, 40)}".`,
      `Known: ${[...granularities, ...declared].join(', ')}.`,
      node.location,
    );
  }
  const local = toLocal(operand, timezone);
  if (local.kind === 'time' && builtIn !== undefined) {
    return literal(truncateTime(builtIn, local.value), true, node.location);
  }
  return { ...node, granularity, operand: local };
}

/** A time moved by an interval. Hours and less are the same everywhere; months and days are those of the wall clock. */
export function shiftedTime(
  node: Composite<ResolvedLeaf> & { kind: 'shift-time' },
  timezone: string,
): ResolvedExpression {
  const { interval, location } = node;
  const isClock = interval.months === 0 && interval.days === 0;
  const operand = isClock ? node.operand : toLocal(node.operand, timezone);
  if (operand.kind !== 'time') return { ...node, operand };
  return literal(shiftTime(operand.value, interval), operand.isLocal, location);
}

/** A cast to a day or a time; null for what cannot be one. */
export function castTime(
  cast: Composite<ResolvedLeaf> & { kind: 'cast' },
  timezone: string,
): ResolvedExpression | null {
  const operand = readLiteral(cast.operand) ?? cast.operand;
  const type = typeOf(operand);
  if (type === 'null' || type === 'string') return { ...cast, operand };
  if (type !== 'time' && type !== 'local-time') return null;
  if (cast.type === 'timestamp') return operand;
  const local = toLocal(operand, timezone);
  if (local.kind === 'time') return literal(truncateTime('day', local.value), true, cast.location);
  return { ...cast, operand: local };
}
