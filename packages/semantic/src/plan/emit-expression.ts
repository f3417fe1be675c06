/** Expressions → SQL text of a dialect. Values are bound, never written into the text. */
import { writtenPattern } from '../query/like-pattern.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import { type ComparisonOperator, granularities, type ScalarFunction } from '../query/semantic-query.ts';
import { memberTypeOf, typeOf } from '../query/value-type.ts';
import { SemanticError } from '../semantic-error.ts';
import type { CompileContext } from './group-scope.ts';
import { isMixed, isWritten, numberKindOf, resultsOf, tellingParts } from './value-kind.ts';

/** What an expression is emitted with. */
type ExpressionScope = Pick<CompileContext, 'dialect' | 'binder' | 'subquery'>;
type Leaf = (expression: ResolvedExpression) => string | null;
type Call = Extract<ResolvedExpression, { kind: 'call' }>;

/** A text that no query of a person is long enough for; nested parts that stand twice get there. */
const lengthMax = 200_000;
/** How far times can be moved in one expression, so that no time of the calendar is moved out of what warehouses hold. */
const yearsMax = 1000;
const placesMax = 18;

/**
 * The SQL of an expression. `leaf` may give the SQL of a whole subexpression, such as the column it was computed into;
 * where it gives null, the expression is emitted from its parts. As a condition it fails on no value: an
 * engine may try it on rows that nobody may see, and a failure would tell of them. What has no value is null.
 * @throws SemanticError SQL_NOT_SUPPORTED, QUERY_NOT_PLANNABLE
 */
export function emitExpression(expression: ResolvedExpression, scope: ExpressionScope, leaf: Leaf): string {
  const sql = leaf(expression) ?? emitParts(expression, scope, leaf);
  if (sql.length > lengthMax) throw new SemanticError('SQL_NOT_SUPPORTED', 'An expression of this query is too large.');
  return sql;
}

