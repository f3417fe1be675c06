/**
 * DuckDB over a folder of files or over a database of its own, locked down (duckdb-files.ts); only a single SELECT is ever run.
 */
import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  ResultReturnType,
  StatementType,
} from '@duckdb/node-api';
import { createSemaphore, type Semaphore } from '../semaphore.ts';
import { createWarehouse } from './create-warehouse.ts';
import { toDuckDbFailure } from './duckdb-failure.ts';
import { type DuckDbSettings, openLockedDuckDb } from './duckdb-files.ts';
import { columnReader, readRows } from './duckdb-values.ts';
import type { Engine, EngineRun } from './engine.ts';
import { queryFailed } from './failures.ts';
import type { Parameter, Warehouse, WarehouseQuery } from './warehouse.ts';

/** Queries and streams that may be open; a stream whose reader is slow holds nothing but its connection and its buffer. */
const connectionsMax = 8;
/**
 * Queries that are in the engine at once; more wait their turn. Each uses all of DuckDB's threads, so a few are enough; and
 * each holds one of the four threads that Node has for files, of which one has to stay free.
 */
const turnsMax = 3;
/** How often a query that was told to stop is told again: told before it has begun, it would not hear. */
const interruptEveryMs = 10;

/** @throws InlayError NOT_READY when the files cannot be read, or there are none */
export async function openDuckDb(settings: DuckDbSettings, pauseMs?: number): Promise<Warehouse> {
  const { instance, paths } = await openLockedDuckDb(settings);
  const idle: DuckDBConnection[] = [];
  const turns = createSemaphore(turnsMax);
  let pinging: Promise<void> | null = null;
  const pingOnce = async (): Promise<void> => {
    const connection = await instance.connect();
    try {
      await connection.run('SELECT 1');
    } finally {
      connection.closeSync();
    }
  };
  const engine: Engine = {
    dialect: 'duckdb',
    queriesMax: connectionsMax,
    async run(query, { stop }) {
      const connection = idle.pop() ?? (await instance.connect());
      const giveBack = () => void idle.push(connection);
      try {
        return await beginRun({ connection, turns, giveBack }, query, stop);
      } catch (error) {
        giveBack();
        throw error;
      }
    },
    toFailure: (error, { sql }) => queryFailed(toDuckDbFailure(error, { sql, paths })),
    async ping() {
      // Not in the queue: a warehouse that is busy is not one that does not answer. All who ask at once share one answer.
      pinging ??= pingOnce().finally(() => {
        pinging = null;
      });
      await pinging;
    },
    async close() {
      for (const connection of idle.splice(0)) connection.closeSync();
      instance.closeSync();
    },
  };
  return createWarehouse(engine, pauseMs);
}

interface Scope {
  readonly connection: DuckDBConnection;
  readonly turns: Semaphore;
  readonly giveBack: () => void;
}

async function beginRun({ connection, turns, giveBack }: Scope, query: WarehouseQuery, stop: AbortSignal) {
  /** One call of the engine, in turn, interrupted when the query is to stop. */
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    using _turn = await turns.enter(stop);
    return await interrupting(connection, stop, work);
  };
  const statement = await inTurn(() => connection.prepare(query.sql));
  try {
    if (statement.statementType !== StatementType.SELECT) throw queryFailed('not a SELECT');
    for (const [index, value] of query.parameters.entries()) bind(statement, index + 1, value);
    const result = await inTurn(() => statement.stream());
    const readers = result.columnTypes().map(columnReader);
    let isOver = false;
    return {
      columns: result.columnNames().map((name, index) => ({ name, column_type: readers[index]?.type ?? 'String' })),
      async next() {
        const chunk = await inTurn(() => result.fetchChunk());
        stop.throwIfAborted();
        if (chunk !== null && chunk.rowCount > 0) return readRows(chunk, readers);
        isOver = true;
        if (chunk === null || !isWhole(result)) throw new Error('Broken Off Error: ');
        return null;
      },
      async close() {
        if (!isOver) await endEarly(connection, result);
        statement.destroySync();
        giveBack();
      },
    } satisfies EngineRun;
  } catch (error) {
    statement.destroySync();
    throw error;
  }
}

/**
 * Whether the last chunk was the end of the result. A streamed result ends silently, as if complete, when the query fails or is
 * interrupted half-way; what it was is lost, but DuckDB documents that the type of a result is INVALID once it has an error.
 */
function isWhole(result: DuckDBResult): boolean {
  return result.returnType === ResultReturnType.QUERY_RESULT;
}

/** Does the work, and tells the engine to stop it for as long as it goes on once `stop` has aborted. */
async function interrupting<T>(connection: DuckDBConnection, stop: AbortSignal, work: () => Promise<T>): Promise<T> {
  stop.throwIfAborted();
  let telling: NodeJS.Timeout | undefined;
  const tell = (): void => {
    connection.interrupt();
    telling ??= setInterval(() => connection.interrupt(), interruptEveryMs);
  };
  stop.addEventListener('abort', tell);
  try {
    return await work();
  } finally {
    stop.removeEventListener('abort', tell);
    clearInterval(telling);
  }
}

/** Interrupts a result that nobody reads on, and waits for its end: what is still buffered comes first. Never rejects. */
async function endEarly(connection: DuckDBConnection, result: DuckDBResult): Promise<void> {
  const telling = setInterval(() => connection.interrupt(), interruptEveryMs);
  connection.interrupt();
  try {
    let chunk = await result.fetchChunk();
    while (chunk !== null && chunk.rowCount > 0) chunk = await result.fetchChunk();
  } catch {
    // It ended, one way or another.
  } finally {
    clearInterval(telling);
  }
}

function bind(statement: DuckDBPreparedStatement, index: number, value: Parameter): void {
  if (value === null) statement.bindNull(index);
  else if (typeof value === 'string') statement.bindVarchar(index, value);
  else if (typeof value === 'bigint') statement.bindBigInt(index, value);
  else if (typeof value === 'boolean') statement.bindBoolean(index, value);
  else statement.bindDouble(index, value);
}
