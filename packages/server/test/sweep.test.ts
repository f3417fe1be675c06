/** What has come to its end goes, completely, in batches, from one node at a time; and nothing else goes. */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Schema } from '../src/store/schema.ts';
import { sweep } from '../src/store/sweep.ts';
import { startSweeper } from '../src/store/sweeper.ts';
import { noMetrics } from '../src/telemetry/telemetry.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';
import { type SeededAccount, seedAccount } from './seed.ts';

const now = new Date('2026-05-01T10:00:00Z');
const at = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const daySeconds = 86_400;
const settings = { auditRetentionDays: 30 };

interface NewThread {
  readonly userId: number;
  readonly text?: string;
  readonly updatedAt?: Date;
  readonly endedAt?: Date;
}

describe.each(databaseKinds)('the sweeper on %s', (kind) => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let account: SeededAccount;
  let batches: (readonly [string, number])[];
  beforeEach(async () => {
    database = await openTestDatabase(kind);
    db = database.db;
    account = await seedAccount(db, 'shop', 1);
    const agent = { id: 1, account_id: account.accountId, deployment_id: account.deploymentId, name: 'analyst' };
    await db.insertInto('agents').values(agent).execute();
    batches = [];
  });
  afterEach(() => database.close());

  const round = (signal = new AbortController().signal) =>
    sweep(db, now, settings, { removed: (...batch) => void batches.push(batch), signal });
  const externalIds = async () =>
    (await db.selectFrom('users').select('external_id').where('kind', '=', 'external').execute())
      .map(({ external_id }) => external_id)
      .sort();

  async function makeUser(externalId: string, expiresAt: Date | null): Promise<number> {
    const user = { account_id: account.accountId, kind: 'external' as const, external_id: externalId };
    const made = db.insertInto('users').values({ ...user, expires_at: expiresAt });
    return (await made.returning('id').executeTakeFirstOrThrow()).id;
  }
  async function makeSession(userId: number, endsAt: Date): Promise<string> {
    const id = randomUUID();
    await sql`
      insert into sessions (id, secret_hash, account_id, deployment_id, user_id, api_key_id, security_context, created_at,
        exchange_before, ends_at)
      values (${id}, ${id}, ${account.accountId}, ${account.deploymentId}, ${userId}, ${account.apiKeyId}, '{}', ${now}, ${now},
        ${endsAt})`.execute(db);
    return id;
  }

  /** A thread with a message and a run that says something; it goes on unless it has ended. */
  async function makeThread({ userId, text = '', updatedAt = now, endedAt }: NewThread) {
    const { accountId } = account;
    const [id, runId] = [randomUUID(), randomUUID()];
    const thread = { id, account_id: accountId, user_id: userId, agent_id: 1, embed_tenant_id: null, title: text };
    await db
      .insertInto('threads')
      .values({ ...thread, created_at: updatedAt, updated_at: updatedAt })
      .execute();
    await sql`
      insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at, ended_at)
      values (${runId}, ${id}, ${userId}, 1, ${runId}, ${endedAt === undefined ? 'running' : 'completed'}, ${updatedAt},
        ${endedAt ?? null})`.execute(db);
    await sql`
      insert into messages (thread_id, sort, id, run_id, role, content, created_at)
      values (${id}, 1, ${runId}, ${runId}, 'user', ${text}, ${updatedAt})`.execute(db);
    await sql`
      insert into run_log (run_id, seq, sort, line, created_at)
      select ${runId}::uuid, n, 2, ${JSON.stringify(text)}::text, ${updatedAt} from generate_series(1, 5) n`.execute(
      db,
    );
    return { id, runId };
  }

  test('threads go when nobody wrote in them for as long as their account keeps them', async () => {
    const other = await seedAccount(db, 'other', 2);
    const agent = { id: 2, account_id: other.accountId, deployment_id: other.deploymentId, name: 'analyst' };
    await db.insertInto('agents').values(agent).execute();
    const userId = await makeUser('kept', null);
    await db.updateTable('accounts').set({ thread_retention_days: 30 }).where('id', '=', account.accountId).execute();
    const old = at(-30 * daySeconds - 1);
    const ended = { userId, endedAt: old };
    await makeThread({ ...ended, updatedAt: old });
    const young = await makeThread({ ...ended, updatedAt: at(-30 * daySeconds + 1) });
    const running = await makeThread({ userId, updatedAt: old });
    const elsewhere = await makeThread({ ...ended, updatedAt: old });
    await db.updateTable('threads').set({ account_id: other.accountId }).where('id', '=', elsewhere.id).execute();
    await round();
    const left = await db.selectFrom('threads').select('id').execute();
    expect(left.map(({ id }) => id).sort()).toEqual([young.id, running.id, elsewhere.id].sort());
    expect(batches).toContainEqual(['threads', 1]);
  });

  test('the log of a run goes five minutes after its end, and its messages stay', async () => {
    const userId = await makeUser('kept', null);
    const running = await makeThread({ userId, updatedAt: at(-daySeconds) });
    const late = await makeThread({ userId, endedAt: at(-299) });
    const { runId: old } = await makeThread({ userId, endedAt: at(-301) });
    await sql`
      with more as (
        insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at, ended_at)
        select gen_random_uuid(), thread_id, user_id, agent_id, n::text, state, created_at, ended_at
        from runs, generate_series(1, 229) n where id = ${old}
        returning id
      )
      insert into run_log (run_id, seq, sort, line, created_at)
      select id, n, 2, '{}', ${now} from more, generate_series(1, 3) n`.execute(db);
    await round();
    const left = await db.selectFrom('run_log').select('run_id').distinct().execute();
    expect(left.map(({ run_id }) => run_id).sort()).toEqual([running.runId, late.runId].sort());
    expect(await db.selectFrom('messages').select('id').execute()).toHaveLength(3);
    expect(batches).toEqual([
      ['run logs', 200],
      ['run logs', 30],
    ]);
  });

  test('ended users go in batches with all that was theirs, nobody else does', async () => {
    await makeUser('kept', null);
    await makeUser('later', at(1));
    const ended = await makeUser('ended-now', at(0));
    await sql`
      insert into users (account_id, kind, external_id, expires_at)
      select ${account.accountId}, 'external', 'ended-' || n, ${at(-60)}::timestamptz from generate_series(1, 450) n`.execute(
      db,
    );
    await sql`insert into user_groups select ${ended}, id from groups`.execute(db);
    await sql`insert into user_attribute_values select ${ended}, id, '7' from user_attributes where name = 'merchant_id'`.execute(
      db,
    );
    await makeSession(ended, at(60));
    const { runId } = await makeThread({ userId: ended, text: 'private' });
    expect(await remainsOf(db, ended, 'private')).not.toEqual([]);

    // Their answer is still being written.
    expect(await round()).toBe('done');
    expect(await externalIds()).toEqual(['ended-now', 'kept', 'later']);
    expect(batches).toEqual([
      ['users', 200],
      ['users', 200],
      ['users', 50],
    ]);
    await db.updateTable('runs').set({ state: 'completed', ended_at: now }).where('id', '=', runId).execute();
    await round();
    expect(await externalIds()).toEqual(['kept', 'later']);
    expect(await remainsOf(db, ended, 'private')).toEqual([]);
  });

  test('sessions stay in the list for a week after their end', async () => {
    const user = await makeUser('kept', null);
    await makeSession(user, at(-7 * daySeconds - 1));
    const listed = await makeSession(user, at(-7 * daySeconds + 1));
    await round();
    expect(await db.selectFrom('sessions').select('id').execute()).toEqual([{ id: listed }]);
    expect(batches).toEqual([['sessions', 1]]);
  });

  test('audit entries go when their retention is over, and nodes that are gone for a day', async () => {
    const entry = (days: number, action: string) =>
      sql`
      insert into audit_log (account_id, at, actor_kind, action, result)
      values (${account.accountId}, ${at(-days * daySeconds)}, 'server', ${action}, 'OK')`.execute(db);
    await entry(31, 'old');
    await entry(29, 'young');
    const node = (seconds: number) =>
      db
        .insertInto('nodes')
        .values({ id: randomUUID(), seen_at: at(-seconds) })
        .execute();
    await node(daySeconds + 1);
    await node(1);
    await round();
    expect(await db.selectFrom('audit_log').select('action').execute()).toEqual([{ action: 'young' }]);
    expect(batches).toEqual([
      ['audit entries', 1],
      ['nodes', 1],
    ]);
    await expect(sql`delete from audit_log`.execute(db)).rejects.toThrow('append-only');
  });

  test('a signal ends it after the batch under way; the rest goes the next time', async () => {
    await sql`
      insert into users (account_id, kind, external_id, expires_at)
      select ${account.accountId}, 'external', 'ended-' || n, ${at(-60)}::timestamptz from generate_series(1, 450) n`.execute(
      db,
    );
    const stop = new AbortController();
    await sweep(db, now, settings, {
      removed: (...batch) => {
        batches.push(batch);
        stop.abort();
      },
      signal: stop.signal,
    });
    expect(batches).toEqual([['users', 200]]);
    await round();
    expect(await externalIds()).toEqual([]);
  });

  test('a running sweeper goes on after a failure, and ends when it is disposed', async () => {
    const outcomes: string[] = [];
    const failures: string[] = [];
    const { promise: twice, resolve } = Promise.withResolvers<void>();
    let times = 0;
    const clock = (): Date => {
      times += 1;
      if (times === 1) throw new Error('the clock is broken');
      return now;
    };
    const sweepEnded = (outcome: string): void => {
      outcomes.push(outcome);
      if (outcomes.length === 2) resolve();
    };
    {
      await using _sweeper = startSweeper(
        {
          db,
          clock,
          log: { error: (_fields, text) => void failures.push(text) },
          metrics: { ...noMetrics, sweepEnded },
          settings,
        },
        1,
      );
      await twice;
    }
    expect(outcomes.slice(0, 2)).toEqual(['failed', 'done']);
    expect(failures).toEqual(['what has ended could not be removed']);
    const ended = outcomes.length;
    await db.selectFrom('accounts').select('id').execute();
    expect(outcomes).toHaveLength(ended);
  });
});

