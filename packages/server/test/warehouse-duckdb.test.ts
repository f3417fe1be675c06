import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InlayError } from '../src/errors.ts';
import { openDuckDb } from '../src/warehouse/duckdb.ts';
import type { Parameter, Warehouse } from '../src/warehouse/warehouse.ts';

let folder: string;
let warehouse: Warehouse;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "inlay it's "));
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const target = join(folder, 'numbers.parquet').replaceAll("'", "''");
  await connection.run(`COPY (SELECT range AS i FROM range(100000)) TO '${target}' (FORMAT parquet)`);
  connection.closeSync();
  warehouse = await openDuckDb({ folder, threads: 2 });
});
afterAll(async () => {
  await warehouse.close();
  await rm(folder, { recursive: true });
});

const ask = async (
  sql: string,
  parameters: Parameter[] = [],
  signal = new AbortController().signal,
  timeoutMs = 20_000,
) => {
  const result = await warehouse.query({ sql, parameters }, { signal, timeoutMs });
  return { ...result, all: (await Array.fromAsync(result.rows())).flat() };
};
/** Takes minutes if it is not stopped. */
const endless = 'SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.i + b.i * c.i = 7';

test('a folder that is not there, or holds nothing, is said', async () => {
  await expect(openDuckDb({ folder: join(folder, 'none'), threads: 1 })).rejects.toMatchObject({ code: 'NOT_READY' });
});

test('a file that is no Parquet file is said, and what it holds is not', async () => {
  const broken = await mkdtemp(join(tmpdir(), 'inlay-broken-'));
  await writeFile(join(broken, 'x.parquet'), 'secret');
  const error = await openDuckDb({ folder: broken, threads: 1 }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'NOT_READY' });
  expect(String(error)).not.toContain('x.parquet');
  await rm(broken, { recursive: true });
});

test('every type has its place on the wire', async () => {
  const { columns, all, rowCount } =
    await ask(`SELECT 12.50::DECIMAL(10,2) AS d, 99999999999999999.99::DECIMAL(20,2) AS big_d, 5::BIGINT AS i,
    9007199254740993::BIGINT AS big_i, sum(1) AS h, DATE '2024-01-31' AS day, TIMESTAMP '2024-01-31 23:30:00.5' AS t, TIMESTAMP '1969-12-31 23:59:59.999' AS old,
    TIMESTAMP_NS '1969-12-31 23:59:59.9995' AS ns, TIMESTAMP_MS '2024-01-31 23:30:00.5' AS ms, TIMESTAMP_S '2024-01-31 23:30:00' AS s1,
    true AS b, 1.5::DOUBLE AS x, 'nan'::DOUBLE AS nan, NULL::VARCHAR AS n, 'a' AS s, -0.05::DECIMAL(5,2) AS neg, [1, 2] AS list`);
  expect(
    Object.fromEntries(columns.map(({ name, column_type }, index) => [name, [column_type, all[0]?.[index]]])),
  ).toEqual({
    d: ['Decimal', 12.5],
    big_d: ['Decimal', '99999999999999999.99'],
    i: ['Int64', 5],
    big_i: ['Int64', '9007199254740993'],
    h: ['Int64', 1],
    day: ['Date', '2024-01-31'],
    t: ['Timestamp', '2024-01-31T23:30:00.500'],
    old: ['Timestamp', '1969-12-31T23:59:59.999'],
    ns: ['Timestamp', '1969-12-31T23:59:59.999500'],
    ms: ['Timestamp', '2024-01-31T23:30:00.500'],
    s1: ['Timestamp', '2024-01-31T23:30:00.000'],
    b: ['Boolean', true],
    x: ['Double', 1.5],
    nan: ['Double', null],
    n: ['String', null],
    s: ['String', 'a'],
    neg: ['Decimal', -0.05],
    list: ['String', '[1, 2]'],
  });
  expect(rowCount).toBe(1);
});

test('the optimizer that answers wrongly is off on every connection', async () => {
  const asked = Array.from({ length: 3 }, () => ask("SELECT current_setting('disabled_optimizers')"));
  expect((await Promise.all(asked)).map(({ all }) => all)).toEqual(Array(3).fill([['common_subplan']]));
});

