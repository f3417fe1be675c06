/** What run-query asks of a warehouse, whatever its kind. */
import type { Cell, Column } from '@inlay/contract/chat.ts';
import type { Dialect } from '@inlay/semantic/dialects/dialect.ts';

/** A value bound to a parameter of a compiled query. */
export type Parameter = string | number | bigint | boolean | null;

/** One SELECT statement with its bound parameters (the first is `$1`, `{p1:…}`), made by the semantic layer only. */
export interface WarehouseQuery {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** How much of the warehouse one query may take. */
export interface QueryLimits {
  /** Aborting it stops the query in the engine. */
  readonly signal: AbortSignal;
  /** Waiting for a place included. */
  readonly timeoutMs: number;
  /** Rows of the result at most; left out: as many as there are. */
  readonly rowsMax?: number | undefined;
  /** Bytes of the result at most: what `sizeOfRow` (collect-rows.ts) estimates; left out: as many as there are. */
  readonly bytesMax?: number | undefined;
}

/** How long a stream may take. Beside that, its reader must take a chunk every minute, and all of it within an hour. */
export interface StreamLimits {
  /** Aborting it stops the query in the engine. */
  readonly signal: AbortSignal;
  /** What the engine may take, waiting for a place included; the time in which the reader is busy does not count. */
  readonly timeoutMs: number;
}

/**
 * The whole result of a query, complete or an error, never cut short: it exists only once the warehouse has finished.
 * `rows()` gives it in chunks of a few thousand rows.
 */
export interface WarehouseResult {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** What it takes in memory, about: the sum of `sizeOfRow` (collect-rows.ts). */
  readonly bytes: number;
  /** May be read any number of times. */
  rows(): AsyncGenerator<Cell[][]>;
}

/** A result on its way. */
export interface WarehouseStream {
  readonly columns: readonly Column[];
  /**
   * The rows, in chunks as the engine makes them, to be read once. The engine waits while nobody reads. It ends when the
   * result is whole, or throws; a reader who stops in the middle stops the query.
   * @throws InlayError as `Warehouse.query`, without RESULT_TOO_LARGE; the signal's reason when aborted
   */
  rows(): AsyncGenerator<Cell[][]>;
}

/** What SQL a warehouse speaks. */
export type DialectName = Dialect['name'];

/**
 * A customer's database: read-only, locked down. Only run-query may ask it. Equal values are equal cells, whatever the
 * engine (docs/adding-a-warehouse.md).
 */
export interface Warehouse {
  readonly dialect: DialectName;
  /**
   * Runs one SELECT. Aborting `signal` stops the query in the engine and rejects with the signal's reason.
   * @throws InlayError QUERY_FAILED (the cause says what kind of failure it was, for the log, and holds no value),
   *   QUERY_TIMEOUT, RESULT_TOO_LARGE, WAREHOUSE_BUSY (too many queries wait) or WAREHOUSE_UNAVAILABLE (it cannot be reached)
   */
  query(query: WarehouseQuery, limits: QueryLimits): Promise<WarehouseResult>;
  /**
   * Runs one SELECT whose rows are not held in memory. Resolves when the columns are known.
   * @throws InlayError as `query`, without RESULT_TOO_LARGE
   */
  stream(query: WarehouseQuery, limits: StreamLimits): Promise<WarehouseStream>;
  /** Resolves when the warehouse answers, however busy it is. @throws InlayError WAREHOUSE_UNAVAILABLE */
  ping(): Promise<void>;
  /** Closes its connections and the engine; nothing may be asked of it any more. */
  close(): Promise<void>;
}
