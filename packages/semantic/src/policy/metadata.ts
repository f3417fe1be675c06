/** What one user may see of a data model, as plain values. */

/** A measure, dimension or segment as one user may see it. `name` is `relation.member`. */
export interface MemberMetadata {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: 'string' | 'number' | 'time' | 'boolean';
  readonly kind: 'measure' | 'dimension' | 'segment';
  /** The aggregation of a measure: `sum`, `count`, `number` …; absent on others. */
  readonly aggType?: string;
  /** Other words that people use for it, from `meta.synonyms`. */
  readonly synonyms: readonly string[];
  /** A number format, from `format`: `currency`, `percent` or absent. */
  readonly format?: string;
}

/** A view or cube with the members that one user may see; relations without a visible member do not appear. */
export interface RelationMetadata {
  readonly name: string;
  readonly type: 'view' | 'cube';
  readonly title: string;
  readonly description: string;
  readonly synonyms: readonly string[];
  readonly members: readonly MemberMetadata[];
}
