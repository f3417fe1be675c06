/** Words of names and questions, so that `orderItems`, `order_items` and `an ordered item` can meet. Pure. */

/** The words of a text in small letters: split at spaces, signs, underscores, and where a capital begins a word. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .normalize('NFKC')
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  );
}

/** A word without the ending of an English plural: `categories` → `category`, `boxes` → `box`, `orders` → `order`. */
export function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('s') && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

/** The words of a text, each without its plural ending, as one line: equal for texts that name the same. */
export function stemsOf(text: string): string {
  return wordsOf(text).map(stem).join(' ');
}
