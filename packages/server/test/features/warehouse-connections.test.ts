/**
 * Deployments whose warehouse is a connection of the operator's file, asked by every way to data: policies hold, a warehouse that
 * cannot be reached is said to be away and nothing more, and it is asked again when it is back.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../chat-world.ts';
import { readerOfClickHouse } from '../clickhouse/shim.ts';
import { hasClickHouse, startClickHouse } from '../clickhouse/start-clickhouse.ts';
import { freePort, startPostgres } from '../postgres.ts';
import { call, say, scripted } from '../scripted-language-model.ts';
import { openTestServer, type TestAccount, type TestServer } from '../test-server.ts';

/** Two rows of merchant 7, one of merchant 8. */
const model = `
cubes:
  - name: orders
    sql_table: orders
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: merchant, sql: "{CUBE}.merchant", type: number }
      - { name: note, sql: "{CUBE}.note", type: string }
    measures:
      - { name: count, type: count }
      - { name: broken, type: sum, sql: "CAST({CUBE}.note AS INTEGER)" }
    access_policy:
      - group: merchant
        row_level: { filters: [{ member: merchant, operator: equals, values: ["{ userAttributes.merchant_id }"] }] }
`;
const rows = "(1, 7, 'SECRET-a'), (2, 7, 'SECRET-b'), (3, 8, 'SECRET-c')";
const user = 'reader';
const { password } = readerOfClickHouse;

/** An engine in a process of its own, that lets in {@link user} with the password only. */
interface Engine {
  /** The part of a connection's entry that says where it is. */
  at(place: { readonly host?: string; readonly port?: number }): string;
  halt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

async function startPostgresEngine(): Promise<Engine> {
  const server = await startPostgres();
  const url = new URL(server.baseUrl);
  const admin = new pg.Client({ connectionString: `${server.baseUrl}postgres` });
  await admin.connect();
  await admin.query(`CREATE TABLE orders (id integer, merchant integer, note text);
    INSERT INTO orders VALUES ${rows};
    CREATE ROLE ${user} LOGIN PASSWORD '${password.replaceAll("'", "''")}';
    GRANT SELECT ON orders TO ${user}`);
  await writeFile(
    join(server.dataFolder, 'pg_hba.conf'),
    `host all inlay 127.0.0.1/32 trust\nhost all ${user} 127.0.0.1/32 scram-sha-256\n`,
  );
  await admin.query('SELECT pg_reload_conf()');
  await admin.end();
  return {
    ...server,
    at: ({ host = url.hostname, port = Number(url.port) }) =>
      `type: postgres, host: ${host}, port: ${port}, database: postgres, tls: off`,
  };
}

async function startClickHouseEngine(): Promise<Engine> {
  const server = await startClickHouse();
  await server.exec(
    `CREATE TABLE orders (id Int32, merchant Int32, note String) ENGINE = MergeTree ORDER BY id;\nINSERT INTO orders VALUES ${rows}`,
  );
  const url = new URL(server.url);
  return {
    ...server,
    at: ({ host = url.hostname, port = Number(url.port) }) => `type: clickhouse, url: "http://${host}:${port}"`,
  };
}

const merchant = (id: number) => ({
  externalId: `merchant-${id}`,
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: id }],
});
const sqlQuery = 'SELECT MEASURE(count) AS n FROM orders';
const toolInput = (sql: string) => ({ sqlQuery: sql, queryTitle: 'Count', description: '', userRequest: 'count' });

