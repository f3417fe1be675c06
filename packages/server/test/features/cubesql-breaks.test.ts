/** Streams of /cubesql that do not come to their end: a failure of the engine half-way is the last line, a client that hangs up stops it. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openTestServer, type TestServer } from '../test-server.ts';

/** Rows that are given before one fails, and rows that are never all given. `source` has one column i, counted from 0. */
const model = (source: (rows: number) => string): string => `
cubes:
  - name: risky
    sql: SELECT i, CASE WHEN i = 250000 THEN CAST('SECRET' || i AS INTEGER) ELSE i END AS value FROM ${source(300_000)}
    dimensions:
      - { name: i, sql: "{CUBE}.i", type: number, primary_key: true }
      - { name: value, sql: "{CUBE}.value", type: number }
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
  - name: endless
    sql: SELECT i FROM ${source(2_000_000_000)}
    dimensions: [{ name: i, sql: "{CUBE}.i", type: number, primary_key: true }]
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
`;

const engines = [
  { engine: 'duckdb', id: 30, places: 8, source: (rows: number) => `range(${rows}) AS t(i)` },
  {
    engine: 'postgres',
    id: 31,
    places: 4,
    source: (rows: number) => `(SELECT generate_series(0, ${rows - 1}) AS i) AS t`,
  },
] as const;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-breaks-'));
  const { hostname, port, username } = new URL(inject('postgresBaseUrl'));
  const file = join(folder, 'warehouses');
  await writeFile(
    file,
    `warehouses: [{ name: shared, type: postgres, host: ${hostname}, port: ${port}, database: postgres, user: ${username}, tls: off, connections_max: 4 }]`,
  );
  server = await openTestServer({
    config: { dataRepliesPerUserMax: 8, warehouses: { file, secretOf: () => undefined } },
  });
  for (const { engine, id, source } of engines) {
    const models = await mkdtemp(join(folder, engine));
    await writeFile(join(models, 'model.yml'), model(source));
    const warehouse =
      engine === 'duckdb' ? { type: 'duckdb', folder: inject('demoDataFolder') } : { connection: 'shared' };
    const row = { id, account_id: server.accountId, name: engine, model_folder: models };
    await server.context.db
      .insertInto('deployments')
      .values({ ...row, warehouse: JSON.stringify(warehouse) })
      .execute();
  }
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const headers = (): Record<string, string> => ({
  authorization: `Api-Key ${server.apiKey}`,
  'content-type': 'application/json',
});
const bodyOf = (query: string): string => JSON.stringify({ query, sessionSettings: { externalId: 'reader' } });

describe.each(engines)('on $engine', ({ engine, id, places }) => {
  const path = `/api/v1/deployments/${id}/cubesql`;

  test('a failure half-way is the last line, after all rows before it, and tells no value', async () => {
    const requestId = `breaks-${engine}`;
    const reply = await fetch(server.url + path, {
      method: 'POST',
      headers: { ...headers(), 'x-request-id': requestId },
      body: bodyOf('SELECT i, value FROM risky'),
    });
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text.endsWith('\n')).toBe(true);
    const lines = text
      .slice(0, -1)
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ schema: [{ name: 'i' }, { name: 'value' }] });
    expect(lines.at(-1)).toEqual({ error: 'The warehouse could not run the query.' });
    const values = lines.slice(1, -1).flatMap(({ data }) => data.map(([i]: readonly number[]) => i));
    expect(values.length).toBeGreaterThan(1000);
    expect(values).toEqual(values.map((_, index) => index));
    const told = server
      .logText()
      .split('\n')
      .filter((line) => line.includes(requestId) && line.includes('result broke off'));
    expect(told).toHaveLength(1);
    for (const where of [text, server.logText()]) expect(where).not.toContain('SECRET');
  });

  test('clients that hang up in the middle give their places back, and the engine stops', async () => {
    const { warehouse } = await server.context.deployments.get(server.accountId, id, null);
    const isBusy = () =>
      warehouse
        .query({ sql: 'SELECT 1', parameters: [] }, { signal: new AbortController().signal, timeoutMs: 300 })
        .then(
          () => false,
          () => true,
        );
    const open = async (): Promise<IncomingMessage> => {
      const call = request(server.url + path, { method: 'POST', headers: headers() }).on('error', () => undefined);
      call.end(bodyOf('SELECT i FROM endless'));
      const [response]: IncomingMessage[] = await once(call, 'response');
      if (response === undefined) throw new Error('no response');
      await once(
        response.on('error', () => undefined),
        'readable',
      );
      return response;
    };
    const unread = await Promise.all(Array.from({ length: places }, open));
    expect(unread.map(({ statusCode }) => statusCode)).toEqual(Array(places).fill(200));
    expect(await isBusy()).toBe(true);
    for (const response of unread) response.destroy();
    await expect.poll(isBusy, { timeout: 20_000 }).toBe(false);
    if (engine === 'duckdb') return;
    const client = new pg.Client({ connectionString: `${inject('postgresBaseUrl')}postgres` });
    await client.connect();
    const running = async () => {
      const { rowCount } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'inlay' AND datname = 'postgres' AND state <> 'idle' AND query LIKE '%generate_series%'",
      );
      return rowCount;
    };
    await expect.poll(running, { timeout: 20_000 }).toBe(0);
    await client.end();
  });
});
