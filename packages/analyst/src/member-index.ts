/** Finds the members of one relation by the words that people use for them. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { localName } from './intent.ts';
import { isFunctionWord, isGeneric, isJoint } from './lexicon.ts';
import { type Token, wordsOf } from './tokens.ts';

// How well words fit a member, best first: as written, but for plural and case, a synonym, the end of its title.
const tiers = { exact: 0, inflected: 1, synonym: 2, part: 3 } as const;

interface Phrase {
  readonly words: readonly Token[];
  readonly member: MemberMetadata | null;
  readonly tier: 0 | 1 | 2 | 3;
}

/** The phrases of one relation by the stem of their first word; `member` null: the relation itself. */
export type MemberIndex = ReadonlyMap<string, readonly Phrase[]>;

/**
 * Members that the words at a place name, all equally well; `length` counts tokens. `others`: members that fit less
 * well. `isPart`: only the end of a title was said. An empty `members` stands for the relation itself.
 * `exactMeasure`: the one measure that is named letter by letter where dimensions fit but for plural ("customers").
 */
export interface MemberHit {
  readonly members: readonly MemberMetadata[];
  readonly others: readonly MemberMetadata[];
  readonly isPart: boolean;
  readonly exactMeasure?: MemberMetadata;
  readonly length: number;
}

/** Builds the index. Segments are left out: this version has no words for them. */
export function indexMembers(relation: RelationMetadata): MemberIndex {
  const index = new Map<string, Phrase[]>();
  const add = (words: readonly Token[], member: MemberMetadata | null, tier: Phrase['tier']): void => {
    const first = words[0];
    if (first === undefined) return;
    const phrases = index.get(first.stem);
    if (phrases === undefined) index.set(first.stem, [{ words, member, tier }]);
    else phrases.push({ words, member, tier });
  };
  const relationNames = [relation.name, relation.title, ...relation.synonyms].map(wordsOf);
  for (const words of relationNames) add(words, null, tiers.synonym);
  for (const member of relation.members) {
    if (member.kind === 'segment') continue;
    for (const words of [wordsOf(member.title), wordsOf(localName(member))]) {
      add(words, member, tiers.exact);
      add([...wordsOf(relation.name), ...words], member, tiers.exact);
      // "late shipments" are not all shipments, and the largest line is not the lines.
      if (words.some(isFunctionWord) || /^(?:count|min|max)/.test(member.aggType ?? '')) continue;
      for (let start = 1; start < words.length; start += 1) {
        const ending = words.slice(start);
        if (!ending.every(isGeneric)) add(ending, member, tiers.part);
      }
    }
    for (const synonym of member.synonyms) add(wordsOf(synonym), member, tiers.synonym);
  }
  return index;
}

/** The longest and best hit whose words begin at token `at`. Whole names come before endings of titles. */
export function findMembers(index: MemberIndex, tokens: readonly Token[], at: number): MemberHit | undefined {
  const hits = (index.get(tokens[at]?.stem ?? '') ?? []).flatMap((phrase) => {
    const match = matchPhrase(phrase.words, tokens, at);
    if (match === undefined) return [];
    const tier = phrase.tier === tiers.exact && !match.isExact ? tiers.inflected : phrase.tier;
    return [{ member: phrase.member, tier, length: match.length, isExact: match.isExact }];
  });
  const isWholeName = hits.some((hit) => hit.tier !== tiers.part && hit.member !== null);
  const pool = isWholeName ? hits.filter((hit) => hit.tier !== tiers.part) : hits;
  const length = Math.max(...pool.map((hit) => hit.length));
  const longest = pool.filter((hit) => hit.length === length);
  const named = longest.filter((hit) => hit.member !== null);
  if (named.length === 0) {
    return longest.length === 0 ? undefined : { members: [], others: [], isPart: false, length };
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
