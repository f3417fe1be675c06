import type { Granularity } from '../semantic-query.ts';

/** What differs between warehouses. Small on purpose: a difference is a member here that the compiler asks for. */
export interface Dialect {
  readonly name: 'duckdb';
  /** Quotes an identifier. */
  quote(identifier: string): string;
  /** The placeholder of parameter `index` (from 1), cast to the type of the value bound. */
  placeholder(index: number, type: 'string' | 'integer' | 'double' | 'boolean' | 'time'): string;
  /** The beginning of the calendar unit that a time lies in; weeks begin on Monday. */
  dateTrunc(granularity: Granularity, sql: string): string;
  /** `left / right` without integer division; null when right is zero. */
  divide(left: string, right: string): string;
  /** Whether two values are the same, nulls included. */
  isNotDistinct(left: string, right: string): string;
}
