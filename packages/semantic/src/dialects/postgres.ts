/**
 * SQL as PostgreSQL takes it, from version 14 on. Whole numbers and decimals are computed as `numeric`, which is exact and has room for
 * what there is; where doubles are computed, a subquery looks at the operands first (`given`), since PostgreSQL fails on what they do not
 * hold.
 */

import type { MemberType } from '../model/data-model.ts';
import type { CastType } from '../query/semantic-query.ts';
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
  string: 'text',
  integer: 'bigint',
  double: 'double precision',
  boolean: 'boolean',
  time: 'timestamp',
};

const literal = (text: string): string => {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  // The only form in which a backslash means the same under every setting.
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
};

const numeric = (sql: string): string => `CAST(${sql} AS numeric)`;
const double = (sql: string): string => `CAST(${sql} AS double precision)`;

/**
 * `then` of operands, or null where `test` does not hold for them. They are computed once: written into `then` and `test`, those of
 * nested ones would be very many; and OFFSET keeps the planner from writing them there.
 */
const given = (operands: Readonly<Record<string, string>>, test: string, then: string): string => {
  const columns = Object.entries(operands).map(([name, sql]) => `${sql} AS ${name}`);
  return `(SELECT CASE WHEN ${test} THEN ${then} END FROM (SELECT ${columns.join(', ')} OFFSET 0) AS given)`;
};

/** A number of any kind but a whole one: a double stays one. */
const fractional = (sql: string): string => `1::numeric * ${sql}`;
/** Whether the products and quotients of two such numbers are still doubles. */
const isModerate = (name: string): string => `(${name} = 0 OR abs(${name}) BETWEEN 1e-150 AND 1e150)`;
const asDouble = (sql: string): string => given({ x: fractional(sql) }, isModerate('x'), double('x'));

/** A sum by a count: PostgreSQL's own average of doubles computes their squares as well, and fails where these overflow. */
const average = (sum: string, of: string): string => double(`(${fractional(sum)} / NULLIF(${of}, 0))`);

/** A number as what functions of texts count by: beyond 32 bits it is null. */
const count = (sql: string): string =>
  wholeNumberOf(sql) === null
    ? given({ x: `trunc(${numeric(sql)})` }, 'x BETWEEN -2147483648 AND 2147483647', 'CAST(x AS integer)')
    : sql;

/** The part of a text that a format takes as the value; null where it does not fit. */
const read = (sql: string, format: string): string => `substring(${sql} FROM '${format}')`;

const interval = (months: number | string, days: number, seconds: number): string =>
  `make_interval(months => ${months}, days => ${days}, secs => ${seconds})`;

function cast(sql: string, from: MemberType, type: CastType, places: number | null): string {
  switch (type) {
    case 'text':
      if (from === 'number') {
        return `regexp_replace(regexp_replace(CAST(${fractional(sql)} AS text), '([.][0-9]*?)0+$', E'\\\\1'), '[.]$', '')`;
      }
      if (from === 'time') return `rtrim(rtrim(to_char(${sql}, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.')`;
      return `CAST(${sql} AS text)`;
    case 'bigint':
      if (from === 'string') return `CAST(${read(sql, wholeFormat)} AS bigint)`;
      if (from === 'boolean') return `CAST(CAST(${sql} AS integer) AS bigint)`;
      return given(
        { x: `round(${numeric(sql)})` },
        'x BETWEEN -9223372036854775808 AND 9223372036854775807',
        'CAST(x AS bigint)',
      );
    case 'double':
      if (from === 'string') return double(read(sql, doubleFormat));
      return from === 'boolean' ? double(`CAST(${sql} AS integer)`) : asDouble(sql);
    case 'decimal': {
      const value = from === 'string' ? read(sql, decimalFormat) : from === 'boolean' ? `CAST(${sql} AS integer)` : sql;
      return `round(${numeric(value)}, ${places ?? 0})`;
    }
    case 'boolean':
      if (from === 'string') return `CAST(${read(`lower(${sql})`, booleanFormat)} AS boolean)`;
      return from === 'number' ? `(${sql} <> 0)` : sql;
    case 'date':
    case 'timestamp': {
      const time = from === 'string' ? `CAST(${read(sql, timeFormat)} AS timestamp)` : sql;
      return type === 'date' ? `date_trunc('day', ${time})` : time;
    }
  }
}

