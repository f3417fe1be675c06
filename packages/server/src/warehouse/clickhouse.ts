/**
 * ClickHouse over HTTP: every query read-only, with its limits and settings beside it, its rows streamed. Once told to stop, the
 * query is killed by its id, and its connection closed, on which the server stops it, too.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { clickHouseSettings } from '@inlay/semantic/dialects/clickhouse.ts';
import { z } from 'zod';
import { isRefusedConnection, toClickHouseFailure } from './clickhouse-failure.ts';
import { readBody } from './clickhouse-rows.ts';
import { createWarehouse } from './create-warehouse.ts';
import { type Engine, type EngineRun, LostConnection, type RunOptions } from './engine.ts';
import { requireSelect } from './failures.ts';
import type { Parameter, Warehouse, WarehouseQuery } from './warehouse.ts';

/** How a ClickHouse server is reached. */
export interface ClickHouseAddress {
  /** `https://host:8443`, without user and password. */
  readonly url: string;
  readonly user: string;
  /** Null: the server asks for none. */
  readonly password: string | null;
  readonly database: string;
  /** Queries at once, and so connections, beside two to kill with and to ping. */
  readonly connectionsMax: number;
}

/** Beyond, nobody waits for the answer to a KILL. */
const killTimeoutMs = 2000;
/** For what is asked beside queries. */
const askTimeoutMs = 10_000;
/** Parameters that are longer than this do not go into the address: proxies refuse long ones. */
const urlCharactersMax = 4096;

/** What a query means, and how its values are written: what clickhouse-values.ts and the dialect count on. */
const meaning: ClickHouseSettings = {
  ...clickHouseSettings,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_json_quote_denormals: 0,
  output_format_json_named_tuples_as_objects: 1,
  date_time_output_format: 'iso',
  // An exception stands for itself in the body, not in the form of a row.
  http_write_exception_in_output_format: 0,
  cancel_http_readonly_queries_on_client_close: 1,
  timeout_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  // A reader may pause for a minute.
  http_send_timeout: 120,
};

/** Opens it; the server is first asked when there is a query. */
export function openClickHouse(settings: ClickHouseAddress, pauseMs?: number): Warehouse {
  const client = createClient({
    url: settings.url,
    username: settings.user,
    password: settings.password ?? '',
    database: settings.database,
    application: 'inlay',
    max_open_connections: settings.connectionsMax + 2,
    // The warehouse's own clock says when a query has to stop.
    request_timeout: 3_600_000,
    // The driver would log queries and values.
    log: { level: ClickHouseLogLevel.OFF },
  });
  let readonlyLevel: Promise<number> | null = null;
  /** What the user's profile says, asked once: it decides what a query may set (see {@link readonlyOf}). */
  const levelOf = (): Promise<number> => {
    readonlyLevel ??= askLevel(client).catch((error: unknown) => {
      readonlyLevel = null;
      throw error;
    });
    return readonlyLevel;
  };
  const engine: Engine = {
    dialect: 'clickhouse',
    queriesMax: settings.connectionsMax,
    async run(query, options) {
      requireSelect(query);
      try {
        return await beginRun(client, { ...readonlyOf(await levelOf()), ...meaning }, query, options);
      } catch (error) {
        throw isRefusedConnection(error) ? new LostConnection(error) : error;
      }
    },
    toFailure: toClickHouseFailure,
    async ping() {
      const pong = await client.ping({ select: true, abort_signal: AbortSignal.timeout(askTimeoutMs) });
      if (!pong.success) throw new LostConnection(pong.error);
    },
    close: () => client.close(),
  };
  return createWarehouse(engine, pauseMs);
}

const levelSchema = z.tuple([z.tuple([z.coerce.number()])]);

async function askLevel(client: ClickHouseClient): Promise<number> {
  const reply = await client.query({
    query: "SELECT toString(getSetting('readonly'))",
    format: 'JSONCompactEachRow',
    abort_signal: AbortSignal.timeout(askTimeoutMs),
  });
  return levelSchema.parse(await reply.json())[0][0];
}

/**
 * The server's own fence. Where the profile leaves it open, level 1: no writing, no functions that read files or addresses, no
 * settings in the query. A profile at level 2 stands, and cannot be changed; there, grants alone keep those functions out.
 */
function readonlyOf(level: number): ClickHouseSettings {
  return level === 0 ? { readonly: '1' } : {};
}

async function beginRun(
  client: ClickHouseClient,
  settings: ClickHouseSettings,
  query: WarehouseQuery,
  { stop, timeoutMs }: RunOptions,
): Promise<EngineRun> {
  stop.throwIfAborted();
  const queryId = randomUUID();
  let killing: Promise<void> | null = null;
  const kill = (): Promise<void> => {
    killing ??= killQuery(client, queryId);
    return killing;
  };
  const onStop = (): void => void kill();
  stop.addEventListener('abort', onStop);
  try {
    const reply = await client.exec({
      ...toRequest(query),
      query_id: queryId,
      abort_signal: stop,
      clickhouse_settings: { ...settings, max_execution_time: Math.ceil(timeoutMs / 1000) },
    });
    const body = reply.stream;
    const onStopped = (): void => void body.destroy(new Error('stopped'));
    stop.addEventListener('abort', onStopped);
    const end = async (): Promise<void> => {
      stop.removeEventListener('abort', onStopped);
      stop.removeEventListener('abort', onStop);
      // The rest of a result that nobody reads; an error of it is for nobody, either.
      body.on('error', () => undefined);
      if (!body.readableEnded) await kill();
      body.destroy();
      await killing;
    };
    try {
      const { columns, next } = await readBody(body);
      return { columns, next, close: end };
    } catch (error) {
      await end();
      throw error;
    }
  } catch (error) {
    stop.removeEventListener('abort', onStop);
    await killing;
    throw error;
  }
}

/** What the client sends: the parameters in the address, or where they are long as a form in the body. */
function toRequest({ sql, parameters }: WarehouseQuery) {
  const query = `${sql}\nFORMAT JSONCompactEachRowWithNamesAndTypes`;
  const named = parameters.map((value, index): [string, Parameter] => [`p${index + 1}`, value]);
  const length = named.reduce((sum, [, value]) => sum + String(value).length, sql.length);
  if (length <= urlCharactersMax) return { query, query_params: Object.fromEntries(named) };
  const boundary = `inlay-${randomUUID()}`;
  const parts = [['query', query], ...named.map(([name, value]) => [`param_${name}`, escaped(value)])];
  const form = parts.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    query: '',
    values: Readable.from([`${form.join('')}--${boundary}--\r\n`]),
    http_headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  };
}

/** A parameter as ClickHouse reads it: text with its control characters and backslashes escaped. */
function escaped(value: Parameter): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return typeof value === 'boolean' ? String(Number(value)) : String(value);
  const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'", '\\': '\\\\' };
  return value.replaceAll(/[\t\n\r'\\]/g, (character) => escapes[character] ?? character);
}

/** Never rejects: where the server cannot be told, it notices the closed connection. */
async function killQuery(client: ClickHouseClient, queryId: string): Promise<void> {
  const query = `KILL QUERY WHERE query_id = '${queryId}' ASYNC`;
  await client.command({ query, abort_signal: AbortSignal.timeout(killTimeoutMs) }).catch(() => undefined);
}
