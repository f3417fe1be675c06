/** Migrations on a store that is in use: version 0.1's tables, and its calls, which go on. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { openDatabase } from '../../../src/store/database.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { firstTables } from '../../../src/store/migrations/0001-first-tables.ts';
import { scopesAndOperation } from '../../../src/store/migrations/0002-scopes-and-operation.ts';
import { threadLog } from '../../../src/store/migrations/0003-thread-log.ts';
import { createIndex, type MigrationStep } from '../../../src/store/migrations/step.ts';
import type { Schema } from '../../../src/store/schema.ts';
import { runStatement } from '../../databases.ts';

/** What ran on version 0.1's store when this version first opens it. */
const missing = ['0002-scopes-and-operation', '0003-thread-log', '0004-message-bytes', '0005-log-storage'];

async function runOnce(db: Kysely<Schema>, step: MigrationStep): Promise<void> {
  if (step.kind === 'index') await createIndex(step, true).execute(db);
  else for (const statement of step.statements) await statement.execute(db);
}

/** A PostgreSQL database of its own. */
async function openEmpty() {
  const baseUrl = inject('postgresBaseUrl');
  const name = `migrations_${randomBytes(8).toString('hex')}`;
  await runStatement(`${baseUrl}postgres`, `create database ${name}`);
  const url = baseUrl + name;
  const db = await openDatabase({ kind: 'postgres', url });
  return {
    url,
    db,
    [Symbol.asyncDispose]: async () => {
      await db.destroy();
      await runStatement(`${baseUrl}postgres`, `drop database ${name} with (force)`);
    },
  };
}

/** The store as version 0.1 leaves it, with rows in every table that is large in an installation. */
async function openFirstVersion() {
  const empty = await openEmpty();
  const { db } = empty;
  for (const step of firstTables) await runOnce(db, step);
  await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(db);
  await sql`insert into kysely_migration (name, timestamp) values ('0001-first-tables', 'then')`.execute(db);
  await sql`insert into accounts (name, plan, use_creator_mode) values ('a', 'premium', true)`.execute(db);
  await sql`insert into deployments values (1, 1, 'd', '/m', '{}')`.execute(db);
  await sql`insert into agents values (1, 1, 1, 'a')`.execute(db);
  await sql`insert into api_keys (account_id, role, prefix, hash) values (1, 'admin', 'sk-', 'h')`.execute(db);
  await sql`insert into groups (account_id, name) select 1, 'g' || n from generate_series(1, 20) n`.execute(db);
  await sql`insert into user_attributes (account_id, name, type) select 1, 'a' || n, 'string' from generate_series(1, 20) n`.execute(
    db,
  );
  await sql`insert into users (account_id, kind, external_id) select 1, 'external', 'u' || n from generate_series(1, 500) n`.execute(
    db,
  );
  await sql`insert into user_groups select u, g from generate_series(1, 500) u, generate_series(1, 20) g`.execute(db);
  await sql`insert into user_attribute_values select u, a, '"v"' from generate_series(1, 500) u, generate_series(1, 20) a`.execute(
    db,
  );
  await sql`insert into sessions
    select gen_random_uuid(), 's' || n, 1, 1, 1 + n % 500, 1, '{}', now(), now(), null, now() from generate_series(1, 5000) n`.execute(
    db,
  );
  await sql`insert into threads select gen_random_uuid(), 1, 1 + n % 500, 1, 't', now(), now() from generate_series(1, 500) n`.execute(
    db,
  );
  await sql`insert into runs select gen_random_uuid(), id, user_id, 1, '1-message', 'completed', '{}', null, now(), now() from threads`.execute(
    db,
  );
  await sql`insert into messages select thread_id, n, n || '-message', id, 'user', 'c', '["a"]', '{}', false, now()
    from runs, generate_series(1, 20) n`.execute(db);
  return empty;
}

/** The tables that version 0.1 made, and the file in which each lies: another one after a rewrite. */
async function readFiles(db: Kysely<Schema>): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; file: string }>`
    select relname as name, relfilenode::text as file from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'`.execute(db);
  return new Map(rows.map(({ name, file }) => [name, file]));
}

