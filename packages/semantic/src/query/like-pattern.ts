/** Patterns of LIKE that find a text, whatever characters are in it. */

/** Where in a text another is looked for. */
export type Pattern = 'anywhere' | 'at-start' | 'at-end';

/** A text as a pattern of LIKE, its own wildcards escaped by a backslash. */
export function likePattern(text: string, pattern: Pattern): string {
  const escaped = text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
  return `${pattern === 'at-start' ? '' : '%'}${escaped}${pattern === 'at-end' ? '' : '%'}`;
}

/** A pattern that a query writes, with a backslash only before what it escapes, as all warehouses read it alike. */
export const writtenPattern = (pattern: string): string =>
  pattern.replaceAll(/\\([\s\S])/g, (escaped, character: string) => (/[\\%_]/.test(character) ? escaped : character));