function emitParts(expression: ResolvedExpression, scope: ExpressionScope, leaf: Leaf): string {
  const emit = (it: ResolvedExpression) => emitExpression(it, scope, leaf);
  const { binder, dialect } = scope;
  switch (expression.kind) {
    case 'literal':
      if (expression.value === null) return 'NULL';
      return binder.bind(expression.value, typeof expression.value === 'boolean' ? 'boolean' : 'string');
    case 'number':
      // Decimal notation, checked by the parser.
      return dialect.number(expression.text);
    case 'time':
      return binder.bind(expression.value, 'time');
    case 'compare':
      return emitComparison(expression.operator, expression.left, expression.right, scope, leaf);
    case 'arithmetic': {
      const { operator } = expression;
      const [left, right] = [emit(expression.left), emit(expression.right)];
      if (operator === '/') return dialect.divide(left, right);
      return dialect.arithmetic(operator, left, right, numberKindOf(expression).isDouble);
    }
    case 'and':
    case 'or':
      return `(${expression.operands.map(emit).join(expression.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'not':
      return `(NOT ${emit(expression.operand)})`;
    case 'negate':
      if (isWritten(expression.operand)) return `(-${emit(expression.operand)})`;
      return dialect.arithmetic('-', '0', emit(expression.operand), numberKindOf(expression).isDouble);
    case 'is-null':
      return `(${emit(expression.operand)} IS ${expression.isNegated ? 'NOT ' : ''}NULL)`;
    case 'in':
      return emitIn(expression, scope, leaf);
    case 'between': {
      const { operand, low, high, isNegated } = expression;
      const operands = [operand, low, high];
      const between = (...[value, from, to]: readonly string[]) =>
        `(${value} ${isNegated ? 'NOT ' : ''}BETWEEN ${from} AND ${to})`;
      const isNumber = typeOf(operand) === 'number' || typeOf(low) === 'number';
      if (isNumber && !isPlain(operands)) return dialect.compareNumbers(operands.map(emit), between);
      if ([low, high].every(isBoundTime)) return dialect.compareTimes(operands.map(emit), between);
      return between(...operands.map((it) => orderedText(it, emit(it), scope)));
    }
    case 'like': {
      if (/(?:^|[^\\])(?:\\\\)*\\$/.test(expression.pattern)) {
        throw new SemanticError('SQL_NOT_SUPPORTED', 'A pattern of LIKE cannot end with a single backslash.');
      }
      const pattern = binder.bind(writtenPattern(expression.pattern), 'string');
      const sql = dialect.like(emit(expression.operand), pattern, expression.isCaseSensitive);
      return expression.isNegated ? `(NOT ${sql})` : sql;
    }
    case 'case': {
      const asResult = resultEmitter(resultsOf(expression), scope, leaf);
      const branches = expression.branches.map(({ when, result }) => `WHEN ${emit(when)} THEN ${asResult(result)}`);
      const otherwise = expression.otherwise === null ? '' : ` ELSE ${asResult(expression.otherwise)}`;
      return `(CASE ${branches.join(' ')}${otherwise} END)`;
    }
    case 'call':
      return emitCall(expression, scope, leaf);
    case 'date-trunc': {
      const granularity = granularities.find((it) => it === expression.granularity);
      if (granularity === undefined) throw new SemanticError('SQL_NOT_SUPPORTED', 'This granularity is not known.');
      return dialect.dateTrunc(granularity, emit(expression.operand));
    }
    case 'date-part':
      return dialect.datePart(expression.part, emit(expression.operand));
    case 'shift-time':
      if (yearsMoved(expression) > yearsMax) {
        throw new SemanticError('SQL_NOT_SUPPORTED', `A time cannot be moved by more than ${yearsMax} years.`);
      }
      return dialect.addInterval(emit(expression.operand), expression.interval);
    case 'local-time':
      return dialect.localTime(emit(expression.operand), expression.timezone);
    case 'cast': {
      const { operand, type, places } = expression;
      if (places !== null && (places < 0 || places > placesMax)) {
        throw new SemanticError('SQL_NOT_SUPPORTED', `A decimal has 0 to ${placesMax} places behind the point.`);
      }
      return dialect.cast(emit(operand), memberTypeOf(operand), type, places);
    }
    case 'is-truth':
      return `(${emit(expression.operand)} IS ${expression.isNegated ? 'NOT ' : ''}${expression.value ? 'TRUE' : 'FALSE'})`;
    case 'dimension':
    case 'measure':
      throw new SemanticError('QUERY_NOT_PLANNABLE', `${expression.member.name} cannot stand here.`);
    case 'subquery':
    case 'in-subquery':
      if (scope.subquery !== undefined) return scope.subquery(expression, emit);
      throw new SemanticError('QUERY_NOT_PLANNABLE', 'A subquery cannot stand here.');
    case 'column':
    case 'aggregate':
    case 'window':
      throw new SemanticError('QUERY_NOT_PLANNABLE', 'This expression cannot stand here.');
  }
}

/** Whether numbers can be compared as they are: a value beside whole numbers that are written out. */
const isPlain = ([value, ...others]: readonly ResolvedExpression[]): boolean =>
  value !== undefined &&
  ['dimension', 'measure', 'column', 'aggregate', 'window'].includes(value.kind) &&
  others.every((it) => isWritten(it) && numberKindOf(it).places === 0 && !numberKindOf(it).isDouble);

/** Whether a time is bound, or computed of one that is. */
const isBoundTime = (expression: ResolvedExpression): boolean =>
  expression.kind === 'time' || (expression.kind === 'shift-time' && isBoundTime(expression.operand));

/** A text as it is ordered; another value as it is. */
const orderedText = (expression: ResolvedExpression, sql: string, { dialect }: ExpressionScope): string =>
  typeOf(expression) === 'string' ? dialect.ordered(sql) : sql;

/** DuckDB (1.5) takes a unit of time for unequal to what begins no unit, even where it is null; what stands in IN it leaves alone. */
const listOperators: Readonly<Partial<Record<ComparisonOperator, string>>> = { '=': 'IN', '<>': 'NOT IN' };

function emitComparison(
  operator: ComparisonOperator,
  left: ResolvedExpression,
  right: ResolvedExpression,
  scope: ExpressionScope,
  leaf: Leaf,
): string {
  const sides = [left, right].map((it) => emitExpression(it, scope, leaf));
  const compare = (...[one, other]: readonly string[]) => `(${one} ${operator} ${other})`;
  const type = typeOf(left) === 'null' ? typeOf(right) : typeOf(left);
  if (type === 'number' && !isPlain([left, right]) && !isPlain([right, left])) {
    return scope.dialect.compareNumbers(sides, compare);
  }
  const words = listOperators[operator];
  const written = [left, right].findIndex(({ kind }) => kind === 'time');
  if (words !== undefined && written !== -1 && [left, right].some(({ kind }) => kind === 'date-trunc')) {
    const [unit, time] = written === 1 ? sides : sides.toReversed();
    return `(${unit} ${words} (${time}))`;
  }
  if (isBoundTime(right)) return scope.dialect.compareTimes(sides, compare);
  if (isBoundTime(left))
    return scope.dialect.compareTimes(sides.toReversed(), (one = '', other = '') => compare(other, one));
  if (type !== 'string' || operator === '=' || operator === '<>') return compare(...sides);
  return compare(...sides.map(scope.dialect.ordered));
}

function emitIn(expression: Extract<ResolvedExpression, { kind: 'in' }>, scope: ExpressionScope, leaf: Leaf): string {
  const { operand, items, isNegated } = expression;
  const type = typeOf(operand);
  // ClickHouse's IN takes constants of one type.
  const isList =
    type === 'number'
      ? isPlain([operand, ...items])
      : type !== 'boolean' && items.every(({ kind }) => kind === 'literal' || kind === 'time');
  if (isList) {
    const sides = [operand, ...items].map((it) => emitExpression(it, scope, leaf));
    const isIn = (...[value, ...list]: readonly string[]) =>
      `(${value} ${isNegated ? 'NOT ' : ''}IN (${list.join(', ')}))`;
    return items.every(isBoundTime) ? scope.dialect.compareTimes(sides, isIn) : isIn(...sides);
  }
  const tests = items.map((item) => emitComparison('=', operand, item, scope, leaf));
  return isNegated ? `(NOT (${tests.join(' OR ')}))` : `(${tests.join(' OR ')})`;
}

/** Emits values that one is chosen from: numbers all as doubles where some are, else as numbers of one kind. */
function resultEmitter(results: readonly ResolvedExpression[], scope: ExpressionScope, leaf: Leaf) {
  const { double, sameKind } = scope.dialect;
  const emit = (it: ResolvedExpression) => emitExpression(it, scope, leaf);
  const isNumber = (it: ResolvedExpression) => typeOf(it) === 'number';
  if (isMixed(results)) return (it: ResolvedExpression) => (isNumber(it) ? double(emit(it)) : emit(it));
  if (sameKind === null || results.filter(isNumber).length < 2) return emit;
  // Each is emitted once, however deep choices stand in choices.
  const emitted = new Map<ResolvedExpression, string>();
  const known: Leaf = (part) => emitted.get(part) ?? leaf(part);
  const kinds = new Map(results.filter(isNumber).map((it) => [it, kindsWithin(it, scope, known, emitted)]));
  const all = new Set([...kinds.values()].flatMap((it) => [...it]));
  return (it: ResolvedExpression): string => {
    const sql = emitExpression(it, scope, known);
    const own = kinds.get(it);
    if (own === undefined || all.size < 2) return sql;
    // Parts need not all count: ClickHouse gives COALESCE the type of its first value alone, where that is never null.
    return sameKind(sql, own.has(sql) ? [...all.difference(own)] : [...all]);
  };
}

/**
 * The SQL of numbers that tell of which kind one is: it itself, or those that it is chosen from or added up of.
 * @param emitted takes the SQL of each
 */
function kindsWithin(
  expression: ResolvedExpression,
  scope: ExpressionScope,
  leaf: Leaf,
  emitted: Map<ResolvedExpression, string>,
): ReadonlySet<string> {
  const parts = leaf(expression) === null && !isWritten(expression) ? tellingParts(expression) : null;
  if (parts !== null) return new Set(parts.flatMap((it) => [...kindsWithin(it, scope, leaf, emitted)]));
  if (typeOf(expression) !== 'number') return new Set();
  const sql = emitExpression(expression, scope, leaf);
  emitted.set(expression, sql);
  // Small whole numbers that are written out go with every kind.
  const { digits, places } = numberKindOf(expression);
  return new Set(isWritten(expression) && places === 0 && digits < 10 ? [] : [sql]);
}

function emitCall({ name, args }: Call, scope: ExpressionScope, leaf: Leaf): string {
  const { dialect } = scope;
  const emit = (it: ResolvedExpression) => emitExpression(it, scope, leaf);
  switch (name) {
    case '||':
    case 'concat':
      return dialect.call(
        name,
        args.map((it) => asText(it, emit(it), scope)),
      );
    case 'coalesce':
    case 'greatest':
    case 'least':
      return dialect.call(name, args.map(resultEmitter(args, scope, leaf)), firstTypeOf(args));
    case 'nullif': {
      const [value, other] = args;
      if (value === undefined || other === undefined) break;
      return `(CASE WHEN ${emitComparison('=', value, other, scope, leaf)} THEN NULL ELSE ${emit(value)} END)`;
    }
    case 'round': {
      const [value, places] = args;
      if (value === undefined || places === undefined) break;
      return dialect.call(name, [emit(value), String(writtenWhole(name, places, 30))]);
    }
    case 'split_part': {
      const [text, separator, place] = args;
      if (text === undefined || separator === undefined || place === undefined) break;
      const at = writtenWhole(name, place, 1000);
      if (separator.kind !== 'literal' || typeof separator.value !== 'string') {
        throw new SemanticError('SQL_NOT_SUPPORTED', 'split_part takes a separator that is written out.');
      }
      if (at === 0) return 'NULL';
      // Nothing separates nothing: the text is the only part.
      if (separator.value !== '') return dialect.call(name, [emit(text), emit(separator), String(at)]);
      return Math.abs(at) === 1 ? emit(text) : dialect.call('left', [emit(text), '0']);
    }
  }
  return dialect.call(name, args.map(emit));
}

function firstTypeOf(expressions: readonly ResolvedExpression[]) {
  const known = expressions.find((it) => typeOf(it) !== 'null');
  return known === undefined ? undefined : memberTypeOf(known);
}

function asText(expression: ResolvedExpression, sql: string, { dialect }: ExpressionScope): string {
  const type = memberTypeOf(expression);
  return type === 'string' ? sql : dialect.cast(sql, type, 'text', null);
}

/** A whole number that has to be written out. @throws SemanticError SQL_NOT_SUPPORTED */
function writtenWhole(name: ScalarFunction, expression: ResolvedExpression, max: number): number {
  const sign = expression.kind === 'negate' ? -1 : 1;
  const written = expression.kind === 'negate' ? expression.operand : expression;
  const value = written.kind === 'number' ? Number(written.text) * sign : Number.NaN;
  if (Number.isInteger(value) && Math.abs(value) <= max) return value;
  throw new SemanticError('SQL_NOT_SUPPORTED', `${name} takes a whole number of up to ${max} that is written out.`);
}

/** By how many years at most an expression moves a time, to and fro. */
function yearsMoved(expression: ResolvedExpression): number {
  if (expression.kind !== 'shift-time') return 0;
  const { months, days, seconds } = expression.interval;
  const years = Math.abs(months) / 12 + Math.abs(days) / 365 + Math.abs(seconds) / (365 * 86_400);
  return years + yearsMoved(expression.operand);
}