/** Columns, constraints, indexes and triggers as the database tells them. */
async function describeSchema(db: Kysely<Schema>): Promise<readonly string[]> {
  const { rows } = await sql<{ line: string }>`
    select format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) as line
      from information_schema.columns where table_schema = 'public'
    union all select format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace = 'public'::regnamespace
    union all select format('%s valid %s', pg_get_indexdef(indexrelid), indisvalid) from pg_index
      join pg_class on pg_class.oid = indexrelid where relnamespace = 'public'::regnamespace
    union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
    order by line`.execute(db);
  return rows.map(({ line }) => line).filter((line) => !line.includes('kysely_migration_lock'));
}

/** What this version makes of an empty database. */
async function describeFresh(): Promise<readonly string[]> {
  await using fresh = await openEmpty();
  await migrate(fresh.db);
  return await describeSchema(fresh.db);
}

/** Calls of version 0.1, one after the other, until it is disposed. Each must succeed, and soon. */
async function startLoad(url: string, worker: number) {
  const client = new Client({ connectionString: url, statement_timeout: 10_000 });
  await client.connect();
  let calls = 0;
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const [externalId, group] = [`load-${worker}-${calls}`, 1 + (calls % 20)];
      await client.query('begin');
      const { rows } = await client.query(
        `insert into users (account_id, kind, external_id) values (1, 'external', $1) returning id`,
        [externalId],
      );
      const id: unknown = rows[0]?.id;
      await client.query(
        `insert into user_groups select $1, g.id from groups g where g.account_id = 1 and g.name = $2 on conflict do nothing`,
        [id, `g${group}`],
      );
      await client.query(
        `insert into user_attribute_values (user_id, attribute_id, value) select $1, a.id, '1' from user_attributes a
          where a.account_id = 1 and a.name = $2
          on conflict (user_id, attribute_id) do update set value = excluded.value`,
        [id, `a${group}`],
      );
      await client.query(
        `insert into sessions (id, secret_hash, account_id, deployment_id, user_id, api_key_id, security_context,
          created_at, exchange_before, ends_at) values ($1, $2, 1, 1, $3, 1, '{}', now(), now(), now())`,
        [randomUUID(), randomUUID(), id],
      );
      const [threadId, runId] = [randomUUID(), randomUUID()];
      await client.query(
        `insert into threads (id, account_id, user_id, agent_id, title, created_at, updated_at)
          values ($1, 1, $2, 1, '', now(), now())`,
        [threadId, id],
      );
      await client.query(
        `insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at)
          values ($1, $2, $3, 1, 'm', 'running', now())`,
        [runId, threadId, id],
      );
      await client.query(
        `insert into messages (thread_id, run_id, id, role, content, is_in_process, created_at, sort)
          values ($1, $2, 'm', 'user', 'c', false, now(), 1), ($1, $2, 'n', 'assistant', 'c', true, now(), 2)`,
        [threadId, runId],
      );
      await client.query('commit');
      await client.query(
        `insert into messages (thread_id, run_id, id, role, content, is_in_process, created_at, sort)
          select r.thread_id, r.id, 'n', 'assistant', 'cc', false, now(), 2 from runs r where r.id = $1 and r.state = 'running' for share
          on conflict (thread_id, sort) do update set content = excluded.content, is_in_process = excluded.is_in_process`,
        [runId],
      );
      await client.query(
        `update runs set state = 'completed', ended_at = now(), usage = '{}' where id = $1 and state = 'running'`,
        [runId],
      );
      if (calls % 3 === 0) await client.query('delete from users where id = $1', [id]);
      await client.query(
        `select k.id from api_keys k join accounts a on a.id = k.account_id where k.hash = 'h' and k.revoked_at is null`,
      );
      calls += 1;
      await pause(5);
    }
  })();
  // Its failure is met where it is awaited.
  work.catch(() => undefined);
  return {
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await work.finally(() => client.end());
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('That did not come about.');
    await pause(5);
  }
}

