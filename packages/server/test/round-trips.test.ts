/** How often an endpoint goes to the store: each statement is a round trip, the begin and the commit of a transaction too. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askData, mint } from './admin-api.ts';
import { openSession, openTestServer, postJson, type TestServer } from './test-server.ts';

describe('round trips', () => {
  const noted: string[] = [];
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer({ kind: 'postgres', onStatement: ({ query }) => void noted.push(query.sql) });
  });
  afterAll(() => server.close());

  /** The statements of the quickest of some calls: what the server does by itself, now and then, is not of a call. */
  async function tripsOf(call: (index: number) => Promise<unknown>): Promise<number> {
    const counts: number[] = [];
    // The first one makes the user and opens the deployment.
    for (let index = 0; index < 6; index += 1) {
      noted.length = 0;
      await call(index);
      counts.push(noted.filter((text) => !/\bnodes\b/.test(text)).length);
    }
    return Math.min(...counts.slice(1));
  }

  const user = (externalId: string, merchant = 7) => ({
    externalId,
    groups: ['merchant'],
    userAttributes: [{ name: 'merchant_id', value: merchant }],
  });

  test('a session of a user as they are: read, insert', async () => {
    expect(await tripsOf(() => mint(server, server.demo, user('same')))).toBe(2);
  });

  test('of a new user: read; begin, lock, read, user with rights, session, commit', async () => {
    expect(await tripsOf((index) => mint(server, server.demo, user(`new-${index}`)))).toBe(7);
  });

  test('of a user with a new value: the same', async () => {
    expect(await tripsOf((index) => mint(server, server.demo, user('changed', index)))).toBe(7);
  });

  test('of twenty users at once: a few flights', async () => {
    const all = () => Promise.all(Array.from({ length: 20 }, (_, n) => mint(server, server.demo, user(`many-${n}`))));
    // Those whose bodies arrive a moment later go with the next flights.
    expect(await tripsOf(all)).toBeLessThanOrEqual(2 * 6);
  });

  test('the exchange and the renewal of a token', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => mint(server, server.demo, user('same'))));
    const path = '/api/v1/embed/session/token';
    expect(await tripsOf((index) => postJson(server, path, { sessionId: ids[index] }))).toBe(1);
    const authorization = await openSession(server, server.demo, user('same'));
    expect(await tripsOf(() => postJson(server, path, undefined, authorization))).toBe(1);
  });

  test('a query: the token, the deployment, the watch over the stream, the rights of the user', async () => {
    const authorization = await openSession(server, server.demo, user('same'));
    const trips = await tripsOf(async () => expect(await askData(server, authorization)).toBe(200));
    expect(trips).toBe(4);
  });

  test('the start of a chat: the token, the agent, and all of the run at once; in a thread that is there, the thread as well', async () => {
    const authorization = await openSession(server, server.demo, user('same'));
    const ask = async (body: object): Promise<{ readonly start: readonly string[]; readonly text: string }> => {
      noted.length = 0;
      const reply = await fetch(`${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: JSON.stringify(body),
      });
      expect(reply.status).toBe(200);
      const text = await reply.text();
      // The watch over the stream begins beside it, and what the run does comes after.
      const end = noted.findIndex((statement) => /insert into runs/.test(statement));
      return { start: noted.slice(0, end + 1).filter((statement) => !/\bnodes\b|w\.index/.test(statement)), text };
    };
    const first = await ask({ input: 'revenue by month' });
    const chatId = /"chatId":"([^"]+)"/.exec(first.text)?.[1];
    // The quickest of some, as above.
    const counts = { first: [first.start.length], next: [Number.POSITIVE_INFINITY] };
    for (let index = 0; index < 3; index += 1) {
      counts.first.push((await ask({ input: 'revenue by month' })).start.length);
      counts.next.push((await ask({ input: 'by region', chatId })).start.length);
    }
    expect([Math.min(...counts.first), Math.min(...counts.next)]).toEqual([3, 4]);
  });

  test('a whole chat with an API key: the agent, the user, the watch over stream and run, the run, the rights of the user', async () => {
    const trips = await tripsOf(async () => {
      const reply = await fetch(`${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Api-Key ${server.apiKey}` },
        body: JSON.stringify({ input: 'hello', sessionSettings: { ...user('same'), isEphemeral: false } }),
      });
      expect(reply.status).toBe(200);
      expect(await reply.text()).toContain('"__usage__"');
      // What is said goes into as many statements as it takes time.
      const isLog = (statement: string): boolean => /\blogged as\b/.test(statement);
      for (const [index, statement] of [...noted.entries()].toReversed()) if (isLog(statement)) noted.splice(index, 1);
    });
    expect(trips).toBe(5);
  });
});
