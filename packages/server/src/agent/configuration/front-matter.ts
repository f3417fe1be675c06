/** A Markdown file that begins with YAML between two lines `---`. */

/** The parts of such a file; lines count from 1 in the file. */
export interface FrontMatter {
  readonly yaml: string;
  readonly yamlLine: number;
  readonly body: string;
  readonly bodyLine: number;
}

/** Cuts a file into its parts; null when it does not begin with a line `---`, or has no second one. */
export function readFrontMatter(text: string): FrontMatter | null {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  const isFence = (line: string | undefined): boolean => line?.trimEnd() === '---';
  if (!isFence(lines[0])) return null;
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (end < 0) return null;
  return {
    yaml: lines.slice(1, end).join('\n'),
    yamlLine: 2,
    body: lines.slice(end + 1).join('\n'),
    bodyLine: end + 2,
  };
}
