/**
 * SQL as ClickHouse takes it, from version 25 on. Nothing here throws on a value: whole numbers and decimals are computed as decimals
 * of 76 digits, since its own integers wrap around and its smaller decimals overflow.
 */
import type { MemberType } from '../model/data-model.ts';
import type { CastType } from '../query/semantic-query.ts';
import { dateBin, datePart, dateTrunc, movedByMonths, series } from './clickhouse-times.ts';
import type { Dialect, ParameterType } from './dialect.ts';
import {
  booleanFormat,
  decimalFormat,
  doubleFormat,
  readNumber,
  timeFormat,
  wholeFormat,
  wholeNumberOf,
} from './text-formats.ts';

/** The settings that a query has to be run with: they change what it says. */
export const clickHouseSettings: Readonly<Record<string, string>> = {
  // What a LEFT JOIN does not find is null, not 0.
  join_use_nulls: '1',
  aggregate_functions_null_for_empty: '1',
  union_default_mode: 'ALL',
  session_timezone: 'UTC',
  // A name is first a column, and then the alias of another.
  prefer_column_name_to_alias: '1',
  // Numbers of kinds that have no common one are an error, not a value of either.
  use_variant_as_common_type: '0',
  // Comparisons with several values stay what they are: the IN that they would become fails on numbers of two kinds (26.7).
  optimize_min_equality_disjunction_chain_length: '1000000',
  optimize_min_inequality_conjunction_chain_length: '1000000',
  // An aggregate of CASE WHEN … THEN NULL ELSE … stays one: as -If it would leave out where the condition is null (26.7).
  optimize_rewrite_aggregate_function_with_if: '0',
};

const timeType = `DateTime64(6, 'UTC')`;
const parameterTypes: Readonly<Record<ParameterType, string>> = {
  string: 'String',
  integer: 'Int64',
  double: 'Float64',
  boolean: 'Bool',
  time: timeType,
};

const literal = (text: string): string => `'${text.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`;
const isWhole = (sql: string): boolean => /^\d+$/.test(sql);
/** A whole number or decimal as a wide decimal; a double stays one. */
const wide = (sql: string): string => (isWhole(sql) ? `toDecimal256('${sql}', 0)` : `(${sql} * toDecimal256('1', 0))`);
const double = (sql: string): string => `toFloat64(${sql})`;
/** A number that is not -0.0, which is a group of its own beside 0. */
const unsigned = (sql: string): string => `(${sql} + 0)`;
/** A count as a number with a sign: unsigned ones of 64 bits have no common type with it. */
const signed = (sql: string): string => `toInt64(${sql})`;
const nullable = (sql: string): string => `toNullable(${sql})`;
const finite = (sql: string): string => `ifNotFinite(${sql}, NULL)`;
/**
 * A sum by a count, rounded once: as a decimal with room behind the point, which is then read as a text. ClickHouse's own average, and its
 * own way from such a decimal to a double, round twice.
 */
const average = (sum: string, count: string): string =>
  `toFloat64OrNull(toString(${sum} * toDecimal256('1', 20) / nullIf(toDecimal256(${count}, 0), 0)))`;
/** The part of a text that a format takes as the value; an empty text where it does not fit. */
const read = (sql: string, format: string): string => `extract(${sql}, '${format}')`;
/** A number as what functions of texts count by: beyond 32 bits it is null. */
const count = (sql: string): string =>
  wholeNumberOf(sql) === null ? `toInt64(toInt32OrNull(toString(trunc(${wide(sql)}))))` : sql;

const localTime = (sql: string, timezone: string): string => `toDateTime64(toString(${sql}, '${timezone}'), 6, 'UTC')`;

/** Rounded half away from zero, which ClickHouse does with decimals and not with doubles. */
function round(sql: string, places: number): string {
  const half = `toDecimal64('0.5', 1)`;
  const [value, sign] = [`abs(${wide(sql)})`, `sign(${sql})`];
  const factor = `1${'0'.repeat(Math.abs(places))}`;
  const scale = `toDecimal256('${factor}', 0)`;
  if (places === 0) return unsigned(`${sign} * floor(${value} + ${half})`);
  // A decimal has the places that it has: divided last, it keeps what is not zero.
  if (places > 0) return unsigned(`${sign} * floor(${value} * ${scale} + ${half}) / ${scale}`);
  return unsigned(`${sign} * floor((${value} + ${scale} * ${half}) / ${scale}) * ${scale}`);
}

