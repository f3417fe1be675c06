/** PostgreSQL's errors → ours. Its words and details can hold values of rows: only its codes, and names of the query's own, stay. */
import { codeOf, InlayError, reasonOf } from '../errors.ts';
import { LostConnection } from './engine.ts';
import { ownNames, queryFailed, warehouseBusy, warehouseUnavailable, withNames } from './failures.ts';
import type { WarehouseQuery } from './warehouse.ts';

/** Codes that are met often, in words, so that nobody has to look them up. */
const meanings: ReadonlyMap<string, string> = new Map([
  ['22012', 'division by zero'],
  ['22003', 'numeric value out of range'],
  ['22P02', 'invalid text representation'],
  ['25006', 'read-only transaction'],
  ['28P01', 'invalid password'],
  ['3D000', 'no such database'],
  ['42501', 'insufficient privilege'],
  ['42601', 'syntax error'],
  ['42703', 'undefined column'],
  ['42804', 'datatype mismatch'],
  ['42883', 'undefined function'],
  ['42P01', 'undefined table'],
  ['53200', 'out of memory'],
  ['57P01', 'the server is shut down'],
]);

/** Codes whose first line says which name it is about. */
const naming = /^42(703|P01|883|501)$/;

/** What a failure of a query, or of the connection, is to the caller. */
export function toPostgresFailure(error: unknown, query: Pick<WarehouseQuery, 'sql'>): InlayError {
  const cause = error instanceof LostConnection ? error.cause : error;
  const code = codeOf(cause);
  if (typeof code !== 'string') {
    return error instanceof LostConnection
      ? warehouseUnavailable('no connection')
      : queryFailed('the connection was lost');
  }
  // An error of the system or of TLS, such as ECONNREFUSED, EAI_AGAIN, CERT_HAS_EXPIRED. PostgreSQL's own codes all have a digit.
  if (!/^(?=.*\d)[\dA-Z]{5}$/.test(code)) return warehouseUnavailable(code);
  const meaning = meanings.get(code);
  const kind = `SQLSTATE ${code}${meaning === undefined ? '' : ` (${meaning})`}`;
  if (code === '53300') return warehouseBusy(kind);
  // Whatever keeps the connection from being had is not the query's: the right to connect may be missing, too.
  if (error instanceof LostConnection || /^(08|28|3D|57P)/.test(code)) return warehouseUnavailable(kind);
  if (code === '57014') {
    return new InlayError('QUERY_TIMEOUT', 'The warehouse stopped the query.', { cause: new Error(kind) });
  }
  const names = naming.test(code)
    ? [...reasonOf(cause).matchAll(/"?([A-Za-z_]\w*)"?/g)].map(([, name = '']) => name)
    : [];
  // Words such as "column" stand in PostgreSQL's sentence, and may stand in the query, too.
  const words = /^(column|table|relation|function|does|not|exist|for|permission|denied)$/;
  return queryFailed(
    withNames(
      kind,
      ownNames(
        names.filter((name) => !words.test(name)),
        query,
      ),
    ),
  );
}
