/** Reads the spans of one question into a {@link Reading}: what is measured, by what, when, and what has no meaning. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { checkWords } from './check-words.ts';
import { titleOf } from './describe.ts';
import { intentLimits, limitProblems, type Reading } from './intent.ts';
import { type Command, isSuperlative } from './lexicon.ts';
import { listOf, plainText } from './plain-text.ts';
import { readValues, type ValueReading } from './read-values.ts';
import { after, before, isCommand, isFiller, type Span } from './span.ts';

/** Reads a question for one relation. Every span ends up in the meaning, in `unknown`, or in a problem. */
export function readQuestion(relation: RelationMetadata, spans: readonly Span[]): Reading {
  const values = readValues(spans);
  const members = readMembers(spans, values);
  const ranking = readRanking(spans, members.dimensionPlaces);
  const time = readTime(spans);
  const checked = checkWords(spans, values);
  const unknown = spans.flatMap((span, place) =>
    span.kind === 'unknown' ||
    values.misplaced.has(place) ||
    checked.unmapped.has(place) ||
    (span.kind === 'number' && place !== ranking.numberPlace)
      ? [span.text]
      : [],
  );
  const problems = [
    ...values.problems,
    ...members.problems,
    ...ranking.problems,
    ...time.problems,
    ...checked.problems,
  ];
  const opening = spans.find((span) => !isFiller(span) && !/^[,;]$/.test(span.text));
  // "add web": to the values before, or instead of them?
  if (/^(?:add|plus|[+])$/i.test(opening?.text ?? '') && (values.filters.length > 0 || time.range !== undefined)) {
    problems.push('I can add measures and breakdowns only. Please name all that you want, such as "2023 to 2024".');
  }
  const mode = isCommand(opening, ['replace']) ? 'replace' : isCommand(opening, ['and', 'add']) ? 'add' : 'question';
  return {
    relation,
    measures: members.measures,
    dimensions: members.dimensions,
    ...(members.timeMember !== undefined && { timeMember: members.timeMember }),
    ...(time.grain !== undefined && { grain: time.grain }),
    // "by order date" without a unit means by its day.
    ...(time.grain === undefined && members.isTimeGrouped && { grain: 'day' as const }),
    ...(time.range !== undefined && { range: time.range }),
    filters: values.filters,
    segments: [...new Set(spans.flatMap((span) => (span.kind === 'segment' ? [span.member] : [])))],
    ...(ranking.ranking !== undefined && { ranking: ranking.ranking }),
    freed: freedIn(spans),
    mode,
    unknown,
    problems,
    understood: understoodOf(spans),
    guesses: spans.filter((span) => (span.kind === 'measure' || span.kind === 'dimension') && span.isPart).length,
    isNamed: spans.some((span) => span.kind === 'relation'),
  };
}

interface MembersReading {
  readonly measures: readonly MemberMetadata[];
  readonly dimensions: readonly MemberMetadata[];
  readonly dimensionPlaces: readonly number[];
  readonly timeMember?: MemberMetadata;
  readonly isTimeGrouped: boolean;
  readonly problems: readonly string[];
}

function readMembers(spans: readonly Span[], values: ValueReading): MembersReading {
  const measures = new Set<MemberMetadata>();
  const dimensions = new Set<MemberMetadata>();
  const times = new Set<MemberMetadata>();
  const dimensionPlaces: number[] = [];
  const problems: string[] = [];
  let isTimeGrouped = false;
  let previous: { span: Span; isSeparated: boolean } | undefined;
  for (const [place, span] of spans.entries()) {
    if (span.kind === 'command') {
      if (previous !== undefined && separators.includes(span.command)) previous = { ...previous, isSeparated: true };
      continue;
    }
    if (span.kind === 'ambiguous')
      problems.push(
        `"${plainText(span.text)}" could be ${listOf(
          span.names.map((name) => plainText(name)),
          'or',
        )}. Which do you mean?`,
      );
    if (span.kind === 'measure' || (span.kind === 'dimension' && !values.qualifiers.has(place))) {
      const kind = isTime(span) ? 'time' : span.kind;
      // "customer orders", "revenue of orders": two of a kind that nothing lists mean something else than both.
      if (previous?.span.kind === span.kind && !previous.isSeparated && !isTime(span) && !isTime(previous.span)) {
        problems.push(
          `I cannot tell how "${plainText(previous.span.text)}" and "${plainText(span.text)}" belong together.`,
        );
      }
      if (kind === 'measure') measures.add(span.member);
      else if (kind === 'time') {
        times.add(span.member);
        isTimeGrouped ||= isMarked(spans, place) || !spans.some(({ kind: other }) => other === 'range');
      } else {
        dimensions.add(span.member);
        dimensionPlaces.push(place);
      }
    }
    // A value says nothing about how its neighbours belong together: "revenue from web orders".
    if (span.kind === 'grain' && span.member !== undefined) times.add(span.member);
    if (span.kind !== 'value' && span.kind !== 'segment' && !values.qualifiers.has(place))
      previous = { span, isSeparated: false };
  }
  for (const member of values.compared) dimensions.add(member);
  if (values.compared.length === 0) problems.push(...groupedMeasures(spans, measures.size));
  problems.push(...limitProblems(measures.size, dimensions.size));
  if (times.size > 1) problems.push('I can use one date at a time.');
  const [timeMember] = times;
  return {
    measures: [...measures],
    dimensions: [...dimensions],
    dimensionPlaces,
    ...(timeMember !== undefined && { timeMember }),
    isTimeGrouped,
    problems,
  };
}

