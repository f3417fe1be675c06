/** Failures of a warehouse as callers and the log get them. An engine's own words may be values of rows: nobody gets those. */
import { InlayError } from '../errors.ts';
import type { WarehouseQuery } from './warehouse.ts';

/** The query ran, and failed. @param kind for the log: kinds, codes, names of the query's own */
export function queryFailed(kind: string): InlayError {
  return new InlayError('QUERY_FAILED', 'The warehouse could not run the query.', { cause: new Error(kind) });
}

/** The warehouse does not answer, or lets nobody in. @param kind for the log, as above */
export function warehouseUnavailable(kind: string): InlayError {
  return new InlayError('WAREHOUSE_UNAVAILABLE', 'The warehouse cannot be reached; try again later.', {
    cause: new Error(kind),
    retryAfterSeconds: 5,
  });
}

/** The warehouse says itself that it has too much to do. */
export function warehouseBusy(kind: string): InlayError {
  return new InlayError('WAREHOUSE_BUSY', 'The warehouse is busy; try again.', {
    cause: new Error(kind),
    retryAfterSeconds: 5,
  });
}

/** Of those names the first few that are words of the query itself, its bound values left out, or among `known`: no values. */
export function ownNames(
  names: Iterable<string>,
  { sql }: Pick<WarehouseQuery, 'sql'>,
  known: readonly string[] = [],
): readonly string[] {
  const isOwn = (name: string): boolean =>
    known.includes(name) || (/^[A-Za-z_]\w*$/.test(name) && new RegExp(`\\b${name}\\b`).test(sql));
  return [...new Set(names)].filter(isOwn).slice(0, namesMax);
}
const namesMax = 5;

/** `kind: "a", "b"`. */
export function withNames(kind: string, names: readonly string[]): string {
  return names.length === 0 ? kind : `${kind}: ${names.map((name) => JSON.stringify(name)).join(', ')}`;
}

/**
 * A fence before the engine's own: nothing but what begins as a query is sent at all.
 * @throws InlayError QUERY_FAILED
 */
export function requireSelect({ sql }: Pick<WarehouseQuery, 'sql'>): void {
  if (!/^[\s(]*(select|with)\b/i.test(sql)) throw queryFailed('not a SELECT');
}
