/** What the compiler asks of a warehouse's SQL. */
import type { Granularity } from '../query/semantic-query.ts';

/** The types that bound values are given. */
export type ParameterType = 'string' | 'integer' | 'double' | 'boolean' | 'time';

/** What differs between warehouses. Small on purpose: a difference is a member here that the compiler asks for. */
export interface Dialect {
  readonly name: 'duckdb';
  /** Quotes an identifier. */
  quote(identifier: string): string;
  /** The placeholder of parameter `index` (from 1), cast to the type of the value bound. */
  placeholder(index: number, type: ParameterType): string;
  /** A value as text; a text stays what it is. */
  text(sql: string): string;
  /** The beginning of the calendar unit that a time lies in; weeks begin on Monday. */
  dateTrunc(granularity: Granularity, sql: string): string;
  /** `left / right` without integer division; null when right is zero. */
  divide(left: string, right: string): string;
  /**
   * FROM over joined rows that no condition from outside is moved into: what is asked of them is computed for the rows
   * that `from` leaves, and for no others. `aliases` are its quoted tables; their columns stay `alias.column`.
   */
  fence(aliases: readonly string[], from: string): string;
  /** Whether two values are the same, nulls included. */
  isNotDistinct(left: string, right: string): string;
}
