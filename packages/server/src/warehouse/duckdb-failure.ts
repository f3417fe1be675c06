/** What the log may hold of a failure of DuckDB: its kind, and names of the query's own. Its text can hold values of rows. Pure. */
import { codeOf, reasonOf } from '../errors.ts';

/** Where the first line of a kind's text has the names that it is about. */
const namePatterns: ReadonlyMap<string, RegExp> = new Map([
  ['Binder', /"([^"]+)"/g],
  ['Catalog', /\bwith name (\S+) does not exist/g],
  ['Conversion', /\bwhen casting from source column (\w+)/g],
  ['IO', /"([^"]+)"/g],
]);
const namesMax = 5;

/**
 * DuckDB's error without its text: `Out of Range Error`; where it names a column, table or file `Conversion Error: "amount"`. A name
 * counts only when it is one of the query or of the warehouse: all else may be a value.
 * @param own the SQL with its parameters left out, and paths of the warehouse's files
 */
export function toDuckDbFailure(
  error: unknown,
  own: { readonly sql: string; readonly paths: readonly string[] },
): Error {
  const code = codeOf(error);
  // An error of the system: its code says what happened.
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return new Error(code);
  const [line = ''] = reasonOf(error).split('\n', 1);
  const kind = /^([A-Za-z]+(?: [A-Za-z]+){0,2}) Error: /.exec(line)?.[1];
  if (kind === undefined) return new Error('an error without a kind');
  const pattern = namePatterns.get(kind);
  const named = pattern === undefined ? [] : [...line.matchAll(pattern)];
  const names = new Set(named.flatMap(([, name = '']) => (isOwn(name, own) ? [JSON.stringify(name)] : [])));
  return new Error(
    [`${kind} Error`, ...(names.size === 0 ? [] : [[...names].slice(0, namesMax).join(', ')])].join(': '),
  );
}

function isOwn(name: string, { sql, paths }: { readonly sql: string; readonly paths: readonly string[] }): boolean {
  return paths.includes(name) || (/^[A-Za-z_]\w*$/.test(name) && new RegExp(`\\b${name}\\b`).test(sql));
}
