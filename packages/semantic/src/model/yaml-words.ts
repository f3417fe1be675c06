/** What is wrong with a file that is no YAML, in words for who wrote it: the library's own name its grammar, and follow from each other. */
import type { YAMLError } from 'yaml';

/** Something that stands where YAML does not allow it; the offset counts characters from 0. */
export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
}

const needsQuotes = 'a text that begins with {, [, *, & or % needs quotes';

/** What mistake is behind an error of the library, where one is by far the most likely. */
const causes: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'a tab cannot indent a line: write blanks',
  BAD_INDENT: 'the line stands too far in or out',
  BLOCK_AS_IMPLICIT_KEY: 'the line stands too far in, or a text that holds ": " needs quotes',
  MULTILINE_IMPLICIT_KEY: 'a key needs a colon and a blank behind it, or the line stands too far in or out',
  BLOCK_IN_FLOW: 'a text that holds ": " needs quotes',
  BAD_ALIAS: needsQuotes,
  MULTIPLE_DOCS: 'a file holds one document: split it where --- stands between two',
  BAD_SCALAR_START: 'a text that begins with @ or ` needs quotes',
};

/**
 * The errors of the library, put into words: of each line the first, and none of a line right behind one that is wrong, where they say
 * nothing new. Where tabs indent lines, these alone.
 * @param text what was parsed
 */
export function explainYaml(errors: readonly YAMLError[], text: string): readonly YamlProblem[] {
  const tabs = errors.filter(({ code }) => code === 'TAB_AS_INDENT');
  const told: YamlProblem[] = [];
  let lastLine = Number.NEGATIVE_INFINITY;
  let line = 0;
  let counted = 0;
  for (const error of (tabs.length > 0 ? tabs : errors).toSorted((one, other) => one.pos[0] - other.pos[0])) {
    const [offset] = error.pos;
    for (; counted < offset && counted < text.length; counted += 1) if (text[counted] === '\n') line += 1;
    const isNew = tabs.length > 0 ? line > lastLine : line > lastLine + 1;
    lastLine = line;
    if (isNew) told.push({ offset, message: messageOf(error, text) });
  }
  return told;
}

function messageOf(error: YAMLError, text: string): string {
  return `not YAML: ${causeOf(error, text) ?? error.message}`;
}

function causeOf({ code, message, pos: [offset] }: YAMLError, text: string): string | undefined {
  const before = text.slice(Math.max(0, offset - 50), offset);
  // {CUBE}.status: a map, and then something more.
  if (code === 'UNEXPECTED_TOKEN' && /[}\]]\s*$/.test(before)) return needsQuotes;
  if (code === 'UNEXPECTED_TOKEN' && /['"]$/.test(before))
    return 'behind a closing quote: a text with quotes stands in quotes of the other kind';
  if (code === 'MISSING_CHAR' && message.startsWith('Sequence item'))
    return 'the line stands too far out, or its - is missing';
  return causes[code];
}

/** ` (what begins with …)` where a text was meant and YAML read a map, `{amount}` without its quotes; else nothing. */
export function quotesHint(value: unknown): string {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isUnquoted = items.some(
    (item) =>
      typeof item === 'object' &&
      item !== null &&
      !Array.isArray(item) &&
      Object.keys(item).length > 0 &&
      Object.values(item).every((inner) => inner === null),
  );
  return isUnquoted ? `; ${needsQuotes}` : '';
}
