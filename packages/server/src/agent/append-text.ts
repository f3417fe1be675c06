/** Long texts that grow by small pieces. */

/** How often a text that grows is made one piece, in UTF-16 code units. */
const stretch = 1024;

/**
 * The text with a piece more. V8 keeps such a sum as a tree of all its pieces, each with several times its own size beside it, until
 * somebody asks for a character at its end; so that is asked now and then. Thousands of answers may be under way at a time.
 */
export function appendText(text: string, piece: string): string {
  const grown = text + piece;
  if (Math.floor(text.length / stretch) === Math.floor(grown.length / stretch)) return grown;
  return grown.at(-1) === undefined ? '' : grown;
}
