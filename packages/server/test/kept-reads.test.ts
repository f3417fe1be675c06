/** What was read from the store and is not read again: never once something was written, and never after its end. */
import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Changes } from '../src/store/changes.ts';
import { createKeptReads, type Ending } from '../src/store/kept-reads.ts';
import type { Schema } from '../src/store/schema.ts';
import type { Principal } from '../src/users/principal.ts';
import { createAskers } from '../src/users/subject.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';
import { type SeededAccount, seedAccount, seedSession } from './seed.ts';

const start = new Date('2026-03-01T12:00:00Z');
const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);

describe('kept reads', () => {
  test('give what a store gives that is read at every call, whatever is written, asked and failed meanwhile', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('write' as const), value: fc.nat(9), seconds: fc.option(fc.nat(5)) }),
      fc.record({ kind: fc.constant('begin' as const), key: fc.constantFrom('a', 'b') }),
      fc.record({ kind: fc.constant('answer' as const), fails: fc.boolean() }),
      fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        let writes = 0;
        let stored: Ending<number> = { value: 0, endsAt: null };
        let now = 0;
        const open: (() => void)[] = [];
        const askers: Promise<void>[] = [];
        const kept = createKeptReads<number>({ writes: () => writes }, 2);
        // What a reader may see: any state of the store from when it asked until it was answered.
        const states = [stored];
        const ask = async (key: string): Promise<void> => {
          const first = states.length - 1;
          const read = () =>
            new Promise<Ending<number>>((resolve, reject) => {
              const seen = stored;
              open.push(() => (failing ? reject(new Error('away')) : resolve(seen)));
            });
          const value = await kept.get(key, after(now), read).catch(() => null);
          if (value !== null) expect(states.slice(first).map((state) => state.value)).toContain(value);
        };
        let failing = false;
        const settle = async (): Promise<void> => {
          for (const answer of open.splice(0)) answer();
          await new Promise((resolve) => setImmediate(resolve));
        };
        for (const one of steps) {
          if (one.kind === 'write') {
            stored = { value: one.value, endsAt: one.seconds === null ? null : after(now + one.seconds) };
            states.push(stored);
            writes += 1;
          } else if (one.kind === 'begin') askers.push(ask(one.key));
          else if (one.kind === 'wait') now += one.seconds;
          else {
            failing = one.fails;
            await settle();
          }
        }
        failing = false;
        let isDone = false;
        const done = Promise.all(askers).finally(() => {
          isDone = true;
        });
        while (!isDone) await settle();
        await done;
      }),
      { numRuns: 1000 },
    );
  });

  test('are asked once while nothing is written, at the same time too, and anew from their end on', async () => {
    let count = 0;
    const kept = createKeptReads<number>({ writes: () => 1 }, 10);
    const ask = (now: Date, key = 'a') => kept.get(key, now, async () => ({ value: ++count, endsAt: after(60) }));
    expect(await Promise.all([ask(start), ask(start), ask(start, 'b')])).toEqual([1, 1, 2]);
    expect(await ask(after(59.999))).toBe(1);
    expect(await ask(after(60))).toBe(3);
  });

  test('where others write too, every call asks', async () => {
    let count = 0;
    const kept = createKeptReads<number>({ writes: () => null }, 10);
    const ask = () => kept.get('a', start, async () => ({ value: ++count, endsAt: null }));
    expect([await ask(), await ask()]).toEqual([1, 2]);
  });
});

