import type { Cell, Column } from '@inlay/contract/chat.ts';

/** A value bound to a parameter of a compiled query. */
export type Parameter = string | number | bigint | boolean | null;

/** One SELECT statement with its bound parameters ($1 is the first), made by the semantic layer only. */
export interface WarehouseQuery {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/**
 * The whole result of a query, complete or an error, never cut short: it exists only once the warehouse has finished.
 * `rows()` gives it in chunks of a few thousand rows and may be read once.
 */
export interface WarehouseResult {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  rows(): AsyncGenerator<Cell[][]>;
}

/** A customer's database: read-only, locked down. Only run-query may call it. */
export interface Warehouse {
  /**
   * Runs one SELECT. Aborting `signal` stops the query in the engine and rejects with the signal's reason.
   * @throws InlayError QUERY_FAILED (the cause says what kind of failure it was, for the log, and holds no value) or QUERY_TIMEOUT.
   */
  query(query: WarehouseQuery, options: { signal: AbortSignal; timeoutMs: number }): Promise<WarehouseResult>;
  /** Resolves when the warehouse answers. */
  ping(): Promise<void>;
  /** Closes its connections and the engine; nothing may be asked of it any more. */
  close(): Promise<void>;
}
