/**
 * The data model as it stands after loading: every name resolved, every SQL fragment parsed into parts. Immutable.
 * A cube is a table with joins, dimensions and measures; a view is a tree of cubes from which members are picked.
 */

/** The type of a member's value, as the model's author declares it. */
export type MemberType = 'string' | 'number' | 'time' | 'boolean';

/** How rows of a cube relate to rows of the cube that it joins. */
export type Relationship = 'many_to_one' | 'one_to_many' | 'one_to_one';

/** A piece of a SQL fragment: plain SQL of the warehouse, the alias of a cube, or another member. */
export type SqlPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'cube'; readonly cube: string }
  | { readonly kind: 'member'; readonly cube: string; readonly member: string };

/** A SQL fragment of the model, such as `{CUBE}.amount - {discount}`. */
export type SqlTemplate = readonly SqlPart[];

interface MemberBase {
  readonly cube: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly format: string | null;
  readonly isPublic: boolean;
  readonly type: MemberType;
}

/** A column, or an expression over columns of a row. */
export interface Dimension extends MemberBase {
  readonly kind: 'dimension';
  readonly sql: SqlTemplate;
  readonly isPrimaryKey: boolean;
}

/** An aggregate of the rows of one cube. `filters` are ANDed and count rows for this measure only. */
export interface AggregateMeasure extends MemberBase {
  readonly kind: 'measure';
  readonly aggregation: 'count' | 'count_distinct' | 'sum' | 'avg' | 'min' | 'max';
  /** Null for a `count` of rows. */
  readonly sql: SqlTemplate | null;
  readonly filters: readonly SqlTemplate[];
}

/** An expression over other measures, computed after aggregation. */
export interface CalculatedMeasure extends MemberBase {
  readonly kind: 'measure';
  readonly aggregation: 'number';
  readonly sql: SqlTemplate;
}

/** A member that is a figure for a group of rows. */
export type Measure = AggregateMeasure | CalculatedMeasure;

/** A member as its cube declares it. */
export type CubeMember = Dimension | Measure;

/** A join from the cube that declares it to `target`. */
export interface Join {
  readonly target: string;
  readonly relationship: Relationship;
  readonly sql: SqlTemplate;
}

/** A table with joins, dimensions and measures. */
export interface Cube {
  readonly name: string;
  /** Trusted SQL of the model's author: a table name, or a query in parentheses. */
  readonly source: string;
  readonly joins: ReadonlyMap<string, Join>;
  readonly members: ReadonlyMap<string, CubeMember>;
  readonly primaryKey: readonly Dimension[];
  readonly policy: Policy | null;
}

/** A member as a query names it: which member of which cube, reached by which path of joins from the relation's root. */
export interface RelationMember {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly format: string | null;
  readonly isPublic: boolean;
  /** Cube names from the root; the last is the member's own cube. */
  readonly path: readonly string[];
  readonly member: CubeMember;
}

/** What a query can select from: a view, or a cube by itself. */
export interface Relation {
  readonly name: string;
  readonly type: 'view' | 'cube';
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly isPublic: boolean;
  readonly rootCube: string;
  /** The join paths that a view names; more than one path to a cube is told apart by these. */
  readonly paths: readonly (readonly string[])[];
  readonly members: ReadonlyMap<string, RelationMember>;
  readonly policy: Policy | null;
}

/** A whole data model. */
export interface DataModel {
  readonly cubes: ReadonlyMap<string, Cube>;
  /** Views and cubes by name: they share one name space. */
  readonly relations: ReadonlyMap<string, Relation>;
}

/** A value in a policy filter: written in the model, or read from the asking user. */
export type PolicyValue =
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'userAttribute'; readonly name: string }
  | { readonly kind: 'securityContext'; readonly path: readonly string[] }
  | { readonly kind: 'groups' }
  | { readonly kind: 'embedTenantName' };

/** The operators of policy filters, with how many values each takes. */
export const policyOperators = {
  equals: 'many',
  notEquals: 'many',
  contains: 'many',
  notContains: 'many',
  startsWith: 'many',
  endsWith: 'many',
  gt: 'one',
  gte: 'one',
  lt: 'one',
  lte: 'one',
  set: 'none',
  notSet: 'none',
} as const satisfies Readonly<Record<string, 'many' | 'one' | 'none'>>;

/** An operator of a policy filter. */
export type PolicyOperator = keyof typeof policyOperators;

/** A row filter as written. `member` is a dimension of the relation that the policy stands on. */
export type PolicyFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly PolicyFilter[] }
  | {
      readonly kind: 'compare';
      readonly member: string;
      readonly operator: PolicyOperator;
      readonly values: readonly PolicyValue[];
    };

/** One entry of a policy: whom it is for, and what it grants them. */
export interface PolicyEntry {
  /** Group names; `*` is everyone. */
  readonly groups: readonly string[];
  /** Null: all rows. */
  readonly rowFilter: PolicyFilter | null;
  /** The members that the entry grants. */
  readonly members: ReadonlySet<string>;
  /** Also matches groups of an embed tenant although it grants all rows. */
  readonly matchesEmbedTenants: boolean;
}

/** The access policy of a cube or view: whoever matches no entry sees nothing of it. */
export interface Policy {
  readonly entries: readonly PolicyEntry[];
}
