/** Filters of a JSON query → conditions of semantic SQL, values typed by the member. */
import type { MemberType, RelationMember } from '../model/data-model.ts';
import { parseTime } from '../parse-time.ts';
import { SemanticError } from '../semantic-error.ts';
import { likePattern } from './like-pattern.ts';
import type { LoadFilter, LoadValue, ValueOperator } from './load-filter.ts';
import { loadError } from './load-shape.ts';
import type { ComparisonOperator, NamedExpression } from './semantic-query.ts';

/** A member that the user may see, with the relation that the query names it by. */
export interface LoadMember {
  readonly relation: string;
  readonly member: RelationMember;
}

/** Finds what a name stands for. @param path where the query names it @throws SemanticError */
export type FindMember = (name: string, path: string) => LoadMember;

const location = 0;

/** A member as a column of its relation. */
export const columnOf = ({ relation, member }: LoadMember): NamedExpression => ({
  kind: 'column',
  qualifier: relation,
  name: member.name,
  location,
});

/** A measure as it is asked for. */
export const measureOf = (found: LoadMember): NamedExpression => ({
  kind: 'aggregate',
  function: 'measure',
  isDistinct: false,
  argument: columnOf(found),
  filter: null,
  location,
});

/**
 * A filter as a condition. Negated ones hold for rows without a value, too, unless a value to be kept out is null.
 * @throws SemanticError TYPE_MISMATCH for a value or operator that does not fit the member
 */
export function filterCondition(filter: LoadFilter, find: FindMember): NamedExpression {
  if ('filters' in filter) {
    const operands = filter.filters.map((it) => filterCondition(it, find));
    return operands.length === 1 && operands[0] !== undefined ? operands[0] : { kind: filter.kind, operands, location };
  }
  const found = find(filter.member, `${filter.path}.member`);
  const { member } = found.member;
  const operand = member.kind === 'measure' ? measureOf(found) : columnOf(found);
  switch (filter.kind) {
    case 'set':
    case 'not-set':
      return { kind: 'is-null', operand, isNegated: filter.kind === 'set', location };
    case 'counted-by':
      return countedBy(found, filter.path);
    case 'time': {
      if (member.type !== 'time') throw mismatch(filter, `takes a time; ${filter.member} is a ${member.type}`);
      const bounds: NamedExpression[] = [];
      if (filter.from !== null) bounds.push(compare(operand, '>=', text(filter.from)));
      if (filter.until !== null) bounds.push(compare(operand, '<', text(filter.until)));
      const [first, second] = bounds;
      if (first === undefined) throw new Error('a range without bounds');
      const range: NamedExpression = second === undefined ? first : { kind: 'and', operands: bounds, location };
      return filter.isNegated ? { kind: 'not', operand: range, location } : range;
    }
    case 'compare':
      return comparison(operand, filter, member.type);
  }
}

type Comparison = LoadFilter & { readonly kind: 'compare' };

const orders: Partial<Record<ValueOperator, ComparisonOperator>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };
const patterns = { contains: 'anywhere', startsWith: 'at-start', endsWith: 'at-end' } as const;

function comparison(operand: NamedExpression, filter: Comparison, type: MemberType): NamedExpression {
  const order = orders[filter.operator];
  if (order !== undefined) {
    const [value = null] = filter.values;
    if (type === 'boolean' || value === null) throw mismatch(filter, 'takes a number, a time or a text');
    return compare(operand, order, literal(value, type, filter));
  }
  const isNegated = filter.operator.startsWith('not');
  const written = filter.values.filter((it) => it !== null);
  const hasNull = written.length < filter.values.length;
  const plain = isNegated ? lowerFirst(filter.operator.slice(3)) : filter.operator;
  const matches =
    plain === 'contains' || plain === 'startsWith' || plain === 'endsWith'
      ? written.map((it) => like(operand, it, plain, filter, type, isNegated))
      : equality(
          operand,
          written.map((it) => literal(it, type, filter)),
          isNegated,
        );
  const isNull: NamedExpression = { kind: 'is-null', operand, isNegated: false, location };
  const isSet: NamedExpression = { kind: 'is-null', operand, isNegated: true, location };
  if (!isNegated) return join('or', hasNull ? [...matches, isNull] : matches);
  if (hasNull) return join('and', [...matches, isSet]);
  return join('or', [join('and', matches), isNull]);
}