describe('the rights of users in the embedded store', () => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let changes: Changes;
  let account: SeededAccount;
  const statements: string[] = [];
  beforeAll(async () => {
    database = await openTestDatabase('pglite', ({ query }) => void statements.push(query.sql));
    ({ db } = database);
    changes = await database.openChanges();
    account = await seedAccount(db, 'demo', 1);
  });
  afterAll(() => database.close());

  test('a write is counted before it is acknowledged, however it is written; a read is not', async () => {
    const counts = async (work: () => Promise<unknown>): Promise<boolean> => {
      const before = changes.writes();
      await work();
      return changes.writes() !== before;
    };
    await sql`create table zoo (a int primary key)`.execute(db);
    expect(await counts(() => sql`insert into zoo values (${1})`.execute(db))).toBe(true);
    expect(await counts(() => sql`  WITH x as (select 2 as a) insert into zoo select a from x`.execute(db))).toBe(true);
    expect(await counts(() => sql`update zoo set a = a + ${10}`.execute(db))).toBe(true);
    expect(await counts(() => db.transaction().execute((tx) => sql`select 1`.execute(tx)))).toBe(true);
    expect(await counts(() => sql`insert into zoo values (11)`.execute(db).catch(() => undefined))).toBe(true);
    expect(await counts(() => sql`delete from zoo`.execute(db))).toBe(true);
    expect(await counts(() => sql`select * from zoo where a = ${1}`.execute(db))).toBe(false);
    expect(await counts(() => db.selectFrom('users').selectAll().execute())).toBe(false);
  });

  test('are read once, and anew after every kind of write that concerns them', async () => {
    const askers = createAskers({ db, changes });
    const userId = await insertUser();
    const principal = await seedSession(db, account, userId, start);
    const fresh = async () => createAskers({ db, changes: { writes: () => null } }).load(principal, start);
    const load = () => askers.load(principal, start);
    await load();
    statements.length = 0;
    expect(await Promise.all([load(), load()])).toEqual([await fresh(), await fresh()]);
    expect(statements).toHaveLength(2);

    const { id: groupId } = await db.selectFrom('groups').select('id').orderBy('id').executeTakeFirstOrThrow();
    const attribute = await db.selectFrom('user_attributes').select(['id', 'type']).where('name', '=', 'merchant_id');
    const { id: attributeId } = await attribute.executeTakeFirstOrThrow();
    const value = { user_id: userId, attribute_id: attributeId };
    const writes: (() => Promise<unknown>)[] = [
      () => db.insertInto('user_groups').values({ user_id: userId, group_id: groupId }).execute(),
      () => db.updateTable('groups').set({ name: 'renamed' }).where('id', '=', groupId).execute(),
      () =>
        db
          .insertInto('user_attribute_values')
          .values({ ...value, value: '7' })
          .execute(),
      () => db.updateTable('user_attribute_values').set({ value: '8' }).where('user_id', '=', userId).execute(),
      () => db.deleteFrom('user_attribute_values').where('user_id', '=', userId).execute(),
      () => db.updateTable('user_attributes').set({ default_value: '9' }).where('id', '=', attributeId).execute(),
      () => db.updateTable('sessions').set({ settings: '{"timezone":"Asia/Tokyo"}' }).execute(),
      () => db.transaction().execute((tx) => tx.deleteFrom('groups').where('id', '=', groupId).execute()),
    ];
    for (const write of writes) {
      const before = await load();
      await write();
      const [kept, read] = [await load(), await fresh()];
      expect(kept).toEqual(read);
      expect(kept).not.toEqual(before);
    }
    await db
      .updateTable('users')
      .set({ expires_at: after(60) })
      .where('id', '=', userId)
      .execute();
    await load();
    await expect(askers.load(principal, after(60))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await load();
    await db.updateTable('sessions').set({ revoked_at: start }).execute();
    await expect(load()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('a security context is never kept: it is that of the call', async () => {
    const askers = createAskers({ db, changes });
    const principal: Principal = { ...(await seedSession(db, account, await insertUser(), start)), sessionId: null };
    const contextOf = async (securityContext: Principal['securityContext']) =>
      (await askers.load({ ...principal, securityContext }, start)).subject.securityContext;
    expect(await contextOf({ a: 1 })).toEqual({ a: 1 });
    expect(await contextOf({ a: 2 })).toEqual({ a: 2 });
  });

  let number = 0;
  async function insertUser(): Promise<number> {
    number += 1;
    const user = { account_id: account.accountId, kind: 'external' as const, external_id: `user-${number}` };
    const none = { username: null, email: null, display_name: null, picture: null, expires_at: null };
    return (
      await db
        .insertInto('users')
        .values({ ...user, ...none })
        .returning('id')
        .executeTakeFirstOrThrow()
    ).id;
  }
});