function cast(sql: string, from: MemberType, type: CastType, places: number | null): string {
  const flag = `toUInt8(${sql})`;
  switch (type) {
    case 'text':
      if (from === 'boolean') return `toString(CAST(${sql} AS Nullable(Bool)))`;
      return from === 'time' ? `replaceRegexpOne(toString(${sql}), '[.]?0+$', '')` : `toString(${sql})`;
    case 'bigint':
      if (from === 'string') return `toInt64OrNull(${read(sql, wholeFormat)})`;
      return from === 'boolean' ? `toInt64(${flag})` : `toInt64OrNull(toString(${round(sql, 0)}))`;
    case 'double':
      if (from === 'string') return `toFloat64OrNull(${read(sql, doubleFormat)})`;
      return double(from === 'boolean' ? flag : sql);
    case 'decimal': {
      // Read from a text, as ClickHouse cuts digits off where it casts.
      const value =
        from === 'string' ? `toDecimal256OrNull(${read(sql, decimalFormat)}, 18)` : from === 'boolean' ? flag : sql;
      return `toDecimal128OrNull(toString(${round(value, places ?? 0)}), ${places ?? 0})`;
    }
    case 'boolean':
      if (from === 'string') return `accurateCastOrNull(${read(`lower(${sql})`, booleanFormat)}, 'Bool')`;
      return from === 'number' ? `(${sql} <> 0)` : sql;
    case 'date':
    case 'timestamp': {
      const time = from === 'string' ? `parseDateTime64BestEffortOrNull(${read(sql, timeFormat)}, 6, 'UTC')` : sql;
      return type === 'date' ? dateTrunc('day', time) : time;
    }
  }
}

const call: Dialect['call'] = (name, args) => {
  const [first = '', second = '', third = ''] = args;
  const list = args.join(', ');
  switch (name) {
    case 'lower':
    case 'upper':
      return `${name}UTF8(${first})`;
    case 'trim':
      return `trimBoth(${first})`;
    case 'ltrim':
      return `trimLeft(${first})`;
    case 'rtrim':
      return `trimRight(${first})`;
    case 'length':
      return signed(`lengthUTF8(${first})`);
    case 'left':
    case 'right':
      return `${name}UTF8(${first}, ${count(second)})`;
    case 'substring': {
      const from = count(second);
      const start = `greatest(${from}, 1 + 0 * ${from})`;
      if (args.length === 2) return `substringUTF8(${first}, ${start})`;
      const length = count(third);
      // PostgreSQL counts places before the first one too.
      const rest = `greatest(${from} + ${length} - ${start}, 0 * (${from} + ${length}))`;
      return `if(${length} >= 0, substringUTF8(${first}, ${start}, ${rest}), NULL)`;
    }
    case 'replace':
      return `replaceAll(${list})`;
    case 'strpos':
      return signed(`positionUTF8(${list})`);
    case 'split_part':
      return `if(isNull(${first}), NULL, splitByString(${second}, ifNull(${first}, ''))[${third}])`;
    case 'starts_with':
      return `startsWith(${list})`;
    case 'concat':
      return `concat(${[...args, "''"].map((arg) => `ifNull(${arg}, '')`).join(', ')})`;
    case '||':
      return `concat(${list})`;
    case 'nullif':
      return `nullIf(${list})`;
    case 'coalesce':
    case 'greatest':
    case 'least':
      return `${name}(${list})`;
    case 'round':
      return round(first, Number(second === '' ? '0' : second.replaceAll(/[() ]/g, '')));
    case 'trunc':
    case 'ceil':
      return unsigned(`${name}(${wide(first)})`);
    case 'floor':
    case 'sign':
    case 'abs':
      return `${name}(${wide(first)})`;
    case 'mod': {
      // Right only for decimals of one scale, which each gets from a zero of the other.
      const [left, right] = [wide(first), wide(second)];
      return unsigned(`(${left} + 0 * ${right}) % nullIf(${right} + 0 * ${left}, 0)`);
    }
    case 'power':
      return finite(`pow(${double(first)}, ${double(second)})`);
    case 'sqrt':
    case 'exp':
      return finite(`${name}(${double(first)})`);
    case 'ln':
      return finite(`log(${double(first)})`);
  }
};

/** A text, since IN is wrong about decimals of different scales (26.7), and joins know no common kind. Plus zero: there is a -0. */
const numberKey = (sql: string): string => `toString(${wide(sql)} + 0)`;