const call: Dialect['call'] = (name, args, type) => {
  const [first = '', second = '', third = ''] = args;
  const list = args.join(', ');
  switch (name) {
    case '||':
      return `(${first} || ${second})`;
    case 'lower':
    case 'upper':
    case 'ltrim':
    case 'rtrim':
    case 'trim':
    case 'length':
    case 'replace':
    case 'strpos':
    case 'split_part':
    case 'starts_with':
    case 'concat':
    case 'coalesce':
    case 'nullif':
      return name === 'trim' ? `btrim(${list})` : `${name}(${list})`;
    case 'greatest':
    case 'least':
      if (type !== 'string') return `${name}(${list})`;
      return `(${name}(${args.map((arg) => `${arg} COLLATE "C"`).join(', ')}) COLLATE "default")`;
    case 'left':
    case 'right':
      return `${name}(${first}, ${count(second)})`;
    case 'substring': {
      if (args.length === 2) return `substring(${first}, ${count(second)})`;
      const length = count(third);
      const part = `substring(${first}, ${count(second)}, ${length})`;
      return `CASE WHEN ${length} >= 0 THEN ${part} END`;
    }
    case 'round':
      return args.length === 1 ? `round(${numeric(first)})` : `round(${numeric(first)}, ${second})`;
    case 'trunc':
    case 'ceil':
    case 'floor':
    case 'sign':
    case 'abs':
      return `${name}(${fractional(first)})`;
    case 'mod':
      return `mod(${numeric(first)}, NULLIF(${numeric(second)}, 0))`;
    // 690: what is e to the power of less, or of minus that, is well within what a double holds.
    case 'power':
      return given(
        { l: asDouble(first), r: asDouble(second) },
        'CASE WHEN l = 0 THEN r >= 0 ELSE r * ln(abs(l)) < 690 AND (l > 0 OR r = trunc(r)) END',
        'CASE WHEN l <> 0 AND r * ln(abs(l)) < -690 THEN 0 ELSE power(l, r) END',
      );
    case 'exp':
      return given({ x: asDouble(first) }, 'x < 690', 'CASE WHEN x < -690 THEN 0 ELSE exp(x) END');
    case 'sqrt':
      return given({ x: asDouble(first) }, 'x >= 0', 'sqrt(x)');
    case 'ln':
      return given({ x: asDouble(first) }, 'x > 0', 'ln(x)');
  }
};

