/**
 * SQL as DuckDB takes it. What can fail on a value stands in TRY, which gives null instead. TRY refuses subqueries, so beside one it stands
 * in a lambda, to which their values are given.
 */
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
import { binOrigin, binSeconds } from './time-bins.ts';
import { columnOfTime } from './time-column.ts';
import { earlierUtcTime } from './utc-time.ts';

const parameterTypes: Readonly<Record<ParameterType, string>> = {
  string: 'VARCHAR',
  integer: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
};

const asDouble = (sql: string) => `CAST(${sql} AS DOUBLE)`;
const isWhole = (sql: string) => /^\d+$/.test(sql);
/** A whole number or decimal as one with room for an exact result; a double stays one. */
const wide = (sql: string) => (isWhole(sql) ? `CAST(${sql} AS HUGEINT)` : `(CAST(1 AS HUGEINT) * ${sql})`);
/** Two numbers, one of them with that room; beside a decimal that is written out, the result has it anyway. */
function widened(left: string, right: string): readonly [left: string, right: string] {
  if ([left, right].some((sql) => /^\d+[.]\d+$/.test(sql))) return [left, right];
  return isWhole(right) ? [left, wide(right)] : [wide(left), right];
}
const holdsQuery = (sql: string) => /\bSELECT\b/i.test(sql);
/** What is neither a number nor finite becomes null. */
const finite = (sql: string) => `list_transform([${sql}], lambda x: CASE WHEN isfinite(x) THEN x END)[1]`;
/** The part of a text that a format takes as the value; an empty text where it does not fit, which no cast takes. */
const read = (sql: string, format: string) => `regexp_extract(${sql}, '${format}', 1)`;
/** A number as one of a narrower type; null where it does not fit. TRY_CAST is left out where the result is compared (DuckDB 1.5.5). */
const fitting = (sql: string, type: string) =>
  holdsQuery(sql) ? `TRY_CAST(${sql} AS ${type})` : `TRY(CAST(${sql} AS ${type}))`;
/** A function of exact numbers. TRY takes no query within, so operands that hold one are computed outside of it. */
function tried(operands: readonly string[], call: (...operands: readonly string[]) => string): string {
  if (!operands.some(holdsQuery)) return `TRY(${call(...operands)})`;
  const fields = operands.map((sql, at) => `v${at} := ${sql}`).join(', ');
  return `list_transform([struct_pack(${fields})], lambda o: TRY(${call(...operands.map((_, at) => `o.v${at}`))}))[1]`;
}
/** A time that is computed. */
const moved = (sql: string) => (holdsQuery(sql) ? `(${sql})` : `TRY(${sql})`);
/** A number as what functions of texts count by: beyond 32 bits it is null. */
const count = (sql: string) =>
  wholeNumberOf(sql) === null ? `CAST(${fitting(`trunc(${sql})`, 'INTEGER')} AS BIGINT)` : sql;

