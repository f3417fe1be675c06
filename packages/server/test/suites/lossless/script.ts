/**
 * What the scripted language model of the losslessness suite says. All of it follows from the seed, and every text carries the
 * question, turn and attempt that it is of and a running number, so that a character too few or too many shows, and whose it is.
 */

/** Chance from 0 to below 1, the same for the same seed and keys. */
export function randomOf(...keys: readonly (number | string)[]): () => number {
  let state = 2_166_136_261;
  for (const character of keys.join(' ')) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One answer of the language model to one request. */
export interface Attempt {
  readonly question: number;
  /** From 0 up. */
  readonly turn: number;
  /** How often this turn had been asked for before. */
  readonly attempt: number;
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  /** From its first word to its last, in milliseconds. */
  readonly forMs: number;
}

/** The text of a question; the language model finds its number again. */
export const questionText = (question: number): string => `Please answer question ${question}.`;

/** The number of the last question in a text; null: there is none. */
export function questionIn(text: string): number | null {
  const found = [...text.matchAll(/question (\d+)\./g)].at(-1)?.[1];
  return found === undefined ? null : Number(found);
}

/** Turns of the answer to a question: all but the last one call tools. */
export function turnsOf(seed: number, question: number): number {
  return 1 + Math.floor(randomOf(seed, 'turns', question)() * 4);
}

/** What begins every text, and stands in every input of a tool. */
export const markOf = ({ question, turn, attempt }: Pick<Attempt, 'question' | 'turn' | 'attempt'>): string =>
  `m${question}.${turn}.${attempt}.`;

/** Whose text, thought or input this is; null where it does not say. */
export function readMark(text: string): Pick<Attempt, 'question' | 'turn' | 'attempt'> | null {
  const [, question, turn, attempt] = /m(\d+)\.(\d+)\.(\d+)\./.exec(text) ?? [];
  if (question === undefined || turn === undefined || attempt === undefined) return null;
  return { question: Number(question), turn: Number(turn), attempt: Number(attempt) };
}

/** Between two words: mostly a space, now and then what is easily broken on the way. */
const separators = [
  ' ',
  ' ',
  ' ',
  ' ',
  ' ',
  '\n',
  ' "\\" ',
  ' ün\u2028ï ',
  ' \u{1f600}\u{1f3fd} ',
  '\t{"a":1}\n',
  ' </x>\r\n',
];

function wordsOf(mark: string, sort: string, count: number, random: () => number): string {
  let text = '';
  for (let number = 0; number < count; number++) {
    text += `${number === 0 ? mark : ''}${sort}${number}`;
    if (number < count - 1) text += separators[Math.floor(random() * separators.length)] ?? ' ';
  }
  return text;
}

/** How many words: mostly few, now and then as many as an answer ever has. */
function countOf(random: () => number): number {
  const size = random();
  if (size < 0.05) return 800 + Math.floor(random() * 1500);
  return 3 + Math.floor(random() * (size < 0.3 ? 200 : 60));
}

/** The answer to one request; every attempt says something else. */
export function writeAttempt(seed: number, of: Pick<Attempt, 'question' | 'turn' | 'attempt'>): Attempt {
  const { question, turn, attempt } = of;
  const random = randomOf(seed, 'attempt', question, turn, attempt);
  const mark = markOf(of);
  const isLast = turn === turnsOf(seed, question) - 1;
  const thinking = random() < 0.6 ? wordsOf(mark, 't', 3 + Math.floor(random() * 30), random) : '';
  // The answer itself is never empty: what the agent says for itself then is another test's.
  const text = isLast || random() < 0.7 ? wordsOf(mark, 'w', countOf(random), random) : '';
  const calls = Array.from({ length: isLast ? 0 : 1 + Math.floor(random() * 3) }, (_, index) => {
    const own = `${mark}c${index}`;
    const id = `call_${question}_${turn}_${attempt}_${index}`;
    return random() < 0.4
      ? { id, name: 'platformMeta', input: JSON.stringify({ searchQuery: `numbers ${own}` }) }
      : {
          id,
          name: 'platformSqlApi',
          input: JSON.stringify({
            sqlQuery: 'SELECT MEASURE(count) FROM numbers',
            queryTitle: own,
            description: '',
            userRequest: own,
          }),
        };
  });
  return { ...of, thinking, text, calls, forMs: random() < 0.1 ? 3000 : 50 + Math.floor(random() * 1200) };
}
