/** What a question means, once every word of it has a meaning: the input of SQL, chart and answer. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import type { Grain } from './calendar.ts';
import type { TimeRange } from './time-phrases.ts';

/** Values of one dimension that rows must have (or, when `isExcluded`, must not have). At least one value. */
export interface Filter {
  readonly member: MemberMetadata;
  readonly values: readonly string[];
  readonly isExcluded: boolean;
}

/** The best or worst rows by one measure; `limit` is 1–1,000. */
export interface Ranking {
  readonly direction: 'highest' | 'lowest';
  readonly measure: MemberMetadata;
  readonly limit: number;
}

/**
 * A question that can be asked of one relation.
 * - `measures`: one to three. `dimensions`: none to two.
 * - `time`: the time dimension, when a grain or a range uses it.
 * - `grain`: rows are per this unit of `time`. `range`: only rows within it.
 * - `segments`: conditions with a name in the data model, all of which rows meet.
 * - `ranking`: only with a dimension or a grain, never with both.
 */
export interface Intent {
  readonly relation: RelationMetadata;
  readonly measures: readonly [MemberMetadata, ...MemberMetadata[]];
  readonly dimensions: readonly MemberMetadata[];
  readonly time?: { readonly member: MemberMetadata; readonly grain?: Grain; readonly range?: TimeRange };
  readonly filters: readonly Filter[];
  readonly segments: readonly MemberMetadata[];
  readonly ranking?: Ranking;
}

/**
 * What one question says about one relation, before it is known whether it stands alone or changes the one before.
 * - `unknown`: the words with no meaning here, as written; `problems`: sentences that say why it cannot be asked,
 *   and `understood`: what the other words mean; both are safe to show as Markdown;
 * - `freed`: dimensions of which all values are asked for ("all channels");
 * - `ranking.isJudged`: asked for as best or worst, which is not for every measure the highest or lowest;
 * - `mode`: how it says that it goes on from the question before: not, by replacing, or by adding;
 * - `guesses`: how many members were taken from a part of their title; `isNamed`: the relation itself is named.
 */
export interface Reading {
  readonly relation: RelationMetadata;
  readonly measures: readonly MemberMetadata[];
  readonly dimensions: readonly MemberMetadata[];
  readonly timeMember?: MemberMetadata;
  readonly grain?: Grain;
  readonly range?: TimeRange;
  readonly filters: readonly Filter[];
  readonly segments: readonly MemberMetadata[];
  readonly ranking?: {
    readonly direction: 'highest' | 'lowest';
    readonly measure?: MemberMetadata;
    readonly limit: number;
    readonly isJudged?: boolean;
  };
  readonly freed: readonly MemberMetadata[];
  readonly mode: 'question' | 'replace' | 'add';
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
  readonly understood: readonly string[];
  readonly guesses: number;
  readonly isNamed: boolean;
}

/** The limits of one question; `tokensMax` counts its words and symbols. */
export const intentLimits = { measuresMax: 3, dimensionsMax: 2, rankingMax: 1000, tokensMax: 400 } as const;

/** The sentences that say which limits so many measures and dimensions pass. */
export function limitProblems(measureCount: number, dimensionCount: number): readonly string[] {
  const { measuresMax, dimensionsMax } = intentLimits;
  return [
    ...(measureCount > measuresMax ? [`I can show ${measuresMax} measures at a time.`] : []),
    ...(dimensionCount > dimensionsMax ? [`I can break down by ${dimensionsMax} dimensions at a time.`] : []),
  ];
}

/** True when a question says by what its rows are to be, so that they are no longer those of the question before. */
export function hasBreakdown({
  dimensions,
  grain,
}: Pick<Reading, 'dimensions'> & { readonly grain?: Grain | undefined }): boolean {
  return dimensions.length > 0 || grain !== undefined;
}

/** True when the filters leave one value of a dimension at most, so that a list of its values says nothing. */
export function isHeldToOne(filters: readonly Filter[], dimension: MemberMetadata): boolean {
  return filters.some(({ member, values, isExcluded }) => member === dimension && values.length === 1 && !isExcluded);
}

/** The name of a member within its relation: `sales.revenue` → `revenue`. */
export function localName(member: MemberMetadata): string {
  return member.name.slice(member.name.indexOf('.') + 1);
}
