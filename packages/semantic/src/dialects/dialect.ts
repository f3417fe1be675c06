/**
 * What the compiler asks of a warehouse's SQL. Small on purpose: a difference is a member here that the compiler asks for, and the
 * same question has the same answer on every warehouse. Every `sql` that goes in and comes out is an expression that can stand
 * anywhere without parentheses of the caller's.
 */
import type { Aggregation, Interval, MemberType } from '../model/data-model.ts';
import type { ArithmeticOperator, CastType, DatePart, Granularity, ScalarFunction } from '../query/semantic-query.ts';
import type { WindowFunction } from '../query/window.ts';

/** The types that bound values are given. */
export type ParameterType = 'string' | 'integer' | 'double' | 'boolean' | 'time';

/** What differs between warehouses. Times are UTC to microseconds where nothing else is said. */
export interface Dialect {
  readonly name: 'duckdb' | 'postgres' | 'clickhouse';
  /** Quotes an identifier. */
  quote(identifier: string): string;
  /** The placeholder of parameter `index` (from 1), cast to the type of the value bound. */
  placeholder(index: number, type: ParameterType): string;
  /** A text of the model's author as a literal. Values of users are bound, never written. */
  literal(text: string): string;
  /**
   * A number in decimal notation, not negative. A whole number of 64 bits is exact, and so is a decimal of up to 18 digits before and 9
   * behind the point; any other is a double.
   */
  number(text: string): string;
  /** A value as text; a text stays what it is. Booleans are `true` and `false`. */
  text(sql: string): string;
  /** A text as it is ordered everywhere, by code points: for ORDER BY, and on both sides of `<`. What does not order wants `sql` itself. */
  ordered(sql: string): string;
  /** A time of any of the engine's types as a UTC timestamp without zone, of microseconds. */
  time(sql: string): string;
  /** A UTC timestamp as the wall clock in `timezone` (an IANA name, checked by the caller) shows it. */
  localTime(sql: string, timezone: string): string;
  /**
   * A wall clock's timestamp in `timezone` as UTC. Of one that is there twice the earlier, as zoned-time.ts reads literals; one that is left
   * out is moved on by as much as is left out, so that two of them stay two.
   */
  utcTime(sql: string, timezone: string): string;
  /** The beginning of the calendar unit that a timestamp lies in; weeks begin on Monday. A timestamp. */
  dateTrunc(granularity: Granularity, sql: string): string;
  /** The beginning of the bucket of `interval`, counted from `origin` (`2024-04-01T00:00:00`), that a timestamp lies in. */
  dateBin(interval: Interval, origin: string, sql: string): string;
  /** A part of a timestamp, as a whole number (`second`, `epoch`: with fractions). */
  datePart(part: DatePart, sql: string): string;
  /** A timestamp moved by an interval: first its months, cut to the end of the month, then days, then seconds. */
  addInterval(sql: string, interval: Interval): string;
  /**
   * An item for FROM: one row, with the column `bucket`, for each `from`, `from + step`, … up to and with `to` (timestamps; nothing where
   * one is null). `alias` is quoted by the caller. With months in `step`, `from` is no later than the 28th of a month.
   */
  series(from: string, to: string, step: Interval, alias: string): string;
  /** A value as a column of an answer: of a type that the warehouse's client knows the type of the value by. */
  selected(sql: string, type: MemberType): string;
  /**
   * A number as one of the kind that it and others have in common, so that one value can be chosen from them: a double where one of them is
   * a double, else exact. It is told by the types of columns, which the compiler does not know. Null: the engine finds that kind by itself,
   * in CASE and COALESCE as in UNION.
   */
  readonly sameKind: ((sql: string, others: readonly string[]) => string) | null;
  /** A number, not null, as what IN finds it by among a query's numbers of another kind. Null: the engine compares numbers of all kinds. */
  readonly keyInQuery: ((sql: string) => string) | null;
  /** The same for the equalities of a join. */
  readonly keyInJoin: ((sql: string) => string) | null;
  /** A number as a double, so that it can stand beside one: in CASE, COALESCE and the like. */
  double(sql: string): string;
  /** `left / right` as a double, never an integer division; null when right is zero. */
  divide(left: string, right: string): string;
  /**
   * `left operator right`, of numbers. Whole numbers and decimals give an exact result, which is null when it has more digits than the
   * warehouse holds (38 at least).
   * @param isDouble whether to compute in doubles, because one side is known to be one or the digits would be too many
   */
  arithmetic(operator: Exclude<ArithmeticOperator, '/'>, left: string, right: string, isDouble: boolean): string;
  /**
   * A comparison of numbers of any kinds, which an engine might otherwise turn into a common one that does not hold one of them.
   * @param condition is given the operands as they are to be compared
   */
  compareNumbers(operands: readonly string[], condition: (...operands: readonly string[]) => string): string;
  /**
   * A comparison of a time, as {@link Dialect.time} gives it, with times that are bound or computed of such: a column is compared by its
   * own type where that lets the engine use an index of it, or look at it only where it has to.
   * @param condition is given the operands as they are to be compared
   */
  compareTimes(operands: readonly string[], condition: (...operands: readonly string[]) => string): string;
  /**
   * A scalar function; what PostgreSQL would fail on becomes null. Arguments have the types that the function takes; `type` is
   * theirs where it may be any. How many places `round` rounds to, which part `split_part` gives and what separates it are written out.
   */
  call(name: ScalarFunction, args: readonly string[], type?: MemberType): string;
  /**
   * A cast from `from`; what is no such value becomes null. A date is the midnight that it begins with. Numbers are rounded half away
   * from zero; as texts they have no zeros at the end of their fractions.
   */
  cast(sql: string, from: MemberType, type: CastType, places: number | null): string;
  /** Whether a text is like a pattern (`%`, `_`, escaped by a backslash), which is a placeholder. */
  like(sql: string, pattern: string, isCaseSensitive: boolean): string;
  /**
   * An aggregate over the rows for which `guard` holds (null: all). Over no rows and over nulls alone the result is null, of counts 0;
   * `avg` is a double, `sum` of whole numbers and decimals exact; `value` is null for a count of rows.
   * @param type the type of `value`
   */
  aggregate(aggregation: Aggregation, value: string | null, guard: string | null, type: MemberType): string;
  /**
   * A window function over `over` (`PARTITION BY … ORDER BY … ROWS BETWEEN …`; may be empty). Aggregates give what `aggregate` gives,
   * the others respect nulls; counts and distances among `args` are literals. `lag` and `lead` have no default.
   * @param type the type of the first of `args`
   */
  window(name: WindowFunction, args: readonly string[], over: string, type: MemberType): string;
  /** Any value of a group that is not null; null when there is none. */
  anyValue(sql: string): string;
  /** Whether two values are the same, nulls included; in the ON of every kind of join, FULL too. */
  isNotDistinct(left: string, right: string): string;
}
