/**
 * The data model as it stands after loading: every name resolved, every SQL fragment parsed into parts. Immutable.
 * A cube is a table with joins, dimensions and measures; a view is a tree of cubes from which members are picked.
 */
import type { PolicyOperator } from './policy-operators.ts';

/** The type of a member's value, as the model's author declares it. */
export type MemberType = 'string' | 'number' | 'time' | 'boolean';

/** How rows of a cube relate to rows of the cube that it joins. */
export type Relationship = 'many_to_one' | 'one_to_many' | 'one_to_one';

/** A piece of a SQL fragment: plain SQL of the warehouse, a text value, the alias of a cube, or another member. */
export type SqlPart =
  | { readonly kind: 'text'; readonly text: string }
  /** A text of the model's author that becomes a literal, quoted as the dialect wants it: the label of a `case`. */
  | { readonly kind: 'literal'; readonly value: string }
  | { readonly kind: 'cube'; readonly cube: string }
  | { readonly kind: 'member'; readonly cube: string; readonly member: string };

/** A SQL fragment of the model, such as `{CUBE}.amount - {discount}`. */
export type SqlTemplate = readonly SqlPart[];

/** A length of calendar time, in whole units that do not convert into each other. Each may be negative. */
export interface Interval {
  readonly months: number;
  readonly days: number;
  readonly seconds: number;
}

/** A unit of time that the model declares for one time dimension, such as a fiscal year: buckets of `interval` from `origin` on. */
export interface CustomGranularity {
  readonly name: string;
  readonly title: string;
  readonly interval: Interval;
  /** The beginning of one bucket, local time: `2024-04-01T00:00:00`. */
  readonly origin: string;
}

/** What stands in place of a value that a user may know of, but not read. */
export type Mask =
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  /** Over columns of its own cube. */
  | { readonly kind: 'sql'; readonly sql: SqlTemplate };

/** JSON as the model's author wrote it under `meta`. */
export type Meta = Readonly<Record<string, unknown>>;

/** What people are told of a member. */
interface DescribedMember {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly format: string | null;
  readonly isPublic: boolean;
  readonly meta: Meta;
}

interface MemberBase extends DescribedMember {
  readonly cube: string;
  readonly type: MemberType;
  /** Null when the model declares none: then a masked value is null. */
  readonly mask: Mask | null;
}

/** A value of a row. */
export interface Dimension extends MemberBase {
  readonly kind: 'dimension';
  readonly source: DimensionSource;
  readonly isPrimaryKey: boolean;
  /** Of a `time` dimension, by name; they come before the built-in ones of the same name. */
  readonly granularities: ReadonlyMap<string, CustomGranularity>;
  /** A `time` dimension whose values are local already (a calendar date): no time zone applies to it. */
  readonly isLocalTime: boolean;
}

/** Where the value of a dimension comes from. */
export type DimensionSource =
  /** An expression over columns of the row; `case` is one of these. */
  | { readonly kind: 'sql'; readonly sql: SqlTemplate }
  /** A place: given as `latitude,longitude`. */
  | { readonly kind: 'geo'; readonly latitude: SqlTemplate; readonly longitude: SqlTemplate }
  /** A measure of another cube, computed per row of this one. */
  | {
      readonly kind: 'sub-query';
      readonly cube: string;
      readonly measure: string;
      /** Whether the filters of the query reach into it. */
      readonly propagatesFilters: boolean;
    }
  /** No column: a choice among these values that measures can be switched by. */
  | { readonly kind: 'switch'; readonly values: readonly string[] };

/** The aggregations that a measure may name. */
export const aggregations = ['count', 'count_distinct', 'count_distinct_approx', 'sum', 'avg', 'min', 'max'] as const;
/** A function of the values of many rows. */
export type Aggregation = (typeof aggregations)[number];

/** Which rows around a bucket of time a measure counts. */
export type RollingWindow =
  | {
      readonly kind: 'fixed';
      /** Before the anchor; null: nothing. */
      readonly trailing: Interval | 'unbounded' | null;
      /** Behind the anchor; null: nothing. */
      readonly leading: Interval | 'unbounded' | null;
      /** The anchor: the beginning of the bucket, which is then not counted, or its end. */
      readonly offset: 'start' | 'end';
    }
  /** From the beginning of the larger unit to the end of the bucket. */
  | { readonly kind: 'to_date'; readonly granularity: string };

interface MeasureBase extends MemberBase {
  readonly kind: 'measure';
  /** The dimensions that tell the rows behind a figure, for whoever drills down. */
  readonly drillMembers: readonly DimensionReference[];
}

/** An aggregate of the rows of one cube. `filters` are ANDed and count rows for this measure only. */
export interface AggregateMeasure extends MeasureBase {
  readonly aggregation: Aggregation;
  /** Null for a `count` of rows. */
  readonly sql: SqlTemplate | null;
  readonly filters: readonly SqlTemplate[];
  readonly rollingWindow: RollingWindow | null;
}

/** An aggregate in the warehouse's own SQL, over columns of the cube (`number_agg`). It can be summed up no further. */
export interface CustomMeasure extends MeasureBase {
  readonly aggregation: 'number_agg';
  readonly sql: SqlTemplate;
  readonly filters: readonly SqlTemplate[];
}

/** An expression over other measures, computed after aggregation. Its `type` may be any. */
export interface CalculatedMeasure extends MeasureBase {
  readonly aggregation: 'number';
  readonly sql: SqlTemplate;
}

