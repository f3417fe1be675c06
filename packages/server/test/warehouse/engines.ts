/** The engines that the conformance tests ask, each with the same data, and what differs between them: how a thing is written. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';
import pg from 'pg';
import type { Log } from '../../src/log.ts';
import { openClickHouse } from '../../src/warehouse/clickhouse.ts';
import { openDuckDb } from '../../src/warehouse/duckdb.ts';
import { openPostgres } from '../../src/warehouse/postgres.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { hasClickHouse, startClickHouse } from '../clickhouse/start-clickhouse.ts';
import { startPostgres } from '../postgres.ts';

/** Rows of the table `numbers`, whose column `i` counts from 0. */
export const numbersCount = 1_000_000;

/** A value, as the engine writes it, and what it has to become. The same names with the same cells in every engine. */
export interface Sample {
  readonly sql: string;
  readonly type: ColumnType;
}

/** How an engine writes things. */
export interface Dialect {
  /** The placeholder of the n-th parameter, from 1, as a value of that type. */
  parameter(n: number, type: 'text' | 'integer' | 'double' | 'boolean' | 'timestamp'): string;
  /** An expression of `i` that is `i` as text, and fails in the row `at`, with the word `secret` in the value that it fails on. */
  failingAt(at: number): string;
  /** A text of so many characters. */
  textOf(characters: number): string;
  /** The samples of {@link sampleCells}, by their names. */
  readonly samples: Readonly<Record<SampleName, Sample>>;
  /** What must not work; null where an engine leaves it to the rights of the user. */
  readonly refused: readonly string[];
}

/** An engine at work, with a warehouse on it. */
export interface EngineAtWork {
  readonly warehouse: Warehouse;
  /** Places of the warehouse. */
  readonly places: number;
  /** Another warehouse on the same engine, whose readers may pause only so long. */
  openWith(pauseMs: number): Promise<Warehouse>;
  /** Queries of warehouses that the engine works on now; null where the engine cannot tell. */
  running(): Promise<number | null>;
  /** Ends the engine and starts it again; null where it is in this process. */
  readonly restart: { halt(): Promise<void>; resume(): Promise<void> } | null;
  close(): Promise<void>;
}

/** The cells that equal values have, whatever the engine. */
export const sampleCells = {
  decimal: 12.5,
  long_decimal: '99999999999999999.9',
  negative_decimal: -0.05,
  zero_decimal: 0,
  integer: 5,
  long_integer: '9007199254740993',
  negative_long_integer: '-9007199254740993',
  date: '2024-01-31',
  old_date: '1969-12-31',
  timestamp: '2024-01-31T23:30:00.500',
  micro_timestamp: '2024-01-31T23:30:00.000001',
  old_timestamp: '1969-12-31T23:59:59.999',
  zoned_timestamp: '2024-01-31T21:30:00.000',
  yes: true,
  no: false,
  double: 1.5,
  tiny_double: 1e-7,
  float: 0.1,
  not_a_number: null,
  infinite: null,
  text: 'it\'s "ünïcödé" \\ 😀\n\t',
  nothing: null,
} as const satisfies Readonly<Record<string, Cell>>;
type SampleName = keyof typeof sampleCells;

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const quietLog: Pick<Log, 'warn'> = { warn: () => undefined };

/** What DuckDB and PostgreSQL write alike. */
const commonSamples = {
  decimal: { sql: 'CAST(12.50 AS DECIMAL(10, 2))', type: 'Decimal' },
  long_decimal: { sql: "CAST('99999999999999999.90' AS DECIMAL(20, 2))", type: 'Decimal' },
  negative_decimal: { sql: 'CAST(-0.05 AS DECIMAL(5, 2))', type: 'Decimal' },
  zero_decimal: { sql: 'CAST(0 AS DECIMAL(5, 2))', type: 'Decimal' },
  integer: { sql: 'CAST(5 AS INTEGER)', type: 'Int64' },
  long_integer: { sql: 'CAST(9007199254740993 AS BIGINT)', type: 'Int64' },
  negative_long_integer: { sql: 'CAST(-9007199254740993 AS BIGINT)', type: 'Int64' },
  date: { sql: "DATE '2024-01-31'", type: 'Date' },
  old_date: { sql: "DATE '1969-12-31'", type: 'Date' },
  timestamp: { sql: "TIMESTAMP '2024-01-31 23:30:00.5'", type: 'Timestamp' },
  micro_timestamp: { sql: "TIMESTAMP '2024-01-31 23:30:00.000001'", type: 'Timestamp' },
  old_timestamp: { sql: "TIMESTAMP '1969-12-31 23:59:59.999'", type: 'Timestamp' },
  zoned_timestamp: { sql: "CAST('2024-01-31 23:30:00+02' AS TIMESTAMPTZ)", type: 'Timestamp' },
  yes: { sql: 'true', type: 'Boolean' },
  no: { sql: 'false', type: 'Boolean' },
  double: { sql: 'CAST(1.5 AS DOUBLE PRECISION)', type: 'Double' },
  tiny_double: { sql: 'CAST(1e-7 AS DOUBLE PRECISION)', type: 'Double' },
  float: { sql: 'CAST(0.1 AS REAL)', type: 'Double' },
  not_a_number: { sql: "CAST('NaN' AS DOUBLE PRECISION)", type: 'Double' },
  infinite: { sql: "CAST('Infinity' AS DOUBLE PRECISION)", type: 'Double' },
  text: { sql: `CAST(${text(sampleCells.text)} AS TEXT)`, type: 'String' },
  nothing: { sql: 'CAST(NULL AS TEXT)', type: 'String' },
} as const satisfies Readonly<Record<SampleName, Sample>>;

