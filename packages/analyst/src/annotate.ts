/** Gives every token of a question its meaning for one relation: a member, a value, a time, a steering word, or none. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { readCommand, readNumber } from './lexicon.ts';
import { findMembers, type MemberHit, type MemberIndex } from './member-index.ts';
import { type OtherWay, stemsOf } from './other-way.ts';
import { settleMembers, type Unsettled } from './settle-members.ts';
import { isCommand, isDimensionMarker, type Meaning, type Span } from './span.ts';
import { readGrain, readTimePhrase } from './time-phrases.ts';
import type { Token } from './tokens.ts';
import { findValues, type ValueIndex } from './value-index.ts';

/** What is looked for besides English: the members and values of one relation. */
export interface Vocabulary {
  readonly members: MemberIndex;
  readonly values: ValueIndex;
}

/** A question cut into tokens, with the English at each of them, which is the same for all relations. */
export interface Text {
  readonly tokens: readonly Token[];
  readonly times: readonly (Sized | undefined)[];
  readonly commands: readonly ReturnType<typeof readCommand>[];
}

interface Sized {
  readonly meaning: Meaning;
  readonly length: number;
}

/** Reads the English of a question. `today` is `YYYY-MM-DD`; relative times count from it. */
export function readText(tokens: readonly Token[], today: string): Text {
  const times = tokens.map((_, at) => readTime(tokens, at, today));
  return { tokens, times, commands: tokens.map((_, at) => readCommand(tokens, at)) };
}

/** Cuts the tokens into spans, at each place the longest meaning; among equals members, time, steering words, values. */
export function annotate(text: Text, vocabulary: Vocabulary): readonly Span[] {
  const { tokens } = text;
  const spans: Unsettled[] = [];
  for (let at = 0; at < tokens.length; ) {
    const { meaning, length } = meaningAt(text, at, vocabulary, spans);
    spans.push({ ...meaning, text: textOf(tokens.slice(at, at + length)) });
    at += length;
  }
  return settleMembers(spans);
}

function meaningAt(
  text: Text,
  at: number,
  vocabulary: Vocabulary,
  before: readonly Span[],
): { meaning: Meaning & { orMeasure?: MemberMetadata }; length: number } {
  const { tokens } = text;
  const token = tokens[at];
  const hit = hitAt(vocabulary.members, tokens, at, before);
  const value = findValues(vocabulary.values, tokens, at);
  const time = text.times[at];
  const command = text.commands[at];
  const others = Math.max(time?.length ?? 0, command?.length ?? 0);
  if (value !== undefined && value.length >= Math.max(others, hit?.length ?? 0)) {
    const isLonger = value.length > Math.max(others, hit?.length ?? 0);
    if (isLonger || isMeantAsValue(tokens, at, value, hit, time !== undefined, before)) {
      return { meaning: { kind: 'value', candidates: value.candidates }, length: value.length };
    }
    const named = hit?.members[0];
    if (hit !== undefined && named !== undefined && hit.length > others && !isMeantAsMember(before)) {
      const names = [named.title, ...value.candidates.map(({ member }) => `a value of ${member.title}`)];
      return { meaning: { kind: 'ambiguous', names }, length: hit.length };
    }
  }
  // "make a chart": a dimension called "make" has to be asked for as one.
  // A time dimension called "month": by its months, not by its days.
  const [own] = hit?.members ?? [];
  if (own?.kind === 'dimension' && own.type === 'time' && hit?.members.length === 1) {
    if (time?.meaning.kind === 'grain' && time.length === hit.length) {
      return { meaning: { ...time.meaning, member: own }, length: time.length };
    }
  }
  // A segment called "Last year": the time, or the segment?
  const isSameWords =
    time?.meaning.kind === 'range' && time.length === hit?.length && !isSpelled(tokens, at, hit.length);
  if (own !== undefined && isSameWords && (own.kind === 'segment' || !isMeantAsMember(before))) {
    return { meaning: { kind: 'ambiguous', names: [`the ${own.kind} ${own.title}`, 'a time'] }, length: time.length };
  }
  const isVerb = command?.command === 'filler' && hit?.members.every(({ kind }) => kind === 'dimension') === true;
  if (hit !== undefined && hit.length >= others && !(isVerb && hit.length === others && !isMeantAsMember(before))) {
    const meaning = meaningOfHit(hit, tokens[at + hit.length - 1], before);
    const otherWay = meaning.kind === 'measure' ? otherWayOf(vocabulary, tokens.slice(at, at + hit.length)) : undefined;
    if (meaning.kind !== 'measure' || meaning.isPart || otherWay === undefined || isSpelled(tokens, at, hit.length)) {
      return { meaning, length: hit.length };
    }
    return { meaning: { ...meaning, otherWay }, length: hit.length };
  }
  if (time !== undefined && time.length >= others) return time;
  if (command !== undefined) return { meaning: { kind: 'command', command: command.command }, length: command.length };
  const number = token === undefined ? undefined : readNumber(token);
  if (number !== undefined) return { meaning: { kind: 'number', value: number }, length: 1 };
  return { meaning: { kind: 'unknown' }, length: 1 };
}

