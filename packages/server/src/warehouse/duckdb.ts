/**
 * DuckDB over a folder of Parquet files, each a table named as the file. Locked down: no file, network or extension can
 * be reached but those files, no setting can be changed, and only a single SELECT is ever run.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBPreparedStatement, StatementType } from '@duckdb/node-api';
import type { Cell } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import { createSemaphore } from '../semaphore.ts';
import { toDuckDbFailure } from './duckdb-failure.ts';
import { columnReader } from './duckdb-values.ts';
import type { Parameter, Warehouse, WarehouseQuery, WarehouseResult } from './warehouse.ts';

/**
 * Queries that run at once; more wait their turn. Each uses all of DuckDB's threads, so a few are enough; and each holds
 * one of the four threads that Node has for files, of which one has to stay free.
 */
const connectionsMax = 3;
/** How often a query that was told to stop is told again: told before it has begun, it would not hear. */
const interruptEveryMs = 10;

/**
 * Opens the Parquet files of a folder.
 * @throws InlayError NOT_READY when the folder cannot be read or holds no Parquet file
 */
export async function openDuckDb(settings: { readonly folder: string; readonly threads: number }): Promise<Warehouse> {
  const files = await readdir(settings.folder).catch((cause: unknown) => {
    throw new InlayError('NOT_READY', 'The data folder of a deployment cannot be read.', { cause });
  });
  const tables = files.filter((file) => file.endsWith('.parquet')).sort();
  if (tables.length === 0) throw new InlayError('NOT_READY', 'The data folder of a deployment holds no Parquet file.');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(settings.threads),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  try {
    await lockDown(instance, settings.folder, tables);
  } catch (cause) {
    instance.closeSync();
    throw new InlayError('NOT_READY', 'A Parquet file of a deployment cannot be read.', { cause });
  }

  const paths = tables.map((file) => join(settings.folder, file));
  /** The engine's own words may be values of rows: they are for nobody, and so not for the log. */
  const toFailure = (error: unknown, sql: string): InlayError => {
    const cause = toDuckDbFailure(error, { sql, paths });
    return new InlayError('QUERY_FAILED', 'The warehouse could not run the query.', { cause });
  };
  const idle: DuckDBConnection[] = [];
  const places = createSemaphore(connectionsMax);
  let pinging: Promise<void> | null = null;

  return {
    async query(query, { signal, timeoutMs }) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const stop = AbortSignal.any([signal, timeout]);
      try {
        using _place = await places.enter(stop);
        const connection = idle.pop() ?? (await instance.connect());
        try {
          const result = await runSelect(connection, query, stop);
          return { ...result, rows: () => failingAs(result.rows(), (error) => toFailure(error, query.sql)) };
        } finally {
          idle.push(connection);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted) throw new InlayError('QUERY_TIMEOUT', `The query took longer than ${timeoutMs / 1000} s.`);
        throw toFailure(error, query.sql);
      }
    },
    async ping() {
      // Not in the queue: a warehouse that is busy is not one that does not answer. All who ask at once share one answer.
      pinging ??= ping(instance).finally(() => {
        pinging = null;
      });
      await pinging;
    },
    async close() {
      for (const connection of idle.splice(0)) connection.closeSync();
      instance.closeSync();
    },
  };
}

/** The same items; what they fail with is made another error. */
async function* failingAs<T>(items: AsyncIterable<T>, toError: (error: unknown) => Error): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw toError(error);
  }
}

async function ping(instance: DuckDBInstance): Promise<void> {
  const connection = await instance.connect();
  try {
    await connection.run('SELECT 1');
  } finally {
    connection.closeSync();
  }
}

async function lockDown(instance: DuckDBInstance, folder: string, tables: readonly string[]): Promise<void> {
  const connection = await instance.connect();
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  const paths = tables.map((file) => join(folder, file));
  for (const [index, path] of paths.entries()) {
    const name = tables[index]?.replace(/\.parquet$/, '').replaceAll('"', '""');
    await connection.run(`CREATE VIEW "${name}" AS SELECT * FROM read_parquet(${text(path)})`);
  }
  await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
  // Wrong answers otherwise: merging equal subplans lost rows where inner queries read the same joins (DuckDB 1.5.5).
  await connection.run(`SET GLOBAL disabled_optimizers = 'common_subplan'`);
  await connection.run(`SET temp_directory = ''`);
  await connection.run(`SET allowed_paths = [${paths.map(text).join(', ')}]`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
  connection.closeSync();
}

async function runSelect(
  connection: DuckDBConnection,
  query: WarehouseQuery,
  stop: AbortSignal,
): Promise<WarehouseResult> {
  stop.throwIfAborted();
  const statement = await connection.prepare(query.sql);
  let interrupting: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    interrupting ??= setInterval(() => connection.interrupt(), interruptEveryMs);
  };
  stop.addEventListener('abort', interrupt);
  try {
    // It may have come while the statement was prepared, when nobody listened.
    stop.throwIfAborted();
    if (statement.statementType !== StatementType.SELECT) throw new Error('not a SELECT');
    for (const [index, value] of query.parameters.entries()) bind(statement, index + 1, value);
    // Not streamed: this engine's streamed results end silently, as if complete, when the query fails or is interrupted
    // half-way. A materialised result is whole or an error.
    const result = await statement.run();
    stop.throwIfAborted();
    const readers = result.columnTypes().map(columnReader);
    return {
      columns: result.columnNames().map((name, index) => ({ name, column_type: readers[index]?.type ?? 'String' })),
      rowCount: Number(result.rowCount),
      async *rows() {
        for (
          let chunk = await result.fetchChunk();
          chunk !== null && chunk.rowCount > 0;
          chunk = await result.fetchChunk()
        ) {
          const columns = readers.map((reader, index) => chunk?.getColumnValues(index).map(reader.read) ?? []);
          yield Array.from({ length: chunk.rowCount }, (_, row): Cell[] =>
            columns.map((column) => column[row] ?? null),
          );
        }
      },
    };
  } finally {
    stop.removeEventListener('abort', interrupt);
    clearInterval(interrupting);
    statement.destroySync();
  }
}

function bind(statement: DuckDBPreparedStatement, index: number, value: Parameter): void {
  if (value === null) statement.bindNull(index);
  else if (typeof value === 'string') statement.bindVarchar(index, value);
  else if (typeof value === 'bigint') statement.bindBigInt(index, value);
  else if (typeof value === 'boolean') statement.bindBoolean(index, value);
  else statement.bindDouble(index, value);
}
