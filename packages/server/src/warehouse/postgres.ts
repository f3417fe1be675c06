/**
 * PostgreSQL: every query in a read-only transaction of its own with limits of the server's, its rows by a cursor, so that the
 * server makes no more than is read. Once told to stop, the query is cancelled in the server by a second connection.
 */

import type { Cell } from '@inlay/contract/chat.ts';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import Cursor from 'pg-cursor';
import { z } from 'zod';
import type { Log } from '../log.ts';
import { settleUntil, withinMs } from '../waiting.ts';
import { createWarehouse } from './create-warehouse.ts';
import { type Engine, type EngineRun, LostConnection, type RunOptions } from './engine.ts';
import { requireSelect } from './failures.ts';
import { toPostgresFailure } from './postgres-failure.ts';
import { postgresReader } from './postgres-values.ts';
import type { Warehouse, WarehouseQuery } from './warehouse.ts';

/** How a PostgreSQL server is reached. */
export interface PostgresSettings {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Null: the server asks for none. */
  readonly password: string | null;
  /** `verify`: the certificate must be of an authority that is trusted, and of this host; `ca` adds one, as PEM text. */
  readonly tls: { readonly mode: 'off' } | { readonly mode: 'verify'; readonly ca: string | null };
  /** Queries at once, and so connections, beside two to cancel with and to ping. */
  readonly connectionsMax: number;
}

const connectTimeoutMs = 10_000;
/** Beyond, a connection that is to be given back is closed instead. */
const endTimeoutMs = 2_000;
/** How often the server is told again to stop a query that goes on: told before it has begun, it would not hear. */
const cancelEveryMs = 100;
/** What one read of the cursor aims at, in characters: enough to be fast, and what a process holds per query. */
const readCharacters = 1_000_000;
const readRowsMax = 10_000;
/** The rows of the first read, when nobody knows how large they are. */
const firstRows = 500;

/** @param log is told once when the user could do more than read */
export function openPostgres(settings: PostgresSettings, log: Pick<Log, 'warn'>, pauseMs?: number): Warehouse {
  const config = poolConfig(settings);
  const pool = new pg.Pool({ ...config, max: settings.connectionsMax });
  /** For cancelling and for pings: neither may wait behind queries. */
  const control = new pg.Pool({ ...config, max: 2 });
  // Connections that end while nobody uses them: the next query gets another one.
  pool.on('error', () => undefined);
  control.on('error', () => undefined);
  let isChecked = false;

  const warnOfMight = async (): Promise<void> => {
    if (isChecked) return;
    isChecked = true;
    const { rows } = await control.query<{ is_superuser: string }>('SHOW is_superuser');
    if (rows[0]?.is_superuser === 'on') {
      log.warn({ host: settings.host }, 'the warehouse is read by a superuser: give it a role that may only read');
    }
  };
  const engine: Engine = {
    dialect: 'postgres',
    queriesMax: settings.connectionsMax,
    async run(query, { stop, timeoutMs }) {
      requireSelect(query);
      stop.throwIfAborted();
      const session = await beginSession(pool, control, { stop, timeoutMs });
      void warnOfMight().catch(() => undefined);
      return beginRun(session, query, stop);
    },
    toFailure: toPostgresFailure,
    async ping() {
      await control.query('SELECT 1').catch((cause: unknown) => {
        throw new LostConnection(cause);
      });
    },
    async close() {
      await Promise.all([pool.end(), control.end()]);
    },
  };
  return createWarehouse(engine, pauseMs);
}

function poolConfig({ host, port, database, user, password, tls }: PostgresSettings): PoolConfig {
  return {
    host,
    port,
    database,
    user,
    ...(password === null ? {} : { password }),
    ssl: tls.mode === 'off' ? false : { rejectUnauthorized: true, ...(tls.ca === null ? {} : { ca: tls.ca }) },
    application_name: 'inlay',
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  };
}

/** A connection with a transaction open. */
interface Session {
  readonly client: PoolClient;
  /** Aborts when the connection ends by itself, or the server could not be told to stop. */
  readonly lost: AbortSignal;
  /** Stops what the server does for this connection; resolves when the server has been told. Never rejects. */
  cancel(): Promise<void>;
  /** Ends the transaction and gives the connection back, or closes it where that does not work. Never rejects. */
  end(): Promise<void>;
}

const begunSchema = z.array(z.object({ rows: z.array(z.unknown()) })).min(1);
const pidSchema = z.object({ pid: z.int() });