const lowerFirst = (word: string): string => `${word.charAt(0).toLowerCase()}${word.slice(1)}`;

const compare = (left: NamedExpression, operator: ComparisonOperator, right: NamedExpression): NamedExpression => ({
  kind: 'compare',
  operator,
  left,
  right,
  location,
});

const text = (value: string): NamedExpression => ({ kind: 'literal', value, location });

function join(kind: 'and' | 'or', operands: readonly NamedExpression[]): NamedExpression {
  const [first, second] = operands;
  return first !== undefined && second === undefined ? first : { kind, operands, location };
}

function equality(
  operand: NamedExpression,
  items: readonly NamedExpression[],
  isNegated: boolean,
): readonly NamedExpression[] {
  const [first, second] = items;
  if (first === undefined) return [];
  if (second === undefined) return [compare(operand, isNegated ? '<>' : '=', first)];
  return [{ kind: 'in', operand, items, isNegated, location }];
}

function like(
  operand: NamedExpression,
  value: Exclude<LoadValue, null>,
  operator: keyof typeof patterns,
  filter: Comparison,
  type: MemberType,
  isNegated: boolean,
): NamedExpression {
  if (type !== 'string') throw mismatch(filter, `takes a text; ${filter.member} is a ${type}`);
  const pattern = likePattern(String(value), patterns[operator]);
  return { kind: 'like', operand, pattern, isCaseSensitive: false, isNegated, location };
}

/** A value as a literal of the member's type. */
function literal(value: Exclude<LoadValue, null>, type: MemberType, filter: Comparison): NamedExpression {
  const written = String(value).trim();
  switch (type) {
    case 'string':
      return text(String(value));
    case 'number':
      return number(written) ?? refuse(value, 'number', filter);
    case 'boolean': {
      const isTrue = /^true$/i.test(written);
      if (!isTrue && !/^false$/i.test(written)) return refuse(value, 'true or false', filter);
      return { kind: 'literal', value: isTrue, location };
    }
    case 'time':
      return parseTime(written) === null ? refuse(value, 'time', filter) : text(written);
  }
}

/** Decimal notation of at most 38 digits, which is what semantic SQL takes. */
function number(written: string): NamedExpression | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d{1,38})(?:\.(\d{1,38}))?(?:e([+-]?\d{1,2}))?$/i.exec(written) ?? [];
  if (sign === undefined) return null;
  // JSON writes small and large numbers as 1e-7: the point is moved.
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction).padStart(whole.length + fraction.length + Math.max(0, 1 - point), '0');
  const at = Math.max(1, point);
  const text = `${digits.slice(0, at).padEnd(at, '0')}${at < digits.length ? `.${digits.slice(at)}` : ''}`;
  if (text.replace('.', '').length > 38) return null;
  const literal: NamedExpression = { kind: 'number', text, location };
  return sign === '-' ? { kind: 'negate', operand: literal, location } : literal;
}

function refuse(value: LoadValue, noun: string, filter: Comparison): never {
  throw mismatch(filter, `is no ${noun}, as ${filter.member} is: "${String(value).slice(0, 40)}"`);
}

const mismatch = ({ path }: { readonly path: string }, problem: string): SemanticError =>
  new SemanticError('TYPE_MISMATCH', `${path} ${problem}.`);

/** Whether a measure counts some rows only, by filters of its own. */
export const isFiltered = ({ member }: RelationMember): boolean => 'filters' in member && member.filters.length > 0;

/**
 * The rows that a measure counts. Without a filter of its own, it counts every row. One that has some cannot be named in a condition on
 * rows: then it is the groups in which it counts any, which is the same as long as nothing else is computed of these groups.
 */
function countedBy(found: LoadMember, path: string): NamedExpression {
  const { member } = found.member;
  if (member.kind !== 'measure') {
    throw loadError(path, `takes a measure; ${found.relation}.${member.name} is a ${member.kind}`);
  }
  if (!isFiltered(found.member)) return { kind: 'literal', value: true, location };
  const isCount = member.aggregation.startsWith('count');
  const operand = measureOf(found);
  return isCount
    ? compare(operand, '>', { kind: 'number', text: '0', location })
    : { kind: 'is-null', operand, isNegated: true, location };
}
