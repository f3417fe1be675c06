/** Reads the SQL fragments of a data model: `{CUBE}.x`, `{member}`, `{cube}.x`, `{cube.member}`. */
import type { SqlPart, SqlTemplate } from './data-model.ts';

const reference = /\{([^{}]*)\}/g;
const name = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What the names in a fragment mean: which cubes and which members there are. */
export interface TemplateScope {
  /** The cube that the fragment stands in. */
  readonly cube: string;
  readonly hasCube: (cube: string) => boolean;
  readonly hasMember: (cube: string, member: string) => boolean;
}

/**
 * Parses a fragment. The text between references is SQL of the warehouse, written by the model's author, and is trusted.
 * @returns the parts, or a sentence that says what is wrong.
 */
export function parseSqlTemplate(text: string, scope: TemplateScope): SqlTemplate | string {
  // A fragment that is one bare name is a column of its own cube, whatever else is joined.
  if (name.test(text.trim()) && !/^(true|false|null)$/i.test(text.trim())) {
    return [
      { kind: 'cube', cube: scope.cube },
      { kind: 'text', text: `.${text.trim()}` },
    ];
  }
  const parts: SqlPart[] = [];
  let end = 0;
  for (const match of text.matchAll(reference)) {
    if (match.index > end) parts.push({ kind: 'text', text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    const part = parseReference((match[1] ?? '').trim(), scope);
    if (typeof part === 'string') return part;
    parts.push(part);
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) });
  // A comment must not swallow what is written behind the fragment.
  if (text.includes('--')) parts.push({ kind: 'text', text: '\n' });
  const stray = parts.find((part) => part.kind === 'text' && /[{}]/.test(part.text));
  return stray === undefined ? parts : 'a brace in the SQL has no partner';
}

function parseReference(inside: string, scope: TemplateScope): SqlPart | string {
  const names = inside.split('.').map((part) => part.trim());
  const [first = '', second, ...rest] = names;
  if (first === 'FILTER_PARAMS') return 'FILTER_PARAMS is not supported: write the filter into a view or a policy';
  if (!names.every((part) => name.test(part)) || rest.length > 0) {
    return `"{${inside}}" is not a reference; write {CUBE}, {member} or {cube.member}`;
  }
  const cube = first === 'CUBE' ? scope.cube : first;
  if (second === undefined) {
    if (first === 'CUBE') return { kind: 'cube', cube };
    if (scope.hasMember(scope.cube, first)) return { kind: 'member', cube: scope.cube, member: first };
    if (scope.hasCube(first)) return { kind: 'cube', cube: first };
    return `no member or cube "${first}" in cube ${scope.cube}`;
  }
  if (!scope.hasCube(cube)) return `no cube "${cube}"`;
  if (!scope.hasMember(cube, second)) return `no member "${second}" in cube ${cube}`;
  return { kind: 'member', cube, member: second };
}
