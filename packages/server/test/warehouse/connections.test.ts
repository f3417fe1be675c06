/** The operator's file of connections, and what a deployment makes of a name in it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { defaultLimits } from '@inlay/contract/limits.ts';
import { userShapes } from '@inlay/contract/user.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readInstallation } from '../../src/installation/installation-file.ts';
import { openLog } from '../../src/log.ts';
import { readConnectionNames, readConnections } from '../../src/warehouse/connections-file.ts';
import { openDuckDb } from '../../src/warehouse/duckdb.ts';
import { createWarehouseOpener } from '../../src/warehouse/open-warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "inlay connections' "));
  await writeFile(join(folder, 'password'), 'a password of a file\n');
  await writeFile(join(folder, 'ca.pem'), 'a certificate');
});
afterAll(() => rm(folder, { recursive: true }));

const write = async (text: string) => {
  const file = join(folder, 'warehouses.yml');
  await writeFile(file, text);
  return { file, secretOf: (name: string) => (name === 'SHOP_PASSWORD' ? 'a password of a variable' : undefined) };
};
const ask = async (warehouse: Warehouse, sql: string) => {
  const { rows, columns } = await warehouse.query(
    { sql, parameters: [] },
    { signal: new AbortController().signal, timeoutMs: 20_000 },
  );
  return { all: (await Array.fromAsync(rows())).flat(), types: columns.map(({ column_type }) => column_type) };
};

test('every kind is read, with its defaults, paths from the file and passwords from where they are', async () => {
  const source = await write(`
warehouses:
  - { name: shop, type: postgres, host: db.internal, database: shop, user: reader, password_env: SHOP_PASSWORD, tls_ca_file: ca.pem }
  - { name: near, type: postgres, host: 127.0.0.1, port: 5433, database: shop, user: reader, tls: off, connections_max: 3 }
  - { name: events, type: clickhouse, url: "https://ch.internal:8443", user: reader, password_file: password }
  - { name: files, type: duckdb, folder: data, threads: 2, memory_max: 1GB }
  - { name: base, type: duckdb, file: shop.duckdb }
`);
  expect(Object.fromEntries(await readConnections(source))).toEqual({
    shop: {
      type: 'postgres',
      host: 'db.internal',
      port: 5432,
      database: 'shop',
      user: 'reader',
      password: 'a password of a variable',
      tls: { mode: 'verify', ca: 'a certificate' },
      connectionsMax: 10,
    },
    near: {
      type: 'postgres',
      host: '127.0.0.1',
      port: 5433,
      database: 'shop',
      user: 'reader',
      password: null,
      tls: { mode: 'off' },
      connectionsMax: 3,
    },
    events: {
      type: 'clickhouse',
      url: 'https://ch.internal:8443',
      database: 'default',
      user: 'reader',
      password: 'a password of a file',
      connectionsMax: 10,
    },
    files: { type: 'duckdb', settings: { folder: join(folder, 'data'), threads: 2, memoryMax: '1GB' } },
    base: { type: 'duckdb', settings: { file: join(folder, 'shop.duckdb'), threads: 4 } },
  });
  expect([...(await readConnectionNames(source))]).toEqual(['shop', 'near', 'events', 'files', 'base']);
  expect((await readConnections(undefined)).size).toBe(0);
});

describe('what is wrong is said with its place, all of it, and no password', () => {
  const shop = 'name: shop, type: postgres, host: db, database: shop, user: reader';
  test.each([
    ['an unknown key', `{ ${shop}, pasword_env: X }`, /:2:\d+: "pasword_env" is not known here/],
    ['an unknown kind', '{ name: shop, type: oracle }', /warehouses\.0\.type: Invalid/],
    ['a variable that is not set', `{ ${shop}, password_env: NONE }`, /variable NONE is not set/],
    ['a password in the file', `{ ${shop}, password: hunter2 }`, /"password" is not known here/],
    ['two passwords', `{ ${shop}, password_env: SHOP_PASSWORD, password_file: password }`, /give one of them/],
    ['a file that is not there', `{ ${shop}, password_file: none }`, /none cannot be read: ENOENT/],
    [
      'a name twice',
      `{ ${shop}, tls: off }\n  - { ${shop}, tls: off }`,
      /:3:\d+: warehouses\.1\.name: "shop" occurs twice/,
    ],
    [
      'a URL with a user',
      '{ name: e, type: clickhouse, url: "https://a:hunter2@ch", user: r }',
      /without a trailing slash/,
    ],
    ['a folder and a file', '{ name: f, type: duckdb, folder: a, file: b }', /give either folder or file/],
    ['neither', '{ name: f, type: duckdb }', /give either folder or file/],
  ])('%s', async (_name, entry, expected) => {
    const error = await readConnections(await write(`warehouses:\n  - ${entry}\n`)).catch((caught: unknown) => caught);
    expect(String(error)).toMatch(expected);
    expect(String(error)).not.toMatch(/hunter2|a password of/);
  });
});

test('a deployment names a connection, and only one that there is', async () => {
  const file = join(folder, 'inlay.yml');
  const options = { dataFolder: folder, user: userShapes(defaultLimits), connections: new Set(['shop']) };
  const read = async (warehouse: string) => {
    await writeFile(
      file,
      `accounts:\n  - name: a\n    plan: starter\n    deployments:\n      - { id: 1, name: d, model: ., warehouse: ${warehouse} }\n`,
    );
    return readInstallation(file, options);
  };
  const { accounts } = await read('{ connection: shop }');
  expect(accounts[0]?.deployments[0]?.warehouse).toEqual({ connection: 'shop' });
  await expect(read('{ connection: other }')).rejects.toThrow(/:5:\d+: .*INLAY_WAREHOUSES names no connection "other"/);
  for (const wrong of ['{ connection: shop, type: duckdb }', '{ type: duckdb }', '{}']) {
    await expect(read(wrong)).rejects.toThrow(/must be \{ type: duckdb, folder: … \} or \{ connection: … \}/);
  }
  await expect(read('{ type: postgres, host: db }')).rejects.toThrow(/host/);
});

describe('files of DuckDB', () => {
  test('CSV files are tables; their types are those of all rows', async () => {
    const data = await mkdtemp(join(tmpdir(), "inlay csv' "));
    const lines = Array.from({ length: 30_000 }, (_, row) => `${row},${row === 29_000 ? 'n/a' : row},2024-01-31`);
    await writeFile(join(data, 'late.csv'), `id,mixed,day\n${lines.join('\n')}\n`);
    await writeFile(join(data, 'ignored.txt'), 'nothing');
    const warehouse = await openDuckDb({ folder: data, threads: 2 });
    const answer = await ask(warehouse, 'SELECT * FROM late WHERE id = 29000');
    expect(answer).toEqual({ all: [[29_000, 'n/a', '2024-01-31']], types: ['Int64', 'String', 'Date'] });
    await warehouse.close();
    await writeFile(join(data, 'LATE.parquet'), '');
    await expect(openDuckDb({ folder: data, threads: 2 })).rejects.toMatchObject({ code: 'NOT_READY' });
    await rm(data, { recursive: true });
  });

  test('a database is opened read-only, and locked down', async () => {
    const file = join(folder, 'shop.duckdb');
    const connection = await (await DuckDBInstance.create(file)).connect();
    await connection.run('CREATE TABLE orders AS SELECT range AS id FROM range(10)');
    await connection.run('CHECKPOINT');
    connection.closeSync();
    const warehouse = await openDuckDb({ file, threads: 2 });
    expect((await ask(warehouse, 'SELECT count(*) FROM orders')).all).toEqual([[10]]);
    for (const sql of ['INSERT INTO orders VALUES (1)', "SELECT * FROM read_csv('/etc/passwd')"]) {
      await expect(ask(warehouse, sql)).rejects.toMatchObject({ code: 'QUERY_FAILED' });
    }
    await warehouse.close();
    await expect(openDuckDb({ file: join(folder, 'none.duckdb'), threads: 2 })).rejects.toMatchObject({
      code: 'NOT_READY',
    });
  });
});

test('deployments with one connection share its warehouse, which is closed with the last of them', async () => {
  const data = await mkdtemp(join(tmpdir(), 'inlay-shared-'));
  await writeFile(join(data, 'one.csv'), 'id\n1\n');
  const connections = new Map([['files', { type: 'duckdb', settings: { folder: data, threads: 2 } } as const]]);
  const opener = createWarehouseOpener(connections, openLog());
  const [first, second] = await Promise.all([
    opener.open({ connection: 'files' }),
    opener.open({ connection: 'files' }),
  ]);
  await first.close();
  // Closing it twice is closing it once.
  await first.close();
  expect((await ask(second, 'SELECT id FROM one')).all).toEqual([[1]]);
  await second.close();
  await expect(ask(second, 'SELECT id FROM one')).rejects.toThrow();
  const again = await opener.open({ connection: 'files' });
  expect((await ask(again, 'SELECT id FROM one')).all).toEqual([[1]]);
  await again.close();
  await expect(opener.open({ connection: 'none' })).rejects.toMatchObject({ code: 'NOT_READY' });
  await rm(data, { recursive: true });
});