const commonTypes = {
  text: 'TEXT',
  integer: 'BIGINT',
  double: 'DOUBLE PRECISION',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP',
} as const;
const clickHouseTypes = {
  text: 'Nullable(String)',
  integer: 'Int64',
  double: 'Float64',
  boolean: 'Bool',
  timestamp: "DateTime64(6, 'UTC')",
} as const;

const commonDialect = {
  parameter: (n, type) => `CAST($${n} AS ${commonTypes[type]})`,
  failingAt: (at) => `CASE WHEN i = ${at} THEN CAST('secret' || i AS INTEGER) ELSE i END`,
  textOf: (characters) => `repeat('x', ${characters})`,
  samples: commonSamples,
} satisfies Omit<Dialect, 'refused'>;

const duckDb: Dialect = {
  ...commonDialect,
  refused: [
    'CREATE TABLE x (a INTEGER)',
    'DROP VIEW numbers',
    "COPY (SELECT 1) TO '/tmp/inlay-conformance.csv'",
    "ATTACH '/tmp/inlay-conformance.db'",
    'SET threads = 1',
    'INSTALL httpfs',
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT 1; SELECT 2',
  ],
};
const postgres: Dialect = {
  ...commonDialect,
  refused: [
    'CREATE TABLE x (a INTEGER)',
    'INSERT INTO numbers VALUES (1)',
    'WITH gone AS (DELETE FROM numbers RETURNING i) SELECT * FROM gone',
    'SELECT * INTO x FROM numbers',
    'SELECT i FROM numbers FOR UPDATE',
    'DROP TABLE numbers',
    "COPY numbers TO '/tmp/inlay-conformance.csv'",
    'SET statement_timeout = 0',
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT nextval('counting')",
    'COMMIT',
    'SELECT 1; SELECT 2',
  ],
};
const clickHouse: Dialect = {
  parameter: (n, type) => `{p${n}:${clickHouseTypes[type]}}`,
  failingAt: (at) => `if(i = ${at}, toInt64(concat('secret', toString(i))), i)`,
  textOf: (characters) => `repeat('x', ${characters})`,
  samples: {
    ...commonSamples,
    long_decimal: { sql: "toDecimal128('99999999999999999.90', 2)", type: 'Decimal' },
    date: { sql: "toDate('2024-01-31')", type: 'Date' },
    old_date: { sql: "toDate32('1969-12-31')", type: 'Date' },
    timestamp: { sql: "toDateTime64('2024-01-31 23:30:00.5', 3, 'UTC')", type: 'Timestamp' },
    micro_timestamp: { sql: "toDateTime64('2024-01-31 23:30:00.000001', 6, 'UTC')", type: 'Timestamp' },
    old_timestamp: { sql: "toDateTime64('1969-12-31 23:59:59.999', 3, 'UTC')", type: 'Timestamp' },
    // Of a column in another zone, which is not the zone of the answer.
    zoned_timestamp: { sql: "toDateTime('2024-01-31 23:30:00', 'Europe/Kyiv')", type: 'Timestamp' },
    double: { sql: 'toFloat64(1.5)', type: 'Double' },
    tiny_double: { sql: 'toFloat64(1e-7)', type: 'Double' },
    float: { sql: 'toFloat32(0.1)', type: 'Double' },
    not_a_number: { sql: 'toFloat64(nan)', type: 'Double' },
    infinite: { sql: 'toFloat64(inf)', type: 'Double' },
    text: { sql: `'${sampleCells.text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`, type: 'String' },
    nothing: { sql: 'CAST(NULL AS Nullable(String))', type: 'String' },
  },
  refused: [
    'CREATE TABLE x (a Int32) ENGINE = Memory',
    'INSERT INTO numbers VALUES (1)',
    'DROP TABLE numbers',
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "INSERT INTO FUNCTION file('/tmp/inlay-conformance.csv', 'CSV', 'a Int32') SELECT 1",
    "SELECT 1 INTO OUTFILE '/tmp/inlay-conformance.csv'",
    'SET readonly = 0',
    'SELECT 1 SETTINGS max_execution_time = 0',
    'SELECT 1; SELECT 2',
  ],
};

