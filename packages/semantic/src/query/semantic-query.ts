/**
 * A semantic query as parsed: typed, closed, still with the names as written. Whatever PostgreSQL's grammar allows and
 * these types do not hold is refused by the parser.
 */

import type { Interval } from '../model/data-model.ts';
import type { Statement } from './statement.ts';
import type { Frame, WindowFunction } from './window.ts';

/** Where something stands in the SQL text, as the grammar counts: UTF-8 bytes from 0; 0 also where it is not known. Only for messages. */
export type Location = number;

/** Compares two values of one type. */
export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';
/** Combines two numbers. */
export type ArithmeticOperator = '+' | '-' | '*' | '/';
/**
 * The scalar functions that semantic SQL allows, with how many arguments they take. None can fail on a value: where PostgreSQL's
 * would (a logarithm of zero), the result is null. `||` is concatenation, null when a part is null.
 */
export const scalarFunctions = {
  lower: [1, 1],
  upper: [1, 1],
  trim: [1, 1],
  ltrim: [1, 1],
  rtrim: [1, 1],
  length: [1, 1],
  left: [2, 2],
  right: [2, 2],
  substring: [2, 3],
  replace: [3, 3],
  strpos: [2, 2],
  split_part: [3, 3],
  starts_with: [2, 2],
  concat: [1, 20],
  '||': [2, 2],
  coalesce: [1, 10],
  nullif: [2, 2],
  greatest: [1, 10],
  least: [1, 10],
  round: [1, 2],
  trunc: [1, 1],
  ceil: [1, 1],
  floor: [1, 1],
  abs: [1, 1],
  sign: [1, 1],
  mod: [2, 2],
  power: [2, 2],
  sqrt: [1, 1],
  exp: [1, 1],
  ln: [1, 1],
} as const satisfies Record<string, readonly [min: number, max: number]>;
/** A function of one row's values. */
export type ScalarFunction = keyof typeof scalarFunctions;
/** The aggregates that may be written around a measure: `measure` around any, another where it is the measure's own. */
export const aggregateFunctions = ['measure', 'sum', 'avg', 'min', 'max', 'count'] as const;
/** An aggregate as written. */
export type AggregateFunction = (typeof aggregateFunctions)[number];
/** The units that `date_trunc` knows everywhere; weeks begin on Monday. */
export const granularities = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
/** What can be read out of a time. `dow`: 0 is Sunday; `isodow`: 7 is Sunday; `week` and `isoyear` are ISO 8601's. */
export const dateParts = [
  'year',
  'isoyear',
  'quarter',
  'month',
  'week',
  'day',
  'dow',
  'isodow',
  'doy',
  'hour',
  'minute',
  'second',
  'epoch',
] as const;
/** A part of a time. */
export type DatePart = (typeof dateParts)[number];
/**
 * What a value can be cast to; `decimal` has the places behind the point of the cast that names it. A text that is no such value becomes
 * null: a cast cannot fail.
 */
export type CastType = 'text' | 'bigint' | 'double' | 'decimal' | 'boolean' | 'date' | 'timestamp';
/** A unit of `date_trunc`. */
export type Granularity = (typeof granularities)[number];

