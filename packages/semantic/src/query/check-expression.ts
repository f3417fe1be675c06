/** Types of expressions: every comparison and function fits, so that no cast is left for a warehouse to guess at. */
import type { MemberType } from '../model/data-model.ts';
import { SemanticError } from '../semantic-error.ts';
import type { ResolvedExpression, ResolvedLeaf, ValueType } from './resolved-expression.ts';
import type { Composite } from './semantic-query.ts';
import { alignTimes, castTime, shiftedTime, toLocal, truncatedTime } from './times.ts';
import { memberType, signatures, typeOf } from './value-type.ts';

type Checked = Composite<ResolvedLeaf>;

/**
 * Checks the types in an expression whose parts are checked.
 * @param timezone the zone of the query; `UTC`, or a name of the zone database
 * @returns the expression, with texts that stand for times turned into times, and times into the zone where that is asked for
 * @throws SemanticError TYPE_MISMATCH
 */
export function checkExpression(expression: Checked, timezone: string): ResolvedExpression {
  const at = expression.location;
  switch (expression.kind) {
    case 'compare': {
      const [left, right] = sameType(
        [expression.left, expression.right],
        `the comparison ${expression.operator}`,
        at,
        timezone,
      );
      return { ...expression, left: left ?? expression.left, right: right ?? expression.right };
    }
    case 'in': {
      if (expression.items.some((item) => item.kind === 'literal' && item.value === null)) {
        throw new SemanticError('TYPE_MISMATCH', 'NULL cannot be an item of IN.', 'Write IS NULL beside it.', at);
      }
      const [operand, ...items] = sameType([expression.operand, ...expression.items], 'IN', at, timezone);
      return { ...expression, operand: operand ?? expression.operand, items };
    }
    case 'between': {
      const { operand, low, high } = expression;
      const [checked = operand, lowest = low, highest = high] = sameType([operand, low, high], 'BETWEEN', at, timezone);
      return { ...expression, operand: checked, low: lowest, high: highest };
    }
    case 'arithmetic': {
      for (const side of [expression.left, expression.right]) {
        if (isTime(typeOf(side))) {
          mismatch(
            `the operator ${expression.operator} takes numbers, not times`,
            at,
            "To move a time write member + INTERVAL '1 day'.",
          );
        }
        requireType(side, 'number', `the operator ${expression.operator}`);
      }
      return expression;
    }
    case 'and':
    case 'or':
      for (const operand of expression.operands) requireType(operand, 'boolean', expression.kind.toUpperCase());
      return expression;
    case 'case': {
      const { branches, otherwise } = expression;
      for (const { when } of branches) requireType(when, 'boolean', 'WHEN');
      const results = [...branches.map(({ result }) => result), ...(otherwise === null ? [] : [otherwise])];
      const same = sameType(results, 'CASE', at, timezone);
      return {
        ...expression,
        branches: branches.map(({ when, result }, index) => ({ when, result: same[index] ?? result })),
        otherwise: otherwise === null ? null : (same[branches.length] ?? otherwise),
      };
    }
    case 'call':
      return { ...expression, args: checkArguments(expression, timezone) };
    case 'date-trunc':
      return truncatedTime(expression, timezone);
    case 'date-part': {
      const operand = readTime(expression.operand, 'a date part', timezone);
      return { ...expression, operand: expression.part === 'epoch' ? operand : toLocal(operand, timezone) };
    }
    case 'shift-time':
      return shiftedTime({ ...expression, operand: readTime(expression.operand, 'INTERVAL', timezone) }, timezone);
    case 'cast':
      return checkCast(expression, timezone);
    case 'not':
    case 'is-truth':
      requireType(expression.operand, 'boolean', expression.kind === 'not' ? 'NOT' : 'IS TRUE');
      return expression;
    case 'negate':
      requireType(expression.operand, 'number', 'the operator -');
      return expression;
    case 'like':
      requireType(expression.operand, 'string', 'LIKE');
      return expression;
    case 'literal':
    case 'number':
    case 'is-null':
    case 'local-time':
      return expression;
  }
}