/** The dimensions by which the measures inside a multi-stage measure are grouped first. Names of members of its cube, or `cube.member`. */
export type StageGrain =
  | { readonly kind: 'query' }
  /** Those of the query that are in the list. */
  | { readonly kind: 'group_by'; readonly dimensions: readonly DimensionReference[] }
  /** Those of the query that are not in the list. */
  | { readonly kind: 'reduce_by'; readonly dimensions: readonly DimensionReference[] }
  /** Those of the query and these. */
  | { readonly kind: 'add_group_by'; readonly dimensions: readonly DimensionReference[] };

/** A dimension, wherever it is declared. */
export interface DimensionReference {
  readonly cube: string;
  readonly member: string;
}

/** Moves the time by which the measures inside are computed: `prior` values are those of an earlier time. */
export interface TimeShift {
  /** Null: every time dimension of the query. */
  readonly timeDimension: DimensionReference | null;
  /** Added to a row's time: positive for `prior`, negative for `next`. */
  readonly interval: Interval;
}

/** A measure over measures that are computed first, at another grain or time. */
export interface MultiStageMeasure extends MeasureBase {
  readonly aggregation: 'multi_stage';
  /** What is made of the inner values; `number`: nothing, the expression itself. */
  readonly outer: Exclude<Aggregation, 'count' | 'count_distinct' | 'count_distinct_approx'> | 'number';
  /** Over measures. */
  readonly sql: SqlTemplate | MeasureSwitch;
  readonly grain: StageGrain;
  readonly timeShifts: readonly TimeShift[];
}

/** An expression over measures for each value of a `switch` dimension. */
export interface MeasureSwitch {
  readonly switch: DimensionReference;
  readonly cases: readonly { readonly value: string; readonly sql: SqlTemplate }[];
  readonly otherwise: SqlTemplate;
}

/** A member that is a figure for a group of rows. */
export type Measure = AggregateMeasure | CustomMeasure | CalculatedMeasure | MultiStageMeasure;

/** A named condition on rows, of type boolean. */
export interface Segment extends MemberBase {
  readonly kind: 'segment';
  readonly sql: SqlTemplate;
}

/** A member as its cube declares it. */
export type CubeMember = Dimension | Measure | Segment;

/** Dimensions from coarse to fine, for drilling. Names of dimensions of the relation. */
export interface Hierarchy {
  readonly name: string;
  readonly title: string;
  readonly levels: readonly string[];
}

/** Members of a view shown together. */
export interface Folder {
  readonly name: string;
  /** Names of members of the view, or folders within. */
  readonly members: readonly (string | Folder)[];
}

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
  /** How long an answer from this cube may be kept, in seconds (`refresh_key.every`); null: the server's own setting. */
  readonly refreshEverySeconds: number | null;
}

/** A member as a query names it: which member of which cube, reached by which path of joins from the relation's root. */
export interface RelationMember extends DescribedMember {
  /** Cube names from the root; the last is the member's own cube. */
  readonly path: readonly string[];
  readonly member: CubeMember;
}

/** What a query can select from: a view, a cube by itself, or several cubes that a query joins (`joined`, never in a model). */
export interface Relation {
  readonly name: string;
  readonly type: 'view' | 'cube' | 'joined';
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly isPublic: boolean;
  /** The cube that the first join path begins at. */
  readonly rootCube: string;
  /** The join paths that a view names, each from a root; more than one path to a cube is told apart by these. */
  readonly paths: readonly (readonly string[])[];
  readonly members: ReadonlyMap<string, RelationMember>;
  readonly hierarchies: readonly Hierarchy[];
  readonly folders: readonly Folder[];
  readonly meta: Meta;
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

/** A row filter as written. `member` is a dimension of the relation that the policy stands on. */
export type PolicyFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly PolicyFilter[] }
  | {
      readonly kind: 'compare';
      readonly member: string;
      readonly operator: PolicyOperator;
      readonly values: readonly PolicyValue[];
    };

/** A value that a condition compares: of the user, or a literal. A list is written out. */
export type ConditionValue = PolicyValue | { readonly kind: 'list'; readonly values: readonly PolicyValue[] };

/** A condition of a policy entry on the asking user. No code: member access, and, or, not, comparisons, literals. */
export type PolicyCondition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly PolicyCondition[] }
  | { readonly kind: 'not'; readonly condition: PolicyCondition }
  | {
      readonly kind: 'compare';
      readonly operator: '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in';
      readonly left: ConditionValue;
      readonly right: ConditionValue;
    }
  /** True when the value is there and not false, 0 or empty. */
  | { readonly kind: 'truthy'; readonly value: ConditionValue };

/** One entry of a policy: whom it is for, and what it grants them. */
export interface PolicyEntry {
  /** Group names; `*` is everyone. */
  readonly groups: readonly string[];
  /** All have to hold. */
  readonly conditions: readonly PolicyCondition[];
  /** Null: all rows. */
  readonly rowFilter: PolicyFilter | null;
  /** The members that the entry grants. */
  readonly members: ReadonlySet<string>;
  /** The members that the entry says must not be seen (`excludes`, less those that it masks); what only is not listed is not among them. */
  readonly excludedMembers: ReadonlySet<string>;
  /** The members that the entry grants masked: their values are replaced. None of them is in `members`. */
  readonly maskedMembers: ReadonlySet<string>;
  /** Also matches groups of an embed tenant although it grants all rows. */
  readonly matchesEmbedTenants: boolean;
}

/** The access policy of a cube or view: whoever matches no entry sees nothing of it. */
export interface Policy {
  readonly entries: readonly PolicyEntry[];
}
