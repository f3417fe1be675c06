/** Finds values of dimensions in a question, word by word. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import type { ValueMatch } from './analyst.ts';
import { isJoint } from './lexicon.ts';
import { type Token, tokenise } from './tokens.ts';

/** A value as it stands in the data, and the dimension that holds it. */
export interface DimensionValue {
  readonly member: MemberMetadata;
  readonly value: string;
}

/** Values of one relation by their first word in lower case. */
export type ValueIndex = ReadonlyMap<string, readonly (DimensionValue & { readonly tokens: readonly Token[] })[]>;

const valueTokensMax = 40;

/** Builds the index from the values that the server found; those of other relations or unknown members are left out. */
export function indexValues(relation: RelationMetadata, matches: readonly ValueMatch[]): ValueIndex {
  const memberByName = new Map(relation.members.map((member) => [member.name, member]));
  const index = new Map<string, (DimensionValue & { tokens: readonly Token[] })[]>();
  for (const match of matches) {
    const member = memberByName.get(match.member);
    if (member === undefined || member.kind !== 'dimension' || member.type !== 'string') continue;
    // PostgreSQL's grammar has no way to write NUL or half a surrogate pair in a literal.
    if (match.value.includes('\0') || !match.value.isWellFormed()) continue;
    const tokens = tokenise(match.value, valueTokensMax);
    const first = tokens[0];
    if (first === undefined || tokens.length > valueTokensMax || !tokens.some((token) => token.isWord)) continue;
    const entry = { member, value: match.value, tokens };
    const entries = index.get(first.word);
    if (entries === undefined) index.set(first.word, [entry]);
    else if (!entries.some((other) => other.member === member && other.value === match.value)) entries.push(entry);
  }
  return index;
}

/**
 * The values whose words begin at token `at`, the longest ones; `length` counts tokens, `isSameCase` says that one is
 * written exactly as in the data. Of values of one dimension that differ in case only, the one written so is meant.
 */
export function findValues(
  index: ValueIndex,
  tokens: readonly Token[],
  at: number,
): { candidates: readonly DimensionValue[]; length: number; isSameCase: boolean } | undefined {
  const hits = (index.get(tokens[at]?.word ?? '') ?? []).flatMap((entry) => {
    const match = matchValue(entry.tokens, tokens, at);
    return match === undefined ? [] : [{ ...entry, ...match }];
  });
  if (hits.length === 0) return undefined;
  const length = Math.max(...hits.map((hit) => hit.length));
  const longest = hits.filter((hit) => hit.length === length);
  const candidates = longest.filter(
    (hit) => hit.isWritten || !longest.some((other) => other.member === hit.member && other.isWritten),
  );
  return { candidates, length, isSameCase: longest.some(({ isWritten }) => isWritten) };
}

// The value's words one after the other; the question may join two by a hyphen ("mobile-app").
function matchValue(
  words: readonly Token[],
  tokens: readonly Token[],
  at: number,
): { length: number; isWritten: boolean } | undefined {
  let place = at;
  let isWritten = true;
  for (const [position, word] of words.entries()) {
    if (position > 0 && word.isWord && isJoint(tokens, place)) place += 1;
    if (tokens[place]?.word !== word.word) return undefined;
    isWritten &&= tokens[place]?.text === word.text;
    place += 1;
  }
  return { length: place - at, isWritten };
}