/** What a way to data said. */
interface Said {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

describe.each([
  { engine: 'postgres', isHere: true, start: startPostgresEngine },
  { engine: 'clickhouse', isHere: hasClickHouse, start: startClickHouseEngine },
])('connections to $engine', ({ isHere, start }) => {
  if (!isHere) return void test.skip('its engine is not installed');
  let engine: Engine;
  let server: TestServer;
  let folder: string;
  /** What the chat asks. */
  let chatSql = sqlQuery;
  /** Deployments by their connections; `other` is of another account, with the connection of `shop`. */
  const deployments = { shop: 20, shut: 21, nowhere: 22, closed: 23, unnamed: 24, other: 25 };

  beforeAll(async () => {
    engine = await start();
    folder = await mkdtemp(join(tmpdir(), 'inlay-connections-'));
    await writeFile(join(folder, 'orders.yml'), model);
    const file = join(folder, 'warehouses');
    const secrets: Readonly<Record<string, string>> = { RIGHT: password, WRONG: 'WRONG-password' };
    const entry = (name: string, at: string, secret = 'RIGHT') =>
      `  - { name: ${name}, ${at}, user: ${user}, password_env: ${secret} }\n`;
    await writeFile(
      file,
      `warehouses:\n${entry('shop', engine.at({}))}${entry('shut', engine.at({}), 'WRONG')}${entry(
        'nowhere',
        engine.at({ host: 'no-such-host.invalid' }),
      )}${entry('closed', engine.at({ port: await freePort() }))}`,
    );
    server = await openTestServer({
      config: { warehouses: { file, secretOf: (variable) => secrets[variable] } },
      languageModel: scripted((messages) =>
        messages.at(-1)?.role === 'user' ? [call('platformSqlApi', toolInput(chatSql))] : [say('Done.')],
      ),
    });
    const { db } = server.context;
    for (const [name, id] of Object.entries(deployments)) {
      const { accountId } = name === 'other' ? server.other : server.demo;
      const warehouse = JSON.stringify({ connection: name === 'other' ? 'shop' : name });
      await db
        .insertInto('deployments')
        .values({ id, account_id: accountId, name, model_folder: folder, warehouse })
        .execute();
      await db.insertInto('agents').values({ id, account_id: accountId, name, deployment_id: id }).execute();
    }
  });
  afterAll(async () => {
    await server.close();
    await engine.stop();
    await rm(folder, { recursive: true });
  });

  async function send(
    method: string,
    path: string,
    { apiKey }: TestAccount,
    body: object | undefined,
    as: object,
  ): Promise<Said> {
    const reply = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Api-Key ${apiKey}`,
        'x-inlay-session-settings': Buffer.from(JSON.stringify(as)).toString('base64url'),
        accept: 'application/json, text/event-stream',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: reply.status, text: await reply.text(), headers: reply.headers };
  }

  /** Every way that asks the warehouse, as a merchant. */
  async function askAll(deployment: number, merchantId: number, measure = 'count') {
    const account = deployment === deployments.other ? server.other : server.demo;
    const as = merchant(merchantId);
    const sql = sqlQuery.replace('count', measure);
    const path = `/api/v1/deployments/${deployment}`;
    chatSql = sql;
    const name = account === server.other ? 'other' : 'demo';
    const chatPath = `/api/v1/public/${name}/agents/${deployment}/chat/stream-chat-state`;
    const params = { name: 'platformSqlApi', arguments: toolInput(sql) };
    return {
      load: await send('POST', `${path}/load`, account, { query: { measures: [`orders.${measure}`] } }, as),
      cubesql: await send('POST', `${path}/cubesql`, account, { query: sql }, as),
      mcp: await send('POST', `${path}/mcp`, account, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, as),
      chat: await send('POST', chatPath, account, { input: 'count', sessionSettings: as }, as),
    };
  }

  async function expectRows(deployment: number): Promise<void> {
    for (const [id, count] of [
      [7, 2],
      [8, 1],
      [9, 0],
    ] as const) {
      const { load, cubesql, mcp, chat } = await askAll(deployment, id);
      expect(JSON.parse(load.text)).toMatchObject({ data: [{ 'orders.count': count }] });
      expect(cubesql.text.split('\n')[1]).toBe(`{"data":[[${count}]]}`);
      for (const { text } of [mcp, chat]) expect(text).toContain(`[[${count}]]`.replaceAll('"', '\\"'));
    }
  }

  /** Nobody hears where the warehouse is, who asks it, or what it said. */
  function expectSafe(said: Readonly<Record<string, Said>>): void {
    for (const { text } of Object.values(said)) {
      for (const inside of [
        'no-such-host',
        '127.0.0.1',
        user,
        password,
        'WRONG',
        'SECRET',
        'DB::',
        'SQLSTATE',
        'ECONN',
      ])
        expect(text).not.toContain(inside);
    }
    expect(server.logText()).not.toContain(password);
    for (const inside of ['WRONG', 'SECRET']) expect(server.logText()).not.toContain(inside);
  }

  function expectCode(said: Readonly<Record<'load' | 'cubesql' | 'mcp' | 'chat', Said>>, code: string, status: number) {
    const { load, cubesql, mcp, chat } = said;
    for (const { status: given, text } of [load, cubesql]) {
      const body = JSON.parse(text);
      expect([given, body.code]).toEqual([status, code]);
      expect(body.error).toBe(body.message);
    }
    for (const { status: given, text } of [mcp, chat]) {
      expect(given).toBe(200);
      expect(text).toContain(code);
    }
    expectSafe(said);
  }

  test('give each merchant their own rows, whichever way and account they ask from', async () => {
    await expectRows(deployments.shop);
    await expectRows(deployments.other);
    const path = `/api/v1/deployments/${deployments.shop}`;
    const meta = await send('GET', `${path}/meta`, server.demo, undefined, merchant(7));
    expect([meta.status, JSON.parse(meta.text).cubes.length]).toEqual([200, 1]);
    const nobody = await send('GET', `${path}/meta`, server.demo, undefined, { externalId: 'nobody' });
    expect(JSON.parse(nobody.text)).toEqual({ cubes: [] });
    const compiled = await send('POST', `${path}/sql`, server.demo, { query: sqlQuery }, merchant(7));
    expect(JSON.parse(compiled.text).sql.sql[1]).toEqual([7]);
    const stranger = await send('GET', `${path}/meta`, server.other, undefined, merchant(7));
    expect(stranger.status).toBe(404);
  });

  test('say nothing of what the engine says', async () => {
    expectCode(await askAll(deployments.shop, 7, 'broken'), 'QUERY_FAILED', 400);
  });

  test.each(['shut', 'nowhere', 'closed'] as const)('that cannot be had are away: %s', async (name) => {
    const said = await askAll(deployments[name], 7);
    expectCode(said, 'WAREHOUSE_UNAVAILABLE', 503);
    for (const { headers } of [said.load, said.cubesql]) expect(headers.get('retry-after')).toBe('5');
    // What the data model says needs no warehouse.
    const path = `/api/v1/deployments/${deployments[name]}/meta`;
    expect((await send('GET', path, server.demo, undefined, merchant(7))).status).toBe(200);
  });

  test('that nobody has named are not ready, and only the log has the name', async () => {
    const said = await askAll(deployments.unnamed, 7);
    for (const { status, text } of [said.load, said.cubesql]) {
      expect([status, JSON.parse(text).code]).toEqual([503, 'NOT_READY']);
      expect(text).not.toContain('unnamed');
    }
    expect(server.logText()).toContain('INLAY_WAREHOUSES names no connection');
  });

  test('are away while the engine is, and back with it', async () => {
    await engine.halt();
    // Kept answers are another matter: they are true for as long as they are kept.
    const path = `/api/v1/deployments/${deployments.shop}`;
    const other = { query: `${sqlQuery} WHERE id > 0` };
    const ask = () => send('POST', `${path}/cubesql`, server.demo, other, merchant(7));
    const away = await ask();
    expect([away.status, JSON.parse(away.text).code]).toEqual([503, 'WAREHOUSE_UNAVAILABLE']);
    expectSafe({ away });
    const ready = await fetch(`${server.url}/readyz`);
    expectSafe({ ready: { status: ready.status, text: await ready.text(), headers: ready.headers } });
    await engine.resume();
    await until(async () => (await ask()).status === 200);
    expect((await ask()).text.split('\n')[1]).toBe('{"data":[[2]]}');
    await expectRows(deployments.other);
  });
});