// "which product sold most": after "which" a dimension is due, though "products sold" is a measure.
function hitAt(
  members: MemberIndex,
  tokens: readonly Token[],
  at: number,
  before: readonly Span[],
): MemberHit | undefined {
  const hit = findMembers(members, tokens, at);
  const previous = lastContent(before);
  const isDue = isCommand(previous, ['which']) && previous?.text.toLowerCase() === 'which';
  const isMeasure = hit !== undefined && hit.members.length > 0 && hit.members.every(({ kind }) => kind === 'measure');
  return isDue && isMeasure ? (findMembers(members, tokens, at, 'dimension') ?? hit) : hit;
}

function readTime(tokens: readonly Token[], at: number, today: string): Sized | undefined {
  const phrase = readTimePhrase(tokens, at, today);
  if (phrase !== undefined) {
    const { length } = phrase;
    if ('range' in phrase) return { meaning: { kind: 'range', range: phrase.range }, length };
    return { meaning: { kind: 'problem', problem: phrase.problem }, length };
  }
  const found = readGrain(tokens, at);
  if (found === undefined) return undefined;
  return { meaning: { kind: 'grain', grain: found.grain, isPlural: found.isPlural }, length: found.length };
}

// A word that is a value and something else as well. In quotes it is the value; beside English it is so when it is
// written with the capitals of the data ("for Just"); beside a member it is so after words that take a value.
function isMeantAsValue(
  tokens: readonly Token[],
  at: number,
  value: NonNullable<ReturnType<typeof findValues>>,
  hit: MemberHit | undefined,
  isTime: boolean,
  before: readonly Span[],
): boolean {
  const isQuoted = isQuote(tokens[at - 1]) && isQuote(tokens[at + value.length]);
  if (isQuoted) return true;
  if (isTime) return false;
  if (hit === undefined || hit.members.length === 0) {
    const text = tokens[at]?.text ?? '';
    const isSteering = readCommand(tokens, at) !== undefined;
    return !isSteering || (value.isSameCase && at > 0 && text !== text.toLowerCase());
  }
  // "status completed", "status is completed"
  const beside = before.findLast((span) => !isCommand(span, ['filler', 'is']));
  if (beside?.kind === 'dimension' && value.candidates.some(({ member }) => member === beside.member)) return true;
  const previous = lastContent(before);
  if (previous?.kind === 'value') return true;
  return isCommand(previous, ['only', 'not', 'with', 'versus']);
}

// The same word where a member is due: after "by", "which", "top 5", "how many".
function isMeantAsMember(before: readonly Span[]): boolean {
  const previous = lastContent(before);
  if (previous?.kind === 'dimension' || previous?.kind === 'number') return true;
  return isDimensionMarker(previous) || isCommand(previous, ['how-many']);
}

// The span before, skipping filler and words that only join: "web and store" looks back from "store" to "web".
function lastContent(before: readonly Span[]): Span | undefined {
  return before.findLast((span) => !isCommand(span, ['filler', 'and', 'or']));
}

function meaningOfHit(
  hit: MemberHit,
  last: Token | undefined,
  before: readonly Span[],
): Meaning & { orMeasure?: MemberMetadata } {
  if (hit.members.length === 0) {
    return { kind: 'relation', ...(hit.counted !== undefined && { orMeasure: hit.counted }) };
  }
  const pool = chooseByPlace(hit, before);
  const { exactMeasure } = hit;
  const [member, second] = exactMeasure === undefined ? pool : pool.filter((other) => other !== exactMeasure);
  if (member === undefined && exactMeasure !== undefined) {
    return { kind: 'measure', member: exactMeasure, isPart: hit.isPart };
  }
  if (member === undefined) return { kind: 'unknown' };
  if (second !== undefined) return { kind: 'ambiguous', names: pool.map(({ title }) => title) };
  if (member.kind === 'measure') return { kind: 'measure', member, isPart: hit.isPart };
  if (member.kind === 'segment') return { kind: 'segment', member };
  return {
    kind: 'dimension',
    member,
    isPart: hit.isPart,
    isPlural: last !== undefined && last.word !== last.stem,
    ...(exactMeasure !== undefined && { orMeasure: exactMeasure }),
  };
}

// After "by" or "top 5" a dimension is due, after "how many" a measure, though another member fits the words as well.
function chooseByPlace(hit: MemberHit, before: readonly Span[]): readonly MemberMetadata[] {
  const previous = lastContent(before);
  const isCount = isCommand(previous, ['how-many']);
  if (!isCount && previous?.kind !== 'number' && !isDimensionMarker(previous)) return hit.members;
  const isDue = (member: MemberMetadata): boolean => (member.kind === 'measure') === isCount;
  const due = hit.members.filter(isDue);
  if (due.length > 0) return due;
  const less = hit.others.filter(isDue);
  return less.length > 0 ? less : hit.members;
}

function otherWayOf({ members }: Vocabulary, said: readonly Token[]): OtherWay | undefined {
  return members.otherWays.get(stemsOf(said.filter(({ isWord }) => isWord)));
}

// Written as a name: in quotes, or with underscores.
function isSpelled(tokens: readonly Token[], at: number, length: number): boolean {
  if (isQuote(tokens[at - 1]) && isQuote(tokens[at + length])) return true;
  return tokens.slice(at, at + length).some(({ text }) => text === '_');
}

function isQuote(token: Token | undefined): boolean {
  return token !== undefined && /^["“”„«»'‘’`]$/.test(token.text);
}

// The words with single spaces, or none where the question has none.
function textOf(tokens: readonly Token[]): string {
  return tokens.map((token, place) => (place === 0 || token.isGlued ? token.text : ` ${token.text}`)).join('');
}