test('parameters are bound with their types', async () => {
  const { all } = await ask(
    "SELECT CAST($1 AS BIGINT) + 1, CAST($2 AS VARCHAR) || '!', CAST($3 AS DOUBLE), CAST($4 AS BOOLEAN), CAST($5 AS TIMESTAMP)",
    [41n, "it's", 0.5, true, '2024-01-31 00:00:00.000000'],
  );
  expect(all).toEqual([[42, "it's!", 0.5, true, '2024-01-31T00:00:00.000']]);
});

test('a result of many chunks is whole', async () => {
  const { all, rowCount } = await ask('SELECT i FROM numbers ORDER BY i');
  expect(rowCount).toBe(100_000);
  expect(all).toEqual(Array.from({ length: 100_000 }, (_, index) => [index]));
});

test('a query that fails half-way gives an error, never the rows before it', async () => {
  // The value that cannot be cast lies near the end of the table.
  await expect(
    ask("SELECT CASE WHEN i = 90000 THEN CAST('secret' || i AS INTEGER) ELSE i END FROM numbers"),
  ).rejects.toMatchObject({ code: 'QUERY_FAILED' });
});

test('database text stays in the cause, which only the log sees', async () => {
  const error = await ask("SELECT CAST('secret value' AS INTEGER)").catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(InlayError);
  expect(String(error)).not.toContain('secret');
});

describe('locked down', () => {
  test.each([
    ['another file of the folder', (at: string) => `SELECT * FROM read_text('${at}/other')`],
    ['a file', () => "SELECT * FROM read_csv('/etc/passwd')"],
    ['a file by name', () => "SELECT * FROM '/etc/passwd'"],
    ['a glob', () => "SELECT * FROM glob('/*')"],
    ['writing a file', (at: string) => `COPY (SELECT 1) TO '${at}/x.csv'`],
    ['attaching', (at: string) => `ATTACH '${at}/x.db'`],
    ['a setting', () => 'SET threads = 1'],
    ['an extension', () => 'INSTALL httpfs'],
    ['loading one', () => 'LOAD httpfs'],
    ['a table', () => 'CREATE TABLE x (a INTEGER)'],
    ['dropping', () => 'DROP VIEW numbers'],
    ['a pragma that sets', () => 'PRAGMA threads = 1'],
    ['two statements', () => 'SELECT 1; SELECT 2'],
  ])('%s is refused', async (_name, sql) => {
    await expect(ask(sql(folder.replaceAll("'", "''")))).rejects.toMatchObject({ code: 'QUERY_FAILED' });
    expect((await ask('SELECT count(*) FROM numbers')).all).toEqual([[100_000]]);
  });
});

describe('stopping', () => {
  test('it answers a ping while every connection is busy', async () => {
    const stop = new AbortController();
    const running = Array.from({ length: 5 }, () => ask(endless, [], stop.signal).catch((error: unknown) => error));
    await Promise.all([warehouse.ping(), warehouse.ping()]);
    await warehouse.ping();
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await Promise.all(running)).toEqual(Array(5).fill(reason));
  });

  test('an abort stops the query in the engine and gives the reason', async () => {
    const stop = new AbortController();
    const asked = ask(endless, [], stop.signal);
    stop.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    await expect(asked).rejects.toMatchObject({ code: 'ABORTED' });
    // The engine is free again: as many queries as it has connections run at once.
    await Promise.all(Array.from({ length: 8 }, () => ask('SELECT sum(i) FROM numbers')));
  });

  test('a query that takes too long is stopped', async () => {
    await expect(ask(endless, [], undefined, 50)).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' });
    expect((await ask('SELECT 1')).all).toEqual([[1]]);
  });

  test('one that waits for its turn stops waiting, and passes its turn on', async () => {
    const stops = Array.from({ length: 3 }, () => new AbortController());
    const running = stops.map(({ signal }) => ask(endless, [], signal).catch((error: unknown) => error));
    const impatient = new AbortController();
    const waiting = ask('SELECT 1', [], impatient.signal);
    const patient = ask('SELECT 2');
    impatient.abort(new Error('no more'));
    await expect(waiting).rejects.toThrow('no more');
    for (const stop of stops) stop.abort(new Error('enough'));
    expect((await patient).all).toEqual([[2]]);
    expect(await Promise.all(running)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ message: 'enough' })),
    );
  });
});
