/** A change of the management API and a transaction of somebody else's that want the same rows. */
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiKey } from '../src/admin/api-keys.ts';
import { type AdminCall, change } from '../src/admin/change.ts';
import { createInternalUser } from '../src/admin/internal-users.ts';
import { deleteFromScope, tenantWideOf } from '../src/admin/scope.ts';
import type { Schema } from '../src/store/schema.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';
import { seedAccount } from './seed.ts';

let database: TestDatabase;
let db: Kysely<Schema>;
let call: AdminCall;
beforeAll(async () => {
  // PGlite has one connection: nobody else can hold a lock there.
  database = await openTestDatabase('postgres');
  db = database.db;
  const { accountId } = await seedAccount(db, 'shop', 1);
  const actor = { kind: 'api-key', id: '1', name: 'test', address: null, requestId: null } as const;
  call = { db, clock: () => new Date(), accountId, actor };
});
afterAll(() => database.close());

/** Resolves when somebody waits for a lock in this database. */
async function somebodyWaits(): Promise<void> {
  const waiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows[0]?.count ?? 0;
  };
  await expect.poll(waiting, { timeout: 10_000 }).toBeGreaterThan(0);
}

async function makeGroup(name: string): Promise<{ readonly groupId: number; readonly members: readonly number[] }> {
  const { accountId } = call;
  const group = { account_id: accountId, name, description: null };
  const { id: groupId } = await db.insertInto('groups').values(group).returning('id').executeTakeFirstOrThrow();
  const users = await db
    .insertInto('users')
    .values(['one', 'two'].map((user) => ({ account_id: accountId, kind: 'external', external_id: `${name}-${user}` })))
    .returning('id')
    .execute();
  const members = users.map(({ id }) => id);
  const [first] = members;
  if (first === undefined) throw new Error('No user was made.');
  await db.insertInto('user_groups').values({ user_id: first, group_id: groupId }).execute();
  return { groupId, members };
}

test('when both wait for each other the change gives way, and succeeds later', async () => {
  const { groupId, members } = await makeGroup('circle');
  const [leaving, joining] = members;
  if (leaving === undefined || joining === undefined) throw new Error('There are two users.');
  let deleted: Promise<void> = Promise.resolve();
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('user_groups').where('user_id', '=', leaving).where('group_id', '=', groupId).execute();
    deleted = deleteFromScope(call, 'group', tenantWideOf(call.accountId), groupId);
    await somebodyWaits();
    // The deletion holds the group and waits for the membership; this needs the group.
    await tx.insertInto('user_groups').values({ user_id: joining, group_id: groupId }).execute();
  });
  await deleted;
  expect(await db.selectFrom('groups').select('id').where('id', '=', groupId).execute()).toEqual([]);
  expect(await db.selectFrom('user_groups').select('user_id').where('group_id', '=', groupId).execute()).toEqual([]);
  const entries = await db.selectFrom('audit_log').select('action').where('object_id', '=', String(groupId)).execute();
  expect(entries).toEqual([{ action: 'group.delete' }]);
});

test('a lock that never comes ends in NOT_READY, and nothing is written', async () => {
  const { groupId } = await makeGroup('held');
  await db.transaction().execute(async (tx) => {
    await sql`select 1 from groups where id = ${groupId} for update`.execute(tx);
    await expect(deleteFromScope(call, 'group', tenantWideOf(call.accountId), groupId)).rejects.toMatchObject({
      code: 'NOT_READY',
      retryAfterSeconds: 1,
    });
  });
  expect(await db.selectFrom('groups').select('id').where('id', '=', groupId).execute()).toEqual([{ id: groupId }]);
  expect(await db.selectFrom('audit_log').select('id').where('object_id', '=', String(groupId)).execute()).toEqual([]);
});

test('what the work throws takes back what it has written, the audit entry too', async () => {
  const before = await db.selectFrom('audit_log').select('id').execute();
  const failing = change(call, async ({ tx, accountId, audit }) => {
    await tx.insertInto('groups').values({ account_id: accountId, name: 'undone', description: null }).execute();
    await audit('group.create', { kind: 'group', id: 1, name: 'undone' });
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await db.selectFrom('audit_log').select('id').execute()).toEqual(before);
  expect(await db.selectFrom('groups').select('id').where('name', '=', 'undone').execute()).toEqual([]);
});

test('what a change has found is deleted before it refers to it: then it does not find it', async () => {
  const { groupId } = await makeGroup('leaving');
  let made: Promise<unknown> = Promise.resolve();
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('groups').where('id', '=', groupId).execute();
    const user = { username: 'joining', email: 'joining@example.com', groups: ['leaving'] };
    made = expect(createInternalUser(call, user)).rejects.toMatchObject({ code: 'GROUPS_NOT_FOUND' });
    await somebodyWaits();
  });
  await made;
  expect(await db.selectFrom('users').select('id').where('username', '=', 'joining').execute()).toEqual([]);
});

test('a key for a deployment that is being deleted is not made', async () => {
  const { accountId, deploymentId } = await seedAccount(db, 'closing', 2);
  let made: Promise<unknown> = Promise.resolve();
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('deployments').where('id', '=', deploymentId).execute();
    const making = createApiKey(
      { ...call, accountId },
      { role: 'member', label: 'late', deploymentIds: [deploymentId] },
    );
    made = expect(making).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await somebodyWaits();
  });
  await made;
  expect(await db.selectFrom('api_keys').select('id').where('label', '=', 'late').execute()).toEqual([]);
});
