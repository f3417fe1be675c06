/**
 * Finds the values that a question speaks of, such as `web` or `Shoes`, among those of the string dimensions that the user
 * may see, through the one door: a value is known only to whoever may see it. Short lists of values are kept for a while;
 * a dimension with many values is asked for the words of the question.
 */
import type { ValueMatch } from '@inlay/analyst/analyst.ts';
import { visibleMetadata } from '@inlay/semantic/policy/visible-metadata.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import type { Door } from './run-query.ts';

/** Words in the longest value that is looked for. */
const wordsMax = 6;
/** Runs of words that one question is looked up by. The words at its end count first: they are the latest. */
const phrasesMax = 400;
/** A list of more values than this is not kept. */
const listValuesMax = 500;
/** Values found in one dimension. */
const matchesMax = 50;

/**
 * @param now by which kept lists are fresh
 * @returns the values that occur in `text`, whatever their case, with the dimension that each is a value of
 * @throws InlayError as the door's `run`; the signal's reason when aborted
 */
export async function findValues(
  door: Door,
  { text, now, signal }: { readonly text: string; readonly now: Date; readonly signal: AbortSignal },
): Promise<readonly ValueMatch[]> {
  const phrases = phrasesOf(text);
  if (phrases.size === 0) return [];
  const dimensions = visibleMetadata(door.deployment.dataModel, door.subject)
    .flatMap(({ members }) => members)
    // The values of a masked one are masks.
    .filter(({ kind, type, isMasked }) => kind === 'dimension' && type === 'string' && isMasked !== true);
  const found = await Promise.all(
    dimensions.map(async ({ name }) => {
      const values = await valuesIn(door, name, phrases, now, signal);
      return values.map((value) => ({ member: name, value }));
    }),
  );
  return found.flat();
}

/** The runs of up to six words, lower case, each also without and with a final s. */
export function phrasesOf(text: string): ReadonlySet<string> {
  const words =
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{N}'’&.+_-]*|&/gu)
      ?.slice(-phrasesMax) ?? [];
  const phrases = new Set<string>();
  for (let start = words.length - 1; start >= 0 && phrases.size < phrasesMax; start -= 1) {
    for (let end = start + 1; end <= Math.min(words.length, start + wordsMax); end += 1) {
      const phrase = words
        .slice(start, end)
        .join(' ')
        .replace(/[.'’]+$/, '');
      for (const form of [phrase, `${phrase}s`, phrase.replace(/s$/, '')]) if (form !== '') phrases.add(form);
    }
  }
  return phrases;
}

async function valuesIn(
  door: Door,
  member: string,
  phrases: ReadonlySet<string>,
  now: Date,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [relation = '', column = ''] = member.split('.').map((part) => `"${part}"`);
  const from = `SELECT ${column} FROM ${relation}`;
  try {
    const all = door.compile(`${from} GROUP BY 1 ORDER BY 1 LIMIT ${listValuesMax + 1}`);
    const list = await door.deployment.valueLists.get(all, now, async () => {
      const result = await door.run(all, signal);
      return firstColumn(result.rows());
    });
    if (list.length <= listValuesMax)
      return list.filter((value) => phrases.has(value.toLowerCase())).slice(0, matchesMax);
    const asked = [...phrases].map((phrase) => `'${phrase.replaceAll("'", "''")}'`).join(', ');
    const some = door.compile(`${from} WHERE lower(${column}) IN (${asked}) GROUP BY 1 ORDER BY 1 LIMIT ${matchesMax}`);
    return firstColumn((await door.run(some, signal)).rows());
  } catch (error) {
    // A dimension that cannot be listed by itself has no values to find.
    if (error instanceof SemanticError) return [];
    throw error;
  }
}

async function firstColumn(chunks: AsyncIterable<readonly (readonly unknown[])[]>): Promise<string[]> {
  const values: string[] = [];
  for await (const rows of chunks) for (const [value] of rows) if (typeof value === 'string') values.push(value);
  return values;
}
