/** Whoever stops waiting stops the SQL: an abort, and a client of the data API that hangs up, reach the engine. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@inlay/sdk/client.ts';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { publish } from '../../src/store/changes.ts';
import { until } from '../chat-world.ts';
import { call, say, scripted } from '../scripted-language-model.ts';
import { openTestServer, type TestServer } from '../test-server.ts';

/** Its one cube takes hours to count. */
const slowModel = `
cubes:
  - name: endless
    sql: SELECT a.range AS id FROM range(10000000) a, range(10000000) b WHERE hash(a.range * b.range) = 7
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
    access_policy: [{ group: platform_team, row_level: { allow_all: true } }]
`;
const sqlQuery = 'SELECT MEASURE(count) FROM endless';
const input = { sqlQuery, queryTitle: 'Count', description: '', userRequest: 'count' };
const sessionSettings = { externalId: 'team', groups: ['platform_team'], isEphemeral: false };
const agent = { accountName: 'demo', agentId: 9 };
/** As many queries as the warehouse runs at once: were one of them left running, there would be no place for a next. */
const places = 3;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-slow-'));
  await writeFile(join(folder, 'endless.yml'), slowModel);
  server = await openTestServer({ languageModel: scripted(() => [say('I count. '), call('platformSqlApi', input)]) });
  const { db } = server.context;
  const of = { id: 9, account_id: server.accountId, name: 'slow' };
  const warehouse = JSON.stringify({ type: 'duckdb', folder: inject('demoDataFolder') });
  await db
    .insertInto('deployments')
    .values({ ...of, model_folder: folder, warehouse })
    .execute();
  await db
    .insertInto('agents')
    .values({ ...of, deployment_id: 9 })
    .execute();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

async function expectFreeWarehouse(): Promise<void> {
  const { warehouse } = await server.context.deployments.get(server.accountId, 9, null);
  const quick = { sql: 'SELECT 1', parameters: [] };
  const signal = new AbortController().signal;
  const asked = Array.from({ length: places }, () => warehouse.query(quick, { signal, timeoutMs: 10_000 }));
  expect((await Promise.all(asked)).map(({ rowCount }) => rowCount)).toEqual(Array(places).fill(1));
}

test('abort stops the query in the engine, and the stream says so', async () => {
  const client = createClient({ baseUrl: server.url, credential: { kind: 'api-key', apiKey: server.apiKey } });
  const runs = Array.from({ length: places }, async () => {
    let chatId = '';
    const lines: string[] = [];
    for await (const frame of await client.chat(agent, { input: 'count', sessionSettings })) {
      chatId = frame.state?.chatId ?? chatId;
      lines.push(frame.toolCall?.result ?? frame.id);
      // The tool has begun, and with it the query.
      if (frame.toolCall !== undefined && frame.toolCall.result === undefined) {
        await client.abort(agent, { chatId, sessionSettings });
      }
    }
    return lines.slice(-3);
  });
  for (const lines of await Promise.all(runs)) {
    expect(lines).toEqual([
      '{"error":{"code":"ABORTED","message":"Stopped by the user.","hint":""}}',
      '__aborted__',
      '__usage__',
    ]);
  }
  await expectFreeWarehouse();
});

test('a client of the data API that hangs up before the first byte stops its query', async () => {
  const running = Array.from({ length: places }, () => {
    const hangUp = new AbortController();
    const reply = fetch(`${server.url}/api/v1/deployments/9/cubesql`, {
      method: 'POST',
      signal: hangUp.signal,
      headers: { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: sqlQuery, sessionSettings }),
    });
    return {
      hangUp,
      reply: reply.then(
        () => 'answered',
        () => 'gone',
      ),
    };
  });
  // All of them run: a further query finds no place.
  const { warehouse } = await server.context.deployments.get(server.accountId, 9, null);
  const hasPlace = () =>
    warehouse.query({ sql: 'SELECT 1', parameters: [] }, { signal: new AbortController().signal, timeoutMs: 200 }).then(
      () => true,
      () => false,
    );
  await until(async () => !(await hasPlace()));
  for (const { hangUp } of running) hangUp.abort();
  expect(await Promise.all(running.map(({ reply }) => reply))).toEqual(Array(places).fill('gone'));
  await expectFreeWarehouse();
});

test('the end of the user stops their query, and the caller is told', async () => {
  const running = Array.from({ length: places }, async (_, index) => {
    const reply = await fetch(`${server.url}/api/v1/deployments/9/cubesql`, {
      method: 'POST',
      headers: { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: sqlQuery, sessionSettings: { ...sessionSettings, externalId: `ended-${index}` } }),
    });
    return [reply.status, JSON.parse(await reply.text())];
  });
  const { db } = server.context;
  const { warehouse } = await server.context.deployments.get(server.accountId, 9, null);
  await until(() =>
    warehouse.query({ sql: 'SELECT 1', parameters: [] }, { signal: new AbortController().signal, timeoutMs: 200 }).then(
      () => false,
      () => true,
    ),
  );
  const gone = await db.deleteFrom('users').where('external_id', 'like', 'ended-%').returning('id').execute();
  expect(gone).toHaveLength(places);
  for (const { id } of gone) await publish(db, { kind: 'user', id });
  for (const reply of await Promise.all(running)) expect(reply).toMatchObject([401, { code: 'SESSION_ENDED' }]);
  await expectFreeWarehouse();
});
