/**
 * Finds measures whose names can be read in two ways: "Revenue last year" is a measure, and beside a measure "Revenue" it
 * is also English for the revenue of a time. The numbers differ, so nobody may pick one in silence.
 */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { readCommand, readUnit } from './lexicon.ts';
import { isTimeWords, readGrain } from './time-phrases.ts';
import type { Token } from './tokens.ts';

/** The other reading of a name: the measure `rest`, and how to ask for that in words that are no name. */
export interface OtherWay {
  readonly rest: MemberMetadata;
  /** `for last year`, `by month`; null where the name begins with a superlative ("Least jobs"). */
  readonly hint: string | null;
}

/**
 * The names of measures, by their stems, that are the name of another measure with a time before or behind it, or with a
 * superlative before it. A measure comes once for each of its names; of two with the same name the first counts.
 */
export function namesInTwoWays(
  measures: readonly { readonly words: readonly Token[]; readonly member: MemberMetadata }[],
): ReadonlyMap<string, OtherWay> {
  const byStems = new Map(measures.toReversed().map(({ words, member }) => [stemsOf(words), member]));
  const found = new Map<string, OtherWay>();
  for (const { words, member } of measures) {
    for (let cut = 1; cut < words.length; cut += 1) {
      const [left, right] = [words.slice(0, cut), words.slice(cut)];
      for (const [english, name] of [
        [left, right],
        [right, left],
      ] as const) {
        const rest = byStems.get(stemsOf(name));
        if (rest === undefined || rest === member) continue;
        if (english === left && isRanking(english)) found.set(stemsOf(words), { rest, hint: null });
        const hint = hintOf(english);
        if (hint !== null) found.set(stemsOf(words), { rest, hint });
      }
    }
  }
  return found;
}

/** A name as it is looked up: without case, plural and what joins its words. */
export function stemsOf(words: readonly Token[]): string {
  return words.map(({ stem }) => stem).join(' ');
}

function isRanking(words: readonly Token[]): boolean {
  const command = readCommand(words, 0);
  return command?.length === words.length && ['highest', 'lowest'].includes(command.command);
}

// How to ask for a time; null for words that are none. "Delivery days" are no deliveries by day.
function hintOf(words: readonly Token[]): string | null {
  const isUnit = words.length === 1 && readUnit(words[0]) !== undefined;
  if (isUnit || !isTimeWords(words)) return null;
  const grain = readGrain(words, 0);
  if (grain?.length === words.length) return `by ${grain.grain}`;
  return `for ${words.map(({ word }) => word).join(' ')}`;
}
