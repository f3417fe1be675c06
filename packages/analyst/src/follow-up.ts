/** Makes an intent of a reading: of a whole question by itself, of a follow-up by changing the question before it. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { addDays, unitAround } from './calendar.ts';
import { lowerTitleOf, titleOf } from './describe.ts';
import { type Filter, hasBreakdown, type Intent, isHeldToOne, limitProblems, type Reading } from './intent.ts';
import { plainText } from './plain-text.ts';
import type { TimeRange } from './time-phrases.ts';

/** An intent, or the sentences that say why there is none. */
export type Completed = { readonly intent: Intent } | { readonly problems: readonly string[] };

/** The intent of a question that stands alone. It needs a measure. */
export function completeQuestion(reading: Reading): Completed {
  if (reading.range?.isOnlyBack === true) return { problems: ['I need to know which time you count back from.'] };
  return complete(reading, reading);
}

/** True when a question is meant as a change of the one before: it names no measure, or begins with "and", "what about". */
export function isFollowUp(reading: Reading): boolean {
  if (reading.measures.length === 0) return true;
  return reading.mode !== 'question' && !hasBreakdown(reading) && reading.ranking === undefined;
}

/**
 * `before`, changed by a reading of the same relation: a new breakdown, range or ranking takes the place of the old one,
 * values take the place of those of the same dimension. After "and", "also", "add" measures and breakdown are added.
 */
export function completeFollowUp(before: Intent, reading: Reading): Completed {
  const isAdding = reading.mode === 'add';
  const isBreakdownNew = hasBreakdown(reading);
  const hasContent =
    isBreakdownNew ||
    reading.measures.length > 0 ||
    reading.filters.length > 0 ||
    reading.segments.length > 0 ||
    reading.range !== undefined ||
    reading.ranking !== undefined;
  if (!hasContent) return { problems: ['I see nothing in it to change in the question before.'] };
  const keepsBreakdown = !isBreakdownNew || isAdding;
  const keptDimensions = keepsBreakdown ? before.dimensions : [];
  const grain = reading.grain ?? (keepsBreakdown ? before.time?.grain : undefined);
  if (
    isAdding &&
    reading.grain !== undefined &&
    before.time?.grain !== undefined &&
    reading.grain !== before.time.grain
  ) {
    return { problems: ['I can use one unit of time at a time.'] };
  }
  const counted = countedBack(before, reading);
  if (typeof counted === 'string') return { problems: [counted] };
  const problem = assumedYear(before, reading);
  if (problem !== undefined) return { problems: [problem] };
  // A ranking is of the rows that it was asked for: another breakdown ends it.
  const keptRanking = isBreakdownNew ? undefined : before.ranking;
  // "top 5 by revenue" ranks by a measure that is there already and keeps the others.
  const isKnown = reading.ranking !== undefined && reading.measures.every((member) => before.measures.includes(member));
  const measures =
    isAdding || isKnown || reading.measures.length === 0 ? [...before.measures, ...reading.measures] : reading.measures;
  return complete(reading, {
    measures: [...new Set(measures)],
    dimensions: [...new Set([...keptDimensions, ...reading.dimensions])],
    grain,
    timeMember: reading.timeMember ?? before.time?.member,
    range: counted ?? before.time?.range,
    filters: changedFilters(before.filters, reading),
    segments: [...new Set([...before.segments, ...reading.segments])],
    ranking: reading.ranking ?? keptRanking,
  });
}

// Values take the place of those of the same dimension. To leave some out is one more condition, though: after "web and
// store", "without store" is web. "all channels" ends every condition on the channel.
function changedFilters(filters: readonly Filter[], reading: Reading): readonly Filter[] {
  const kept = filters.flatMap((filter): Filter[] => {
    if (reading.freed.includes(filter.member)) return [];
    const changes = reading.filters.filter(({ member }) => member === filter.member);
    if (changes.length === 0) return [filter];
    if (changes.some(({ isExcluded }) => !isExcluded)) return [];
    if (filter.isExcluded) return [filter];
    const out = new Set(changes.flatMap(({ values }) => values));
    return filter.values.every((value) => out.has(value)) ? [] : [filter];
  });
  const merged: Filter[] = [...kept];
  for (const filter of reading.filters) {
    const alike = merged.findIndex(
      ({ member, isExcluded }) => member === filter.member && isExcluded === filter.isExcluded,
    );
    const earlier = merged[alike];
    if (earlier === undefined) merged.push(filter);
    else merged[alike] = { ...filter, values: [...new Set([...earlier.values, ...filter.values])] };
  }
  return merged;
}