/** An expression made of others. */
export type Composite<Leaf> =
  | { readonly kind: 'literal'; readonly value: string | boolean | null; readonly location: Location }
  /** `text` is decimal notation, checked. */
  | { readonly kind: 'number'; readonly text: string; readonly location: Location }
  | {
      readonly kind: 'compare';
      readonly operator: ComparisonOperator;
      readonly left: Expression<Leaf>;
      readonly right: Expression<Leaf>;
      readonly location: Location;
    }
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression<Leaf>;
      readonly right: Expression<Leaf>;
      readonly location: Location;
    }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression<Leaf>[]; readonly location: Location }
  | { readonly kind: 'not' | 'negate'; readonly operand: Expression<Leaf>; readonly location: Location }
  | {
      readonly kind: 'is-null';
      readonly operand: Expression<Leaf>;
      readonly isNegated: boolean;
      readonly location: Location;
    }
  /** A node of its own: written as two comparisons, its operand would stand twice, and nested ones would explode. */
  | {
      readonly kind: 'between';
      readonly operand: Expression<Leaf>;
      readonly low: Expression<Leaf>;
      readonly high: Expression<Leaf>;
      readonly isNegated: boolean;
      readonly location: Location;
    }
  | {
      readonly kind: 'in';
      readonly operand: Expression<Leaf>;
      readonly items: readonly Expression<Leaf>[];
      readonly isNegated: boolean;
      readonly location: Location;
    }
  | {
      readonly kind: 'like';
      readonly operand: Expression<Leaf>;
      readonly pattern: string;
      readonly isCaseSensitive: boolean;
      readonly isNegated: boolean;
      readonly location: Location;
    }
  | {
      readonly kind: 'case';
      readonly branches: readonly { readonly when: Expression<Leaf>; readonly result: Expression<Leaf> }[];
      readonly otherwise: Expression<Leaf> | null;
      readonly location: Location;
    }
  | {
      readonly kind: 'call';
      readonly name: ScalarFunction;
      readonly args: readonly Expression<Leaf>[];
      readonly location: Location;
    }
  /** `granularity`: a built-in unit, or one that the time dimension in `operand` declares. */
  | {
      readonly kind: 'date-trunc';
      readonly granularity: string;
      readonly operand: Expression<Leaf>;
      readonly location: Location;
    }
  | {
      readonly kind: 'date-part';
      readonly part: DatePart;
      readonly operand: Expression<Leaf>;
      readonly location: Location;
    }
  /** A time moved by a length of calendar time. */
  | {
      readonly kind: 'shift-time';
      readonly operand: Expression<Leaf>;
      readonly interval: Interval;
      readonly location: Location;
    }
  /** `places`: digits behind the point, of a decimal; else null. */
  | {
      readonly kind: 'cast';
      readonly operand: Expression<Leaf>;
      readonly type: CastType;
      readonly places: number | null;
      readonly location: Location;
    }
  /** IS [NOT] TRUE, IS [NOT] FALSE. */
  | {
      readonly kind: 'is-truth';
      readonly operand: Expression<Leaf>;
      readonly value: boolean;
      readonly isNegated: boolean;
      readonly location: Location;
    }
  /**
   * A UTC time as the wall clock in `timezone` shows it. Never written: put where a calendar unit or a part of an instant is asked
   * for in another zone than UTC.
   */
  | {
      readonly kind: 'local-time';
      readonly operand: Expression<Leaf>;
      readonly timezone: string;
      readonly location: Location;
    };

/** An expression. `Leaf` says what stands for members: names when parsed, members when resolved. */
export type Expression<Leaf> = Leaf | Composite<Leaf>;

/** A name in FROM: a view, a cube, or a query named by WITH; `alias` as written behind AS. */
export interface TableName {
  readonly name: string;
  readonly alias: string | null;
  readonly location: Location;
}

/** What can stand in an expression as parsed besides the composites. */
export type NameLeaf =
  | {
      readonly kind: 'column';
      readonly qualifier: string | null;
      readonly name: string;
      readonly location: Location;
    }
  /** `argument` null is `count(*)`. `filter`: of FILTER (WHERE …). */
  | {
      readonly kind: 'aggregate';
      readonly function: AggregateFunction;
      readonly isDistinct: boolean;
      readonly argument: NamedExpression | null;
      readonly filter: NamedExpression | null;
      readonly location: Location;
    }
  | {
      readonly kind: 'window';
      readonly function: WindowFunction;
      readonly args: readonly NamedExpression[];
      readonly partitionBy: readonly NamedExpression[];
      readonly orderBy: readonly SortItem[];
      readonly frame: Frame | null;
      readonly location: Location;
    }
  /** The present moment, or day, in the time zone of the query. */
  | { readonly kind: 'now'; readonly isDate: boolean; readonly location: Location }
  /** A query as a value (`scalar`), or whether it has rows (`exists`). */
  | {
      readonly kind: 'subquery';
      readonly form: 'scalar' | 'exists';
      readonly statement: Statement;
      readonly location: Location;
    }
  | {
      readonly kind: 'in-subquery';
      readonly operand: NamedExpression;
      readonly statement: Statement;
      readonly isNegated: boolean;
      readonly location: Location;
    };

/** An expression as parsed. */
export type NamedExpression = Expression<NameLeaf>;

/** A selected column, or all columns (of one table of FROM). */
export type SelectItem =
  | {
      readonly kind: 'expression';
      readonly expression: NamedExpression;
      /** As written behind AS, else null. */
      readonly alias: string | null;
    }
  | { readonly kind: 'star'; readonly qualifier: string | null; readonly location: Location };

/** What rows are ordered by, first or after others. */
export interface SortItem {
  readonly expression: NamedExpression;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/** What a SELECT says besides FROM. */
export interface SelectClauses {
  readonly select: readonly SelectItem[];
  readonly isDistinct: boolean;
  readonly where: NamedExpression | null;
  readonly groupBy: readonly NamedExpression[];
  readonly having: NamedExpression | null;
  readonly orderBy: readonly SortItem[];
  readonly limit: number | null;
  readonly offset: number | null;
}

/** One SELECT over one view or cube, or over several cubes, joined as the model declares. */
export interface SemanticQuery extends SelectClauses {
  readonly relations: readonly TableName[];
  /** Whether the units of time between the bounds of WHERE that have no rows come, too. Of the JSON query; SQL cannot say it. */
  readonly fill?: boolean;
}
