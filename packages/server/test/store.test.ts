import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { openDatabase, ping } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import type { Schema } from '../src/store/schema.ts';
import { databaseKinds, openTestDatabase, runStatement } from './databases.ts';

async function insertAccount(db: Kysely<Schema>, name: string): Promise<number> {
  const row = await db
    .insertInto('accounts')
    .values({ name, plan: 'enterprise', use_creator_mode: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

async function insertUser(db: Kysely<Schema>, accountId: number, externalId: string): Promise<number> {
  const row = await db
    .insertInto('users')
    .values({ account_id: accountId, kind: 'external', external_id: externalId })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

/** By the files that hold them. */
const allMigrations = (await readdir(new URL('../src/store/migrations/', import.meta.url)))
  .filter((file) => /^\d{4}-/.test(file))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();

describe.each(databaseKinds)('the store on %s', async (kind) => {
  const { db, close } = await openTestDatabase(kind);
  afterAll(close);

  test('answers', async () => {
    await expect(ping(db)).resolves.toBeUndefined();
  });

  test('migrating again does nothing and keeps the rows', async () => {
    const id = await insertAccount(db, 'kept');
    expect(await migrate(db)).toStrictEqual([]);
    expect(await db.selectFrom('accounts').select('id').where('name', '=', 'kept').execute()).toStrictEqual([{ id }]);
  });

  test('gives numbers, dates and JSON as the schema says', async () => {
    const accountId = await insertAccount(db, 'types');
    const warehouse = { type: 'duckdb', folder: "/data/it's" } as const;
    await db
      .insertInto('deployments')
      .values({ id: 70, account_id: accountId, name: 'd', model_folder: '/m', warehouse: JSON.stringify(warehouse) })
      .execute();
    const row = await db
      .selectFrom('deployments')
      .innerJoin('accounts', 'accounts.id', 'account_id')
      .select(['deployments.id', 'warehouse', 'created_at'])
      .where('deployments.id', '=', 70)
      .executeTakeFirstOrThrow();
    expect(row).toStrictEqual({ id: 70, warehouse, created_at: expect.any(Date) });
    expect(Math.abs(row.created_at.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test('a failed transaction leaves nothing, and the store goes on', async () => {
    const failing = db.transaction().execute(async (transaction) => {
      await insertAccount(transaction, 'rolled-back');
      await sql`select 1 / 0`.execute(transaction);
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await db.selectFrom('accounts').where('name', '=', 'rolled-back').selectAll().execute()).toHaveLength(0);
  });

  test('queries beside a transaction are not part of it', async () => {
    const begun = Promise.withResolvers<void>();
    const transaction = db.transaction().execute(async (inside) => {
      await insertAccount(inside, 'inside');
      begun.resolve();
      await Promise.resolve();
      throw new Error('taken back');
    });
    await begun.promise;
    const [, outside] = await Promise.allSettled([transaction, insertAccount(db, 'outside')]);
    expect(outside.status).toBe('fulfilled');
    const names = await db.selectFrom('accounts').select('name').where('name', 'in', ['inside', 'outside']).execute();
    expect(names).toStrictEqual([{ name: 'outside' }]);
  });

  describe('refuses', async () => {
    const accountId = await insertAccount(db, 'constraints');
    const userId = await insertUser(db, accountId, 'u1');
    await db
      .insertInto('deployments')
      .values({ id: 1, account_id: accountId, name: 'd', model_folder: '/m', warehouse: '{}' })
      .execute();
    await db.insertInto('agents').values({ id: 1, account_id: accountId, deployment_id: 1, name: 'a' }).execute();
    const internal = (username: string, email: string) =>
      db.insertInto('users').values({ account_id: accountId, kind: 'internal', username, email }).execute();
    const key = (label: string | null, hash: string, revoked_at: Date | null = null) =>
      db
        .insertInto('api_keys')
        .values({ account_id: accountId, role: 'admin', label, prefix: 'sk-', hash, revoked_at })
        .execute();

    test('a second account, external user, username or address of the same name', async () => {
      await internal('Ann', 'ann@example.com');
      await expect(insertAccount(db, 'constraints')).rejects.toThrow('accounts_name_key');
      await expect(insertUser(db, accountId, 'u1')).rejects.toThrow('users_account_id_external_id_key');
      await expect(internal('aNN', 'x@example.com')).rejects.toThrow('users_username');
      await expect(internal('bob', 'ANN@example.com')).rejects.toThrow('users_internal_email');
      await insertUser(db, await insertAccount(db, 'another'), 'u1');
    });

    test('a user of neither kind or both', async () => {
      const values = { account_id: accountId, kind: 'external' } as const;
      await expect(db.insertInto('users').values(values).execute()).rejects.toThrow('check constraint');
      const both = { ...values, external_id: 'u2', username: 'u2' };
      await expect(db.insertInto('users').values(both).execute()).rejects.toThrow('check constraint');
    });

    test('a second key under a label, unless the first is revoked', async () => {
      await key(null, 'h0');
      await key(null, 'h1');
      await key('demo', 'h2', new Date());
      await key('demo', 'h3');
      await expect(key('demo', 'h4')).rejects.toThrow('api_keys_label');
      await expect(key(null, 'h3')).rejects.toThrow('api_keys_hash_key');
    });

    test('a second run that goes on in a thread, and a message id used before', async () => {
      const threadId = randomUUID();
      const now = new Date();
      await db
        .insertInto('threads')
        .values({
          id: threadId,
          account_id: accountId,
          user_id: userId,
          agent_id: 1,
          title: '',
          created_at: now,
          updated_at: now,
        })
        .execute();
      const run = (message_id: string, state: 'running' | 'completed') =>
        db
          .insertInto('runs')
          .values({
            id: randomUUID(),
            thread_id: threadId,
            user_id: userId,
            agent_id: 1,
            message_id,
            state,
            created_at: now,
          })
          .execute();
      await run('m1', 'completed');
      await run('m2', 'running');
      await expect(run('m3', 'running')).rejects.toThrow('runs_running');
      await expect(run('m1', 'completed')).rejects.toThrow('runs_user_id_agent_id_message_id_key');
    });

    test('what belongs to nothing; and what belonged to an account goes with it', async () => {
      await expect(insertUser(db, 2_000_000_000, 'x')).rejects.toThrow('foreign key');
      const gone = await insertAccount(db, 'gone');
      await insertUser(db, gone, 'x');
      await db.deleteFrom('accounts').where('id', '=', gone).execute();
      expect(await db.selectFrom('users').where('account_id', '=', gone).selectAll().execute()).toHaveLength(0);
    });
  });

  test('a store of a newer version is refused, not changed', async () => {
    await sql`insert into kysely_migration (name, timestamp) values ('9999-of-the-future', 'x')`.execute(db);
    await expect(migrate(db)).rejects.toThrow('9999-of-the-future');
    await sql`delete from kysely_migration where name = '9999-of-the-future'`.execute(db);
  });
});

test('on PostgreSQL several migrate at once and each migration runs once', async () => {
  const baseUrl = inject('postgresBaseUrl');
  const name = `empty_${randomBytes(8).toString('hex')}`;
  await runStatement(`${baseUrl}postgres`, `create database ${name}`);
  const stores = await Promise.all(
    Array.from({ length: 4 }, () => openDatabase({ kind: 'postgres', url: baseUrl + name })),
  );
  const ran = await Promise.all(stores.map((db) => migrate(db)));
  expect(ran.flat()).toStrictEqual(allMigrations);
  await Promise.all(stores.map((store) => store.destroy()));
  await runStatement(`${baseUrl}postgres`, `drop database ${name} with (force)`);
});

test('a store that cannot be reached is one line without the password', async () => {
  const url = 'postgres://inlay:hunter2@127.0.0.1:1/inlay';
  await expect(openDatabase({ kind: 'postgres', url })).rejects.toThrow(
    /^The store at DATABASE_URL does not open: (?!.*hunter2).*ECONNREFUSED.*$/,
  );
});

test('PGlite lets the event loop turn between two statements, however many wait', async () => {
  const { db, close } = await openTestDatabase('pglite');
  try {
    let turns = 0;
    let timer = setImmediate(function turn() {
      turns += 1;
      timer = setImmediate(turn);
    });
    const count = 100;
    await Promise.all(Array.from({ length: count }, () => sql`select 1`.execute(db)));
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(count - 1);
  } finally {
    await close();
  }
});

test('PGlite: a statement that repeats gives the same, also after what it reads has changed its type', async () => {
  const { db, close } = await openTestDatabase('pglite');
  const read = async (least: number) =>
    (await sql<{ n: unknown }>`select n, ${[1, 2]}::int[] as list from changing where n::int >= ${least}`.execute(db))
      .rows;
  try {
    await sql`create table changing (n integer, at timestamptz, data jsonb)`.execute(db);
    const at = new Date('2026-01-02T03:04:05.678Z');
    for (let n = 1; n <= 5; n += 1) {
      const { numAffectedRows } =
        await sql`insert into changing values (${n}::int, ${at}, ${JSON.stringify({ n })}::text::jsonb)`.execute(db);
      expect(numAffectedRows).toBe(1n);
      await expect(sql`select 1 / (${n}::int - ${n}::int)`.execute(db)).rejects.toMatchObject({ code: '22012' });
      const { rows } = await sql`select at, data, ${null}::text as gone from changing where n = ${n}`.execute(db);
      expect(rows).toStrictEqual([{ at, data: { n }, gone: null }]);
      expect(await read(n)).toStrictEqual([{ n, list: [1, 2] }]);
    }
    await sql`alter table changing alter column n type text`.execute(db);
    for (let times = 0; times < 5; times += 1) expect(await read(5)).toStrictEqual([{ n: '5', list: [1, 2] }]);
    await db.transaction().execute(async (tx) => {
      await sql`alter table changing alter column n type integer using n::int`.execute(tx);
      const again = await sql`select n from changing where n >= ${5}`.execute(tx);
      expect(again.rows).toStrictEqual([{ n: 5 }]);
    });
  } finally {
    await close();
  }
});

describe('PGlite and kill -9', () => {
  const source = (file: string): string => JSON.stringify(new URL(`../src/store/${file}`, import.meta.url).href);

  async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
    const parent = await mkdtemp(join(tmpdir(), 'inlay-kill-'));
    try {
      await work(join(parent, 'store'));
    } finally {
      await rm(parent, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  function startChild(folder: string, work: string) {
    const script = `
      import { sql } from ${JSON.stringify(import.meta.resolve('kysely'))};
      import { openDatabase } from ${source('database.ts')};
      const db = await openDatabase({ kind: 'embedded', folder: ${JSON.stringify(folder)} });
      ${work}`;
    return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  test('every acknowledged commit is there afterwards', async () => {
    await withFolder(async (folder) => {
      const child = startChild(
        folder,
        `await sql\`create table t (n integer)\`.execute(db);
        for (let n = 1; ; n++) {
          await sql\`insert into t values (\${n})\`.execute(db);
          console.log(n);
        }`,
      );
      const exited = once(child, 'exit');
      let acknowledged = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Number(line);
        if (acknowledged === 200) child.kill('SIGKILL');
      }
      await exited;
      expect(acknowledged).toBeGreaterThanOrEqual(200);
      const db = await openDatabase({ kind: 'embedded', folder });
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from t`.execute(db);
      await db.destroy();
      expect(rows[0]?.n).toBeGreaterThanOrEqual(acknowledged);
    });
  });

  test('during the first making leaves nothing that a later start trips over', async () => {
    await withFolder(async (folder) => {
      const child = startChild(folder, '');
      const exited = once(child, 'exit');
      const deadline = Date.now() + 30_000;
      const hasBegun = async () => existsSync(`${folder}.new`) && (await readdir(`${folder}.new`)).length > 3;
      while (!(await hasBegun()) && Date.now() < deadline) await pause(2);
      child.kill('SIGKILL');
      await exited;
      expect(existsSync(folder)).toBe(false);
      const db = await openDatabase({ kind: 'embedded', folder });
      expect(await migrate(db)).toStrictEqual(allMigrations);
      await db.destroy();
      expect(existsSync(`${folder}.new`)).toBe(false);
    });
  });
});
