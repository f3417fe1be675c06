/** Words a refusal: what was understood, what was not, and what could be asked instead. Nothing is queried then. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { titleOf } from './describe.ts';
import type { Reading } from './intent.ts';
import { listOf, plainText } from './plain-text.ts';
import { editDistance, wordsOf } from './tokens.ts';

const wordsShownMax = 20;
const suggestionsMax = 3;
const wordsComparedMax = 5;

/** The refusal of a question of which words have no meaning or which cannot be asked. */
export function refusalText(
  reading: Reading,
  problems: readonly string[],
  relations: readonly RelationMetadata[],
): string {
  const understood = reading.understood.slice(0, 10);
  const opening = understood.length > 0 ? `I understood ${listOf(understood)}` : '';
  const sentences: string[] = [];
  if (reading.unknown.length > 0) {
    const words = [...new Set(reading.unknown)];
    const shown = words.slice(0, wordsShownMax).map((word) => `"${plainText(word)}"`);
    const rest = words.length > shown.length ? [`${words.length - shown.length} more`] : [];
    const list = listOf([...shown, ...rest], 'or');
    sentences.push(opening === '' ? `I do not understand ${list}.` : `${opening}, but not ${list}.`);
    const near = nearestTitles(
      words,
      relations.flatMap(({ members }) => members),
    );
    if (near.length > 0) sentences.push(`Nearest: ${listOf(near, 'or')}.`);
    else if (reading.measures.length > 0) sentences.push(...exampleText(reading.relation, relations));
  } else if (opening !== '') sentences.push(`${opening}.`);
  sentences.push(...problems.slice(0, 5));
  const hasMeasure = reading.measures.length > 0;
  if (!hasMeasure) sentences.push(...exampleText(reading.relation, relations, reading.understood));
  sentences.push('I queried nothing.');
  return sentences.join(' ');
}

/**
 * What may be asked, by example; empty when there is no measure. Measures that sound like `words` come first, then those
 * of the relation `first`.
 */
export function exampleText(
  first: RelationMetadata | undefined,
  relations: readonly RelationMetadata[],
  words: readonly string[] = [],
): readonly string[] {
  const ordered = first === undefined ? relations : [first, ...relations.filter((relation) => relation !== first)];
  const measures = ordered.flatMap(({ members }) => members.filter(({ kind }) => kind === 'measure'));
  const near = nearestTitles(
    words.flatMap(wordsOf).map(({ word }) => word),
    measures,
  );
  const titles = [...new Set([...near, ...titlesOf(measures)])].slice(0, 5);
  return titles.length === 0 ? [] : [`You can ask for ${listOf(titles, 'or')}.`];
}

// Members that share a beginning with an unknown word or differ from it by few letters, nearest first.
function nearestTitles(words: readonly string[], members: readonly MemberMetadata[]): readonly string[] {
  const compared = words.slice(0, wordsComparedMax);
  const scored = members.slice(0, 1000).flatMap((member) => {
    const names = [member.title, ...member.synonyms.slice(0, 20)].flatMap(wordsOf).map(({ word }) => word);
    const score = Math.min(...compared.flatMap((word) => names.map((name) => distance(word.toLowerCase(), name))));
    return score <= 0.4 ? [{ member, score }] : [];
  });
  scored.sort((left, right) => left.score - right.score);
  return titlesOf(scored.map(({ member }) => member)).slice(0, suggestionsMax);
}

// 0 for equal words, 1 for words with nothing in common.
function distance(word: string, name: string): number {
  const longer = Math.max(word.length, name.length);
  // Words of very different length cannot be near: spares the work.
  if (longer === 0 || Math.abs(word.length - name.length) > longer / 2) return 1;
  return editDistance(word, name) / Math.min(longer, 40);
}

function titlesOf(members: readonly MemberMetadata[]): readonly string[] {
  return [...new Set(members.map(titleOf))];
}