async function beginSession(pool: pg.Pool, control: pg.Pool, { stop, timeoutMs }: RunOptions): Promise<Session> {
  const losing = new AbortController();
  const lost = losing.signal;
  const lose = (cause: unknown): void => losing.abort(cause);
  const onStop = (): void => lose(stop.reason);
  stop.addEventListener('abort', onStop);
  try {
    const connecting = pool.connect();
    const client = await settleUntil(connecting, lost).catch((cause: unknown) => {
      // It may come all the same.
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw new LostConnection(cause);
    });
    const onEnd = (): void => lose(new Error('the connection ended'));
    client.on('error', lose);
    client.on('end', onEnd);
    const release = (isBroken: boolean): void => {
      client.off('end', onEnd);
      client.off('error', lose);
      client.release(isBroken);
    };
    try {
      // One round trip. All of it is of this transaction, so that a pooler in between may hand the connection on.
      const begun: unknown = await settleUntil(client.query(beginSql(timeoutMs)), lost);
      const { pid } = pidSchema.parse(begunSchema.parse(begun).at(-1)?.rows[0]);
      return {
        client,
        lost,
        async cancel() {
          await control.query('SELECT pg_cancel_backend($1)', [pid]).catch(lose);
        },
        async end() {
          release(!(await isDone(settleUntil(client.query('ROLLBACK'), lost))));
        },
      };
    } catch (cause) {
      release(true);
      throw new LostConnection(cause);
    }
  } finally {
    stop.removeEventListener('abort', onStop);
  }
}

/** Limits that hold should this process be gone, and how the server writes values (postgres-values.ts). */
function beginSql(timeoutMs: number): string {
  const settings = {
    statement_timeout: `${Math.ceil(timeoutMs)}`,
    idle_in_transaction_session_timeout: '120000',
    timezone: 'UTC',
    datestyle: 'ISO',
    intervalstyle: 'iso_8601',
    extra_float_digits: '1',
  };
  const set = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = '${value}'`);
  return ['BEGIN READ ONLY', ...set, 'SELECT pg_backend_pid() AS pid'].join('; ');
}

async function beginRun(session: Session, { sql, parameters }: WarehouseQuery, stop: AbortSignal): Promise<EngineRun> {
  const { client, lost } = session;
  /** Cells are made where the driver reads a value, so that no row exists twice. */
  const types = { getTypeParser: (typeId: number) => postgresReader(typeId).read };
  const cursor = client.query(new Cursor<Cell[]>(sql, [...parameters], { rowMode: 'array', types }));
  let cancelling: Promise<void> | null = null;
  const cancel = (): void => {
    cancelling ??= session.cancel().finally(() => {
      cancelling = null;
    });
  };
  const stopping = async <T>(work: Promise<T>): Promise<T> => {
    let telling: NodeJS.Timeout | undefined;
    const tell = (): void => {
      cancel();
      telling ??= setInterval(cancel, cancelEveryMs);
    };
    if (stop.aborted) tell();
    stop.addEventListener('abort', tell);
    try {
      return await settleUntil(work, lost);
    } finally {
      stop.removeEventListener('abort', tell);
      clearInterval(telling);
    }
  };
  const read = (rowsMax: number) =>
    stopping(
      new Promise<{ rows: Cell[][]; fields: readonly pg.FieldDef[] }>((resolve, reject) => {
        cursor.read(rowsMax, (error, rows, result: pg.QueryResult | undefined) => {
          // It has no result after the end, whatever its types say.
          if (error) reject(error);
          else resolve({ rows, fields: result?.fields ?? [] });
        });
      }),
    );
  let hasFailed = false;
  const end = async (): Promise<void> => {
    if (cancelling !== null) await cancelling;
    // After a failure there is nothing to close; the driver would wait for an answer that has come already.
    if (!hasFailed) await isDone(settleUntil(cursor.close(), lost));
    await session.end();
  };
  const readOrFail = (rowsMax: number) =>
    read(rowsMax).catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  try {
    // The columns come with the first rows.
    const first = await readOrFail(firstRows);
    let rows: Cell[][] | null = first.rows;
    let nextMax = firstRows;
    return {
      columns: first.fields.map(({ name, dataTypeID }) => ({ name, column_type: postgresReader(dataTypeID).type })),
      async next() {
        const given = rows ?? (await readOrFail(nextMax)).rows;
        rows = null;
        if (given.length === 0) return null;
        nextMax = rowsToRead(given);
        return given;
      },
      close: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** As many rows as these, by their size, make {@link readCharacters}. */
function rowsToRead(rows: readonly (readonly Cell[])[]): number {
  let size = 0;
  for (const row of rows) for (const cell of row) size += typeof cell === 'string' ? cell.length + 8 : 8;
  return Math.max(1, Math.min(readRowsMax, Math.ceil((readCharacters * rows.length) / Math.max(1, size))));
}

/** Whether something at the end of a session was done, and in time. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  withinMs(
    work.then(() => true),
    endTimeoutMs,
    false,
  );
