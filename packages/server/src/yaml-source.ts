/** A piece of YAML in a file, read with the place of whatever is wrong in it. */
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { SourceFile } from './query/model-files.ts';

/** Something wrong in a file. Line and column count from 1. */
export interface ConfigurationIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Says what is wrong at a place of a piece of YAML, given as the keys and indexes that lead to it. */
export type ReportAt = (path: readonly PropertyKey[], message: string) => void;

/** `config.yml:3:5: …`, as logs and commands show an issue. */
export function issueText({ file, line, column, message }: ConfigurationIssue): string {
  return `${file}:${line}:${column}: ${message}`;
}

/**
 * Parses YAML under a shape.
 * @param source `firstLine`: the line of the file, from 1, at which the text begins
 * @returns the value and a way to report more about it; null when there are issues, which are pushed
 */
export function readYaml<T>(
  source: SourceFile & { readonly firstLine?: number },
  shape: z.ZodType<T>,
  issues: ConfigurationIssue[],
): { readonly value: T; readonly report: ReportAt } | null {
  const lines = new LineCounter();
  const document = parseDocument(source.text, { lineCounter: lines, prettyErrors: false });
  const push = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset);
    issues.push({ file: source.path, line: line + (source.firstLine ?? 1) - 1, column: col, message });
  };
  for (const error of document.errors) push(error.pos[0], error.message);
  if (document.errors.length > 0) return null;

  /** At the node itself, or else at the nearest one that exists above it. */
  const report: ReportAt = (path, message) => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return push(node.range[0], message);
    }
    push(0, message);
  };
  let content: unknown;
  try {
    // An alias can stand for a huge tree; the limit makes a bomb an error.
    content = document.toJS({ maxAliasCount: 100 });
  } catch {
    report([], 'too many YAML aliases');
    return null;
  }
  const parsed = shape.safeParse(content ?? {});
  if (parsed.success) return { value: parsed.data, report };
  for (const issue of parsed.error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) report([...issue.path, key], `"${key}" is not known here`);
    } else report(issue.path, issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`);
  }
  return null;
}
