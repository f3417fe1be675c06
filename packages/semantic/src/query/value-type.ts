/** The types of resolved expressions. */
import type { MemberType } from '../model/data-model.ts';
import type { ResolvedExpression, ValueType } from './resolved-expression.ts';
import type { CastType, ScalarFunction } from './semantic-query.ts';

/** The types of what a function takes and gives. `any`: all of one type, which it gives. */
export interface Signature {
  readonly takes: readonly MemberType[] | 'any' | 'texts';
  readonly gives: MemberType | 'any';
}

const text: Signature = { takes: ['string'], gives: 'string' };
const number: Signature = { takes: ['number', 'number'], gives: 'number' };
const any: Signature = { takes: 'any', gives: 'any' };
const texts: Signature = { takes: 'texts', gives: 'string' };

/** What each function takes and gives. `texts`: values of any type, read as texts. */
export const signatures: Readonly<Record<ScalarFunction, Signature>> = {
  lower: text,
  upper: text,
  trim: text,
  ltrim: text,
  rtrim: text,
  length: { takes: ['string'], gives: 'number' },
  left: { takes: ['string', 'number'], gives: 'string' },
  right: { takes: ['string', 'number'], gives: 'string' },
  substring: { takes: ['string', 'number', 'number'], gives: 'string' },
  replace: { takes: ['string', 'string', 'string'], gives: 'string' },
  strpos: { takes: ['string', 'string'], gives: 'number' },
  split_part: { takes: ['string', 'string', 'number'], gives: 'string' },
  starts_with: { takes: ['string', 'string'], gives: 'boolean' },
  concat: texts,
  '||': texts,
  coalesce: any,
  nullif: any,
  greatest: any,
  least: any,
  round: number,
  trunc: number,
  ceil: number,
  floor: number,
  abs: number,
  sign: number,
  mod: number,
  power: number,
  sqrt: number,
  exp: number,
  ln: number,
};

/** Types of expressions that have to be looked into for them, which is asked at every level of what stands around them. */
const known = new WeakMap<ResolvedExpression, ValueType>();

/** The type of a checked expression. */
export function typeOf(expression: ResolvedExpression): ValueType {
  if (expression.kind !== 'case' && expression.kind !== 'call') return readType(expression);
  const before = known.get(expression);
  if (before !== undefined) return before;
  const type = readType(expression);
  known.set(expression, type);
  return type;
}

function readType(expression: ResolvedExpression): ValueType {
  switch (expression.kind) {
    case 'dimension': {
      const { member } = expression.member;
      return member.kind === 'dimension' && member.isLocalTime ? 'local-time' : member.type;
    }
    case 'measure':
      return expression.member.member.type;
    case 'column':
      return expression.type;
    case 'time':
      return expression.isLocal ? 'local-time' : 'time';
    case 'date-trunc':
    case 'shift-time':
      return typeOf(expression.operand);
    case 'local-time':
      return 'local-time';
    case 'literal':
      return expression.value === null ? 'null' : typeof expression.value === 'boolean' ? 'boolean' : 'string';
    case 'number':
    case 'arithmetic':
    case 'negate':
    case 'date-part':
      return 'number';
    case 'cast':
      return castType(expression.type);
    case 'call': {
      const { gives } = signatures[expression.name];
      return gives === 'any' ? firstType(expression.args) : gives;
    }
    case 'case':
      return firstType([
        ...expression.branches.map(({ result }) => result),
        ...(expression.otherwise === null ? [] : [expression.otherwise]),
      ]);
    case 'aggregate': {
      const { function: name, argument } = expression;
      return (name === 'min' || name === 'max') && argument !== null ? typeOf(argument) : 'number';
    }
    case 'window': {
      const [argument] = expression.args;
      const isOfArgument = ['lag', 'lead', 'first_value', 'last_value', 'min', 'max'].includes(expression.function);
      return isOfArgument && argument !== undefined ? typeOf(argument) : 'number';
    }
    case 'subquery':
      return expression.form === 'exists' ? 'boolean' : (expression.statement.columns[0]?.type ?? 'null');
    case 'compare':
    case 'and':
    case 'or':
    case 'not':
    case 'is-null':
    case 'between':
    case 'in':
    case 'in-subquery':
    case 'like':
    case 'is-truth':
      return 'boolean';
  }
}

/** The same as a warehouse knows it: a wall clock's time is a timestamp, and what is always null is a text. */
export function memberTypeOf(expression: ResolvedExpression): MemberType {
  return memberType(typeOf(expression));
}

/** The type that a warehouse knows a value by. */
export const memberType = (type: ValueType): MemberType =>
  type === 'local-time' ? 'time' : type === 'null' ? 'string' : type;

function castType(type: CastType): ValueType {
  switch (type) {
    case 'text':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'date':
    case 'timestamp':
      return 'local-time';
    default:
      return 'number';
  }
}

/** The type of the first that is not null; they have been found to be the same. */
function firstType(expressions: readonly ResolvedExpression[]): ValueType {
  for (const expression of expressions) {
    const type = typeOf(expression);
    if (type !== 'null') return type;
  }
  return 'null';
}