test('while one node sweeps, another does not', async () => {
  const { db, close } = await openTestDatabase('postgres');
  try {
    const { accountId } = await seedAccount(db, 'shop', 1);
    const user = { account_id: accountId, kind: 'external' as const, external_id: 'ended', expires_at: at(-1) };
    await db.insertInto('users').values(user).execute();
    const removed = (): void => undefined;
    const { signal } = new AbortController();
    const other = await db.transaction().execute(async (transaction) => {
      // The lock as the sweeper takes it: found by what a round holds.
      await sql`select pg_advisory_xact_lock(7354120061)`.execute(transaction);
      return sweep(db, now, settings, { removed, signal });
    });
    expect(other).toBe('elsewhere');
    expect(await sweep(db, now, settings, { removed, signal })).toBe('done');
  } finally {
    await close();
  }
});

/** Every row of every table that names the user, or holds the text: found from the database's own catalogue. */
async function remainsOf(db: Kysely<Schema>, userId: number, text: string): Promise<string[]> {
  const { rows: columns } = await sql<{ table_name: string; column_name: string }>`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and (column_name like '%user_id' or (table_name = 'users' and column_name = 'id'))`.execute(
    db,
  );
  expect(columns.length).toBeGreaterThan(5);
  const found: string[] = [];
  for (const { table_name: table, column_name: column } of columns) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${userId}`.execute(db);
    if (rows.length > 0) found.push(`${table}.${column}`);
  }
  const { rows: tables } = await sql<{ table_name: string }>`
    select table_name from information_schema.tables where table_schema = 'public'`.execute(db);
  for (const { table_name: table } of tables) {
    const { rows } = await sql`select 1 from ${sql.table(table)} t where t::text like ${`%${text}%`}`.execute(db);
    if (rows.length > 0) found.push(`${table} holds the text`);
  }
  return found.sort();
}