/** PostgreSQL, in a session whose time zone is UTC. */
export const postgres: Dialect = {
  name: 'postgres',
  sameKind: null,
  keyInQuery: null,
  keyInJoin: null,
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  placeholder: (index, type) => `CAST($${index} AS ${parameterTypes[type]})`,
  literal,
  number(text) {
    const number = readNumber(text);
    return number.kind === 'double' ? `CAST('${number.text}' AS numeric)` : number.text;
  },
  text: (sql) => `CAST(${sql} AS text)`,
  ordered: (sql) => `(${sql} COLLATE "C")`,
  selected: (sql) => sql,
  time: (sql) => `CAST(${sql} AS timestamp)`,
  localTime: (sql, timezone) => `(${sql} AT TIME ZONE 'UTC' AT TIME ZONE '${timezone}')`,
  utcTime: (sql, timezone) =>
    earlierUtcTime(sql, timezone, postgres, (local) => `(${local} AT TIME ZONE '${timezone}' AT TIME ZONE 'UTC')`),
  dateTrunc: (granularity, sql) => `date_trunc('${granularity}', ${sql})`,
  dateBin(bin, origin, sql) {
    const { text, months, days, seconds } = binOrigin(bin, origin);
    const start = `CAST('${text}' AS timestamp)`;
    if (bin.months === 0) return `date_bin(${interval(0, 0, binSeconds(bin))}, ${sql}, ${start})`;
    const shifted = days === 0 && seconds === 0 ? sql : `(${sql} - ${interval(0, days, seconds)})`;
    const month = `(extract(year FROM ${shifted}) * 12 + extract(month FROM ${shifted}) - ${months})`;
    const bins = `CAST(floor(${month} / ${bin.months}) * ${bin.months} AS integer)`;
    return `(${start} + ${interval(bins, 0, 0)})`;
  },
  // Left a numeric: it may be infinite, as times may be.
  datePart: (part, sql) => `extract(${part} FROM ${sql})`,
  addInterval(sql, { months, days, seconds }) {
    return months === 0 && days === 0 && seconds === 0 ? sql : `(${sql} + ${interval(months, days, seconds)})`;
  },
  series: (from, to, { months, days, seconds }, alias) =>
    `(SELECT generate_series(${from}, ${to}, ${interval(months, days, seconds)}) AS "bucket") AS ${alias}`,
  double: asDouble,
  divide: (left, right) =>
    given(
      { l: fractional(left), r: fractional(right) },
      `${isModerate('l')} AND r <> 0 AND ${isModerate('r')}`,
      `${double('l')} / ${double('r')}`,
    ),
  arithmetic(operator, left, right, isDouble) {
    if (!isDouble) return `(${numeric(left)} ${operator} ${numeric(right)})`;
    const test = `${isModerate('l')} AND ${isModerate('r')}`;
    return given({ l: fractional(left), r: fractional(right) }, test, `${double('l')} ${operator} ${double('r')}`);
  },
  compareNumbers: (operands, condition) => `(${condition(...operands.map(numeric))})`,
  // Dates and times of every type compare with a timestamp as the cast would make them; with it, no index of the column is used.
  compareTimes([time = '', ...others], condition) {
    return condition(columnOfTime(time, 'CAST', 'timestamp') ?? time, ...others);
  },
  call,
  cast,
  like: (sql, pattern, isCaseSensitive) => `(${sql} ${isCaseSensitive ? 'LIKE' : 'ILIKE'} ${pattern})`,
  aggregate(aggregation, value, guard, type) {
    const filter = guard === null ? '' : ` FILTER (WHERE ${guard})`;
    if (value === null) return `count(*)${filter}`;
    switch (aggregation) {
      case 'count_distinct':
      case 'count_distinct_approx':
        return `count(DISTINCT ${value})${filter}`;
      case 'avg':
        return average(`sum(${value})${filter}`, `count(${value})${filter}`);
      case 'count':
      case 'sum':
        return `${aggregation}(${value})${filter}`;
      case 'min':
      case 'max':
        if (type === 'boolean') return `${aggregation === 'min' ? 'bool_and' : 'bool_or'}(${value})${filter}`;
        if (type !== 'string') return `${aggregation}(${value})${filter}`;
        return `(${aggregation}(${value} COLLATE "C")${filter} COLLATE "default")`;
    }
  },
  window(name, args, over, type) {
    const call = (called: string, value: string) => `${called}(${value}) OVER (${over})`;
    const [value] = args;
    if (value === undefined) return call(name, name === 'count' ? '*' : '');
    if (name === 'avg') return average(call('sum', value), call('count', value));
    if (name !== 'min' && name !== 'max') return call(name, args.join(', '));
    if (type === 'boolean') return call(name === 'min' ? 'bool_and' : 'bool_or', value);
    return type === 'string' ? `(${call(name, `${value} COLLATE "C"`)} COLLATE "default")` : call(name, value);
  },
  anyValue: (sql) => `(array_agg(${sql}) FILTER (WHERE ${sql} IS NOT NULL))[1]`,
  // IS NOT DISTINCT FROM can be neither hashed nor merged, so that no FULL JOIN would take it.
  isNotDistinct: (left, right) => `ARRAY[${left}] = ARRAY[${right}]`,
};
