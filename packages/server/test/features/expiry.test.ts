/** An end is an end from its instant on, though nothing is removed yet: the server of this test has no sweeper. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweep } from '../../src/store/sweep.ts';
import { databaseKinds } from '../databases.ts';
import { openTestServer, postJson, type TestServer } from '../test-server.ts';

const start = Date.parse('2026-05-01T10:00:00Z');
const ttlSeconds = 3600;
const query = { query: 'SELECT MEASURE(revenue) AS revenue FROM sales' };

for (const kind of databaseKinds) {
  let server: TestServer;
  let now = start;
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
  });
  afterAll(() => server.close());

  test(`an ephemeral user on ${kind}: refused at the instant, with rows and all, and then removed without a trace`, async () => {
    now = start;
    const mint = () =>
      postJson(
        server,
        '/api/v1/embed/generate-session',
        {
          deploymentId: 1,
          externalId: 'passing',
          groups: ['merchant'],
          isEphemeral: true,
          ephemeralTtlSeconds: ttlSeconds,
        },
        `Api-Key ${server.apiKey}`,
      );
    const exchange = (body: object) => postJson(server, '/api/v1/embed/session/token', body);
    const token = async (): Promise<string> => `Bearer ${String((await exchange((await mint()).body)).body['token'])}`;
    const bearer = await token();
    const waiting = (await mint()).body;
    const statuses = async () => [
      (await fetchLines(server, '/api/v1/deployments/1/cubesql', query, bearer)).status,
      (await postJson(server, '/api/v1/embed/session/token', undefined, bearer)).status,
    ];

    // The last moment before the end; renewal gives a token that ends with the user.
    now = start + ttlSeconds * 1000 - 1;
    expect((await fetchLines(server, '/api/v1/deployments/1/cubesql', query, bearer)).status).toBe(200);
    now = start + ttlSeconds * 1000;
    expect(await statuses()).toEqual([401, 401]);
    expect((await exchange(waiting)).status).toBe(401);
    const users = () =>
      server.context.db.selectFrom('users').select('id').where('external_id', '=', 'passing').execute();
    const [user] = await users();
    expect(user).toBeDefined();

    const removed: string[] = [];
    const { signal } = new AbortController();
    const settings = { auditRetentionDays: 365 };
    await sweep(server.context.db, new Date(now), settings, { removed: (what) => void removed.push(what), signal });
    expect(removed).toContain('users');
    expect(await users()).toEqual([]);
    const left = await sql`select 1 from sessions where user_id = ${user?.id ?? 0}`.execute(server.context.db);
    expect(left.rows).toEqual([]);
    expect(await statuses()).toEqual([401, 401]);
  });
}

async function fetchLines(server: TestServer, path: string, body: object, authorization: string) {
  const reply = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
  return { status: reply.status, text: await reply.text() };
}
