import { Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../src/store/database.ts';
import { createStatementNames, preparingPool } from '../src/store/prepared-statements.ts';
import { openTestDatabase } from './databases.ts';

describe('the names of statements', () => {
  test('a text has one from its third use on, the same in every process', () => {
    const [one, other] = [createStatementNames(), createStatementNames()];
    expect([one('select $1'), one('select $1')]).toStrictEqual([undefined, undefined]);
    const name = one('select $1');
    expect(name).toMatch(/^inlay_[\w-]{24}$/);
    expect(one('select $1')).toBe(name);
    other('select $1');
    other('select $1');
    expect(other('select $1')).toBe(name);
    expect(one('select $2')).toBeUndefined();
  });

  test('texts that vary have none, and leave room for those that repeat', () => {
    const name = createStatementNames();
    const named = Array.from({ length: 5_000 }, (_, index) => [name(`varies ${index}`), name('repeats')]);
    expect(named.every(([varying]) => varying === undefined)).toBe(true);
    expect(named.slice(2).every(([, repeating]) => repeating !== undefined)).toBe(true);
    // Long forgotten, so that its uses do not add up.
    expect([name('varies 0'), name('varies 0')]).toStrictEqual([undefined, undefined]);
  });
});

describe('on PostgreSQL', async () => {
  const database = await openTestDatabase('postgres');
  if (database.store.kind !== 'postgres') throw new Error('not PostgreSQL');
  const { store } = database;
  await sql`create table things (id integer primary key, name text)`.execute(database.db);
  await sql`insert into things select n, 'thing ' || n from generate_series(1, 1000) n`.execute(database.db);
  afterAll(() => database.close());

  /** A store with a single connection, so that a test knows which one its statements take. */
  const openOne = async () => {
    const db = await openDatabase({ ...store, connectionsMax: 1 });
    const nameOf = async (id: number) => {
      const { rows } = await sql<{ name: string }>`select * from things where id = ${id}`.execute(db);
      return rows[0]?.name;
    };
    const prepared = async () => {
      const { rows } = await sql<{ text: string }>`select statement as text from pg_prepared_statements`.execute(db);
      return rows.map(({ text }) => text);
    };
    const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid;
    return { db, nameOf, prepared, pid, [Symbol.asyncDispose]: () => db.destroy() };
  };

  test('a statement that repeats is prepared once, one that varies never', async () => {
    await using one = await openOne();
    const names = [];
    for (let id = 1; id <= 6; id += 1) names.push(await one.nameOf(id));
    expect(names).toStrictEqual([1, 2, 3, 4, 5, 6].map((id) => `thing ${id}`));
    for (let count = 1; count <= 50; count += 1) {
      await sql`select 1 where 1 in (${sql.join(Array.from({ length: count }, (_, index) => index))})`.execute(one.db);
    }
    expect(await one.prepared()).toStrictEqual(['select * from things where id = $1']);
  });

  test('a connection holds a bounded number of them; what is beyond works all the same', async () => {
    await using one = await openOne();
    for (let index = 0; index < 250; index += 1) {
      const text = sql.raw(`+ ${index}`);
      for (let use = 1; use <= 3; use += 1) {
        const { rows } = await sql<{ sum: number }>`select ${use}::int ${text} as sum`.execute(one.db);
        expect(rows).toStrictEqual([{ sum: use + index }]);
      }
    }
    expect(await one.prepared()).toHaveLength(200);
  });

  test('a changed table or a lost statement is not noticed outside of a transaction', async () => {
    await using one = await openOne();
    for (const [index, change] of ['alter table things add column extra integer', 'discard all'].entries()) {
      for (let id = 1; id <= 4; id += 1) await one.nameOf(id);
      expect(await one.prepared()).toContain('select * from things where id = $1');
      const before = await one.pid();
      await sql.raw(change).execute(one.db);
      expect(await one.nameOf(7 + index)).toBe(`thing ${7 + index}`);
      // A new connection, which may prepare again.
      expect(await one.pid()).not.toBe(before);
    }
  });

  test('inside a transaction it ends that one, and nothing else', async () => {
    await using one = await openOne();
    for (let id = 1; id <= 4; id += 1) await one.nameOf(id);
    await sql`alter table things add column another integer`.execute(one.db);
    const failing = one.db.transaction().execute(async (tx) => {
      await sql`insert into things (id, name) values (${9999}, ${'half'})`.execute(tx);
      await sql`select * from things where id = ${1}`.execute(tx);
    });
    await expect(failing).rejects.toMatchObject({ code: '0A000' });
    expect(await one.nameOf(9999)).toBeUndefined();
    expect(await one.nameOf(1)).toBe('thing 1');
  });

  test("the database's own errors change nothing", async () => {
    await using one = await openOne();
    const before = await one.pid();
    for (let count = 0; count < 5; count += 1) {
      await expect(sql`select 1 / ${0}::int`.execute(one.db)).rejects.toThrow('division by zero');
    }
    expect(await one.pid()).toBe(before);
  });

  test('a statement and a transaction have a time limit', async () => {
    await using one = await openOne();
    const limits = sql`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`;
    expect((await limits.execute(one.db)).rows).toStrictEqual([{ statement: '30s', idle: '30s' }]);
    const strict = await openDatabase({ ...store, statementMs: 1000 });
    expect((await limits.execute(strict)).rows).toStrictEqual([{ statement: '1s', idle: '1s' }]);
    await expect(sql`select pg_sleep(${20})`.execute(strict)).rejects.toMatchObject({ code: '57014' });
    await strict.destroy();
  });

  test('without a reply a statement fails, and its connection is not used again', async () => {
    const pool = new Pool({ connectionString: store.url, max: 1 });
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: preparingPool(pool, 300) }) });
    const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid;
    const before = await pid();
    await expect(sql`select pg_sleep(${20})`.execute(db)).rejects.toThrow('timeout');
    expect(await pid()).not.toBe(before);
    const work = db.transaction().execute((tx) => sql`select pg_sleep(${20})`.execute(tx));
    await expect(work).rejects.toThrow();
    expect(await pid()).toBeTypeOf('number');
    await db.destroy();
  });
});
