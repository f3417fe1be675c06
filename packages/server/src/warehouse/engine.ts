/** What one kind of warehouse has to do itself; all that is the same for every kind is done by create-warehouse.ts. */
import type { Cell, Column } from '@inlay/contract/chat.ts';
import type { InlayError } from '../errors.ts';
import type { DialectName, WarehouseQuery } from './warehouse.ts';

/** A query that the engine has begun. */
export interface EngineRun {
  readonly columns: readonly Column[];
  /** The next rows; null when all were given, for certain. Rejects when the query failed, broke off or was stopped. */
  next(): Promise<Cell[][] | null>;
  /** Stops the query where it still runs, and gives everything back. Called once, never while `next` waits. Never rejects. */
  close(): Promise<void>;
}

/** How a query is run. */
export interface RunOptions {
  /** Once it aborts, the query is stopped in the engine, and `run` or `next` reject. */
  readonly stop: AbortSignal;
  /** For limits of the engine's own, should this process be gone: a little more than what `stop` allows. */
  readonly timeoutMs: number;
}

/**
 * The connection could not be had, or was lost before anything of an answer had come: a SELECT may be tried once more, and that
 * may help. Whatever is lost later is not tried again.
 */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the warehouse cannot be reached', { cause });
    this.name = 'LostConnection';
  }
}

/** One kind of warehouse, open. */
export interface Engine {
  readonly dialect: DialectName;
  /** Queries that run at once. */
  readonly queriesMax: number;
  /** Begins a query. Whoever gets a run closes it. @throws LostConnection */
  run(query: WarehouseQuery, options: RunOptions): Promise<EngineRun>;
  /** What a failure of the query is to the caller: its cause has kinds, codes and names of the query's own, never values. */
  toFailure(error: unknown, query: WarehouseQuery): InlayError;
  ping(): Promise<void>;
  close(): Promise<void>;
}