/** DuckDB 1.5, in a session whose time zone is UTC. */
export const duckdb: Dialect = {
  name: 'duckdb',
  // DuckDB's own common kind of two decimals rounds the one with more places, where the other has 38 digits; what it adds has all of them.
  sameKind: (sql, others) =>
    tried([sql, ...others], (value = '', ...more) =>
      [wide(value), ...more.map((it) => `coalesce(CASE WHEN false THEN ${it} END, 0)`)].join(' + '),
    ),
  // IN rounds as well, so it is given both what holds many digits and what holds many places.
  keyInQuery: (sql) => `struct_pack(a := ${fitting(sql, 'DECIMAL(38, 9)')}, b := ${asDouble(sql)})`,
  keyInJoin: null,
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  placeholder: (index, type) => `CAST($${index} AS ${parameterTypes[type]})`,
  literal: (text) => `'${text.replaceAll("'", "''")}'`,
  number: (text) => readNumber(text).text,
  text: (sql) => `CAST(${sql} AS VARCHAR)`,
  ordered: (sql) => sql,
  selected: (sql) => sql,
  time: (sql) => `TRY_CAST(${sql} AS TIMESTAMP)`,
  localTime: (sql, timezone) => `timezone('${timezone}', timezone('UTC', ${sql}))`,
  utcTime: (sql, timezone) =>
    earlierUtcTime(sql, timezone, duckdb, (local) => `timezone('UTC', timezone('${timezone}', ${local}))`),
  dateTrunc: (granularity, sql) => `date_trunc('${granularity}', ${sql})`,
  dateBin(interval, origin, sql) {
    const start = `TIMESTAMP '${binOrigin(interval, origin).text}'`;
    if (interval.months === 0) return `time_bucket(to_microseconds(${binSeconds(interval)}000000), ${sql}, ${start})`;
    const { months, days, seconds } = binOrigin(interval, origin);
    const shifted = `(${sql} - to_days(${days}) - to_seconds(${seconds}))`;
    const bins = `floor((year(${shifted}) * 12 + month(${shifted}) - ${months}) / ${interval.months})`;
    return moved(`${start} + to_months(CAST(${bins} * ${interval.months} AS INTEGER))`);
  },
  datePart(part, sql) {
    if (part === 'second') return `(date_part('microseconds', ${sql}) * 0.000001)`;
    if (part === 'epoch') return `(epoch_us(${sql}) * 0.000001)`;
    return `date_part('${part}', ${sql})`;
  },
  addInterval(sql, { months, days, seconds }) {
    const steps = [
      ...(months === 0 ? [] : [` + to_months(${months})`]),
      ...(days === 0 ? [] : [` + to_days(${days})`]),
      ...(seconds === 0 ? [] : [` + to_seconds(${seconds})`]),
    ];
    return steps.length === 0 ? sql : moved(`${sql}${steps.join('')}`);
  },
  series(from, to, { months, days, seconds }, alias) {
    const step = `to_months(${months}) + to_days(${days}) + to_seconds(${seconds})`;
    return `(SELECT unnest(generate_series(${from}, ${to}, ${step})) AS "bucket") AS ${alias}`;
  },
  double: asDouble,
  divide: (left, right) => `(${asDouble(left)} / NULLIF(${asDouble(right)}, 0))`,
  arithmetic: (operator, left, right, isDouble) =>
    isDouble
      ? `(${asDouble(left)} ${operator} ${asDouble(right)})`
      : tried([left, right], (one = '', other = '') => widened(one, other).join(` ${operator} `)),
  compareNumbers: tried,
  // The cast from a time with a zone is slow, and files are read as a whole for it. What type a column has the engine knows beforehand.
  compareTimes(operands, condition) {
    const [time = '', ...others] = operands;
    const column = columnOfTime(time, 'TRY_CAST', 'TIMESTAMP');
    if (column === null) return condition(...operands);
    const zoned = condition(`TRY_CAST(${column} AS TIMESTAMPTZ)`, ...others);
    return `CASE WHEN typeof(${column}) = 'TIMESTAMP WITH TIME ZONE' THEN ${zoned} ELSE ${condition(...operands)} END`;
  },
  call(name, args) {
    const [first = '', second = '', third = ''] = args;
    const list = args.join(', ');
    switch (name) {
      case '||':
        return `(${first} || ${second})`;
      case 'length':
      case 'strpos':
      case 'starts_with':
      case 'lower':
      case 'upper':
      case 'ltrim':
      case 'rtrim':
      case 'trim':
      case 'replace':
      case 'concat':
      case 'coalesce':
      case 'greatest':
      case 'least':
        return `${name}(${list})`;
      case 'left':
      case 'right':
        return `${name}(${first}, ${count(second)})`;
      case 'substring': {
        const from = count(second);
        // Of two nulls the greatest is null.
        const start = `greatest(${from}, 1 + 0 * ${from})`;
        if (args.length === 2) return `substring(${first}, ${start})`;
        const length = count(third);
        // PostgreSQL counts places before the first one too.
        const rest = `greatest(${from} + ${length} - ${start}, 0 * ${from})`;
        return `CASE WHEN ${length} >= 0 THEN substring(${first}, ${start}, ${rest}) END`;
      }
      case 'split_part':
        return `split_part(${list})`;
      case 'nullif':
        return `CASE WHEN ${first} = ${second} THEN NULL ELSE ${first} END`;
      case 'round':
        return args.length === 1 ? `round(${first})` : tried([first], (it = '') => `round(${wide(it)}, ${second})`);
      case 'trunc':
      case 'ceil':
      case 'floor':
      case 'sign':
        return `${name}(${first})`;
      case 'abs':
        return tried([first], (it = '') => `abs(${wide(it)})`);
      case 'mod':
        return tried([first, second], (one, other) => `${one} % NULLIF(${other}, 0)`);
      case 'power':
        return finite(`power(${asDouble(first)}, ${asDouble(second)})`);
      case 'exp':
        return finite(`exp(${asDouble(first)})`);
      case 'sqrt':
      case 'ln': {
        const value = asDouble(first);
        if (!holdsQuery(value)) return `TRY(${name}(${value}))`;
        return `${name}(CASE WHEN ${value} ${name === 'ln' ? '>' : '>='} 0 THEN ${value} END)`;
      }
    }
  },
  cast(sql, from, type, places) {
    switch (type) {
      case 'text':
        if (from !== 'number') return `CAST(${sql} AS VARCHAR)`;
        return `regexp_replace(regexp_replace(CAST(${sql} AS VARCHAR), '([.][0-9]*?)0+$', '\\1'), '[.]$', '')`;
      case 'bigint':
        if (from === 'string') return `TRY_CAST(${read(sql, wholeFormat)} AS BIGINT)`;
        return from === 'number' ? fitting(`round(${sql})`, 'BIGINT') : `CAST(${sql} AS BIGINT)`;
      case 'double':
        return from === 'string' ? `TRY_CAST(${read(sql, doubleFormat)} AS DOUBLE)` : asDouble(sql);
      case 'decimal': {
        const value = from === 'string' ? read(sql, decimalFormat) : sql;
        return fitting(value, `DECIMAL(38, ${places ?? 0})`);
      }
      case 'boolean':
        if (from === 'string') return `TRY_CAST(${read(`lower(${sql})`, booleanFormat)} AS BOOLEAN)`;
        return from === 'number' ? `(${sql} <> 0)` : sql;
      case 'date':
      case 'timestamp': {
        const time = from === 'string' ? `TRY_CAST(${read(sql, timeFormat)} AS TIMESTAMP)` : sql;
        return type === 'date' ? `date_trunc('day', ${time})` : time;
      }
    }
  },
  like: (sql, pattern, isCaseSensitive) => `(${sql} ${isCaseSensitive ? 'LIKE' : 'ILIKE'} ${pattern} ESCAPE '\\')`,
  aggregate(aggregation, value, guard) {
    const filter = guard === null ? '' : ` FILTER (WHERE ${guard})`;
    if (value === null) return `COUNT(*)${filter}`;
    if (aggregation === 'count_distinct') return `COUNT(DISTINCT ${value})${filter}`;
    if (aggregation === 'count_distinct_approx') return `approx_count_distinct(${value})${filter}`;
    return `${aggregation.toUpperCase()}(${value})${filter}`;
  },
  window(name, args, over) {
    const call = name === 'count' && args.length === 0 ? 'COUNT(*)' : `${name.toUpperCase()}(${args.join(', ')})`;
    return `${call} OVER (${over})`;
  },
  anyValue: (sql) => `any_value(${sql})`,
  isNotDistinct: (left, right) => `${left} IS NOT DISTINCT FROM ${right}`,
};
