/** Which words of a search name a member, which name several, and which none: what keeps an agent from guessing. Pure. */
import type { RelationMetadata } from '../policy/metadata.ts';
import { stem, wordsOf } from '../words.ts';

/** Words in the longest name that is looked for, and words of a search that are looked at. */
const phraseWordsMax = 5;
const searchWordsMax = 60;
/** Members that are listed for one word. */
const listedMax = 8;

/** Words of a search that name something, and the full names of what they name. */
export interface WordMatch {
  readonly words: string;
  readonly members: readonly string[];
}

/** What the words of a search came to. */
export interface WordMatches {
  /** `resolved`: every word names one thing; `ambiguous`: some name several; `no match`: none names anything; else `partial`. */
  readonly match: 'resolved' | 'ambiguous' | 'partial' | 'no match';
  /** Words that name one member; the same member may be in several views and cubes. */
  readonly resolved: readonly WordMatch[];
  /** Words that several different members have in their names. */
  readonly ambiguous: readonly WordMatch[];
  /** Words that no name, title or synonym has. */
  readonly unknown: readonly string[];
}

/** Words of questions that name nothing in a data model. */
const fillers: ReadonlySet<string> = new Set(
  `a an and any are as at be by can could did do does each every few find for from get give had has have how i in is it its
  last latest list many me month monthly more most much my next no not number of on or our over per please previous quarter
  quarterly recent show since some tell than that the their them then there these they this time to top total trend under
  until up us vs was we week weekly were what when where which who why will with within year yearly you your day daily today
  yesterday compare compared comparison versus break down breakdown split group grouped between before after during january
  february march april may june july august september october november december all average amount highest lowest best worst
  least count sum data view views cube cubes measure measures dimension dimensions table tables`
    .split(/\s+/)
    .map(stem),
);

/** A member, or a view or cube itself. */
interface Named {
  readonly fullName: string;
  /** Equal for the same member in several views. */
  readonly key: string;
  readonly isRelation: boolean;
}

/** What is looked up: names, titles and synonyms, as stems. */
interface NameIndex {
  /** By a whole name. */
  readonly whole: Map<string, Set<Named>>;
  /** By a word of a name. */
  readonly parts: Map<string, Set<Named>>;
}

/** Looks up every word of `searchQuery` in the names, titles and synonyms of what the user may see; words such as `by` are skipped. */
export function matchWords(relations: readonly RelationMetadata[], searchQuery: string): WordMatches {
  return matchIn(indexNames(relations), searchQuery);
}

/** The same as {@link matchWords} for many searches: the names are indexed once, with the first one. */
export function createWordMatcher(relations: readonly RelationMetadata[]): (searchQuery: string) => WordMatches {
  let names: NameIndex | null = null;
  return (searchQuery) => {
    names ??= indexNames(relations);
    return matchIn(names, searchQuery);
  };
}

function matchIn(names: NameIndex, searchQuery: string): WordMatches {
  const words = wordsOf(searchQuery.slice(0, 2000)).slice(0, searchWordsMax);
  const stems = words.map(stem);
  const resolved: WordMatch[] = [];
  const ambiguous: WordMatch[] = [];
  const unknown: string[] = [];
  for (let at = 0; at < words.length; ) {
    const phrase = longestName(names, stems, at);
    const count = phrase?.count ?? 1;
    const text = words.slice(at, at + count).join(' ');
    const first = stems[at] ?? '';
    at += count;
    const isFiller = phrase === undefined && (fillers.has(first) || /^\p{N}+$/u.test(first) || first.length < 2);
    if (isFiller) continue;
    const near = phrase?.found ?? partsNamed(names, first);
    const members = near.map(({ fullName }) => fullName);
    if (near.length === 0) unknown.push(text);
    else if (new Set(near.map(({ key }) => key)).size === 1)
      resolved.push({ words: text, members: members.slice(0, listedMax) });
    else ambiguous.push({ words: text, members: members.slice(0, listedMax) });
  }
  return { match: matchOf(resolved.length, ambiguous.length, unknown.length), resolved, ambiguous, unknown };
}

function matchOf(resolved: number, ambiguous: number, unknown: number): WordMatches['match'] {
  if (resolved + ambiguous === 0) return 'no match';
  if (unknown > 0) return 'partial';
  return ambiguous > 0 ? 'ambiguous' : 'resolved';
}

function indexNames(relations: readonly RelationMetadata[]): NameIndex {
  const index: NameIndex = { whole: new Map(), parts: new Map() };
  for (const { name, title, synonyms, members } of relations) {
    addNames(index, { fullName: name, key: `relation ${title}`, isRelation: true }, [name, title, ...synonyms]);
    for (const member of members) {
      const leaf = member.name.slice(name.length + 1);
      const key = `${member.kind} ${leaf} ${member.title}`;
      const named = { fullName: member.name, key, isRelation: false };
      addNames(index, named, [leaf, member.title, ...member.synonyms]);
    }
  }
  return index;
}

function addNames({ whole, parts }: NameIndex, named: Named, texts: readonly string[]): void {
  const add = (map: Map<string, Set<Named>>, text: string): void => {
    const found = map.get(text);
    if (found === undefined) map.set(text, new Set([named]));
    else found.add(named);
  };
  for (const text of texts) {
    const stems = wordsOf(text).map(stem);
    add(whole, stems.join(' '));
    for (const part of stems) add(parts, part);
  }
}

/** The longest run of words from `at` on that is the whole of a name; undefined when there is none. */
function longestName(
  { whole }: NameIndex,
  stems: readonly string[],
  at: number,
): { readonly count: number; readonly found: readonly Named[] } | undefined {
  for (let count = Math.min(phraseWordsMax, stems.length - at); count > 0; count -= 1) {
    const found = [...(whole.get(stems.slice(at, at + count).join(' ')) ?? [])];
    // A member is meant rather than a view of the same name.
    const members = found.filter(({ isRelation }) => !isRelation);
    if (found.length > 0) return { count, found: members.length > 0 ? members : found };
  }
  return undefined;
}

/** What has the word in a name; else what it may be a misspelling of, a whole name before a part of one. */
function partsNamed({ whole, parts }: NameIndex, word: string): readonly Named[] {
  const near = (map: ReadonlyMap<string, Set<Named>>): Named[] =>
    [...map].flatMap(([text, found]) => (isNear(word, text) ? [...found] : []));
  const named = parts.get(word);
  if (named !== undefined) return [...named];
  const nearWhole = near(whole);
  return [...new Set(nearWhole.length > 0 ? nearWhole : near(parts))];
}

/** One letter more, less or other in words of five letters and more; two letters swapped count as one. */
function isNear(wanted: string, word: string): boolean {
  if (wanted.length < 5 || Math.abs(wanted.length - word.length) > 1 || wanted === word) return wanted === word;
  let begin = 0;
  while (begin < wanted.length && wanted[begin] === word[begin]) begin += 1;
  let end = 0;
  while (end < Math.min(wanted.length, word.length) - begin && wanted.at(-1 - end) === word.at(-1 - end)) end += 1;
  const left = wanted.slice(begin, wanted.length - end);
  const right = word.slice(begin, word.length - end);
  const isSwap = left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
  return isSwap || (left.length <= 1 && right.length <= 1);
}
