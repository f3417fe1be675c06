/**
 * A semantic query as parsed: typed, closed, still with the names as written. Whatever PostgreSQL's grammar allows and
 * these types do not hold is refused by the parser.
 */

/** Where something stands in the SQL text: a character offset. Only for messages. */
export type Location = number;

/** Compares two values of one type. */
export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';
/** Combines two numbers. */
export type ArithmeticOperator = '+' | '-' | '*' | '/';
/** The scalar functions that semantic SQL allows, with how many arguments they take. */
export const scalarFunctions = {
  lower: [1, 1],
  upper: [1, 1],
  coalesce: [1, 10],
  nullif: [2, 2],
  round: [1, 2],
  abs: [1, 1],
} as const satisfies Record<string, readonly [min: number, max: number]>;
/** A function of one row's values. */
export type ScalarFunction = keyof typeof scalarFunctions;
/** The aggregates that may be written around a measure: `measure` around any, another where it is the measure's own. */
export const aggregateFunctions = ['measure', 'sum', 'avg', 'min', 'max', 'count'] as const;
/** An aggregate as written. */
export type AggregateFunction = (typeof aggregateFunctions)[number];
/** The units that `date_trunc` knows. */
export const granularities = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
/** A unit of `date_trunc`. */
export type Granularity = (typeof granularities)[number];

/** An expression. `Leaf` says what stands for members: names when parsed, members when resolved. */
export type Expression<Leaf> =
  | Leaf
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
  | {
      readonly kind: 'date-trunc';
      readonly granularity: Granularity;
      readonly operand: Expression<Leaf>;
      readonly location: Location;
    };

/** A name as written: a column, or an aggregate over one. `column` null is `count(*)`. */
export type NameLeaf =
  | {
      readonly kind: 'column';
      readonly qualifier: string | null;
      readonly name: string;
      readonly location: Location;
    }
  | {
      readonly kind: 'aggregate';
      readonly function: AggregateFunction;
      readonly isDistinct: boolean;
      readonly column: { readonly qualifier: string | null; readonly name: string } | null;
      readonly location: Location;
    };

/** An expression as parsed. */
export type NamedExpression = Expression<NameLeaf>;

/** A selected column. */
export interface SelectItem {
  readonly expression: NamedExpression;
  /** As written behind AS, else null. */
  readonly alias: string | null;
}

/** What rows are ordered by, first or after others. */
export interface SortItem {
  readonly expression: NamedExpression;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/** One SELECT over one relation. */
export interface SemanticQuery {
  readonly relation: { readonly name: string; readonly alias: string | null; readonly location: Location };
  /** `'*'` is every member that the user may see. */
  readonly select: readonly SelectItem[] | '*';
  readonly isDistinct: boolean;
  readonly where: NamedExpression | null;
  readonly groupBy: readonly NamedExpression[];
  readonly having: NamedExpression | null;
  readonly orderBy: readonly SortItem[];
  readonly limit: number | null;
  readonly offset: number | null;
}
