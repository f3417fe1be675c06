/** Reading parts of a JSON query: shapes, sizes, names, and errors that say where. */
import type { z } from 'zod';
import { nearNames } from '../closest-names.ts';
import { SemanticError } from '../semantic-error.ts';

/** How many rows a JSON query may ask for. */
export interface LoadLimits {
  /** Where it says nothing. */
  readonly loadRowsDefault: number;
  readonly loadRowsMax: number;
}

/** What holds where nothing else is said. */
export const largestLoad: LoadLimits = { loadRowsDefault: 10_000, loadRowsMax: 50_000 };

const depthMax = 16;
/** Bytes of a query as JSON. */
const bytesMax = 65_536;

/** Something wrong with a JSON query. @param path where: `filters.0.values`; empty: the query itself */
export function loadError(path: string, problem: string, hint = ''): SemanticError {
  const where = path === '' ? 'The query' : path;
  return new SemanticError('QUERY_INVALID', `${where} ${problem}.`, hint);
}

/**
 * Lets JSON pass that is small enough to be read, and whose texts every warehouse takes.
 * @throws SemanticError QUERY_INVALID
 */
export function guardJson(json: unknown): void {
  let level: readonly unknown[] = [json];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthMax) throw loadError('', `is nested deeper than ${depthMax} levels`);
    const texts = level.flatMap((it) => (typeof it === 'string' ? [it] : isObject(it) ? Object.keys(it) : []));
    if (texts.some((it) => it.includes('\0') || !it.isWellFormed())) {
      throw loadError('', 'holds a text with characters that are none: NUL, or half of a pair');
    }
    level = level.flatMap((it) => (isObject(it) ? Object.values(it) : []));
  }
  if (new TextEncoder().encode(JSON.stringify(json) ?? '').length > bytesMax) {
    throw loadError('', `has more than ${bytesMax} bytes`);
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * A value of the shape. Keys that are not of it are named, with the one that may be meant.
 * @param path where the value stands; empty: it is the query
 * @throws SemanticError QUERY_INVALID
 */
export function readShape<Shape extends z.ZodType>(shape: Shape, json: unknown, path: string): z.infer<Shape> {
  // A shape passes over a key of this name; a query has no use for it.
  if (isObject(json) && Object.hasOwn(json, '__proto__')) throw unknownKey('__proto__', path, []);
  const read = shape.safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue === undefined) throw loadError(path, 'is not valid');
  if (issue.code === 'unrecognized_keys') {
    const known = 'shape' in shape && isObject(shape.shape) ? Object.keys(shape.shape) : [];
    throw unknownKey(issue.keys[0] ?? '', path, known);
  }
  const where = [...(path === '' ? [] : [path]), ...issue.path.map(String)].join('.');
  if (issue.code === 'too_big' && issue.origin !== 'number' && issue.origin !== 'int') {
    const units = issue.origin === 'array' ? 'items' : 'characters';
    throw loadError(where.slice(0, 200), `has more than ${issue.maximum} ${units}`);
  }
  const isOwn = /^(must|is|has) /.test(issue.message);
  throw loadError(where.slice(0, 200), isOwn ? issue.message : wanted(issue));
}

function wanted(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return 'is not valid';
  const nouns: Readonly<Record<string, string>> = {
    string: 'a text',
    object: 'an object',
    array: 'a list',
    tuple: 'a pair',
    boolean: 'true or false',
  };
  return `must be ${nouns[issue.expected] ?? `a ${issue.expected}`}`;
}

/** A key that nothing is done with. */
function unknownKey(key: string, path: string, known: readonly string[]): SemanticError {
  const near = nearNames(key.slice(0, 64), known);
  const hint = near.length > 0 ? `Closest: ${near.join(', ')}` : known.length > 0 ? `Known: ${known.join(', ')}` : '';
  return loadError(path, `has an unknown key "${key.slice(0, 64)}"`, hint);
}

/** The two parts of a name `relation.member`. @throws SemanticError QUERY_INVALID */
export function memberName(name: string, path: string): { readonly relation: string; readonly member: string } {
  const [relation = '', member = '', more] = name.split('.');
  if (relation !== '' && member !== '' && more === undefined) return { relation, member };
  throw loadError(path, `must be view.member or cube.member, not "${name.slice(0, 80)}"`);
}
