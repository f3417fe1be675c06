/** Backup and restore as docs/operations.md tells them: what works afterwards, and what an older state brings back. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterEach, expect, inject, test, vi } from 'vitest';
import type { StoreSettings } from '../../../src/config.ts';
import { publish } from '../../../src/store/changes.ts';
import { openDatabase } from '../../../src/store/database.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { type NodeProcess, startNode } from '../../node-process.ts';
import { startPostgres } from '../../postgres.ts';
import { type SeededAccount, seedAccount } from '../../seed.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-backup-'));
  undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

async function startOn(databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<NodeProcess> {
  const node = await startNode(databaseUrl, env);
  let isStopped = false;
  const stop = async (signal?: NodeJS.Signals): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await node.stop(signal);
  };
  undo.push(() => stop('SIGKILL'));
  return { ...node, stop };
}

/** Makes an account with an admin key in a store that nobody else uses. */
async function seed(store: StoreSettings): Promise<SeededAccount> {
  const db = await openDatabase(store);
  try {
    await migrate(db);
    return await seedAccount(db, 'shop', 1);
  } finally {
    await db.destroy();
  }
}

async function post(url: string, path: string, authorization: string | null, body: object | null) {
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(authorization === null ? {} : { authorization }),
    },
    body: body === null ? null : JSON.stringify(body),
  });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? {} : JSON.parse(text) };
}

const mint = (url: string, apiKey: string, externalId = 'ada') =>
  post(url, '/api/v1/embed/generate-session', `Api-Key ${apiKey}`, {
    deploymentId: 1,
    externalId,
    groups: ['merchant'],
  });
const exchange = (url: string, sessionId: string) => post(url, '/api/v1/embed/session/token', null, { sessionId });
const renew = (url: string, token: string) => post(url, '/api/v1/embed/session/token', `Bearer ${token}`, null);

/** A session whose token is out, and one that still waits for its exchange. */
async function openSessions(url: string, apiKey: string): Promise<{ token: string; waiting: string }> {
  const { sessionId } = (await mint(url, apiKey)).body;
  const { token } = (await exchange(url, sessionId)).body;
  expect(token).toMatch(/./);
  return { token, waiting: (await mint(url, apiKey)).body.sessionId };
}

test('PostgreSQL, while it runs: sessions go on, and what was ended later is back', { timeout: 240_000 }, async () => {
  const first = await startPostgres();
  undo.push(first.stop);
  const store = { kind: 'postgres', url: `${first.baseUrl}postgres` } as const;
  const { apiKey, apiKeyId } = await seed(store);
  const node = await startOn(store.url);
  const { token, waiting } = await openSessions(node.url, apiKey);

  // As pg_basebackup does it, whose program the tests do not have.
  const backup = join(await temporaryFolder(), 'data');
  const client = new Client({ connectionString: store.url });
  await client.connect();
  await client.query("select pg_backup_start('inlay', true)");
  expect((await mint(node.url, apiKey, 'during-the-backup')).status).toBe(200);
  await cp(first.dataFolder, backup, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') });
  const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
  await client.end();
  await cp(join(first.dataFolder, 'pg_wal'), join(backup, 'pg_wal'), { recursive: true, force: true });
  await writeFile(join(backup, 'backup_label'), rows[0].labelfile);

  const db = await openDatabase(store);
  await sql`update api_keys set revoked_at = now()`.execute(db);
  await publish(db, { kind: 'api-key', id: apiKeyId });
  await db.destroy();
  await vi.waitFor(async () => expect((await mint(node.url, apiKey, 'after')).status).toBe(401), 30_000);
  await node.stop();
  await first.stop();

  const restored = await startPostgres(backup);
  undo.push(restored.stop);
  const again = await startOn(`${restored.baseUrl}postgres`);
  expect((await renew(again.url, token)).status).toBe(200);
  expect((await exchange(again.url, waiting)).status).toBe(200);
  // A revocation after the backup is not in it, so operations.md says how to end all that opens.
  expect((await mint(again.url, apiKey)).status).toBe(200);
  await again.stop();
  const restoredDb = await openDatabase({ kind: 'postgres', url: `${restored.baseUrl}postgres` });
  const users = restoredDb.selectFrom('users').select('external_id').where('kind', '=', 'external');
  const names = (await users.execute()).map((user) => user.external_id);
  expect(names).toEqual(expect.arrayContaining(['ada', 'during-the-backup']));
  expect(names).not.toContain('after');
  const page = await readFile(join(import.meta.dirname, '../../../../../docs/operations.md'), 'utf8');
  const statement = /```sql\n\s*(update api_keys [^;]+);/.exec(page)?.[1] ?? '';
  await sql.raw(statement).execute(restoredDb);
  await restoredDb.destroy();
  const safe = await startOn(`${restored.baseUrl}postgres`);
  expect((await mint(safe.url, apiKey)).status).toBe(401);
  expect((await renew(safe.url, token)).status).toBe(401);
});

test('the embedded store: stopped and copied, whole with its secret', { timeout: 240_000 }, async () => {
  const folder = join(await temporaryFolder(), 'data');
  await cp(inject('pgliteTemplateFolder'), join(folder, 'store'), { recursive: true });
  const { apiKey } = await seed({ kind: 'embedded', folder: join(folder, 'store') });
  // Without INLAY_SECRET: it is made in the folder, and goes with it.
  const env = { INLAY_SECRET: '' };
  const node = await startOn('', { ...env, INLAY_DATA_DIR: folder });
  const { token, waiting } = await openSessions(node.url, apiKey);
  await node.stop();
  const backup = join(await temporaryFolder(), 'data');
  await cp(folder, backup, { recursive: true });
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });

  const restored = join(await temporaryFolder(), 'data');
  await cp(backup, restored, { recursive: true });
  const again = await startOn('', { ...env, INLAY_DATA_DIR: restored });
  expect((await renew(again.url, token)).status).toBe(200);
  expect((await exchange(again.url, waiting)).status).toBe(200);
  expect((await mint(again.url, apiKey)).status).toBe(200);
});
