/** Decides, for the values in a question, which dimension each belongs to and whether it is asked for or left out. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { titleOf } from './describe.ts';
import type { Filter } from './intent.ts';
import type { Command } from './lexicon.ts';
import { plainText } from './plain-text.ts';
import { before, isCommand, isDimensionMarker, isFiller, type Span } from './span.ts';

/**
 * What the values of a question say.
 * - `qualifiers`: positions of dimension spans that only say what a value belongs to ("channel web", "vip customers");
 * - `compared`: dimensions whose values are set against each other ("web vs store"), so that rows must be per value;
 * - `misplaced`: positions of "or" that join no two values of one dimension.
 */
export interface ValueReading {
  readonly filters: readonly Filter[];
  readonly qualifiers: ReadonlySet<number>;
  readonly compared: readonly MemberMetadata[];
  readonly misplaced: ReadonlySet<number>;
  readonly problems: readonly string[];
}

interface Chain {
  readonly first: number;
  readonly last: number;
  readonly places: readonly number[];
}

/** Reads the values of one question. */
export function readValues(spans: readonly Span[]): ValueReading {
  const chains = chainsOf(spans);
  const excluded = excludedPlaces(spans);
  const qualifiers = new Set<number>();
  const joined = new Set<number>();
  const problems = [...excluded.problems];
  const chosen: ChosenValue[] = [];
  for (const chain of chains) {
    const left = neighbour(spans, chain.first, -1);
    const right = neighbour(spans, chain.last, 1);
    const members: MemberMetadata[] = [];
    for (const place of chain.places) {
      const span = spans[place];
      if (span?.kind !== 'value') continue;
      const beside = [right, left].find((found) => span.candidates.some(({ member }) => member === found?.member));
      if (beside !== undefined && !beside.isGrouped) qualifiers.add(beside.place);
      const candidates = candidatesFor(span, beside?.member, spans);
      const member = candidates[0]?.member;
      if (member === undefined || candidates.some((candidate) => candidate.member !== member)) {
        const titles = [...new Set(span.candidates.map((candidate) => titleOf(candidate.member)))];
        problems.push(
          `"${plainText(span.text)}" is a value of ${titles.join(' and of ')}. Name the one that you mean beside it.`,
        );
        continue;
      }
      members.push(member);
      const notAt = excluded.places.get(place);
      for (const { value } of candidates) chosen.push({ member, value, place, isExcluded: notAt !== undefined, notAt });
    }
    problems.push(...unjoinedProblems(spans, chosen, chain));
    const [member] = members;
    if (member !== undefined && members.length === chain.places.length && members.every((other) => other === member)) {
      for (let place = chain.first; place <= chain.last; place += 1) joined.add(place);
    }
  }
  const misplaced = spans.flatMap((span, place) => (isCommand(span, ['or']) && !joined.has(place) ? [place] : []));
  const filters = filtersOf(chosen);
  problems.push(...combinationProblems(spans, chosen));
  for (const place of bearers(spans, chosen)) qualifiers.add(place);
  return { filters, qualifiers, compared: comparedIn(spans, filters), misplaced: new Set(misplaced), problems };
}

interface ChosenValue {
  readonly member: MemberMetadata;
  readonly value: string;
  readonly place: number;
  readonly isExcluded: boolean;
  /** The position of the "not" that covers it. */
  readonly notAt: number | undefined;
}

// "new web orders" are both, not either: two values of one dimension beside each other are no list.
function unjoinedProblems(spans: readonly Span[], chosen: readonly ChosenValue[], chain: Chain): readonly string[] {
  return chain.places.slice(1).flatMap((place, index) => {
    const earlier = chain.places[index] ?? place;
    const isJoined = spans.slice(earlier, place).some((span) => isCommand(span, ['and', 'or', 'versus']));
    const members = [earlier, place].map((at) => chosen.find((value) => value.place === at)?.member);
    if (isJoined || members[0] === undefined || members[0] !== members[1]) return [];
    const [left, right] = [earlier, place].map((at) => plainText(spans[at]?.text ?? ''));
    return [`I cannot tell how "${left}" and "${right}" belong together. Write "and" between them for either.`];
  });
}

// "web vs store", "compare web and store", "web revenue and store revenue": a total of the two would answer neither.
function comparedIn(spans: readonly Span[], filters: readonly Filter[]): readonly MemberMetadata[] {
  const measures = spans.flatMap((span) => (span.kind === 'measure' ? [span.member] : []));
  const isAsked =
    spans.some((span) => isCommand(span, ['compare', 'versus'])) || new Set(measures).size < measures.length;
  if (!isAsked) return [];
  return filters.flatMap(({ member, values, isExcluded }) => (values.length > 1 && !isExcluded ? [member] : []));
}

// Filters cannot say which of several values go together.
function combinationProblems(spans: readonly Span[], chosen: readonly ChosenValue[]): readonly string[] {
  const shown = ({ value }: ChosenValue): string => `"${plainText(value)}"`;
  return chosen.flatMap((entry, index) => {
    const earlier = chosen.slice(0, index);
    const other = earlier.find(
      ({ notAt, member }) => notAt !== undefined && notAt === entry.notAt && member !== entry.member,
    );
    // "without web, Germany"
    if (other !== undefined) {
      const not = plainText(spans[entry.notAt ?? 0]?.text ?? '');
      return [
        `I cannot tell whether ${shown(entry)} is to be left out too. Please write "${not}" before each of them.`,
      ];
    }
    // "Shoes in Germany and Hats in France"
    const alike = earlier.findLastIndex(
      ({ member, isExcluded }) => member === entry.member && isExcluded === entry.isExcluded,
    );
    const between =
      alike < 0 ? undefined : earlier.slice(alike + 1).find(({ isExcluded }) => isExcluded === entry.isExcluded);
    if (between === undefined || earlier[alike]?.value === entry.value) return [];
    return [`I cannot tell whether ${shown(between)} goes with ${shown(entry)}. Please ask for one after the other.`];
  });
}

