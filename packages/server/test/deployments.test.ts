/** The opened deployments of a process: kept, and let go when they are changed or deleted elsewhere. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { openLog } from '../src/log.ts';
import { type Deployments, type DeploymentsDependencies, openDeployments } from '../src/query/deployments.ts';
import { createListeners, type Listeners, noChanges } from '../src/store/changes.ts';
import type { Schema } from '../src/store/schema.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';
import { initRepository, type TestRepository } from './git-repository.ts';
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
  const first = await get(accountId, 1, null);
  expect(await get(accountId, 1, null)).toBe(first);
  listeners.tell({ kind: 'deployment', id: 2 });
  listeners.tell({ kind: 'account', id: 1 });
  expect(await get(accountId, 1, null)).toBe(first);
});

test('one that was changed is opened anew; who holds the earlier one can go on', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1, null);
  // In place: the model was edited, and applied again.
  listeners.tell({ kind: 'deployment', id: 1 });
  const second = await get(accountId, 1, null);
  expect(second).not.toBe(first);
  expect(second.warehouse).not.toBe(first.warehouse);
  expect((await first.warehouse.query(ask, options())).rowCount).toBe(1);
  expect(await get(accountId, 1, null)).toBe(second);
});

test('one that was deleted is gone at once, and its warehouse closed', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1, null);
  await db.deleteFrom('deployments').execute();
  listeners.tell({ kind: 'deployment', id: 1 });
  await expect(get(accountId, 1, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
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
  const first = await get(accountId, 1, null);
  listeners.tell({ kind: 'gap' });
  expect(await get(accountId, 1, null)).toBe(first);
  await move();
  listeners.tell({ kind: 'gap' });
  await expect.poll(async () => (await get(accountId, 1, null)) === first, { timeout: 10_000 }).toBe(false);
});

test('while nothing is heard, the store is asked at every use', async () => {
  const { get } = open(noChanges);
  const first = await get(accountId, 1, null);
  expect(await get(accountId, 1, null)).toBe(first);
  await move();
  const [second, third] = await Promise.all([get(accountId, 1, null), get(accountId, 1, null)]);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  await db.deleteFrom('deployments').execute();
  await expect(get(accountId, 1, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('disposing closes what is open and what is not closed yet', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1, null);
  listeners.tell({ kind: 'deployment', id: 1 });
  const second = await get(accountId, 1, null);
  await deployments[Symbol.asyncDispose]();
  await expect(first.warehouse.ping()).rejects.toThrow();
  await expect(second.warehouse.ping()).rejects.toThrow();
});

test('one that is being loaded while all is closed is not opened anew', async () => {
  const { get } = open(hearing());
  const loading = get(accountId, 1, null);
  loading.catch(() => undefined);
  await deployments[Symbol.asyncDispose]();
  await expect(loading).rejects.toMatchObject({ code: 'NOT_READY' });
  await expect(get(accountId, 1, null)).rejects.toMatchObject({ code: 'NOT_READY' });
});

test('one that was changed while the store is away is closed all the same', async () => {
  const { get } = open(hearing());
  const first = await get(accountId, 1, null);
  await sql`alter table deployments rename to deployments_away`.execute(db);
  try {
    listeners.tell({ kind: 'deployment', id: 1 });
    await expect(get(accountId, 1, null)).rejects.toThrow();
    await deployments[Symbol.asyncDispose]();
  } finally {
    await sql`alter table deployments_away rename to deployments`.execute(db);
  }
  await expect(first.warehouse.ping()).rejects.toThrow();
});

test("another account's is not there, opened or not", async () => {
  const { get } = open(hearing());
  await expect(get(accountId + 1, 1, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await get(accountId, 1, null);
  await expect(get(accountId + 1, 1, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

describe('branches', () => {
  let repository: TestRepository;
  beforeEach(async () => {
    const root = await mkdtemp(join(folder, 'repo-'));
    repository = await initRepository(root, { isBare: false });
    await writeFile(join(root, 'model.yml'), model);
    const dev = await repository.commit({ 'model.yml': model.replace('sold', 'dev') });
    for (let index = 0; index < 18; index += 1) await repository.setRef(`refs/heads/dev-${index}`, dev);
    await db.updateTable('deployments').set({ model_folder: root }).where('id', '=', 1).execute();
  });

  test('one that did not move is loaded once, and shares the warehouse with the default one', async () => {
    const { get, ping } = open(hearing());
    const [main, dev] = await Promise.all([get(accountId, 1, null), get(accountId, 1, 'dev-1')]);
    expect([...main.dataModel.cubes.keys()]).toEqual(['sold']);
    expect([...dev.dataModel.cubes.keys()]).toEqual(['dev']);
    expect([main.branch, dev.branch]).toEqual([null, 'dev-1']);
    expect(dev.warehouse).toBe(main.warehouse);
    expect(await get(accountId, 1, 'dev-1')).toBe(dev);
    await ping();
    listeners.tell({ kind: 'deployment', id: 1 });
    expect(await get(accountId, 1, 'dev-1')).not.toBe(dev);
  });

  test('so many are kept, those asked for last, and the default one always', async () => {
    const { get } = open(hearing());
    const main = await get(accountId, 1, null);
    const first = await get(accountId, 1, 'dev-0');
    for (let index = 1; index < 16; index += 1) await get(accountId, 1, `dev-${index}`);
    expect(await get(accountId, 1, 'dev-0')).toBe(first);
    const second = await get(accountId, 1, 'dev-1');
    for (let index = 2; index < 18; index += 1) await get(accountId, 1, `dev-${index}`);
    expect(await get(accountId, 1, 'dev-1')).not.toBe(second);
    expect(await get(accountId, 1, null)).toBe(main);
  });

  test('the name of the default branch gives the default branch', async () => {
    const { findBranch, defaultBranch } = open(hearing());
    expect(await defaultBranch(accountId, 1)).toBe('main');
    expect(await findBranch(accountId, 1, 'main')).toBeNull();
    expect(await findBranch(accountId, 1, 'dev-3')).toBe('dev-3');
    await expect(findBranch(accountId, 1, 'none')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await expect(findBranch(accountId + 1, 1, 'main')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('files that change on disk', () => {
  const cube = (name: string): string => model.replace('sold', name);
  const relationsOf = async () => [...(await deployments.get(accountId, 1, null)).dataModel.relations.keys()];
  let logged: string[];
  const watch = (): void => {
    logged = [];
    const writing = openLog({ write: (line: string) => void logged.push(line) });
    deployments = openDeployments({ db, log: writing, changes: hearing(), reloadsModels: true });
  };
  const linesWith = (text: string) => logged.filter((line) => line.includes(text));
  const settle = (expected: readonly string[]) => expect.poll(relationsOf, { timeout: 10_000 }).toEqual(expected);
  let own: string;
  beforeEach(async () => {
    own = await mkdtemp(join(tmpdir(), 'inlay-watched-'));
    await writeFile(join(own, 'model.yml'), model);
    await db.updateTable('deployments').set({ model_folder: own }).where('id', '=', 1).execute();
  });
  afterEach(() => rm(own, { recursive: true }));

  test('are read anew, new ones and those that are gone as well, with the same warehouse', async () => {
    watch();
    const first = await deployments.get(accountId, 1, null);
    expect(await deployments.get(accountId, 1, null)).toBe(first);
    await writeFile(join(own, 'model.yml'), cube('shipped'));
    await settle(['shipped']);
    await mkdir(join(own, 'more'));
    await writeFile(join(own, 'more/b.yaml'), cube('returned'));
    await settle(['shipped', 'returned']);
    await rm(join(own, 'more'), { recursive: true });
    await settle(['shipped']);
    expect((await deployments.get(accountId, 1, null)).warehouse).toBe(first.warehouse);
  });

  test('a change that does not load leaves what was there, and the log says so once', async () => {
    watch();
    expect(await relationsOf()).toEqual(['sold']);
    await writeFile(join(own, 'model.yml'), cube('shipped').replace('type: count', 'type: cuont'));
    await expect
      .poll(async () => (await relationsOf()) && linesWith('the one before stays').length, { timeout: 10_000 })
      .toBe(1);
    for (let count = 0; count < 20; count += 1) expect(await relationsOf()).toEqual(['sold']);
    expect(linesWith('the one before stays')).toHaveLength(1);
    expect(linesWith('"msg":"data model does not load"')).toEqual([
      expect.stringMatching(/"line":6.*did you mean \\"count\\"/),
    ]);
    await writeFile(join(own, 'model.yml'), cube('mended'));
    await settle(['mended']);
  });

  test('one that never loaded fails until it is changed, and is not read again before', async () => {
    await writeFile(join(own, 'model.yml'), 'cubes: 7');
    watch();
    for (let count = 0; count < 5; count += 1) {
      await expect(relationsOf()).rejects.toMatchObject({ code: 'DATA_MODEL_INVALID' });
    }
    // Once more when the file has come to rest.
    expect(linesWith('"msg":"data model does not load"').length).toBeLessThan(3);
    await writeFile(join(own, 'model.yml'), cube('mended'));
    await expect.poll(() => relationsOf().catch(() => []), { timeout: 10_000 }).toEqual(['mended']);
  });

  test('are left alone where nobody asked for it', async () => {
    open(hearing());
    const first = await deployments.get(accountId, 1, null);
    await writeFile(join(own, 'model.yml'), cube('shipped'));
    expect(await deployments.get(accountId, 1, null)).toBe(first);
  });
});
