/** Queries of /load that take longer than a call may wait: `Continue wait`, and who stops them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../src/store/changes.ts';
import { type CubeWorld, openCubeWorld } from '../cube-world.ts';

let world: CubeWorld;
let seven: string;
beforeAll(async () => {
  world = await openCubeWorld({ config: { continueWaitMs: 20, resultCacheBytesMax: 0, dataRepliesPerUserMax: 3 } });
  seven = await world.merchant(7);
});
afterAll(() => world.close());

const load = (query: object, authorization: string, signal?: AbortSignal) =>
  fetch(`${world.urlOf(world.shops.demo)}/load`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    ...(signal === undefined ? {} : { signal }),
  });

/** Resolves when the warehouse runs as many queries at once as it can. */
async function isBusy(): Promise<boolean> {
  const { warehouse } = await world.server.context.deployments.get(world.server.accountId, 9, null);
  const quick = { sql: 'SELECT 1', parameters: [] };
  const { signal } = new AbortController();
  return warehouse.query(quick, { signal, timeoutMs: 200 }).then(
    () => false,
    () => true,
  );
}

test('a slow query is asked again until it is there', async () => {
  const waits: unknown[] = [];
  const query = { measures: ['slow.count'] };
  const result = await world.client(seven).load(query, { progressCallback: (progress) => waits.push(progress) });
  expect(result.rawData()).toEqual([{ 'slow.count': expect.any(Number) }]);
  expect(waits.length).toBeGreaterThan(0);
});

test('users who ask the same slow query at once get each their own rows', async () => {
  const waits: unknown[] = [];
  const ask = async (id: number) => {
    const client = world.client(await world.merchant(id));
    const result = await client.load({ measures: ['tardy.count'] }, { progressCallback: (it) => waits.push(it) });
    return result.rawData();
  };
  const all = await Promise.all([ask(7), ask(8), ask(7), ask(9)]);
  expect(all).toEqual([1, 2, 1, 0].map((count) => [{ 'tardy.count': count }]));
  expect(waits.length).toBeGreaterThan(0);
});

test('whoever comes back after the end of the session gets nothing any more', async () => {
  const query = { measures: ['slow.count'], filters: [{ member: 'slow.id', operator: 'gte', values: [1] }] };
  const first = await load(query, seven);
  expect([first.status, await first.json()]).toEqual([200, { error: 'Continue wait' }]);
  const { db } = world.server.context;
  await db.deleteFrom('sessions').where('account_id', '=', world.server.accountId).execute();
  expect((await load(query, seven)).status).toBe(401);
  seven = await world.merchant(7);
});

test('the end of the user stops a query that nobody waits for at this moment', async () => {
  const mine = await world.merchant(11);
  const asked = [1, 2, 3].map((id) =>
    load(
      { measures: ['endless.count'], filters: [{ member: 'endless.id', operator: 'lt', values: [id * 1e6] }] },
      mine,
    ),
  );
  for (const reply of await Promise.all(asked)) expect(await reply.json()).toEqual({ error: 'Continue wait' });
  expect(await isBusy()).toBe(true);
  const { db } = world.server.context;
  const gone = await db.deleteFrom('users').where('external_id', '=', 'merchant-11').returning('id').execute();
  expect(gone).toHaveLength(1);
  for (const { id } of gone) await publish(db, { kind: 'user', id });
  // Sooner than queries are given up that nobody asks for.
  await expect.poll(isBusy, { timeout: 8000 }).toBe(false);
});

test('whoever goes away while waiting stops the query in the warehouse', async () => {
  const other = await world.merchant(8);
  const query = (id: number) => ({
    measures: ['endless.count'],
    filters: [{ member: 'endless.id', operator: 'gt', values: [id] }],
  });
  // As many as the warehouse runs at once.
  const running = [1, 2, 3].map(async (id) => {
    const stop = new AbortController();
    const poll = async (): Promise<void> => {
      for (;;) {
        const reply = await load(query(id), other, stop.signal).catch(() => null);
        if (reply === null) return;
        expect([reply.status, await reply.text().catch(() => '{"error":"Continue wait"}')]).toEqual([
          200,
          '{"error":"Continue wait"}',
        ]);
      }
    };
    return { stop, polling: poll() };
  });
  const polls = await Promise.all(running);
  await expect.poll(isBusy, { timeout: 10_000 }).toBe(true);
  for (const { stop } of polls) stop.abort();
  await Promise.all(polls.map(({ polling }) => polling));
  await expect.poll(isBusy, { timeout: 20_000 }).toBe(false);
});