describe('version 0.1 becomes this one', { timeout: 120_000 }, () => {
  test('under load and beside a long transaction: nobody fails, no table is rewritten, and it is as if made anew', async () => {
    await using store = await openFirstVersion();
    const files = await readFiles(store.db);
    const waits: string[] = [];
    {
      await using loads = new AsyncDisposableStack();
      const running: { calls: () => number }[] = [];
      for (let worker = 0; worker < 4; worker += 1) running.push(loads.use(await startLoad(store.url, worker)));
      const calls = () => running.reduce((sum, load) => sum + load.calls(), 0);
      const long = new Client({ connectionString: store.url });
      await long.connect();
      loads.defer(() => long.end());
      await long.query('begin');
      await long.query('select count(*) from groups, sessions where false');

      // Three processes of this version start at once.
      const others = await Promise.all([1, 2].map(() => openDatabase({ kind: 'postgres', url: store.url })));
      const nodes = [store.db, ...others];
      const migrating = Promise.all(nodes.map((db) => migrate(db, { onWait: (what) => waits.push(what) })));
      migrating.catch(() => undefined);
      const givenUp = () => waits.filter((what) => what === 'a transaction that holds a table').length;
      await until(() => givenUp() >= 2);
      const before = calls();
      await until(() => givenUp() >= 3 && calls() >= before + 20);
      await long.query('commit');
      const ran = await migrating;
      expect(ran.toSorted((one, other) => other.length - one.length)).toStrictEqual([missing, [], []]);
      const after = calls();
      await until(() => calls() >= after + 20);
      for (const db of others) await db.destroy();
    }
    expect(waits).toContain('another process that migrates the store');
    const filesAfter = await readFiles(store.db);
    for (const [name, file] of files) expect([name, filesAfter.get(name)]).toStrictEqual([name, file]);
    expect(await describeSchema(store.db)).toStrictEqual(await describeFresh());
    // The agents that were there have used their numbers.
    expect(await store.db.selectFrom('agent_ids').selectAll().execute()).toStrictEqual([{ id: 1 }]);
  });

  test('from wherever it was interrupted', async () => {
    await using store = await openFirstVersion();
    for (const steps of [scopesAndOperation, threadLog]) {
      for (const [index, step] of steps.entries()) {
        await runOnce(store.db, step);
        for (const earlier of steps.slice(0, index + 1)) await runOnce(store.db, earlier);
      }
    }
    expect(await migrate(store.db)).toStrictEqual(missing);
    expect(await describeSchema(store.db)).toStrictEqual(await describeFresh());
  });

  test('with an index of which a killed process left a half', async () => {
    await using store = await openFirstVersion();
    const writer = new Client({ connectionString: store.url });
    const builder = new Client({ connectionString: store.url });
    builder.on('error', () => undefined);
    await Promise.all([writer.connect(), builder.connect()]);
    await writer.query('begin');
    await writer.query('delete from user_groups where user_id = 1');
    const building = builder.query('create index concurrently user_groups_group on user_groups (group_id)');
    building.catch(() => undefined);
    const state = async () => {
      const { rows } = await sql<{ valid: boolean }>`
        select indisvalid as valid from pg_index where indexrelid = to_regclass('user_groups_group')`.execute(store.db);
      return rows[0]?.valid;
    };
    const deadline = performance.now() + 20_000;
    while ((await state()) === undefined && performance.now() < deadline) await pause(5);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'create index concurrently%'`.execute(store.db);
    await expect(building).rejects.toThrow();
    await writer.query('commit');
    await Promise.all([writer.end(), builder.end().catch(() => undefined)]);
    expect(await state()).toBe(false);

    await migrate(store.db);
    expect(await state()).toBe(true);
  });

  test('it says whom it waits for when its patience ends, and leaves the time limits of the connection as they were', async () => {
    await using store = await openFirstVersion();
    await using parts = new AsyncDisposableStack();
    const holder = new Client({ connectionString: store.url });
    await holder.connect();
    parts.defer(() => holder.end());
    await holder.query('begin');
    await holder.query('lock table accounts in access share mode');
    const one = await openDatabase({ kind: 'postgres', url: store.url, connectionsMax: 1 });
    parts.defer(() => one.destroy());
    await expect(migrate(one, { patienceMs: 1 })).rejects.toThrow(
      'The store cannot be brought up to date: it waits for a transaction that holds a table.',
    );
    const { rows } = await sql`select current_setting('statement_timeout') as statement,
      current_setting('lock_timeout') as lock, (select count(*)::int from pg_locks join pg_database d on d.oid = database
        where locktype = 'advisory' and datname = current_database()) as locks`.execute(one);
    expect(rows).toStrictEqual([{ statement: '30s', lock: '0', locks: 0 }]);
  });
});
