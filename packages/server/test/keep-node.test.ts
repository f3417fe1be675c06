/** Several nodes on one store: the runs of those that are gone are closed, and only theirs. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeInterruptedRuns } from '../src/chat/interrupted-runs.ts';
import { keepNode } from '../src/chat/keep-node.ts';
import { endRun, insertRun, writeMessage } from '../src/chat/run-store.ts';
import { readMessages } from '../src/chat/thread-store.ts';
import { createNode } from '../src/store/node.ts';
import { type ChatWorld, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';

describe.each(databaseKinds)('nodes on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  const log = { error: () => undefined };
  const now = new Date();

  async function runOf(nodeId: string): Promise<{ id: string; threadId: string }> {
    const { principal, agentId } = world.callers.ann;
    const owner = { accountId: principal.accountId, userId: principal.userId, agentId, scopeId: null };
    const message = { nodeId, owner, threadId: null, messageId: `${randomUUID()}-message`, input: 'x', title: 'x' };
    const run = await insertRun(world.database.db, message, now);
    if (run.kind === 'refused') throw new Error('refused');
    return { id: run.runId, threadId: run.threadId };
  }
  const stateOf = async (runId: string): Promise<string | undefined> =>
    (await world.database.db.selectFrom('runs').select('state').where('id', '=', runId).executeTakeFirst())?.state;
  const text = (content: string, sort = 2) => ({
    id: randomUUID(),
    role: 'assistant' as const,
    content,
    graphPath: ['agent'],
    toolCall: null,
    isInProcess: true,
    sort,
  });
  const silentFor = (nodeId: string, seconds: number) =>
    sql`
      insert into nodes (id, seen_at) values (${nodeId}::uuid, clock_timestamp() - ${`${seconds} s`}::interval)
      on conflict (id) do update set seen_at = excluded.seen_at`.execute(world.database.db);

  test('a node that has been silent for ten seconds, or is unknown, has lost its runs; others keep theirs', async () => {
    const { db } = world.database;
    const [alive, gone, unknown] = [randomUUID(), randomUUID(), randomUUID()];
    await silentFor(alive, 8);
    await silentFor(gone, 10);
    const runs = [await runOf(alive), await runOf(gone), await runOf(unknown)];
    expect(await closeInterruptedRuns(db, now)).toBe(2);
    expect(await Promise.all(runs.map(({ id }) => stateOf(id)))).toEqual(['running', 'failed', 'failed']);
    await sql`delete from nodes`.execute(db);
    expect(await closeInterruptedRuns(db, now)).toBe(1);
  });

  test('a node that was taken for gone writes nothing into what goes on without it', async () => {
    const { db } = world.database;
    const lost = await runOf(randomUUID());
    const begun = text('Half');
    expect(await writeMessage(db, lost, begun, now)).toBe('kept');
    expect(await closeInterruptedRuns(db, now)).toBe(1);
    expect(await writeMessage(db, lost, { ...begun, content: 'Half and more' }, now)).toBe('closed');
    expect(await writeMessage(db, lost, text('More', 3), now)).toBe('closed');
    await endRun(db, lost.id, { state: 'completed', usage: null, error: null }, now);
    expect(await stateOf(lost.id)).toBe('failed');
    const messages = await readMessages(db, lost.threadId);
    expect(messages.map(({ content, isInProcess }) => [content, isInProcess])).toEqual([
      ['x', false],
      ['Half', false],
    ]);
    await db.deleteFrom('threads').where('id', '=', lost.threadId).execute();
    expect(await writeMessage(db, lost, begun, now)).toBe('gone');
  });

  test('a node says that it is alive, hears that it was taken for gone, and says when it goes', async () => {
    const { db } = world.database;
    const seen = async (id: string): Promise<number> =>
      (await db.selectFrom('nodes').select('id').where('id', '=', id).execute()).length;
    const node = createNode({ db, log });
    const goneBefore = await runOf(randomUUID());
    let interruptions = 0;
    const runs = { interrupt: () => void interruptions++ };
    const keeping = await keepNode({ db, clock: () => now, log, node, runs, isAlone: false });
    expect([await seen(node.id), await stateOf(goneBefore.id), interruptions]).toEqual([1, 'failed', 0]);

    const own = await runOf(node.id);
    expect(await closeInterruptedRuns(db, now)).toBe(0);
    await silentFor(node.id, 60);
    await until(() => interruptions === 1);
    expect(await stateOf(own.id)).toBe('running');
    await db.deleteFrom('nodes').where('id', '=', node.id).execute();
    await until(() => interruptions === 2);

    await keeping[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
    expect(await seen(node.id)).toBe(0);
    expect(await closeInterruptedRuns(db, now)).toBe(1);
  });

  test('a node that is alone knows that all before it are gone', async () => {
    const { db } = world.database;
    const before = randomUUID();
    await silentFor(before, 0);
    const run = await runOf(before);
    await using node = createNode({ db, log });
    const runs = { interrupt: () => undefined };
    await using _keeping = await keepNode({ db, clock: () => now, log, node, runs, isAlone: true });
    expect(await stateOf(run.id)).toBe('failed');
  });
});
