/** The English words that steer a question without naming data: markers, superlatives, negation and filler. */

import { type Grain, grains } from './calendar.ts';
import type { Token } from './tokens.ts';

/**
 * What a steering word does.
 * - `group`: a dimension follows; `and`, `or`, `versus`: joins two of a kind; `compare`: sets values against each other;
 * - `not`: leaves values out; `only`: a value follows; `with`: a preposition, which ends what `not` covers;
 * - `is`: joins a dimension and its value; `which`: a dimension follows; `highest`, `lowest`: ranks;
 * - `how-many`: a measure that counts must follow; `unique`: only before a measure that counts distinct;
 * - `replace`, `add`: at the start of a question, it changes the one before; `filler`: says nothing.
 */
export type Command =
  | 'group'
  | 'and'
  | 'or'
  | 'versus'
  | 'compare'
  | 'not'
  | 'only'
  | 'with'
  | 'is'
  | 'highest'
  | 'lowest'
  | 'how-many'
  | 'which'
  | 'unique'
  | 'replace'
  | 'add'
  | 'filler';

const phrases: readonly (readonly [Command, string])[] = [
  ['group', 'by|per|each|every|across|for each|for every|in each|broken down by|split by|grouped by|breakdown by'],
  ['and', 'and|,|;|&|+|plus|as well as|along with|together with'],
  ['or', 'or'],
  ['versus', 'vs|versus|compared to|compared with'],
  ['compare', 'compare'],
  ['not', 'without|except|except for|excluding|exclude|not|but not|other than|apart from|leaving out|ignoring'],
  ['only', 'only|just'],
  ['with', 'with|in|for|from|on|at|of|within|during|among|over the'],
  ['is', 'is|are|was|were|:'],
  ['highest', 'top|best|highest|largest|biggest|most|greatest|strongest|leading'],
  ['lowest', 'bottom|worst|lowest|smallest|least|fewest|weakest'],
  ['how-many', 'how many|number of|count of'],
  ['which', 'which|what'],
  ['unique', 'unique|distinct|different'],
  ['replace', 'what about|how about'],
  ['add', 'also|add'],
  [
    'filler',
    'a|an|the|my|our|your|their|its|it|this|that|these|those|same|the same|them|me|i|we|you|please|thanks|thank you|hi|hello|hey|ok|' +
      'okay|so|then|there|show|give|show us|give us|tell us|let us|get us|list|display|tell|get|see|find|want|want to|need|need to|would like|would like to|like to|know|would|' +
      'could|can|do|does|did|have|has|had|be|been|make|made|let|how much|total|overall|all|any|whole|entire|as|' +
      'chart|graph|plot|report|data|figures|numbers|.|?|!|"|“|”|„|«|»|‘|’|\'|`|(|)|…',
  ],
];

// What a superlative says besides "highest" or "lowest".
const superlatives = {
  // Which end is the better one depends on the measure: the best refund rate is the lowest.
  judging: ['best', 'worst', 'strongest', 'weakest'],
  // Of a name of things it wants their number: "most customers".
  counting: ['most', 'fewest', 'least'],
  // Of a name of things it wants single ones: "largest orders".
  singling: ['top', 'best', 'largest', 'biggest', 'smallest'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const commandByPhrase: ReadonlyMap<string, Command> = new Map(
  phrases.flatMap(([command, list]) => list.split('|').map((phrase): [string, Command] => [phrase, command])),
);

const wordsMax = 3;

const smallNumbers: ReadonlyMap<string, number> = new Map(
  'one two three four five six seven eight nine ten eleven twelve'.split(' ').map((word, index) => [word, index + 1]),
);

// Words that say too little to stand for a member whose title they end: "rate of", "order number".
const genericWords: ReadonlySet<string> = new Set(
  'amount average avg at code count date day description id key mean name number of rate sum time total type value'.split(
    ' ',
  ),
);

/** The longest steering phrase that begins at token `at`, if any. */
export function readCommand(tokens: readonly Token[], at: number): { command: Command; length: number } | undefined {
  if (isCode(tokens, at)) return undefined;
  for (let length = Math.min(wordsMax, tokens.length - at); length > 0; length -= 1) {
    const phrase = tokens
      .slice(at, at + length)
      .map((token) => token.word)
      .join(' ');
    const command = commandByPhrase.get(phrase);
    // "at least 5 orders" asks for a threshold, not for the lowest five.
    if ((command === 'highest' || command === 'lowest') && tokens[at - 1]?.word === 'at') return undefined;
    if (command !== undefined) return { command, length };
  }
  // "no, by month": no to the answer before. Without the comma it would leave something out.
  if (at === 0 && tokens[0]?.word === 'no' && tokens[1]?.word === ',') return { command: 'filler', length: 1 };
  return isDash(tokens, at) ? { command: 'filler', length: 1 } : undefined;
}

// "revenue in AT": two capitals in a question that is not all capitals are a name, such as a country's. But OK and OR.
function isCode(tokens: readonly Token[], at: number): boolean {
  const text = tokens[at]?.text ?? '';
  if (!/^\p{Lu}{2}$/u.test(text) || ['OK', 'OR', 'BY', 'VS'].includes(text)) return false;
  return tokens.some((token) => /\p{Ll}/u.test(token.text));
}

/** True when a superlative, as written, says this besides. */
export function isSuperlative(text: string, kind: keyof typeof superlatives): boolean {
  return superlatives[kind].some((word) => word === text.toLowerCase());
}

/** A whole number in digits (up to nine) or as a word up to twelve. */
export function readNumber(token: Token): number | undefined {
  return /^\d{1,9}$/.test(token.word) ? Number(token.word) : smallNumbers.get(token.word);
}

/** True for a word that never stands for a member alone. */
export function isGeneric(token: Token): boolean {
  return genericWords.has(token.stem) || genericWords.has(token.word);
}

/** True for a word that may not occur in a shortened title: in "orders per customer" the last word is not the subject. */
export function isFunctionWord(token: Token): boolean {
  return commandByPhrase.has(token.word) || ['before', 'after', 'since', 'to', 'until', 'between'].includes(token.word);
}

/** True for a symbol that joins the parts of one word, as in "on-time"; `at` is its position. */
export function isJoint(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  const next = tokens[at + 1];
  return token !== undefined && /^[-_/.‐‑]$/.test(token.word) && token.isGlued && next?.isWord === true && next.isGlued;
}

// A dash between words, or with space on both sides. One that clings to the next word only could be a minus: unknown.
function isDash(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token === undefined || !/^[-‐‑–—_]$/.test(token.word)) return false;
  const next = tokens[at + 1];
  return next === undefined || (token.isGlued ? next.isGlued && next.isWord : !next.isGlued);
}

/** The unit of time that a word names, singular or plural. */
export function readUnit(token: Token | undefined): Grain | undefined {
  return grains.find((grain) => grain === token?.word || grain === token?.stem);
}
