/** What the parts of the planner hand to each other: a request for groups, and everything that is the same within one query. */
import type { Dialect } from '../dialects/dialect.ts';
import type {
  AggregateMeasure,
  DataModel,
  Interval,
  Measure,
  MultiStageMeasure,
  RollingWindow,
} from '../model/data-model.ts';
import type { Rights } from '../policy/rights.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import type { Binder } from './binder.ts';
import type { JoinForest, JoinTree, Located, NodePath } from './join-tree.ts';
import type { QueryAccess } from './query-access.ts';

/** What a query is compiled with. */
export interface CompileContext {
  readonly model: DataModel;
  readonly rights: Rights;
  readonly dialect: Dialect;
  /** One for the whole statement, however many blocks it has. */
  readonly binder: Binder;
  /** The IANA name of the zone in which times are truncated and taken apart. */
  readonly timezone: string;
  /** The SQL of a subquery; it reads nothing of what is around it. Left out: there are none. */
  readonly subquery?: EmitSubquery;
}

/** Gives the SQL of a subquery in an expression; `emit` gives that of its operand. */
export type EmitSubquery = (
  expression: ResolvedExpression & { readonly kind: 'subquery' | 'in-subquery' },
  emit: (part: ResolvedExpression) => string,
) => string;

/** A column that rows are grouped by. */
export interface GroupKey {
  /** The name of its column, safe as it is: `k0`. */
  readonly name: string;
  readonly expression: ResolvedExpression;
  /** What is there, whatever the user may read of it: a primary key that something is joined by. */
  readonly isReal?: boolean;
}

/** A measure to be computed per group, of any kind. */
export interface GroupMeasure {
  /** The name of its column, safe as it is: `m0`. */
  readonly name: string;
  readonly measure: Measure;
  /** The node of the measure's cube: its path in the relation. */
  readonly path: NodePath;
  /** The member of the query that the measure is needed for, for messages. */
  readonly reader: string;
}

/** A measure over windows of time. */
export interface RollingMeasure extends GroupMeasure {
  readonly measure: AggregateMeasure & { readonly rollingWindow: RollingWindow };
}

/** A measure over measures that are computed first. */
export interface StageMeasure extends GroupMeasure {
  readonly measure: MultiStageMeasure;
}

/** What is to be computed: figures per combination of keys. */
export interface GroupRequest {
  readonly keys: readonly GroupKey[];
  readonly measures: readonly GroupMeasure[];
  /** The condition on rows; null: none. */
  readonly where: ResolvedExpression | null;
  /**
   * The condition that the query has, where `where` reads more rows than it for windows and other times: sub-queries to which it is
   * propagated are the same for all parts of a query. Left out: it is `where`.
   */
  readonly asked?: ResolvedExpression | null;
  /**
   * Added to a row's value of that time dimension wherever a member of the query reads it, filters included; policies read what is
   * there. Key: path of the relation, a space, the name of the dimension in its cube.
   */
  readonly shifts: ReadonlyMap<string, Interval>;
}

/** A SELECT with the key columns of a request and columns of some of its measures. */
export interface GroupPart {
  readonly sql: string;
  /** The names of its measure columns. */
  readonly columns: readonly string[];
  /**
   * Names the set of key combinations that its rows have: parts with the same name have a row for each of the same combinations. Null:
   * combinations of its own.
   */
  readonly keysOf: string | null;
  /** The part may lack some of the combinations that `keysOf` names. */
  readonly isPartial: boolean;
}

/** What is the same for all that is computed for one query. */
export interface GroupScope {
  readonly context: CompileContext;
  readonly forest: JoinForest;
  /** The policies, for this query. */
  readonly access: QueryAccess;
  /** Names of the cubes that have been read. */
  readonly cubes: Set<string>;
  /** The node of a tree that stands for a node that the query names. */
  locate(tree: JoinTree, path: NodePath): Located;
  /**
   * A SELECT of a request's keys and measures: one row per combination of keys that any of the measures has rows for; without keys
   * one row. The way by which stages, windows and sub-queries ask for what they are made of.
   * @throws SemanticError QUERY_NOT_PLANNABLE
   */
  groups(request: GroupRequest, scope: GroupScope): string;
}
