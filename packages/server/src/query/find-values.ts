/**
 * Finds the values that a question speaks of, such as `web` or `Shoes`: every run of words of the question is looked up
 * in the string dimensions that the user may see, through the one door. So a value is known only to whoever may see it,
 * and a column of a million values costs one filtered scan and no index.
 */
import type { ValueMatch } from '@inlay/analyst/analyst.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { readMetadata } from './read-metadata.ts';
import { type Query, type QueryDependencies, runQuery } from './run-query.ts';

/** Words in the longest value that is looked for. */
const wordsMax = 6;
/** Runs of words that one question is looked up by. The words at its end count first: they are the latest. */
const phrasesMax = 400;
/** Values found in one dimension. */
const valuesMax = 50;

/**
 * @returns the values that occur in `text`, whatever their case, with the dimension that each is a value of
 * @throws InlayError as runQuery; the signal's reason when aborted
 */
export async function findValues(
  dependencies: QueryDependencies,
  query: Pick<Query, 'principal' | 'deploymentId' | 'signal'> & { readonly text: string },
): Promise<readonly ValueMatch[]> {
  const phrases = phrasesOf(query.text);
  if (phrases.length === 0) return [];
  const list = phrases.map((phrase) => `'${phrase.replaceAll("'", "''")}'`).join(', ');
  const relations = await readMetadata(dependencies, query);
  const dimensions = relations
    .filter(({ type }) => type === 'view')
    .flatMap(({ members }) => members)
    .filter(({ kind, type }) => kind === 'dimension' && type === 'string');
  const found = await Promise.all(
    dimensions.map(async ({ name }) => {
      const [relation = '', column = ''] = name.split('.').map((part) => `"${part}"`);
      const sql = `SELECT ${column} FROM ${relation} WHERE lower(${column}) IN (${list}) GROUP BY 1 ORDER BY 1 LIMIT ${valuesMax}`;
      return (await firstColumn(dependencies, { ...query, sql })).map((value) => ({ member: name, value }));
    }),
  );
  return found.flat();
}

/** The runs of up to six words, lower case, each also without and with a final s. */
export function phrasesOf(text: string): string[] {
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
  return [...phrases];
}

async function firstColumn(dependencies: QueryDependencies, query: Query): Promise<string[]> {
  const values: string[] = [];
  try {
    const result = await runQuery(dependencies, query);
    for await (const rows of result.rows()) {
      for (const [value] of rows) if (typeof value === 'string') values.push(value);
    }
  } catch (error) {
    // A dimension that cannot be listed by itself has no values to find.
    if (!(error instanceof SemanticError)) throw error;
  }
  return values;
}
