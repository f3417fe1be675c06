import { type IncomingMessage, request } from 'node:http';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openSession, openTestServer, type TestAccount, type TestServer } from '../test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await openTestServer();
});
afterAll(() => server.close());

const byMonth = `select date_trunc('month', created_at) as month, measure(revenue) as revenue from sales group by 1 order by 1`;

type Line = { schema?: { name: string; column_type: string }[]; data?: unknown[][]; error?: string };

async function ask(authorization: string, query: string, account: TestAccount = server.demo, more: object = {}) {
  const reply = await fetch(`${server.url}/api/v1/deployments/${account.deploymentId}/cubesql`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ query, ...more }),
  });
  const text = await reply.text();
  if (reply.status !== 200) return { status: reply.status, lines: [], rows: [], body: JSON.parse(text) };
  expect(text.endsWith('\n')).toBe(true);
  const lines: Line[] = text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(reply.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  return { status: 200, lines, rows: lines.flatMap(({ data }) => data ?? []), body: null };
}

const merchant = (id: number) => ({
  externalId: `merchant-${id}`,
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: id }],
});

test('the first line is the schema, then at least one chunk of rows', async () => {
  const token = await openSession(server, server.demo, merchant(7));
  const { lines } = await ask(token, byMonth);
  expect(Object.keys(lines[0] ?? {})).toEqual(['schema']);
  expect(lines[0]?.schema?.map(({ name }) => name)).toEqual(['month', 'revenue']);
  expect(lines.slice(1).every((line) => Object.keys(line).join() === 'data')).toBe(true);
  const none = await ask(token, `${byMonth.replace('group by', "where created_at < '1990-01-01' group by")}`);
  expect(none.lines.slice(1)).toEqual([{ data: [] }]);
});

test('a merchant gets the rows of that merchant: by token, by API key, in either account', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const folder = inject('demoDataFolder');
  const countOf = async (id: number): Promise<number> => {
    const result = await connection.runAndReadAll(
      `select count(*)::int from read_parquet('${folder}/orders.parquet') where merchant_id = ${id}`,
    );
    return Number(result.getRows()[0]?.[0]);
  };
  const query = 'select measure(orders_count) from sales';
  const seen = new Set<number>();
  for (const id of [7, 8]) {
    const expected = await countOf(id);
    expect(expected).toBeGreaterThan(0);
    seen.add(expected);
    for (const account of [server.demo, server.other]) {
      const token = await openSession(server, account, merchant(id));
      expect((await ask(token, query, account)).rows.flat().map(Number)).toEqual([expected]);
      const byKey = await ask(`Api-Key ${account.apiKey}`, query, account, { sessionSettings: merchant(id) });
      expect(byKey.rows.flat().map(Number)).toEqual([expected]);
    }
  }
  expect(seen.size).toBe(2);
  connection.closeSync();
  instance.closeSync();
});

test('rights are read anew at every query', async () => {
  const token = await openSession(server, server.demo, { ...merchant(7), externalId: 'changing' });
  const before = (await ask(token, byMonth)).rows;
  await openSession(server, server.demo, { ...merchant(8), externalId: 'changing' });
  expect((await ask(token, byMonth)).rows).not.toEqual(before);
  await openSession(server, server.demo, { externalId: 'changing', groups: [] });
  const refused = await ask(token, byMonth);
  expect(refused).toMatchObject({ status: 400, rows: [], body: { code: 'RELATION_NOT_FOUND' } });
  expect(refused.body.error).toBe(refused.body.message);
});