// "revenue from vip customers", "from customers in Germany": who has a segment or a country, not what to list.
function bearers(spans: readonly Span[], chosen: readonly ChosenValue[]): readonly number[] {
  const firstMeasure = spans.findIndex(({ kind }) => kind === 'measure');
  return spans.flatMap((span, place) => {
    if (span.kind !== 'dimension' || firstMeasure < 0 || place < firstMeasure) return [];
    const opening = spans.slice(0, place).findLast((other) => !isFiller(other) && other.kind !== 'value');
    if (isDimensionMarker(opening) || isCommand(opening, ['and']) || opening?.kind === 'number') return [];
    const left = step(spans, place, -1, ['filler']);
    const right = step(spans, place, 1, ['filler', 'with', 'is', 'not']);
    const title = `${span.member.title.toLowerCase()} `;
    const isBorne = chosen.some(
      (value) => [left, right].includes(value.place) && value.member.title.toLowerCase().startsWith(title),
    );
    return isBorne ? [place] : [];
  });
}

// The place of the first span from `from` on, in direction `by`, that is none of the steering words `passed`.
function step(spans: readonly Span[], from: number, by: 1 | -1, passed: readonly Command[]): number {
  let place = from + by;
  while (isCommand(spans[place], passed)) place += by;
  return place;
}

// Values one after the other with nothing but "and", "or", "vs" and filler between them.
function chainsOf(spans: readonly Span[]): readonly Chain[] {
  const chains: Chain[] = [];
  let places: number[] = [];
  const close = (): void => {
    const [first] = places;
    const last = places.at(-1);
    if (first !== undefined && last !== undefined) chains.push({ first, last, places });
    places = [];
  };
  for (const [place, span] of spans.entries()) {
    if (span.kind === 'value') places.push(place);
    else if (!isCommand(span, ['and', 'or', 'versus', 'filler'])) close();
  }
  close();
  return chains;
}

// The dimension that stands directly beside a chain of values; "is" may stand between. After "by" or "which" it is
// grouped by all the same.
function neighbour(
  spans: readonly Span[],
  from: number,
  by: 1 | -1,
): { place: number; member: MemberMetadata; isGrouped: boolean } | undefined {
  const place = step(spans, from, by, ['filler', 'is']);
  const span = spans[place];
  if (span?.kind !== 'dimension') return undefined;
  return { place, member: span.member, isGrouped: by < 0 && isDimensionMarker(before(spans, place)) };
}

// The dimension beside the value decides; else one that is named anywhere in the question, if only one is.
function candidatesFor(
  span: Extract<Span, { kind: 'value' }>,
  beside: MemberMetadata | undefined,
  spans: readonly Span[],
): Extract<Span, { kind: 'value' }>['candidates'] {
  if (beside !== undefined) return span.candidates.filter(({ member }) => member === beside);
  const named = span.candidates.filter(({ member }) =>
    spans.some((other) => other.kind === 'dimension' && other.member === member),
  );
  return named.length > 0 ? named : span.candidates;
}

// "without web and store in Germany": covers the values up to the first word that is neither a value nor joins values.
// Gives for each value that is left out the place of its "not".
function excludedPlaces(spans: readonly Span[]): { places: ReadonlyMap<number, number>; problems: readonly string[] } {
  const places = new Map<number, number>();
  const problems: string[] = [];
  for (const [start, opening] of spans.entries()) {
    if (!isCommand(opening, ['not'])) continue;
    let place = start + 1;
    while (isCommand(spans[place], ['filler', 'with', 'not']) || isQualifier(spans, place)) place += 1;
    if (spans[place]?.kind !== 'value') {
      if (spans[place]?.kind !== 'unknown')
        problems.push(`After "${opening.text}" I can read values of a dimension only.`);
      continue;
    }
    while (spans[place]?.kind === 'value' || isCommand(spans[place], ['and', 'or', 'filler'])) {
      if (spans[place]?.kind === 'value') places.set(place, start);
      place += 1;
    }
  }
  return { places, problems };
}

// A dimension that a value of its own follows.
function isQualifier(spans: readonly Span[], place: number): boolean {
  const span = spans[place];
  const next = spans[place + 1];
  if (span?.kind !== 'dimension' || next?.kind !== 'value') return false;
  return next.candidates.some(({ member }) => member === span.member);
}

function filtersOf(chosen: readonly ChosenValue[]): readonly Filter[] {
  const filters: { member: MemberMetadata; values: string[]; isExcluded: boolean }[] = [];
  for (const { member, value, isExcluded } of chosen) {
    const filter = filters.find((other) => other.member === member && other.isExcluded === isExcluded);
    if (filter === undefined) filters.push({ member, values: [value], isExcluded });
    else if (!filter.values.includes(value)) filter.values.push(value);
  }
  return filters;
}
