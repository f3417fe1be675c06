/** A statement whose names are resolved, for one user: what the planner takes. */
import type { ResolvedQuery } from './resolve-query.ts';
import type { ResolvedExpression, ResolvedSort, ValueType } from './resolved-expression.ts';
import type { JoinType, SetOperator } from './statement.ts';

/** A column that a statement gives. Names need not be unique. */
export interface OutputColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** A SELECT over members (`block`), a SELECT over the results of others (`plain`), or several, put together (`set`). */
export type ResolvedStatement =
  | { readonly kind: 'block'; readonly query: ResolvedQuery; readonly columns: readonly OutputColumn[] }
  | { readonly kind: 'plain'; readonly select: PlainSelect; readonly columns: readonly OutputColumn[] }
  | {
      readonly kind: 'set';
      readonly operator: SetOperator;
      /** Two or more, all with as many columns of the same types. */
      readonly branches: readonly ResolvedStatement[];
      /** By position in `columns`, from 0. */
      readonly orderBy: readonly {
        readonly column: number;
        readonly isDescending: boolean;
        readonly nullsFirst: boolean;
      }[];
      readonly limit: number | null;
      readonly offset: number | null;
      readonly columns: readonly OutputColumn[];
    };

/** SQL as everybody knows it, over the results of other queries. */
export interface PlainSelect {
  readonly from: PlainFrom;
  readonly where: ResolvedExpression | null;
  /** What rows are grouped by, perhaps nothing: one group of all; null: not grouped. */
  readonly groupBy: readonly ResolvedExpression[] | null;
  readonly having: ResolvedExpression | null;
  readonly select: readonly { readonly name: string; readonly expression: ResolvedExpression }[];
  readonly isDistinct: boolean;
  readonly orderBy: readonly ResolvedSort[];
  readonly limit: number | null;
  readonly offset: number | null;
}

/** What a plain SELECT reads. The `source`s are numbered from 0, as written; a statement that is used twice is one object. */
export type PlainFrom =
  | { readonly kind: 'source'; readonly source: number; readonly statement: ResolvedStatement }
  | {
      readonly kind: 'join';
      readonly type: JoinType;
      readonly left: PlainFrom;
      readonly right: PlainFrom;
      /** Null for `cross`. */
      readonly on: ResolvedExpression | null;
    };
