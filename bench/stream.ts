/**
 * Streams: a million rows through the whole server (`/cubesql`) to a socket, beside a bare loop over the same chunks of DuckDB, each in
 * a process of its own so that their memory can be told apart; and how soon an engine is free once a query is aborted.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { z } from 'zod';
import { openDuckDb } from '../packages/server/src/warehouse/duckdb.ts';
import { openPostgres } from '../packages/server/src/warehouse/postgres.ts';
import type { Warehouse } from '../packages/server/src/warehouse/warehouse.ts';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { type Figure, median, ms, perSecond } from './report.ts';

const rounds = 5;
const rowsMost = 1_000_000;
const abortRounds = 20;
/** Minutes of work; in PostgreSQL and DuckDB alike. */
const endless = 'SELECT count(*) FROM numbers a, numbers b WHERE (a.i + b.i) % 7 = 9';

const runSchema = z.object({ ms: z.number(), cpuMs: z.number(), peakRss: z.number(), bytes: z.number() });

/** The speed and the memory of a stream, and the time of an abort. */
export async function benchStream(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-stream-'));
  try {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(`COPY (SELECT range AS i, 'name ' || range AS name, (range % 100000)::DECIMAL(12, 2) / 100 AS amount,
        range * 0.1::DOUBLE AS x, TIMESTAMP '2024-01-01' + to_seconds(range) AS at, range % 3 = 0 AS ok FROM range(${rowsMost}))
      TO '${join(folder, 'numbers.parquet')}' (FORMAT parquet)`);
    connection.closeSync();
    instance.closeSync();
    return [...streamFigures(folder), ...(await abortFigures(folder))];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function streamFigures(folder: string): Figure[] {
  const run = (who: 'ours' | 'floor', rows: number): z.infer<typeof runSchema> => {
    const script = fileURLToPath(new URL('stream-process.ts', import.meta.url));
    const ended = spawnSync(process.execPath, [script, who, folder, String(rows)], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    if (ended.status !== 0) throw new Error(ended.stderr);
    return runSchema.parse(JSON.parse(ended.stdout));
  };
  const taken = Array.from({ length: rounds }, () => ({ ours: run('ours', rowsMost), floor: run('floor', rowsMost) }));
  const few = run('ours', rowsMost / 10);
  const middle = (who: 'ours' | 'floor', what: 'ms' | 'cpuMs' | 'peakRss') =>
    median(taken.map((one) => one[who][what]));
  const rate = (who: 'ours' | 'floor') => rowsMost / (middle(who, 'ms') / 1000);
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  return [
    {
      claim: 'stream: 1,000,000 rows through /cubesql (floor: a bare loop over the same chunks)',
      ours: perSecond(rate('ours')),
      floor: perSecond(rate('floor')),
      ratio: rate('ours') / rate('floor'),
    },
    {
      claim: 'stream: its processor time (floor: the bare loop)',
      ours: ms(middle('ours', 'cpuMs')),
      floor: ms(middle('floor', 'cpuMs')),
      ratio: middle('ours', 'cpuMs') / middle('floor', 'cpuMs'),
    },
    {
      claim: 'stream: peak memory of the server at 1,000,000 rows (floor: at 100,000)',
      ours: megabytes(middle('ours', 'peakRss')),
      floor: megabytes(few.peakRss),
      ratio: middle('ours', 'peakRss') / few.peakRss,
    },
  ];
}

async function abortFigures(folder: string): Promise<Figure[]> {
  const duckDb = await openDuckDb({ folder, threads: 2 });
  // Free again: it has answered. DuckDB gives no other sign, and our answer comes only when the engine has let go.
  const ofDuckDb = await abortTimes(
    duckDb,
    () => pause(50),
    async () => undefined,
  );
  await duckDb.close();

  const server = await startPostgres();
  const { hostname: host, port } = new URL(server.baseUrl);
  const admin = new pg.Client({ connectionString: `${server.baseUrl}postgres` });
  await admin.connect();
  await admin.query('CREATE TABLE numbers AS SELECT i FROM generate_series(0, 99999) AS i');
  const address = { host, port: Number(port), database: 'postgres', user: 'inlay', password: null, connectionsMax: 4 };
  const postgres = openPostgres({ ...address, tls: { mode: 'off' } }, { warn: () => undefined });
  const running = async (): Promise<boolean> => {
    const { rows } = await admin.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name = 'inlay' AND state = 'active' AND query LIKE '%a.i%'",
    );
    return rows.length > 0;
  };
  const ofPostgres = await abortTimes(
    postgres,
    async () => {
      while (!(await running())) await pause(5);
    },
    async () => {
      while (await running()) await pause(1);
    },
  );
  await postgres.close();
  await admin.end();
  await server.stop();
  return [figureOfAbort('DuckDB', ofDuckDb), figureOfAbort('PostgreSQL', ofPostgres)];
}

interface AbortTimes {
  /** From the abort until the caller has its answer, and until the engine is free, in milliseconds. */
  readonly answered: number[];
  readonly free: number[];
}

async function abortTimes(
  warehouse: Warehouse,
  begun: () => Promise<unknown>,
  free: () => Promise<unknown>,
): Promise<AbortTimes> {
  const times: AbortTimes = { answered: [], free: [] };
  for (let round = 0; round < abortRounds; round++) {
    const stop = new AbortController();
    const asked = warehouse
      .query({ sql: endless, parameters: [] }, { signal: stop.signal, timeoutMs: 60_000 })
      .catch((error: unknown) => error);
    await begun();
    const abortedAt = performance.now();
    stop.abort(new Error('enough'));
    await asked;
    times.answered.push(performance.now() - abortedAt);
    await free();
    times.free.push(performance.now() - abortedAt);
  }
  return times;
}

const figureOfAbort = (name: string, { answered, free }: AbortTimes): Figure => ({
  claim: `abort: ${name}, until the engine is free, p50 (floor: until the caller has its answer)`,
  ours: ms(median(free)),
  floor: ms(median(answered)),
  ratio: median(free) / median(answered),
});
