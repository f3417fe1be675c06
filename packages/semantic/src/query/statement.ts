/** A whole text of semantic SQL as parsed: SELECTs within each other and beside each other, names still as written. */
import type { Location, NamedExpression, SelectClauses, SortItem, TableName } from './semantic-query.ts';

/** Columns of SELECT, of GROUP BY and of ORDER BY, each: a `*` stands for many, and a flat list of names costs no tokens. */
export const columnsMax = 500;

/** A query with what stands before it in WITH. */
export interface Statement {
  readonly with: readonly CommonTable[];
  readonly body: SelectBody | SetBody;
}

/** A query that WITH gives a name, and names for its columns, as many as are written. */
export interface CommonTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly statement: Statement;
  readonly location: Location;
}

/** One SELECT. The items of `from` are combined one with another, as CROSS JOIN does. */
export interface SelectBody extends SelectClauses {
  readonly kind: 'select';
  readonly from: readonly [FromItem, ...FromItem[]];
  /** Of a SELECT over members: see `SemanticQuery`. */
  readonly fill?: boolean;
}

/** How rows of two queries are put together; `except`: those of the first that are not in the second. */
export type SetOperator = 'union' | 'union-all' | 'intersect' | 'except';

/** Queries beside each other, two or more, with what orders the whole. */
export interface SetBody {
  readonly kind: 'set';
  readonly operator: SetOperator;
  readonly branches: readonly Statement[];
  readonly orderBy: readonly SortItem[];
  readonly limit: number | null;
  readonly offset: number | null;
  readonly location: Location;
}

/** The joins of SQL. */
export type JoinType = 'inner' | 'left' | 'right' | 'full' | 'cross';

/** Something in FROM. */
export type FromItem =
  | (TableName & { readonly kind: 'table'; readonly columns: readonly string[] })
  | {
      readonly kind: 'derived';
      readonly statement: Statement;
      readonly alias: string | null;
      /** Names for its columns, as many as are written. */
      readonly columns: readonly string[];
      readonly location: Location;
    }
  | {
      readonly kind: 'join';
      readonly type: JoinType;
      readonly left: FromItem;
      readonly right: FromItem;
      /** Null for `cross`. */
      readonly on: NamedExpression | null;
      readonly location: Location;
    };