// "channels by revenue" and "top 5 by revenue" are common; "revenue by orders" has no meaning.
function groupedMeasures(spans: readonly Span[], measureCount: number): readonly string[] {
  const hasRanking = spans.some((span) => isCommand(span, ['highest', 'lowest']));
  const isListed = measureCount === 1 && spans.some(({ kind }) => kind === 'dimension' || kind === 'grain');
  if (hasRanking || isListed) return [];
  return spans.flatMap((span, place) =>
    span.kind === 'measure' && isCommand(before(spans, place), ['group'])
      ? [`${titleOf(span.member)} is a measure, so I cannot break down by it.`]
      : [],
  );
}

const separators: readonly Command[] = [
  'and',
  'versus',
  'group',
  'not',
  'highest',
  'lowest',
  'which',
  'how-many',
  'is',
  'only',
];

function isTime(span: Span): boolean {
  return span.kind === 'dimension' && span.member.type === 'time';
}

interface RankingReading {
  readonly ranking?: NonNullable<Reading['ranking']>;
  readonly numberPlace?: number;
  readonly problems: readonly string[];
}

// "top 5 products by revenue", "which channel has the lowest on-time rate", "5 best months".
function readRanking(spans: readonly Span[], dimensionPlaces: readonly number[]): RankingReading {
  const places = spans.flatMap((span, place) => (isCommand(span, ['highest', 'lowest']) ? [place] : []));
  const directions = new Set(places.map((place) => (isCommand(spans[place], ['highest']) ? 'highest' : 'lowest')));
  const [direction] = directions;
  if (direction === undefined) return { problems: [] };
  const problems: string[] = [];
  const ranked = places.flatMap((place) => {
    const next = after(spans, place);
    return next?.kind === 'measure' ? [next.member] : [];
  });
  if (new Set(ranked).size > 1) problems.push('I can rank by one measure at a time.');
  if (directions.size > 1) problems.push('I can show the highest or the lowest, not both at a time.');
  const numberPlace = spans.findIndex(
    (span, place) =>
      span.kind === 'number' &&
      (isCommand(before(spans, place), ['highest', 'lowest']) ||
        isCommand(after(spans, place), ['highest', 'lowest']) ||
        ['dimension', 'grain'].includes(after(spans, place)?.kind ?? '')),
  );
  const number = spans[numberPlace];
  const limit = number?.kind === 'number' ? number.value : defaultLimit(spans);
  if (limit < 1 || limit > intentLimits.rankingMax) {
    problems.push(`I can show the first 1 to ${intentLimits.rankingMax} rows of a ranking.`);
  }
  const isList = dimensionPlaces.every((place, index) => {
    const last = dimensionPlaces[index - 1];
    return last === undefined || spans.slice(last + 1, place).every((span) => isCommand(span, ['and', 'filler']));
  });
  if (!isList) problems.push('I cannot rank within each value of another dimension.');
  const measure = rankedMeasure(spans, places);
  return {
    ranking: {
      direction,
      limit,
      isJudged: places.some((place) => isSuperlative(spans[place]?.text ?? '', 'judging')),
      ...(measure !== undefined && { measure }),
    },
    ...(numberPlace >= 0 && { numberPlace }),
    problems,
  };
}

// "the best month" is one row, "the best months" are ten.
function defaultLimit(spans: readonly Span[]): number {
  return spans.some((span) => (span.kind === 'dimension' || span.kind === 'grain') && span.isPlural) ? 10 : 1;
}

// The measure after "highest", else the one after "by".
function rankedMeasure(spans: readonly Span[], superlatives: readonly number[]): MemberMetadata | undefined {
  for (const place of superlatives) {
    const next = after(spans, place);
    if (next?.kind === 'measure') return next.member;
  }
  const marked = spans.find((span, place) => span.kind === 'measure' && isCommand(before(spans, place), ['group']));
  return marked?.kind === 'measure' ? marked.member : undefined;
}

function readTime(spans: readonly Span[]): Pick<Reading, 'grain' | 'range' | 'problems'> {
  const grains = new Set(spans.flatMap((span) => (span.kind === 'grain' ? [span.grain] : [])));
  const ranges = spans.flatMap((span) => (span.kind === 'range' ? [span.range] : []));
  const problems = spans.flatMap((span) => (span.kind === 'problem' ? [span.problem] : []));
  if (grains.size > 1) problems.push('I can use one unit of time at a time.');
  if (ranges.length > 1) problems.push('I can use one time range at a time, for example "from 2022 to 2024".');
  const isCompared = spans.some((span, place) => span.kind === 'range' && isCommand(before(spans, place), ['versus']));
  if (isCompared && ranges.length === 1) problems.push('I cannot compare with another time range.');
  const [grain] = grains;
  const [range] = ranges;
  return { ...(grain !== undefined && { grain }), ...(range !== undefined && { range }), problems };
}

// "all channels": no channel is left out.
function freedIn(spans: readonly Span[]): readonly MemberMetadata[] {
  return spans.flatMap((span, place) => {
    const opening = spans[place - 1];
    return span.kind === 'dimension' && isFiller(opening) && opening?.text.toLowerCase() === 'all' ? [span.member] : [];
  });
}

function isMarked(spans: readonly Span[], place: number): boolean {
  return isCommand(before(spans, place), ['group', 'which']);
}

function understoodOf(spans: readonly Span[]): readonly string[] {
  const parts = spans.flatMap((span) => {
    switch (span.kind) {
      case 'measure':
      case 'dimension':
      case 'segment':
        return [titleOf(span.member)];
      case 'value':
        return span.candidates.slice(0, 1).map(({ value }) => plainText(value));
      case 'grain':
        return [span.grain];
      case 'range':
        return [span.range.label];
      default:
        return [];
    }
  });
  return [...new Set(parts)];
}
