/** Cuts a text into words and symbols, and folds words so that case, plural and possessive do not matter. */

/**
 * One word or one symbol of a text.
 * - `text`: as written. `word`: in lower case, without a possessive 's. `stem`: `word` without a plural ending.
 * - `isWord`: letters or digits, no symbol. `isGlued`: no white space stands before it.
 */
export interface Token {
  readonly text: string;
  readonly word: string;
  readonly stem: string;
  readonly isWord: boolean;
  readonly isGlued: boolean;
}

// A date such as 2024-03 or 2024-03-15, or a run of letters and digits, or any other single character.
const tokenPattern = /\d{4}-\d{2}(?:-\d{2})?(?![\p{L}\p{M}\p{N}])|[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*|\S/gu;

// The word without its English plural ending, roughly: `categories` → `category`, `status` stays.
function stemOf(word: string): string {
  if (word.length <= 3) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ch|sh|x|ss|z|tus)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

/** The tokens of `text`, in order; reading stops after `tokensMax` + 1, so that a caller sees that there are too many. */
export function tokenise(text: string, tokensMax: number): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(tokenPattern)) {
    const [piece] = match;
    const word = piece
      .normalize('NFKC')
      .toLowerCase()
      .replace(/['’]s$/, '');
    const isWord = /^[\p{L}\p{M}\p{N}]/u.test(piece);
    tokens.push({ text: piece, word, stem: stemOf(word), isWord, isGlued: match.index === end && end > 0 });
    end = match.index + piece.length;
    if (tokens.length > tokensMax) break;
  }
  return tokens;
}

/** The words alone of a title, name or synonym: `On-time rate` and `on_time_rate` give the same three. */
export function wordsOf(text: string): readonly Token[] {
  return tokenise(text, 40).filter((token) => token.isWord);
}

/** How many letters have to be changed, added or left out to turn one short word into the other; both are cut to 40. */
export function editDistance(left: string, right: string): number {
  const a = left.slice(0, 40);
  const b = right.slice(0, 40);
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