/** ClickHouse, asked with {@link clickHouseSettings}. */
export const clickhouse: Dialect = {
  name: 'clickhouse',
  keyInQuery: numberKey,
  keyInJoin: numberKey,
  // A zero of another's type makes a number of the type that both have in common.
  sameKind: (sql, others) =>
    `(${[wide(sql), ...others.map((it) => `defaultValueOfArgumentType(ifNull(${it}, 0))`)].join(' + ')})`,
  quote: (identifier) => `"${identifier.replaceAll(/[\\"]/g, (character) => `\\${character}`)}"`,
  placeholder: (index, type) => `{p${index}:${parameterTypes[type]}}`,
  literal,
  number(text) {
    const number = readNumber(text);
    if (number.kind === 'double') return number.text;
    // Else it would be of an unsigned type, which has none in common with that of a column.
    if (number.kind === 'whole') return number.text.length < 10 ? number.text : `toInt64(${number.text})`;
    return `toDecimal128('${number.text}', ${number.text.split('.')[1]?.length ?? 0})`;
  },
  text: (sql) => `toString(${sql})`,
  ordered: (sql) => sql,
  selected: (sql, type) => (type === 'boolean' ? `CAST(${sql} AS Nullable(Bool))` : sql),
  time: (sql) => `CAST(${sql} AS Nullable(${timeType}))`,
  localTime,
  utcTime(sql, timezone) {
    // What the zone is off by a day later and a day before: between them lies one change at most.
    const off = (days: number) => `timeZoneOffset(toTimeZone(addDays(${sql}, ${days}), '${timezone}'))`;
    const [after = '', before = ''] = [off(1), off(-1)].map((seconds) => `addSeconds(${sql}, -${seconds})`);
    const isAfter = [`${localTime(after, timezone)} = ${sql}`, `${localTime(before, timezone)} <> ${sql}`].join(
      ' AND ',
    );
    return `if(${isAfter}, ${after}, ${before})`;
  },
  dateTrunc,
  dateBin,
  datePart,
  addInterval(sql, { months, days, seconds }) {
    let moved = sql;
    if (months !== 0) moved = movedByMonths(moved, months);
    if (days !== 0) moved = `addDays(${moved}, ${days})`;
    return seconds === 0 ? moved : `addSeconds(${moved}, ${seconds})`;
  },
  series,
  double,
  divide: (left, right) => unsigned(`${double(left)} / nullIf(${double(right)}, 0)`),
  arithmetic(operator, left, right, isDouble) {
    if (isDouble) return unsigned(`${double(left)} ${operator} ${double(right)}`);
    // One wide side makes the result wide, cheapest where it is a constant.
    const sql = `${isWhole(right) ? left : wide(left)} ${operator} ${isWhole(right) ? wide(right) : right}`;
    return operator === '*' ? unsigned(sql) : `(${sql})`;
  },
  compareNumbers: (operands, condition) => `(${condition(...operands.map(wide))})`,
  // Its indexes see through the cast.
  compareTimes: (operands, condition) => condition(...operands),
  call,
  cast,
  like: (sql, pattern, isCaseSensitive) => `(${sql} ${isCaseSensitive ? 'LIKE' : 'ILIKE'} ${pattern})`,
  aggregate(aggregation, value, guard) {
    const aggregate = (name: string, of: readonly string[]) =>
      guard === null ? `${name}(${of.join(', ')})` : `${name}If(${[...of, guard].join(', ')})`;
    if (value === null) return signed(aggregate('count', []));
    switch (aggregation) {
      case 'count':
        return signed(aggregate('count', [value]));
      case 'count_distinct':
        return signed(aggregate('uniqExact', [value]));
      case 'count_distinct_approx':
        return signed(aggregate('uniq', [value]));
      case 'sum':
        return aggregate('sumOrNull', [wide(value)]);
      case 'avg':
        return average(aggregate('sumOrNull', [wide(value)]), aggregate('count', [value]));
      case 'min':
      case 'max':
        return aggregate(`${aggregation}OrNull`, [value]);
    }
  },
  window(name, args, over) {
    const [value = '', ...more] = args;
    const sql = (called: string, ...list: readonly string[]) => `${called}(${list.join(', ')}) OVER (${over})`;
    switch (name) {
      case 'sum':
        return sql('sumOrNull', wide(value));
      case 'avg':
        return average(sql('sumOrNull', wide(value)), sql('count', `identity(${value})`));
      case 'min':
      case 'max':
        return sql(`${name}OrNull`, value);
      case 'first_value':
      case 'last_value':
        return sql(`${name}_respect_nulls`, nullable(value));
      case 'lag':
      case 'lead': {
        // The frame means nothing to them, and they refuse it.
        const rows = over.replace(/ ?ROWS BETWEEN [A-Z0-9 ]+$/, '');
        return `${name}(${[nullable(value), ...more].join(', ')}) OVER (${rows})`;
      }
      case 'count':
        // Of a bare column ClickHouse (26.7) would count the nulls beside it, and then not find them.
        return signed(sql(name, ...args.map((arg) => `identity(${arg})`)));
      default:
        return signed(sql(name, ...args));
    }
  },
  anyValue: (sql) => `anyOrNull(${sql})`,
  isNotDistinct: (left, right) => `${left} IS NOT DISTINCT FROM ${right}`,
};
