/** What the log may hold of a failure of DuckDB: its kind, and names of the query's own. Its text can hold values of rows. Pure. */
import { codeOf, reasonOf } from '../errors.ts';
import { ownNames, withNames } from './failures.ts';

/** Where the first line of a kind's text has the names that it is about. */
const namePatterns: ReadonlyMap<string, RegExp> = new Map([
  ['Binder', /"([^"]+)"/g],
  ['Catalog', /\bwith name (\S+) does not exist/g],
  ['Conversion', /\bwhen casting from source column (\w+)/g],
  ['IO', /"([^"]+)"/g],
]);

/**
 * DuckDB's error without its text: `Out of Range Error`; where it names a column, table or file `Conversion Error: "amount"`. A name
 * counts only when it is one of the query or of the warehouse: all else may be a value.
 * @param own the SQL with its parameters left out, and paths of the warehouse's files
 */
export function toDuckDbFailure(
  error: unknown,
  own: { readonly sql: string; readonly paths: readonly string[] },
): string {
  const code = codeOf(error);
  // An error of the system: its code says what happened.
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return code;
  const [line = ''] = reasonOf(error).split('\n', 1);
  const kind = /^([A-Za-z]+(?: [A-Za-z]+){0,2}) Error: /.exec(line)?.[1];
  if (kind === undefined) return 'an error without a kind';
  const pattern = namePatterns.get(kind);
  const named = pattern === undefined ? [] : [...line.matchAll(pattern)].map(([, name = '']) => name);
  return withNames(`${kind} Error`, ownNames(named, own, own.paths));
}