// "the year before" after "in 2023" is 2022, whatever year it is now. Of a time that is no such unit it could be several.
function countedBack(before: Intent, { range }: Reading): TimeRange | string | undefined {
  const past = before.time?.range;
  if (range?.back === undefined) return range;
  if (past === undefined) return range.isOnlyBack === true ? 'I need to know which time you count back from.' : range;
  const unit = past.from === undefined ? undefined : unitAround(past.from, range.back, 0);
  const earlier = past.from === undefined ? undefined : unitAround(past.from, range.back, -1);
  const isWhole = unit !== undefined && unit.from === past.from && unit.to === past.to;
  if (isWhole && earlier !== undefined) return earlier;
  return `The question before was about ${past.label}. Which ${range.back} do you mean?`;
}

// "only Q1" after "in 2023" hardly means the Q1 of another year.
function assumedYear(before: Intent, { range }: Reading): string | undefined {
  const past = before.time?.range;
  if (range?.isYearAssumed !== true || past === undefined) return undefined;
  const first = (past.from ?? '0000').slice(0, 4);
  const last = past.to === undefined ? '9999' : addDays(past.to, -1).slice(0, 4);
  const year = (range.from ?? range.to ?? '').slice(0, 4);
  if (year >= first && year <= last) return undefined;
  return `The question before was about ${past.label}. Which year do you mean: is it "${range.label}"?`;
}

// What a reading says, or what is left of the question before and what a reading adds to it.
type Parts = Pick<Reading, 'measures' | 'dimensions' | 'filters' | 'segments'> & {
  readonly [Key in 'grain' | 'timeMember' | 'range' | 'ranking']?: Reading[Key] | undefined;
};

function complete(reading: Reading, parts: Parts): Completed {
  const { relation } = reading;
  const problems = [...reading.problems];
  const [measure, ...moreMeasures] = parts.measures;
  if (measure === undefined) return { problems: [...problems, 'I need to know what to measure.'] };
  problems.push(...limitProblems(parts.measures.length, parts.dimensions.length));
  const needsTime = parts.grain !== undefined || parts.range !== undefined;
  const member = needsTime ? (parts.timeMember ?? firstTime(relation)) : undefined;
  if (needsTime && member === undefined) problems.push(`${plainText(relation.title)} has no date to use for a time.`);
  problems.push(...rankingProblems(parts, measure));
  if (problems.length > 0) return { problems: [...new Set(problems)] };
  return {
    intent: {
      relation,
      measures: [measure, ...moreMeasures],
      dimensions: parts.dimensions,
      ...(member !== undefined && {
        time: {
          member,
          ...(parts.grain !== undefined && { grain: parts.grain }),
          ...(parts.range !== undefined && { range: parts.range }),
        },
      }),
      filters: parts.filters,
      segments: parts.segments,
      ...(parts.ranking !== undefined && {
        ranking: {
          direction: parts.ranking.direction,
          limit: parts.ranking.limit,
          measure: rankedMeasure(parts, measure),
        },
      }),
    },
  };
}

function rankedMeasure(parts: Parts, first: MemberMetadata): MemberMetadata {
  const asked = parts.ranking?.measure;
  return asked !== undefined && parts.measures.includes(asked) ? asked : first;
}

function rankingProblems(parts: Parts, first: MemberMetadata): readonly string[] {
  if (parts.ranking === undefined) return [];
  if (!hasBreakdown(parts)) return ['I need to know what to rank, such as "top 5 …".'];
  // The first rows of a table of times and dimensions would be neither the best times nor the best dimensions.
  if (parts.dimensions.length > 0 && parts.grain !== undefined)
    return ['I cannot rank and show a course over time at once.'];
  // "is web the best channel" among web only: it would always be the best.
  const isHeld = parts.dimensions.every((dimension) => isHeldToOne(parts.filters, dimension));
  if (parts.dimensions.length > 0 && isHeld) return ['There is only one to rank when the question names it.'];
  const measure = rankedMeasure(parts, first);
  if (parts.ranking.isJudged === true && lessIsBetter.test(titleOf(measure)))
    return [`Do you mean the highest or the lowest ${lowerTitleOf(measure)}?`];
  return [];
}

// The worst refund rate is the highest one, the worst on-time rate the lowest.
const lessIsBetter =
  /\b(?:refund|return|cancel|late|delay|cost|discount|complaint|churn|error|loss|lost|fault|defect|days|(?<!on[- ])time)/i;

// The order of members in the data model is the team's preference.
function firstTime(relation: RelationMetadata): MemberMetadata | undefined {
  return relation.members.find((member) => member.kind === 'dimension' && member.type === 'time');
}
