/** Decides, for the values in a question, which dimension each belongs to and whether it is asked for or left out. */

import type { MemberMetadata } from '@inlay/semantic/metadata.ts';
import { isFiller, type Span } from './annotate.ts';
import { titleOf } from './describe.ts';
import type { Filter } from './intent.ts';
import { plainText } from './plain-text.ts';

/**
 * What the values of a question say.
 * - `qualifiers`: positions of dimension spans that only say which dimension a value belongs to ("channel web");
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
  const compared: MemberMetadata[] = [];
  const joined = new Set<number>();
  const problems = [...excluded.problems];
  const chosen: { member: MemberMetadata; value: string; isExcluded: boolean }[] = [];
  const isComparison = spans.some((span) => isCommand(span, ['compare']));
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
      for (const { value } of candidates) chosen.push({ member, value, isExcluded: excluded.places.has(place) });
    }
    const [member] = members;
    if (member !== undefined && members.length === chain.places.length && members.every((other) => other === member)) {
      for (let place = chain.first; place <= chain.last; place += 1) joined.add(place);
      const isVersus = spans.slice(chain.first, chain.last).some((span) => isCommand(span, ['versus']));
      const isAsked = chain.places.every((place) => !excluded.places.has(place));
      if ((isVersus || isComparison) && members.length > 1 && isAsked) compared.push(member);
    }
  }
  const misplaced = spans.flatMap((span, place) => (isCommand(span, ['or']) && !joined.has(place) ? [place] : []));
  return { filters: filtersOf(chosen), qualifiers, compared, misplaced: new Set(misplaced), problems };
}

/** True for a span that is one of these steering words. */
export function isCommand(span: Span | undefined, commands: readonly string[]): boolean {
  return span?.kind === 'command' && commands.includes(span.command);
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
  step: 1 | -1,
): { place: number; member: MemberMetadata; isGrouped: boolean } | undefined {
  let place = from + step;
  while (isFiller(spans[place]) || isCommand(spans[place], ['is'])) place += step;
  const span = spans[place];
  if (span?.kind !== 'dimension') return undefined;
  let marker = place - 1;
  while (isFiller(spans[marker])) marker -= 1;
  const isGrouped = step < 0 && isCommand(spans[marker], ['group', 'which', 'highest', 'lowest']);
  return { place, member: span.member, isGrouped };
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
function excludedPlaces(spans: readonly Span[]): { places: ReadonlySet<number>; problems: readonly string[] } {
  const places = new Set<number>();
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
      if (spans[place]?.kind === 'value') places.add(place);
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

function filtersOf(
  chosen: readonly { member: MemberMetadata; value: string; isExcluded: boolean }[],
): readonly Filter[] {
  const filters: { member: MemberMetadata; values: string[]; isExcluded: boolean }[] = [];
  for (const { member, value, isExcluded } of chosen) {
    const filter = filters.find((other) => other.member === member && other.isExcluded === isExcluded);
    if (filter === undefined) filters.push({ member, values: [value], isExcluded });
    else if (!filter.values.includes(value)) filter.values.push(value);
  }
  return filters;
}
