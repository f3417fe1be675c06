/** What one user may see of a data model, as plain values. */
import type { CustomGranularity, MemberType, Meta } from '../model/data-model.ts';

/** A measure, dimension or segment as one user may see it. `name` is `relation.member`. */
export interface MemberMetadata {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: MemberType;
  readonly kind: 'measure' | 'dimension' | 'segment';
  /** The aggregation of a measure: `sum`, `count`, `number` …; absent on others. */
  readonly aggType?: string;
  /** Other words that people use for it, from `meta.synonyms`. */
  readonly synonyms: readonly string[];
  /** A number format, from `format`: `currency`, `percent` or absent. */
  readonly format?: string;
  /** What else the author wrote under `meta`; absent when that is nothing. */
  readonly meta?: Meta;
  /** Present when the user is shown the mask instead of its values. */
  readonly isMasked?: true;
  /** Of a dimension that tells rows apart. */
  readonly isPrimaryKey?: true;
  /** Units of time besides the built-in ones; absent when there are none. */
  readonly granularities?: readonly CustomGranularity[];
  /** Of a measure: the dimensions that tell the rows behind it, those that this user sees; absent when there are none. */
  readonly drillMembers?: readonly string[];
}

/** Dimensions from coarse to fine, those that the user sees. */
export interface HierarchyMetadata {
  readonly name: string;
  readonly title: string;
  readonly levels: readonly string[];
}

/** Members shown together, those that the user sees, and folders within. */
export interface FolderMetadata {
  readonly name: string;
  readonly members: readonly (string | FolderMetadata)[];
}

/** A view or cube with the members that one user may see; relations without a visible member do not appear. */
export interface RelationMetadata {
  readonly name: string;
  readonly type: 'view' | 'cube';
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly members: readonly MemberMetadata[];
  /** What else the author wrote under `meta`; absent when that is nothing. */
  readonly meta?: Meta;
  /** Those with a level that the user sees; absent when there are none. */
  readonly hierarchies?: readonly HierarchyMetadata[];
  /** Those with a member that the user sees; absent when there are none. */
  readonly folders?: readonly FolderMetadata[];
}