async function startDuckDb(): Promise<EngineAtWork> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-conformance-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const target = join(folder, 'numbers.parquet');
  await connection.run(`COPY (SELECT range AS i FROM range(${numbersCount})) TO '${target}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  const warehouse = await openDuckDb({ folder, threads: 2 });
  return {
    warehouse,
    places: 8,
    openWith: (pauseMs) => openDuckDb({ folder, threads: 2 }, pauseMs),
    running: async () => null,
    restart: null,
    async close() {
      await warehouse.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function startPostgresEngine(): Promise<EngineAtWork> {
  const server = await startPostgres();
  const { hostname: host, port } = new URL(server.baseUrl);
  const admin = new pg.Pool({ connectionString: `${server.baseUrl}postgres`, max: 1 });
  admin.on('error', () => undefined);
  await admin.query(`
    CREATE TABLE numbers AS SELECT i FROM generate_series(0, ${numbersCount - 1}) AS i;
    ANALYZE numbers;
    CREATE SEQUENCE counting;
    CREATE ROLE reader LOGIN;
    GRANT SELECT ON numbers TO reader;
    GRANT USAGE ON counting TO reader`);
  const open = (pauseMs?: number): Warehouse =>
    openPostgres(
      {
        host,
        port: Number(port),
        database: 'postgres',
        user: 'reader',
        password: null,
        tls: { mode: 'off' },
        connectionsMax: 4,
      },
      quietLog,
      pauseMs,
    );
  const warehouse = open();
  return {
    warehouse,
    places: 4,
    openWith: async (pauseMs) => open(pauseMs),
    async running() {
      // A cursor that is open and waits is "idle in transaction".
      const { rows } = await admin.query<{ running: number }>(
        "SELECT count(*)::int AS running FROM pg_stat_activity WHERE usename = 'reader' AND state <> 'idle'",
      );
      return rows[0]?.running ?? 0;
    },
    restart: { halt: () => server.halt(), resume: () => server.resume() },
    async close() {
      await Promise.all([warehouse.close(), admin.end()]);
      await server.stop();
    },
  };
}

async function startClickHouseEngine(): Promise<EngineAtWork> {
  const server = await startClickHouse();
  await server.exec(
    `CREATE TABLE numbers ENGINE = MergeTree ORDER BY i AS SELECT toInt64(number) AS i FROM system.numbers LIMIT ${numbersCount}`,
  );
  const open = (pauseMs?: number): Warehouse =>
    openClickHouse(
      { url: server.url, user: 'default', password: null, database: 'default', connectionsMax: 4 },
      pauseMs,
    );
  const warehouse = open();
  return {
    warehouse,
    places: 4,
    openWith: async (pauseMs) => open(pauseMs),
    async running() {
      const reply = await fetch(`${server.url}/?query=${encodeURIComponent('SELECT count() FROM system.processes')}`);
      // This question is one of them.
      return Number(await reply.text()) - 1;
    },
    restart: { halt: () => server.halt(), resume: () => server.resume() },
    async close() {
      await warehouse.close();
      await server.stop();
    },
  };
}

/** Every engine; `isHere`: whether it can be started on this machine. */
export const engines: readonly {
  readonly name: string;
  readonly isHere: boolean;
  readonly dialect: Dialect;
  start(): Promise<EngineAtWork>;
}[] = [
  { name: 'duckdb', isHere: true, dialect: duckDb, start: startDuckDb },
  { name: 'postgres', isHere: true, dialect: postgres, start: startPostgresEngine },
  { name: 'clickhouse', isHere: hasClickHouse, dialect: clickHouse, start: startClickHouseEngine },
];
