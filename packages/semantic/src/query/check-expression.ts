/** Types of expressions: every comparison and function fits, so that no cast is left for a warehouse to guess at. */
import type { MemberType } from '../model/data-model.ts';
import { parseTime } from '../parse-time.ts';
import { SemanticError } from '../semantic-error.ts';
import type { ResolvedExpression } from './resolved-expression.ts';

type ExpressionType = MemberType | 'null';

/**
 * Checks the types in an expression.
 * @returns the expression, with texts that are compared with a time turned into times
 * @throws SemanticError TYPE_MISMATCH
 */
export function checkExpression(expression: ResolvedExpression): ResolvedExpression {
  switch (expression.kind) {
    case 'compare': {
      const left = checkExpression(expression.left);
      const right = checkExpression(expression.right);
      const checked = { ...expression, left: asTimeBeside(left, right), right: asTimeBeside(right, left) };
      requireSame([checked.left, checked.right], `the comparison ${expression.operator}`);
      return checked;
    }
    case 'in': {
      const operand = checkExpression(expression.operand);
      const items = expression.items.map((item) => asTimeBeside(checkExpression(item), operand));
      if (items.some((item) => item.kind === 'literal' && item.value === null)) {
        throw new SemanticError('TYPE_MISMATCH', 'NULL cannot be an item of IN.', 'Write IS NULL beside it.');
      }
      requireSame([operand, ...items], 'IN');
      return { ...expression, operand, items };
    }
    case 'between': {
      const written = checkExpression(expression.operand);
      const [lowest, highest] = [checkExpression(expression.low), checkExpression(expression.high)];
      const operand = asTimeBeside(asTimeBeside(written, lowest), highest);
      const [low, high] = [asTimeBeside(lowest, operand), asTimeBeside(highest, operand)];
      requireSame([operand, low, high], 'BETWEEN');
      return { ...expression, operand, low, high };
    }
    case 'arithmetic': {
      const left = checkExpression(expression.left);
      const right = checkExpression(expression.right);
      for (const side of [left, right]) requireType(side, 'number', `the operator ${expression.operator}`);
      return { ...expression, left, right };
    }
    case 'and':
    case 'or': {
      const operands = expression.operands.map(checkExpression);
      for (const operand of operands) requireType(operand, 'boolean', expression.kind.toUpperCase());
      return { ...expression, operands };
    }
    case 'case': {
      const branches = expression.branches.map(({ when, result }) => ({
        when: checkExpression(when),
        result: checkExpression(result),
      }));
      const otherwise = expression.otherwise === null ? null : checkExpression(expression.otherwise);
      for (const { when } of branches) requireType(when, 'boolean', 'WHEN');
      requireSame([...branches.map(({ result }) => result), ...(otherwise === null ? [] : [otherwise])], 'CASE');
      return { ...expression, branches, otherwise };
    }
    case 'call': {
      const args = expression.args.map(checkExpression);
      const { name } = expression;
      if (name === 'coalesce' || name === 'nullif') requireSame(args, name);
      else for (const arg of args) requireType(arg, name === 'lower' || name === 'upper' ? 'string' : 'number', name);
      return { ...expression, args };
    }
    case 'not':
    case 'negate':
    case 'is-null':
    case 'like':
    case 'date-trunc': {
      const operand = checkExpression(expression.operand);
      if (expression.kind === 'not') requireType(operand, 'boolean', 'NOT');
      if (expression.kind === 'negate') requireType(operand, 'number', 'the operator -');
      if (expression.kind === 'like') requireType(operand, 'string', 'LIKE');
      if (expression.kind === 'date-trunc') requireType(operand, 'time', 'date_trunc');
      return { ...expression, operand };
    }
    default:
      return expression;
  }
}

/** @throws SemanticError TYPE_MISMATCH when a condition is not a condition */
export function requireBoolean(expression: ResolvedExpression, clause: string): void {
  requireType(expression, 'boolean', clause);
}

/** The type of a checked expression. */
function typeOf(expression: ResolvedExpression): ExpressionType {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
      return expression.member.member.type;
    case 'time':
    case 'date-trunc':
      return 'time';
    case 'literal':
      return expression.value === null ? 'null' : typeof expression.value === 'boolean' ? 'boolean' : 'string';
    case 'number':
    case 'arithmetic':
    case 'negate':
      return 'number';
    case 'call':
      if (expression.name === 'lower' || expression.name === 'upper') return 'string';
      return expression.name === 'coalesce' || expression.name === 'nullif' ? firstType(expression.args) : 'number';
    case 'case':
      return firstType([
        ...expression.branches.map(({ result }) => result),
        ...(expression.otherwise === null ? [] : [expression.otherwise]),
      ]);
    default:
      return 'boolean';
  }
}

/** The type of the first that is not null; they have been found to be the same. */
function firstType(expressions: readonly ResolvedExpression[]): ExpressionType {
  for (const expression of expressions) {
    const type = typeOf(expression);
    if (type !== 'null') return type;
  }
  return 'null';
}

/** A text beside a time is a time, or wrong. */
function asTimeBeside(expression: ResolvedExpression, other: ResolvedExpression): ResolvedExpression {
  if (typeOf(other) !== 'time' || expression.kind !== 'literal' || typeof expression.value !== 'string')
    return expression;
  const value = parseTime(expression.value);
  if (value !== null) return { kind: 'time', value, location: expression.location };
  throw new SemanticError(
    'TYPE_MISMATCH',
    `"${expression.value.slice(0, 40)}" is not a time.`,
    "Write '2024-01-31' or '2024-01-31 13:45:00'.",
  );
}

function requireType(expression: ResolvedExpression, wanted: MemberType, place: string): void {
  const type = typeOf(expression);
  if (type !== wanted && type !== 'null') mismatch(`${place} takes a ${wanted}, not a ${type}`);
}

function requireSame(expressions: readonly ResolvedExpression[], place: string): void {
  const types = new Set(expressions.map(typeOf).filter((type) => type !== 'null'));
  if (types.size > 1) mismatch(`${place} mixes ${[...types].join(' and ')}`);
}

function mismatch(message: string): never {
  throw new SemanticError('TYPE_MISMATCH', `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}