test.each([
  { query: '', code: 'INVALID_REQUEST' },
  { query: 'x'.repeat(65_537), code: 'SQL_TOO_LARGE' },
  { query: 'select', code: expect.stringMatching(/^SQL_/) },
  { query: "select measure(revenue) from sales where 'a", code: 'SQL_INVALID' },
  { query: 'drop table orders', code: 'SQL_NOT_SUPPORTED' },
  { query: `${byMonth}; ${byMonth}`, code: expect.stringMatching(/^SQL_/) },
  {
    query: "select * from read_csv('/etc/passwd')",
    code: expect.stringMatching(/^(SQL_NOT_SUPPORTED|RELATION_NOT_FOUND)$/),
  },
  { query: 'select measure(revenue) from nothing', code: 'RELATION_NOT_FOUND' },
  { query: 'select nothing from sales', code: 'MEMBER_NOT_FOUND' },
  { query: 'select \0 from sales', code: 'INVALID_REQUEST' },
  { query: `select '\ud800' from sales`, code: 'INVALID_REQUEST' },
  { query: `select ${'('.repeat(5_000)}1${')'.repeat(5_000)} from sales`, code: 'SQL_TOO_DEEP' },
])('a query that cannot be is a clear 400: $code', async ({ query, code }) => {
  const token = await openSession(server, server.demo, merchant(7));
  const { status, body } = await ask(token, query);
  expect([status, body.code]).toEqual([400, code]);
  expect(body.error).toBe(body.message);
  expect((await ask(token, 'select measure(orders_count) from sales')).status).toBe(200);
});

test('a timezone says where months begin', async () => {
  const token = await openSession(server, server.demo, merchant(7));
  const utc = await ask(token, byMonth);
  expect((await ask(token, byMonth, server.demo, { timezone: 'UTC', branch: 'main' })).lines).toEqual(utc.lines);
  const elsewhere = await ask(token, byMonth, server.demo, { timezone: 'America/New_York' });
  expect(elsewhere.lines[0]).toEqual(utc.lines[0]);
  expect(elsewhere.rows).not.toEqual(utc.rows);
  const nowhere = await ask(token, byMonth, server.demo, { timezone: 'Mars/Olympus' });
  expect(nowhere).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('No time zone "Mars/Olympus".') },
  });
});

test('another branch would give other rights, so it is refused and not passed over', async () => {
  const token = await openSession(server, server.demo, merchant(7));
  const branch = { branch: 'dev', sessionSettings: merchant(7) };
  expect(await ask(token, byMonth, server.demo, branch)).toMatchObject({
    status: 403,
    body: { code: 'BRANCH_NOT_ALLOWED' },
  });
  expect(await ask(`Api-Key ${server.apiKey}`, byMonth, server.demo, branch)).toMatchObject({
    status: 404,
    body: { code: 'BRANCH_NOT_FOUND' },
  });
});

test('a client that goes away in the middle of a large result leaves the server in order', async () => {
  const token = await openSession(server, server.demo, { externalId: 'staff', groups: ['platform_team'] });
  const query = 'select order_number, created_at from sales group by 1, 2';
  const abort = new AbortController();
  const reply = await fetch(`${server.url}/api/v1/deployments/1/cubesql`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: abort.signal,
  });
  if (reply.status !== 200) throw new Error(await reply.text());
  await reply.body?.getReader().read();
  abort.abort();
  expect((await ask(token, 'select measure(orders_count) from sales')).rows).toHaveLength(1);
  await expect.poll(() => server.logText()).toMatch(/"clientGone":true/);
  expect(server.logText()).not.toContain('"level":"error"');
});

test('a user who does not read large results waits for a place; another user does not', async () => {
  const staff = await openSession(server, server.demo, { externalId: 'slow-reader', groups: ['platform_team'] });
  const merchantToken = await openSession(server, server.demo, merchant(7));
  const large = 'select order_number, created_at, channel, quantity, category, brand from sales';
  const open = (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: staff, 'content-type': 'application/json' };
      const call = request(`${server.url}/api/v1/deployments/1/cubesql`, { method: 'POST', headers });
      call.on('response', (response) => resolve(response.pause())).on('error', reject);
      call.end(JSON.stringify({ query: large }));
    });
  const unread = await Promise.all([open(), open(), open(), open(), open()]);
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
  const small = 'select measure(orders_count) from sales';
  let isAnswered = false;
  const waiting = ask(staff, small).finally(() => {
    isAnswered = true;
  });
  expect((await ask(merchantToken, small)).status).toBe(200);
  expect(isAnswered).toBe(false);
  for (const response of unread) response.destroy();
  expect((await waiting).status).toBe(200);
});
