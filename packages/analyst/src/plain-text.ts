/** Makes hostile text harmless for answers that are shown as plain text or as Markdown, and joins lists in English. */

// The longest piece of a value that an answer shows, in characters (code points).
const valueCharactersMax = 80;

/**
 * A text of unknown origin on one line: control characters and line breaks become spaces, it is cut to `charactersMax`,
 * and no Markdown, HTML or automatic link can come from it, since an address in an answer could carry data away. A backslash
 * goes before active characters; an address is broken by a space, since some readers look for addresses after they
 * have taken backslashes away. An underscore between letters or digits is not active and stays as it is.
 */
export function plainText(text: string, charactersMax: number = valueCharactersMax): string {
  // Far more than is shown, so that a huge value costs nothing, and cut before the pass over code points.
  const line = text
    .slice(0, charactersMax * 8)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  const characters = [...line];
  const isCut = characters.length > charactersMax || text.length > charactersMax * 8;
  const shown = isCut
    ? `${characters
        .slice(0, charactersMax - 1)
        .join('')
        .trimEnd()}…`
    : line;
  return shown
    .replace(/:(?=\/\/)/g, ': ')
    .replace(/www(?=\.)/gi, '$& ')
    .replace(/(?<=\S)@(?=[\p{L}\p{N}])/gu, ' @')
    .replace(/[\\[\]()!`*<>|~&]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\$&');
}

/** `a`, `a and b`, `a, b and c`. */
export function listOf(items: readonly string[], joiner = 'and'): string {
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} ${joiner} ${last}`;
}

/** A title for the middle of a sentence: `Average order value` → `average order value`; acronyms stay. */
export function lowerTitle(title: string): string {
  return title.replace(/[\p{L}\p{M}\p{N}]+/gu, (word) => (/^\p{Lu}\p{Ll}*$/u.test(word) ? word.toLowerCase() : word));
}
