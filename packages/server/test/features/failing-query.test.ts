/** A query that the warehouse itself refuses: the kind of failure is for the operator, found by the request id; values are for nobody. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openTestServer, type TestServer } from '../test-server.ts';

const model = `
cubes:
  - name: broken
    sql: SELECT error('the engine said this') AS id
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: total, type: sum, sql: "{CUBE}.id" }]
    access_policy: [{ group: platform_team, row_level: { allow_all: true } }]
  - name: people
    sql: SELECT 'SECRET-of-another' AS name, 4242424242424242 AS big
    dimensions: [{ name: name, sql: "{CUBE}.name", type: string, primary_key: true }]
    measures:
      - { name: digits, type: sum, sql: "CAST({CUBE}.name AS INTEGER)" }
      - { name: overflow, type: sum, sql: "{CUBE}.big * 4242424242424242" }
      - { name: lost, type: sum, sql: "{CUBE}.no_such_column" }
    access_policy: [{ group: platform_team, row_level: { allow_all: true } }]
`;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-failing-'));
  await writeFile(join(folder, 'broken.yml'), model);
  server = await openTestServer();
  const deployment = { account_id: server.accountId, name: 'broken', model_folder: folder };
  const warehouse = (path: string) => JSON.stringify({ type: 'duckdb', folder: path });
  await server.context.db
    .insertInto('deployments')
    .values([
      { ...deployment, id: 8, warehouse: warehouse(inject('demoDataFolder')) },
      { ...deployment, id: 9, warehouse: warehouse(join(folder, 'none')) },
    ])
    .execute();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

test.each([
  { deployment: 8, status: 400, code: 'QUERY_FAILED', said: 'Invalid Input Error' },
  { deployment: 9, status: 503, code: 'NOT_READY', said: 'ENOENT' },
])('$code: the reply says that, the log says why', async ({ deployment, status, code, said }) => {
  const requestId = `find-${deployment}`;
  const reply = await fetch(`${server.url}/api/v1/deployments/${deployment}/cubesql`, {
    method: 'POST',
    headers: {
      authorization: `Api-Key ${server.apiKey}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify({
      query: 'SELECT MEASURE(total) FROM broken',
      sessionSettings: { externalId: 'staff', groups: ['platform_team'] },
    }),
  });
  const text = await reply.text();
  expect([reply.status, JSON.parse(text).code]).toEqual([status, code]);
  expect(text).not.toContain(said);
  const lines = server
    .logText()
    .split('\n')
    .filter((line) => line.includes(requestId) && line.includes(said));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"level":"error"');
});

test.each([
  { measure: 'digits', said: 'Conversion Error: \\"name\\"' },
  { measure: 'overflow', said: 'Out of Range Error' },
  { measure: 'lost', said: 'Binder Error: \\"people\\", \\"no_such_column\\"' },
])('no line of the log holds a value of a row: $measure', async ({ measure, said }) => {
  const sql = `SELECT MEASURE(${measure}) FROM people`;
  const sessionSettings = { externalId: 'staff', groups: ['platform_team'] };
  const headers = { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' };
  const replies = await Promise.all([
    fetch(`${server.url}/api/v1/deployments/8/cubesql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query: sql, sessionSettings }),
    }),
    fetch(`${server.url}/api/v1/deployments/8/mcp`, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json, text/event-stream',
        'x-inlay-session-settings': Buffer.from(JSON.stringify(sessionSettings)).toString('base64url'),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'platformSqlApi',
          arguments: { sqlQuery: sql, queryTitle: 't', description: 'd', userRequest: 'u' },
        },
      }),
    }),
  ]);
  const texts = await Promise.all(replies.map((reply) => reply.text()));
  for (const text of texts) expect(text).toContain('QUERY_FAILED');
  const told = server.logText();
  expect(told).toContain(said);
  for (const value of ['SECRET', '4242424242', 'the engine said this']) {
    expect([told, ...texts].join('\n')).not.toContain(value);
  }
});
