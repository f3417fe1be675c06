/** Real processes as they are operated: stopping behind a load balancer, metrics on their own port, a store that goes away. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../../src/store/database.ts';
import { openTestDatabase } from '../../databases.ts';
import { type NodeProcess, startNode } from '../../node-process.ts';
import { freePort, startPostgres } from '../../postgres.ts';
import { seedAccount } from '../../seed.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function startOn(url: string, env: Readonly<Record<string, string>> = {}): Promise<NodeProcess> {
  const node = await startNode(url, env);
  undo.push(() => node.stop('SIGKILL'));
  return node;
}

/** A fresh database with an account, and its key. */
async function openShop(): Promise<{ readonly url: string; readonly apiKey: string }> {
  const database = await openTestDatabase('postgres');
  undo.push(database.close);
  const { apiKey } = await seedAccount(database.db, 'shop', 1);
  return { url: database.store.kind === 'postgres' ? database.store.url : '', apiKey };
}

async function ready(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const reply = await fetch(`${url}/readyz`);
  return { status: reply.status, body: JSON.parse(await reply.text()) };
}

const mint = async (url: string, apiKey: string): Promise<number> => (await mintReply(url, apiKey)).status;

const mintReply = async (url: string, apiKey: string) => {
  const reply = await fetch(`${url}/api/v1/embed/generate-session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Api-Key ${apiKey}` },
    body: JSON.stringify({ deploymentId: 1, externalId: 'ada' }),
  });
  return { status: reply.status, retryAfter: reply.headers.get('retry-after'), text: await reply.text() };
};

describe('stopping', { timeout: 120_000 }, () => {
  test('says first that it is not ready and goes on serving, for as long as the load balancer needs', async () => {
    const { url, apiKey } = await openShop();
    const node = await startOn(url, { INLAY_DRAIN_DELAY_MS: '600000' });
    await vi.waitFor(async () => expect((await ready(node.url)).status).toBe(200), 30_000);
    node.child.kill('SIGTERM');
    await vi.waitFor(async () => expect((await ready(node.url)).status).toBe(503), 30_000);
    expect((await ready(node.url)).body).toMatchObject({ code: 'NOT_READY', message: 'The server is stopping' });
    expect(await mint(node.url, apiKey)).toBe(200);
    expect((await fetch(`${node.url}/livez`)).status).toBe(200);
    const exited = once(node.child, 'exit');
    node.child.kill('SIGTERM');
    expect(await exited).toEqual([130, null]);
  });

  test('then takes no more, and ends by itself', async () => {
    const { url } = await openShop();
    const node = await startOn(url, { INLAY_DRAIN_DELAY_MS: '50' });
    const exited = once(node.child, 'exit');
    node.child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await expect(fetch(`${node.url}/livez`)).rejects.toThrow('fetch failed');
  });
});

describe('metrics', { timeout: 120_000 }, () => {
  test('stand on their own port, with the connections to the store, and not on the other', async () => {
    const { url, apiKey } = await openShop();
    const port = await freePort();
    const node = await startOn(url, { INLAY_METRICS_PORT: String(port) });
    expect(await mint(node.url, apiKey)).toBe(200);
    const read = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    // The first sweep goes on beside the requests.
    const text = await vi.waitFor(async () => {
      const now = await read();
      expect(now).toMatch(/^inlay_sweeps_total\{outcome="done"\} 1$/m);
      return now;
    }, 30_000);
    expect(text).toMatch(/^inlay_store_connections\{state="idle"\} \d+$/m);
    expect(text).toMatch(/^inlay_sessions_minted_total\{outcome="OK"\} 1$/m);
    expect(text).toMatch(/^inlay_changes_lag_seconds [\d.e-]+$/m);
    expect((await fetch(`${node.url}/metrics`)).status).toBe(404);
  });

  test('a port that is taken is one line', async () => {
    const { url } = await openShop();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    undo.push(async () => void taken.close());
    const address = taken.address();
    const port = String(address !== null && typeof address !== 'string' ? address.port : 0);
    await expect(startOn(url, { INLAY_METRICS_PORT: port })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is taken. Stop what uses it, or set INLAY_METRICS_PORT to another.`,
    );
  });
});

test('a store that goes away: not ready, alive, and ready again when it is back', { timeout: 180_000 }, async () => {
  const first = await startPostgres();
  undo.push(first.stop);
  const store = { kind: 'postgres', url: `${first.baseUrl}postgres` } as const;
  const node = await startOn(store.url);
  await vi.waitFor(async () => expect((await ready(node.url)).status).toBe(200), 30_000);
  const db = await openDatabase(store);
  const { apiKey } = await seedAccount(db, 'shop', 1);
  await db.destroy();
  expect(await mint(node.url, apiKey)).toBe(200);
  await first.halt();
  await vi.waitFor(async () => expect((await ready(node.url)).status).toBe(503), 60_000);
  expect((await ready(node.url)).body).toMatchObject({
    code: 'NOT_READY',
    parts: expect.arrayContaining([{ name: 'store', ok: false }]),
  });
  expect((await fetch(`${node.url}/livez`)).status).toBe(200);
  // Not a 500: whoever calls can tell that trying again makes sense.
  const away = await mintReply(node.url, apiKey);
  expect(away).toMatchObject({ status: 503, retryAfter: '1' });
  expect(JSON.parse(away.text)).toMatchObject({ code: 'NOT_READY', message: 'The store does not answer; try again' });
  await first.resume();
  await vi.waitFor(async () => expect((await ready(node.url)).status).toBe(200), 60_000);
  expect(await mint(node.url, apiKey)).toBe(200);
});
