/** Finds the members of one relation by the words that people use for them. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { localName } from './intent.ts';
import { isFunctionWord, isGeneric, isJoint, readNumber } from './lexicon.ts';
import { namesInTwoWays, type OtherWay, stemsOf } from './other-way.ts';
import { isTimeWords } from './time-phrases.ts';
import { type Token, wordsOf } from './tokens.ts';

// How well words fit a member, best first: as written, but for plural and case, a synonym, the end of its title.
const tiers = { exact: 0, inflected: 1, synonym: 2, part: 3 } as const;

interface Phrase {
  readonly words: readonly Token[];
  readonly member: MemberMetadata | null;
  readonly tier: 0 | 1 | 2 | 3;
  /** With `member` null: the measure that counts what the words name. */
  readonly counted?: MemberMetadata;
}

/**
 * The phrases of one relation by the stem of their first word; `member` null: the relation itself, or what it counts.
 * `otherWays`: by {@link stemsOf}, the names of measures that are also English about another measure.
 */
export interface MemberIndex {
  readonly phrases: ReadonlyMap<string, readonly Phrase[]>;
  readonly otherWays: ReadonlyMap<string, OtherWay>;
}

/**
 * Members that the words at a place name, all equally well; `length` counts tokens. `others`: members that fit less
 * well. `isPart`: only the end of a title was said. An empty `members` stands for the relation itself, or for things
 * that the measure `counted` counts.
 * `exactMeasure`: the one measure that is named letter by letter where dimensions fit but for plural ("customers").
 */
export interface MemberHit {
  readonly members: readonly MemberMetadata[];
  readonly others: readonly MemberMetadata[];
  readonly isPart: boolean;
  readonly exactMeasure?: MemberMetadata;
  readonly counted?: MemberMetadata;
  readonly length: number;
}

/** Builds the index. */
export function indexMembers(relation: RelationMetadata): MemberIndex {
  const index = new Map<string, Phrase[]>();
  const add = (
    words: readonly Token[],
    member: MemberMetadata | null,
    tier: Phrase['tier'],
    counted?: MemberMetadata,
  ): void => {
    const first = words[0];
    if (first === undefined) return;
    const phrase = { words, member, tier, ...(counted !== undefined && { counted }) };
    const phrases = index.get(first.stem);
    if (phrases === undefined) index.set(first.stem, [phrase]);
    else phrases.push(phrase);
  };
  const prefix = wordsOf(relation.name);
  const relationNames = [relation.name, relation.title, ...relation.synonyms].map(wordsOf);
  const named = relation.members.map((member): NamedMember => {
    const names = [member.title, localName(member), ...member.synonyms].map(wordsOf);
    return { member, names, things: countedThings(member, names[0] ?? []) };
  });
  const ownCount = relation.type === 'cube' ? named.find(isPlainCount)?.member : undefined;
  for (const words of relationNames) add(words, null, tiers.synonym, ownCount);
  // What a segment is a part of: "Large orders" are orders.
  const subjects = new Set([...relationNames, ...named.filter(isCount).flatMap(saidOf)].map(stemsOf));
  for (const { member, names, things } of named) {
    if (things.length > 0) add(things, null, tiers.synonym, member);
    if (member.kind === 'segment') {
      for (const words of names) add(withoutSubject(words, subjects), member, tiers.exact);
      continue;
    }
    for (const words of names.slice(0, 2)) {
      add(words, member, tiers.exact);
      add([...prefix, ...words], member, tiers.exact);
      // "late shipments" are not all shipments, and the largest line is not the lines.
      if (words.some(isFunctionWord) || /^(?:count|min|max)/.test(member.aggType ?? '')) continue;
      for (let start = 1; start < words.length; start += 1) {
        const ending = words.slice(start);
        if (!saysTooLittle(ending)) add(ending, member, tiers.part);
      }
    }
    for (const synonym of names.slice(2)) add(synonym, member, tiers.synonym);
  }
  const measures = named.filter(({ member }) => member.kind === 'measure');
  const said = measures.flatMap((measure) => saidOf(measure).map((words) => ({ words, member: measure.member })));
  const otherWays = [...namesInTwoWays(said)].flatMap(([name, way]): [string, OtherWay][] => [
    [name, way],
    [`${stemsOf(prefix)} ${name}`, way],
  ]);
  return { phrases: index, otherWays: new Map(otherWays) };
}

