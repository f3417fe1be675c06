/** What kind of number an expression gives, as far as it is known without asking the warehouse: exact, or a double. */
import type { Dialect } from '../dialects/dialect.ts';
import { readNumber } from '../dialects/text-formats.ts';
import type { RelationMember } from '../model/data-model.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import type { ScalarFunction } from '../query/semantic-query.ts';
import { typeOf } from '../query/value-type.ts';

const doubleFunctions: ReadonlySet<ScalarFunction> = new Set<ScalarFunction>(['power', 'sqrt', 'exp', 'ln']);
/** Functions whose value is one of their arguments. */
const choices: ReadonlySet<ScalarFunction> = new Set<ScalarFunction>(['coalesce', 'nullif', 'greatest', 'least']);

/** Columns of numbers, made of the one kind that they have in common where the warehouse does not find it by itself. */
export const ofOneKind = (columns: readonly string[], { sameKind }: Pick<Dialect, 'sameKind'>): readonly string[] =>
  sameKind === null
    ? columns
    : columns.map((column) => {
        const others = columns.filter((other) => other !== column);
        return sameKind(column, others);
      });

/** What a CASE can give, a missing ELSE left out. */
export const resultsOf = (expression: Extract<ResolvedExpression, { kind: 'case' }>): readonly ResolvedExpression[] => [
  ...expression.branches.map(({ result }) => result),
  ...(expression.otherwise === null ? [] : [expression.otherwise]),
];

/** What tells together of which kind a number is: what it is chosen from, or added up of; null where that does not tell. */
export function tellingParts(expression: ResolvedExpression): readonly ResolvedExpression[] | null {
  if (expression.kind === 'case') return resultsOf(expression);
  if (expression.kind === 'negate') return [expression.operand];
  if (expression.kind === 'arithmetic') {
    const { operator, left, right } = expression;
    return operator === '+' || operator === '-' ? [left, right] : null;
  }
  if (expression.kind !== 'call' || !choices.has(expression.name)) return null;
  return expression.name === 'nullif' ? expression.args.slice(0, 1) : expression.args;
}

/** What is known of a number. */
export interface NumberKind {
  /** Whether it is a double for certain; else it is whatever its columns are. */
  readonly isDouble: boolean;
  /** How many digits it may have if it is exact, and how many of them behind the point are known of. */
  readonly digits: number;
  readonly places: number;
}

const aDouble: NumberKind = { isDouble: true, digits: 0, places: 0 };
const exact = (digits: number, places = 0): NumberKind => ({ isDouble: false, digits, places });

/**
 * More digits than an exact number is computed with. ClickHouse's widest decimal has 76; the numbers of a model are taken to have up to 30,
 * those that another query computed, up to 60: what comes of products of more than two of them is computed in doubles.
 */
const limits = { digits: 76, places: 18, member: 30, column: 60, whole: 19 } as const;

/** It is asked at every level of what stands around an expression. */
const known = new WeakMap<ResolvedExpression, NumberKind>();

/** What is known of an expression of type number. */
export function numberKindOf(expression: ResolvedExpression): NumberKind {
  const before = known.get(expression);
  if (before !== undefined) return before;
  const kind = readKind(expression);
  known.set(expression, kind);
  return kind;
}

function readKind(expression: ResolvedExpression): NumberKind {
  switch (expression.kind) {
    case 'number': {
      const [whole = '', fraction = ''] = expression.text.split('.');
      const isLong = readNumber(expression.text).kind === 'double';
      return isLong ? aDouble : exact(whole.length + fraction.length, fraction.length);
    }
    case 'dimension':
    case 'measure':
      return memberKind(expression.member);
    case 'aggregate':
    case 'window':
      if (expression.function === 'avg') return aDouble;
      return exact(limits.column);
    case 'arithmetic': {
      if (expression.operator === '/') return aDouble;
      const [left, right] = [numberKindOf(expression.left), numberKindOf(expression.right)];
      const isProduct = expression.operator === '*';
      const places = isProduct ? left.places + right.places : Math.max(left.places, right.places);
      const digits = isProduct ? left.digits + right.digits : Math.max(left.digits, right.digits) + 1;
      const isDouble = left.isDouble || right.isDouble || digits > limits.digits || places > limits.places;
      return isDouble ? aDouble : exact(digits, places);
    }
    case 'negate':
      return numberKindOf(expression.operand);
    case 'date-part':
      return exact(limits.whole, expression.part === 'second' || expression.part === 'epoch' ? 6 : 0);
    case 'cast':
      if (expression.type === 'double') return aDouble;
      return expression.type === 'decimal' ? exact(38, expression.places ?? 0) : exact(limits.whole);
    case 'call': {
      if (doubleFunctions.has(expression.name)) return aDouble;
      if (choices.has(expression.name)) return commonKind(expression.args);
      const [first] = expression.args;
      if (first === undefined || typeOf(first) !== 'number') return exact(limits.whole);
      return expression.name === 'mod' ? commonKind(expression.args) : numberKindOf(first);
    }
    case 'case':
      return commonKind(resultsOf(expression));
    default:
      return exact(limits.column);
  }
}

function memberKind({ member }: RelationMember): NumberKind {
  if (member.kind !== 'measure') return exact(limits.member);
  switch (member.aggregation) {
    case 'avg':
      return aDouble;
    case 'count':
    case 'count_distinct':
    case 'count_distinct_approx':
      return exact(limits.whole);
    case 'multi_stage':
      return member.outer === 'avg' ? aDouble : exact(limits.member);
    default:
      return exact(limits.member);
  }
}

/** Whether numbers that one value is chosen from have to be made doubles first, because some of them are or may be. */
export const isMixed = (expressions: readonly ResolvedExpression[]): boolean => commonKind(expressions).isDouble;

function areMixed(numbers: readonly ResolvedExpression[], kinds: readonly NumberKind[]): boolean {
  if (kinds.some(({ isDouble }) => isDouble)) return true;
  // Beside a column, which may hold doubles, a decimal that is written out has no common kind on ClickHouse.
  return numbers.some(isWrittenDecimal) && !numbers.every(isWritten);
}

/** A number as it is written out, a sign before it or not. */
export const isWritten = (expression: ResolvedExpression): boolean =>
  expression.kind === 'number' || (expression.kind === 'negate' && isWritten(expression.operand));

const isWrittenDecimal = (expression: ResolvedExpression): boolean =>
  isWritten(expression) && numberKindOf(expression).places > 0;

function commonKind(expressions: readonly ResolvedExpression[]): NumberKind {
  const numbers = expressions.filter((it) => typeOf(it) === 'number');
  // Each is looked at once: twice at every level would be a thousand times ten levels deep.
  const kinds = numbers.map(numberKindOf);
  if (areMixed(numbers, kinds)) return aDouble;
  return exact(Math.max(0, ...kinds.map(({ digits }) => digits)), Math.max(0, ...kinds.map(({ places }) => places)));
}
