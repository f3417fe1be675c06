/**
 * YAML text → plain values, each with its place. Bounded in depth and in what aliases may stand for, so that no file can make
 * the loader run out of memory or time; no key can reach a prototype.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Issues, Place, Reporter } from './report.ts';
import { explainYaml } from './yaml-words.ts';

/** Values within each other. */
const depthMax = 64;
/** Values that aliases may stand for in one file, those within them included. */
const aliasedMax = 50_000;
/** Errors of the library that are told of one file: what follows the first of them says little. */
const problemsMax = 20;
/** Lists and maps that are opened in one place before the library is asked, which takes long to give up. */
const openedMax = 2000;

const jinja = /\{%|\{\{|\{#/;
/** What is said of a template language, wherever it is met. */
export const noJinja = 'Jinja templates are not supported: write the YAML out, or render it before it is loaded';

/** The value of a file, and who tells what is wrong in it. */
export interface YamlSource {
  readonly value: unknown;
  readonly report: Reporter;
}

/** Reads a file; null when it is not YAML, or beyond the limits, which `issues` then holds. */
export function readYaml(path: string, text: string, issues: Issues): YamlSource | null {
  const lines = new LineCounter();
  let document: Document.Parsed;
  if (isTooNested(text)) {
    issues.add(path, lines, 0, 'not YAML: too many lists and maps within each other');
    return null;
  }
  try {
    // Keys that stand twice are found below: the library compares each with each. A silent library would pass over all documents
    // of the file but the first.
    document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false, logLevel: 'error' });
  } catch {
    issues.add(path, lines, 0, 'not YAML: too deep, or too much');
    return null;
  }
  const problems = [...document.errors, ...document.warnings];
  const template = jinja.exec(text);
  if (problems.length > 0 && template !== null) {
    issues.add(path, lines, template.index, noJinja);
    return null;
  }
  for (const { offset, message } of explainYaml(problems, text).slice(0, problemsMax)) {
    issues.add(path, lines, offset, message);
  }
  if (problems.length > 0) return null;
  const converted = convert(document.contents, (offset, message) => issues.add(path, lines, offset, message));
  if (converted === null) return null;
  return { value: converted.value, report: issues.reporter(path, lines, converted.place) };
}

/** Whether more is opened than any file written by people opens: brackets that are not closed, or signs in a row. */
function isTooNested(text: string): boolean {
  let open = 0;
  for (const [sign] of text.matchAll(/[[\]{}]/g)) {
    open += sign === '[' || sign === '{' ? 1 : -1;
    if (open > openedMax) return true;
    if (open < 0) open = 0;
  }
  return new RegExp(`(?:[-?:][ \\t\\n]+){${openedMax}}`).test(text);
}

interface Converted {
  readonly value: unknown;
  readonly place: Place;
}

/** Null when the file is beyond a limit; what else is wrong is told, and left out. */
function convert(contents: unknown, tell: (offset: number, message: string) => void): Converted | null {
  const anchors = new Map<string, unknown>();
  const open = new Set<unknown>();
  let aliased = 0;
  let isWithinAlias = false;
  let isOver = false;

  const stop = (offset: number, message: string): Converted => {
    if (!isOver) tell(offset, message);
    isOver = true;
    return { value: null, place: { at: offset, inside: null } };
  };

  const walk = (node: unknown, depth: number, at: number, isFree: boolean): Converted => {
    if (isOver) return { value: null, place: { at, inside: null } };
    const start = startOf(node) ?? at;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined || open.has(target)) return stop(start, `the alias *${node.source} stands for nothing`);
      const wasWithin = isWithinAlias;
      isWithinAlias = true;
      const found = walk(target, depth, start, isFree);
      isWithinAlias = wasWithin;
      return found;
    }
    if (isWithinAlias) aliased += 1;
    if (aliased > aliasedMax) return stop(start, 'too many YAML aliases');
    if (depth > depthMax) return stop(start, `more than ${depthMax} values within each other`);
    if (isScalar(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      return { value: node.value, place: { at: start, inside: null } };
    }
    if (!isMap(node) && !isSeq(node)) return { value: null, place: { at: start, inside: null } };
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    open.add(node);
    const inside = new Map<string | number, { readonly keyAt: number; readonly place: Place }>();
    const value: unknown[] | Record<string, unknown> = isSeq(node) ? [] : {};
    if (Array.isArray(value)) {
      for (const [index, item] of node.items.entries()) {
        const found = walk(item, depth + 1, start, isFree);
        value.push(found.value);
        inside.set(index, { keyAt: found.place.at, place: found.place });
      }
    } else if (isMap(node)) {
      const merged: Converted[] = [];
      for (const { key: keyNode, value: valueNode } of node.items) {
        const keyAt = startOf(keyNode) ?? start;
        const written = isScalar(keyNode) ? String(keyNode.value) : null;
        if (written === null) {
          tell(keyAt, `a key has to be a name${isMap(keyNode) ? `; ${noJinja}` : ''}`);
          continue;
        }
        if (written === '__proto__') {
          tell(keyAt, 'the key __proto__ is not allowed');
          continue;
        }
        const key = isFree ? written : snakeCase(written);
        const found = walk(valueNode, depth + 1, keyAt, isFree || key === 'meta');
        if (written === '<<' && isScalar(keyNode) && keyNode.type === 'PLAIN') {
          merged.push(...mergedOf(found));
          continue;
        }
        if (Object.hasOwn(value, key)) tell(keyAt, `the key ${key} stands here twice`);
        value[key] = found.value;
        inside.set(key, { keyAt, place: found.place });
      }
      for (const from of merged) {
        for (const [key, item] of isRecord(from.value) ? Object.entries(from.value) : []) {
          const place = from.place.inside?.get(key);
          if (Object.hasOwn(value, key) || place === undefined) continue;
          value[key] = item;
          inside.set(key, place);
        }
      }
    }
    open.delete(node);
    return { value, place: { at: start, inside } };
  };

  const result = walk(contents, 0, 0, false);
  return isOver ? null : result;
}

/** The maps that a merge key (`<<`) takes over: one, or those of a list. */
function mergedOf(found: Converted): readonly Converted[] {
  if (!Array.isArray(found.value)) return [found];
  return found.value.flatMap((value: unknown, index) => {
    const place = found.place.inside?.get(index)?.place;
    return place === undefined ? [] : [{ value, place }];
  });
}

/** Whether a value of a file is a map. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `sqlTable` → `sql_table`: the same files are written in both ways. Keys below `meta` are the author's own. */
export const snakeCase = (key: string): string =>
  /^[a-z]+(?:[A-Z][a-z]+)+$/.test(key) ? key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : key;

function startOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return undefined;
  const [start]: unknown[] = node.range;
  return typeof start === 'number' ? start : undefined;
}
