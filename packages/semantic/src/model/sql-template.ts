/** Reads the SQL fragments of a data model: `{CUBE}.x`, `{member}`, `{cube}.x`, `{cube.member}`; `\{` is a brace of the SQL itself. */
import type { DimensionReference, SqlPart, SqlTemplate } from './data-model.ts';
import type { ModelNames } from './names.ts';
import { noCompileContext } from './read-shape.ts';
import { noJinja } from './yaml-source.ts';

const name = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What other versions of this format put into fragments, with what is to be done instead. */
const foreign: Readonly<Record<string, string>> = {
  FILTER_PARAMS:
    'FILTER_PARAMS is not supported: filters of a query reach the cube by themselves; what must always hold is written into a policy',
  FILTER_GROUP: 'FILTER_GROUP is not supported: filters of a query reach the cube by themselves',
  SECURITY_CONTEXT: 'SECURITY_CONTEXT is not supported: rows are kept from users by access_policy',
  COMPILE_CONTEXT: noCompileContext,
  SQL_UTILS: 'SQL_UTILS is not supported: times are turned into the time zone of the query by themselves',
};

/** A fragment, or what is wrong with it. `isLost`: it names what another reported error leaves unknown. */
export type ParsedTemplate = { readonly parts: SqlTemplate } | { readonly problem: string } | { readonly isLost: true };

/**
 * Parses a fragment. The text between references is SQL of the warehouse, written by the model's author, and is trusted.
 * @param cube the cube that the fragment stands in
 */
