/** A query that the warehouse itself refuses: what it said is for the operator, and found by the request id. */
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
  { deployment: 8, status: 400, code: 'QUERY_FAILED', said: 'the engine said this' },
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