/**
 * Expressions that have to be of one type, times of one kind.
 * @param place what mixes them, for the message
 * @throws SemanticError TYPE_MISMATCH
 */
export function sameType(
  expressions: readonly ResolvedExpression[],
  place: string,
  location: number,
  timezone: string,
): readonly ResolvedExpression[] {
  const aligned = alignTimes(expressions, timezone);
  const types = new Set(
    aligned
      .map((it) => typeOf(it))
      .filter((type) => type !== 'null')
      .map(memberType),
  );
  if (types.size > 1) mismatch(`${place} mixes ${[...types].join(' and ')}`, location);
  return aligned;
}

/** @throws SemanticError TYPE_MISMATCH when a condition is not a condition */
export function requireBoolean(expression: ResolvedExpression, clause: string): void {
  requireType(expression, 'boolean', clause);
}

/** @throws SemanticError TYPE_MISMATCH */
export function requireType(expression: ResolvedExpression, wanted: MemberType, place: string): void {
  const type = memberType(typeOf(expression));
  if (type !== wanted && typeOf(expression) !== 'null') {
    mismatch(`${place} takes a ${wanted}, not a ${type}`, expression.location);
  }
}

const isTime = (type: ValueType): boolean => type === 'time' || type === 'local-time';

/** A time, written as a text perhaps. */
function readTime(expression: ResolvedExpression, place: string, timezone: string): ResolvedExpression {
  const [read = expression] = alignTimes([expression], timezone, true);
  requireType(read, 'time', place);
  return read;
}

function checkArguments(call: Checked & { kind: 'call' }, timezone: string): readonly ResolvedExpression[] {
  const { takes } = signatures[call.name];
  if (takes === 'any') return sameType(call.args, call.name, call.location, timezone);
  if (takes === 'texts') return call.args.map((argument) => asText(argument, timezone));
  for (const [index, argument] of call.args.entries()) requireType(argument, takes[index] ?? 'number', call.name);
  return call.args;
}

/** A value as a text, as it is in a concatenation. */
function asText(expression: ResolvedExpression, timezone: string): ResolvedExpression {
  const type = typeOf(expression);
  if (type === 'string' || type === 'null') return expression;
  return checkCast(
    { kind: 'cast', operand: expression, type: 'text', places: null, location: expression.location },
    timezone,
  );
}

function checkCast(cast: Checked & { kind: 'cast' }, timezone: string): ResolvedExpression {
  const from = typeOf(cast.operand);
  const place = `a cast to ${cast.type}`;
  switch (cast.type) {
    case 'date':
    case 'timestamp':
      return (
        castTime(cast, timezone) ??
        mismatch(`${place} takes a time or a string, not a ${memberType(from)}`, cast.location)
      );
    case 'text':
      return { ...cast, operand: toLocal(cast.operand, timezone) };
    case 'boolean':
      if (from !== 'string' && from !== 'boolean' && from !== 'null') {
        mismatch(`${place} takes a string, not a ${memberType(from)}`, cast.location, 'Write <> 0.');
      }
      return from === 'boolean' ? cast.operand : cast;
    case 'bigint':
    case 'double':
    case 'decimal':
      if (isTime(from))
        mismatch(`${place} takes a number or a string, not a time`, cast.location, "Write date_part('epoch', member).");
      if (from === 'boolean')
        mismatch(
          `${place} takes a number or a string, not a boolean`,
          cast.location,
          'Write CASE WHEN … THEN 1 ELSE 0 END.',
        );
      if (cast.type !== 'decimal' || cast.places !== null) return cast;
      // PostgreSQL's numeric without a size keeps what there is.
      return from === 'number' ? cast.operand : { ...cast, type: 'double' };
  }
}

function mismatch(message: string, location: number, hint = ''): never {
  throw new SemanticError('TYPE_MISMATCH', `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, hint, location);
}
