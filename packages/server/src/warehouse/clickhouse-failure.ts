/** ClickHouse's errors → ours. Its words can hold values of rows: only its codes, and names of the query's own, stay. */
import { codeOf, InlayError, reasonOf } from '../errors.ts';
import { LostConnection } from './engine.ts';
import { ownNames, queryFailed, warehouseBusy, warehouseUnavailable, withNames } from './failures.ts';
import type { WarehouseQuery } from './warehouse.ts';

/** ClickHouse has no other list of what its numbers mean than its source; these are met often. */
const meanings: ReadonlyMap<number, string> = new Map([
  [6, 'CANNOT_PARSE_TEXT'],
  [27, 'CANNOT_PARSE_INPUT_ASSERTION_FAILED'],
  [43, 'ILLEGAL_TYPE_OF_ARGUMENT'],
  [46, 'UNKNOWN_FUNCTION'],
  [47, 'UNKNOWN_IDENTIFIER'],
  [60, 'UNKNOWN_TABLE'],
  [62, 'SYNTAX_ERROR'],
  [81, 'UNKNOWN_DATABASE'],
  [153, 'ILLEGAL_DIVISION'],
  [164, 'READONLY'],
  [241, 'MEMORY_LIMIT_EXCEEDED'],
  [386, 'NO_COMMON_TYPE'],
  [395, 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
  [497, 'ACCESS_DENIED'],
  [516, 'AUTHENTICATION_FAILED'],
]);
const timeoutExceeded = 159;
const tooManyQueries = 202;
/** Nobody is let in. */
const refusals: ReadonlySet<number> = new Set([81, 192, 193, 194, 195, 516]);
/** Those whose first words say which name it is about. */
const naming: ReadonlySet<number> = new Set([46, 47, 60]);

/** ClickHouse's own error, or null. The client gives it a code; in the middle of a result it stands in the text. */
function clickHouseCode(error: unknown): number | null {
  const code = Number(codeOf(error) ?? /\bCode: (\d+)\. DB::Exception/.exec(reasonOf(error))?.[1] ?? Number.NaN);
  return Number.isInteger(code) ? code : null;
}

/** Whether no connection could be had: nothing was sent. */
export function isRefusedConnection(error: unknown): boolean {
  return /^(ECONNREFUSED|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ECONNRESET|EPIPE)$/.test(
    String(codeOf(error)),
  );
}

/** What a failure of a query, or of the connection, is to the caller. */
export function toClickHouseFailure(error: unknown, query: Pick<WarehouseQuery, 'sql'>): InlayError {
  const cause = error instanceof LostConnection ? error.cause : error;
  const code = clickHouseCode(cause);
  if (code === null) {
    const system = codeOf(cause);
    // Of the system or of TLS, such as ECONNREFUSED, DEPTH_ZERO_SELF_SIGNED_CERT.
    if (typeof system === 'string' && /^[A-Z][A-Z_]+$/.test(system)) return warehouseUnavailable(system);
    return error instanceof LostConnection
      ? warehouseUnavailable('no connection')
      : queryFailed('a reply that is no result, or only the beginning of one');
  }
  const meaning = meanings.get(code);
  const kind = `ClickHouse code ${code}${meaning === undefined ? '' : ` (${meaning})`}`;
  if (code === timeoutExceeded) {
    return new InlayError('QUERY_TIMEOUT', 'The warehouse stopped the query.', { cause: new Error(kind) });
  }
  if (code === tooManyQueries) return warehouseBusy(kind);
  if (refusals.has(code)) return warehouseUnavailable(kind);
  const names = naming.has(code) ? [...reasonOf(cause).matchAll(/[`']([^`']+)[`']/g)].map(([, name = '']) => name) : [];
  return queryFailed(withNames(kind, ownNames(names, query)));
}