/** `names`: title, name, synonyms. `things`: what it counts by its title, or nothing. */
interface NamedMember {
  readonly member: MemberMetadata;
  readonly names: readonly (readonly Token[])[];
  readonly things: readonly Token[];
}

function saidOf({ names, things }: NamedMember): readonly (readonly Token[])[] {
  return [...names, things].filter((words) => words.length > 0);
}

function isCount({ member }: NamedMember): boolean {
  return member.aggType?.startsWith('count') === true;
}

// "Large orders" → "large": in a question its last word stands for what is counted.
function withoutSubject(words: readonly Token[], subjects: ReadonlySet<string>): readonly Token[] {
  const cut = words.findIndex((_, index) => index > 0 && subjects.has(stemsOf(words.slice(index))));
  return cut < 0 ? words : words.slice(0, cut);
}

// "Revenue last year" does not make every "last year" a measure, nor "Fiscal month" every month a dimension.
function saysTooLittle(ending: readonly Token[]): boolean {
  return isTimeWords(ending) || ending.every((word) => isGeneric(word) || readNumber(word) !== undefined);
}

// "Count", in the cube of orders: it counts orders.
function isPlainCount({ member, names }: NamedMember): boolean {
  return member.aggType === 'count' && names[0]?.every(isGeneric) === true;
}

// "Flights count" counts flights; none for other measures.
function countedThings(member: MemberMetadata, title: readonly Token[]): readonly Token[] {
  const isNumberOf = member.aggType?.startsWith('count') === true && title.at(-1)?.word === 'count';
  return isNumberOf ? title.slice(0, -1) : [];
}

/**
 * The longest and best hit whose words begin at token `at`. Whole names come before endings of titles.
 * @param only members of one kind; left out: all, and the relation
 */
export function findMembers(
  index: MemberIndex,
  tokens: readonly Token[],
  at: number,
  only?: MemberMetadata['kind'],
): MemberHit | undefined {
  const hits = (index.phrases.get(tokens[at]?.stem ?? '') ?? []).flatMap((phrase) => {
    const match = matchPhrase(phrase.words, tokens, at);
    if (match === undefined || (only !== undefined && phrase.member?.kind !== only)) return [];
    const tier = phrase.tier === tiers.exact && !match.isExact ? tiers.inflected : phrase.tier;
    return [{ ...phrase, tier, length: match.length, isExact: match.isExact }];
  });
  const isWholeName = hits.some((hit) => hit.tier !== tiers.part && hit.member !== null);
  const pool = isWholeName ? hits.filter((hit) => hit.tier !== tiers.part) : hits;
  const length = Math.max(...pool.map((hit) => hit.length));
  const longest = pool.filter((hit) => hit.length === length);
  const named = longest.filter((hit) => hit.member !== null);
  if (named.length === 0) {
    const counted = new Set(longest.flatMap((hit) => hit.counted ?? []));
    const [measure] = counted;
    const isOne = measure !== undefined && counted.size === 1;
    if (longest.length === 0) return undefined;
    return { members: [], others: [], isPart: false, ...(isOne && { counted: measure }), length };
  }
  const tier = Math.min(...named.map((hit) => hit.tier));
  const pick = (isBest: boolean): MemberMetadata[] => [
    ...new Set(named.flatMap((hit) => ((hit.tier === tier) === isBest && hit.member !== null ? [hit.member] : []))),
  ];
  const members = pick(true);
  const others = pick(false).filter((member) => !members.includes(member));
  const isPart = tier === tiers.part;
  const exact = new Set(named.flatMap((hit) => (hit.isExact && hit.member !== null ? [hit.member] : [])));
  const [exactMeasure] = exact;
  const isOnly = !isPart && exact.size === 1 && exactMeasure?.kind === 'measure';
  return { members, others, isPart, ...(isOnly && { exactMeasure }), length };
}

// Words one after the other, where the question may join them by a hyphen or an underscore.
function matchPhrase(
  words: readonly Token[],
  tokens: readonly Token[],
  at: number,
): { length: number; isExact: boolean } | undefined {
  let place = at;
  let isExact = true;
  for (const [position, word] of words.entries()) {
    if (position > 0 && isJoint(tokens, place)) place += 1;
    const token = tokens[place];
    if (token === undefined || !token.isWord || token.stem !== word.stem) return undefined;
    isExact &&= token.word === word.word;
    place += 1;
  }
  return { length: place - at, isExact };
}
