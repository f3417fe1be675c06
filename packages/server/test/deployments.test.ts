/** The opened deployments of a process: kept, and let go when they are changed or deleted elsewhere. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { openLog } from '../src/log.ts';
import { type Deployments, type DeploymentsDependencies, openDeployments } from '../src/query/deployments.ts';
import { createListeners, type Listeners, noChanges } from '../src/store/changes.ts';
import type { Schema } from '../src/store/schema.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';
import { seedAccount } from './seed.ts';

const model = `
cubes:
  - name: sold
    sql_table: orders
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
`;

let database: TestDatabase;
let db: Kysely<Schema>;
let folder: string;
let accountId: number;
let listeners: Listeners;
let deployments: Deployments;
beforeAll(async () => {
  database = await openTestDatabase('pglite');
  db = database.db;
  folder = await mkdtemp(join(tmpdir(), 'inlay-model-'));
  await writeFile(join(folder, 'model.yml'), model);
  accountId = (await seedAccount(db, 'shop', 1)).accountId;
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await db.deleteFrom('deployments').execute();
  const warehouse = JSON.stringify({ type: 'duckdb', folder: inject('demoDataFolder') });
  await db
    .insertInto('deployments')
    .values({ id: 1, account_id: accountId, name: 'one', model_folder: folder, warehouse })
    .execute();
  listeners = createListeners();
});
afterEach(() => deployments[Symbol.asyncDispose]());

const log = openLog({ write: () => undefined });
type Channel = DeploymentsDependencies['changes'];
const open = (changes: Channel): Deployments => {
  deployments = openDeployments({ db, log, changes });
  return deployments;
};
/** A channel that is never behind. */
const hearing = (): Channel => ({
  subscribe: listeners.subscribe,
  heardUntil: () => performance.now(),
});
const move = () =>
  db
    .updateTable('deployments')
    .set({ model_folder: `${folder}/` })
    .where('id', '=', 1)
    .execute();
const ask = { sql: 'SELECT count(*) AS n FROM orders', parameters: [] };
const options = () => ({ signal: new AbortController().signal, timeoutMs: 10_000 });

test('one that nobody changed is opened once', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  expect(await get(accountId, 1)).toBe(first);
  listeners.tell({ kind: 'deployment', id: 2 });
  listeners.tell({ kind: 'account', id: 1 });
  expect(await get(accountId, 1)).toBe(first);
});

test('one that was changed is opened anew; who holds the earlier one can go on', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  // In place: the model was edited, and applied again.
  listeners.tell({ kind: 'deployment', id: 1 });
  const second = await get(accountId, 1);
  expect(second).not.toBe(first);
  expect(second.warehouse).not.toBe(first.warehouse);
  expect((await first.warehouse.query(ask, options())).rowCount).toBe(1);
  expect(await get(accountId, 1)).toBe(second);
});

test('one that was deleted is gone at once, and its warehouse closed', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  await db.deleteFrom('deployments').execute();
  listeners.tell({ kind: 'deployment', id: 1 });
  await expect(get(accountId, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect
    .poll(
      () =>
        first.warehouse.ping().then(
          () => 'open',
          () => 'closed',
        ),
      { timeout: 10_000 },
    )
    .toBe('closed');
});

test('after a gap what is as it was is kept, and what is not is let go', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  listeners.tell({ kind: 'gap' });
  expect(await get(accountId, 1)).toBe(first);
  await move();
  listeners.tell({ kind: 'gap' });
  await expect.poll(async () => (await get(accountId, 1)) === first, { timeout: 10_000 }).toBe(false);
});

test('while nothing is heard, the store is asked at every use', async () => {
  const { get } = open(noChanges);
  const first = await get(accountId, 1);
  expect(await get(accountId, 1)).toBe(first);
  await move();
  const [second, third] = await Promise.all([get(accountId, 1), get(accountId, 1)]);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  await db.deleteFrom('deployments').execute();
  await expect(get(accountId, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('disposing closes what is open and what is not closed yet', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  listeners.tell({ kind: 'deployment', id: 1 });
  const second = await get(accountId, 1);
  await deployments[Symbol.asyncDispose]();
  await expect(first.warehouse.ping()).rejects.toThrow();
  await expect(second.warehouse.ping()).rejects.toThrow();
});

test('one that was changed while the store is away is closed all the same', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1);
  await sql`alter table deployments rename to deployments_away`.execute(db);
  try {
    listeners.tell({ kind: 'deployment', id: 1 });
    await expect(get(accountId, 1)).rejects.toThrow();
    await deployments[Symbol.asyncDispose]();
  } finally {
    await sql`alter table deployments_away rename to deployments`.execute(db);
  }
  await expect(first.warehouse.ping()).rejects.toThrow();
});

test("another account's is not there, opened or not", async () => {
  const { get } = open(hearing());
  await expect(get(accountId + 1, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await get(accountId, 1);
  await expect(get(accountId + 1, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