export function parseSqlTemplate(text: string, cube: string, names: ModelNames): ParsedTemplate {
  const trimmed = text.trim();
  // A fragment that is one bare name is a column of its own cube, whatever else is joined.
  if (name.test(trimmed) && !/^(true|false|null)$/i.test(trimmed)) {
    return {
      parts: [
        { kind: 'cube', cube },
        { kind: 'text', text: `.${trimmed}` },
      ],
    };
  }
  if (/\{\{|\{%|\{#/.test(text.replaceAll(/\\[{}]/g, ''))) return { problem: noJinja };
  const parts: SqlPart[] = [];
  let plain = '';
  let end = 0;
  let isLost = false;
  for (const match of text.matchAll(/\\([{}])|\{([^{}]*)\}|[{}]/g)) {
    plain += text.slice(end, match.index);
    end = match.index + match[0].length;
    const [, escaped, inside] = match;
    if (escaped !== undefined) plain += escaped;
    else if (inside === undefined)
      return { problem: 'a brace in the SQL has no partner; a brace of the SQL itself is written \\{' };
    else {
      const part = parseReference(inside.trim(), cube, names);
      if ('problem' in part) return part;
      if ('isLost' in part) isLost = true;
      else if (plain.endsWith('$')) return { problem: `"$${match[0]}" is JavaScript: write ${match[0]}` };
      else {
        if (plain !== '') parts.push({ kind: 'text', text: plain });
        plain = '';
        parts.push(part);
      }
    }
  }
  plain += text.slice(end);
  // A comment must not swallow what is written behind the fragment.
  if (text.includes('--')) plain += '\n';
  if (plain !== '') parts.push({ kind: 'text', text: plain });
  return isLost ? { isLost } : { parts };
}

/** A member or cube that stands between braces. */
function parseReference(
  inside: string,
  own: string,
  names: ModelNames,
): Exclude<SqlPart, { kind: 'text' | 'literal' }> | { readonly problem: string } | { readonly isLost: true } {
  const [first = '', second, ...rest] = inside.split('.').map((part) => part.trim());
  const known = Object.hasOwn(foreign, first) ? foreign[first] : undefined;
  if (known !== undefined) return { problem: known };
  if (second === 'sql()' && name.test(first)) {
    return { problem: `"{${inside}}" is not supported: write the query out, or join the cube ${first}` };
  }
  const unit = unitOf([first, second, ...rest], own, names);
  if (unit !== null) return { problem: unit };
  if (rest.length > 0 && [first, second, ...rest].every((part) => part !== undefined && name.test(part))) {
    return { problem: `"{${inside}}" has a path of several parts; write {cube.member}, and the path into a view` };
  }
  if (!name.test(first) || (second !== undefined && !name.test(second)) || rest.length > 0) {
    const brace = inside.length < 60 ? `"{${inside}}"` : 'this';
    return {
      problem: `${brace} is not a reference; write {CUBE}, {member} or {cube.member}, and \\{ for a brace of the SQL`,
    };
  }
  const isOwn = first === 'CUBE' || (first === 'TABLE' && names.cube(first) === 'missing');
  const cube = isOwn ? own : first;
  if (second !== undefined) return findMember(cube, second, names);
  if (isOwn) return { kind: 'cube', cube };
  const state = names.member(own, first);
  if (state === 'there') return { kind: 'member', cube: own, member: first };
  const cubeState = names.cube(first);
  if (cubeState === 'there') return { kind: 'cube', cube: first };
  if (state === 'lost' || cubeState === 'lost') return { isLost: true };
  const candidates = [...names.membersOf(own), ...names.cubes()];
  return { problem: `no member or cube "${first}" in cube ${own}${names.suggest(first, candidates)}` };
}

/** Why `{created_at.month}` is refused, a time dimension with a unit behind it; null for anything else. */
function unitOf(names: readonly (string | undefined)[], own: string, all: ModelNames): string | null {
  const [unit = '', member = '', first = own, more] = names.toReversed();
  const cube = first === 'CUBE' || first === 'TABLE' ? own : first;
  const found =
    more === undefined && name.test(unit) && all.cube(member) !== 'there' ? all.find(cube, member) : undefined;
  if (found?.kind !== 'dimension' || found.file.type !== 'time') return null;
  return `"{${names.join('.')}}" is a unit of ${member}, which has no place in SQL: write {${member}}, in a function of the warehouse`;
}

/** A member of a cube, by names. */
function findMember(
  cube: string,
  member: string,
  names: ModelNames,
): ({ readonly kind: 'member' } & DimensionReference) | { readonly problem: string } | { readonly isLost: true } {
  const state = names.cube(cube);
  if (state === 'lost') return { isLost: true };
  if (state === 'missing') return { problem: `no cube "${cube}"${names.suggest(cube, names.cubes())}` };
  const found = names.member(cube, member);
  if (found === 'there') return { kind: 'member', cube, member };
  if (found === 'lost') return { isLost: true };
  return { problem: `no member "${member}" in cube ${cube}${names.suggest(member, names.membersOf(cube))}` };
}

/** A member as lists name it: `status`, `users.city`, `CUBE.status`, each also in braces. */
export function parseMemberName(
  text: string,
  own: string,
  names: ModelNames,
): DimensionReference | { readonly problem: string } | { readonly isLost: true } {
  const inside = /^\{([^{}]*)\}$/.exec(text.trim())?.[1] ?? text;
  const [first = '', second, ...rest] = inside.split('.').map((part) => part.trim());
  if (rest.length > 0 || !name.test(first) || (second !== undefined && !name.test(second))) {
    return { problem: `"${text.slice(0, 80)}" is not a member; write member or cube.member` };
  }
  if (second === undefined) return findMember(own, first, names);
  return findMember(first === 'CUBE' ? own : first, second, names);
}

/**
 * The SQL of a cube: a query, or a name, without references.
 * @returns the text as the warehouse gets it, or what is wrong with it
 */
export function parseCubeSql(text: string): { readonly sql: string } | { readonly problem: string } {
  if (/\{\{|\{%|\{#/.test(text.replaceAll(/\\[{}]/g, ''))) return { problem: noJinja };
  const reference = /(?<!\\)\{\s*([A-Za-z_]\w*)[\w.]*\s*(?:\}|\()/.exec(text);
  const why = foreign[reference?.[1] ?? ''];
  if (reference !== null) {
    return {
      problem: why ?? `the sql of a cube is plain SQL: references such as "${reference[0]}" are not supported here`,
    };
  }
  return { sql: text.replaceAll(/\\([{}])/g, '$1') };
}
