/** Several nodes on one store: the runs of those that are gone are taken over, and only theirs. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import { noUsage } from '../src/chat/frames.ts';
import { keepNode } from '../src/chat/keep-node.ts';
import { createNode } from '../src/store/node.ts';
import { type Chat, type ChatWorld, chatIdOf, openChatWorld, testRunLimits, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { scripted } from './scripted-language-model.ts';

describe.each(databaseKinds)('nodes on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const clock = () => new Date();
  const leaseMs = testRunLimits.runLeaseMs;
  const ends: AgentEvent[] = [
    { type: 'final', messageId: 'f', text: 'Done.' },
    { type: 'usage', usage: noUsage },
  ];

  /** A node whose agent says nothing until it is stopped, or that ends every run. */
  const chatThat = (does: 'nothing' | 'ends'): Chat =>
    world.chat({
      languageModel: scripted([]),
      async *runAgent({ signal }) {
        if (does === 'ends') return yield* ends;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
  async function runOn(chat: Chat): Promise<string> {
    const stream = await chat.open(world.callers.ann, { input: 'why?' });
    return chatIdOf([(await stream[Symbol.asyncIterator]().next()).value]);
  }
  const stateOf = async (threadId: string) =>
    (await world.database.db.selectFrom('runs').select('state').where('thread_id', '=', threadId).executeTakeFirst())
      ?.state;
  const attemptsOf = async (threadId: string) =>
    (await world.database.db.selectFrom('runs').select('attempts').where('thread_id', '=', threadId).executeTakeFirst())
      ?.attempts;
  const isSilent = async (nodeId: string): Promise<boolean> => {
    const { rows } = await sql<{ is_silent: boolean }>`
      select seen_at < clock_timestamp() - interval '30 s' as is_silent from nodes where id = ${nodeId}`.execute(
      world.database.db,
    );
    return rows[0]?.is_silent ?? true;
  };
  const silentFor = (nodeId: string, seconds: number) =>
    sql`
      insert into nodes (id, seen_at) values (${nodeId}::uuid, clock_timestamp() - ${`${seconds} s`}::interval)
      on conflict (id) do update set seen_at = excluded.seen_at`.execute(world.database.db);

  test('one that has been silent for as long as a lease, or is unknown, has lost its runs; others keep theirs', async () => {
    const { db } = world.database;
    const [alive, gone, unknown, taker] = [
      chatThat('nothing'),
      chatThat('nothing'),
      chatThat('nothing'),
      chatThat('ends'),
    ];
    await silentFor(alive.nodeId, leaseMs / 1000 - 2);
    await silentFor(gone.nodeId, leaseMs / 1000);
    const threads = [await runOn(alive), await runOn(gone), await runOn(unknown)];
    expect(await taker.runs.carryOn()).toBe(2);
    const states = () => Promise.all(threads.map(stateOf));
    await until(async () => (await states()).filter((state) => state === 'completed').length === 2);
    expect(await states()).toEqual(['running', 'completed', 'completed']);
    await sql`delete from nodes`.execute(db);
    expect(await taker.runs.carryOn()).toBe(1);
    await until(async () => (await states()).every((state) => state === 'completed'));
  });

  test('a node says that it is alive, looks for runs, and says when it goes', async () => {
    const { db } = world.database;
    const seen = async (id: string): Promise<number> =>
      (await db.selectFrom('nodes').select('id').where('id', '=', id).execute()).length;
    const node = createNode({ db, log, leaseMs });
    let looks = 0;
    const runs = { carryOn: async () => looks++ };
    const keeping = await keepNode({ db, clock, log, node, runs, isAlone: false, leaseMs });
    expect([await seen(node.id), looks]).toEqual([1, 1]);
    await until(() => looks >= 3);
    await keeping[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
    expect(await seen(node.id)).toBe(0);
  });

  test('a node that is alone knows that all before it are gone, and takes over at once', async () => {
    const { db } = world.database;
    const [before, after] = [chatThat('nothing'), chatThat('ends')];
    await silentFor(before.nodeId, 0);
    const threadId = await runOn(before);
    expect(await after.runs.carryOn()).toBe(0);
    await using node = createNode({ db, log, leaseMs });
    await using _keeping = await keepNode({ db, clock, log, node, runs: after.runs, isAlone: true, leaseMs });
    await until(async () => (await stateOf(threadId)) === 'completed');
  });

  test('a node that was silent for however long keeps the runs that nobody took, and the operator is told', async () => {
    const { db } = world.database;
    const warnings: string[] = [];
    await using node = createNode({ db, log: { ...log, warn: (_, text) => void warnings.push(text) }, leaseMs });
    const gate = Promise.withResolvers<void>();
    const chat = world.chat({
      nodeId: node.id,
      languageModel: scripted([]),
      async *runAgent() {
        await gate.promise;
        yield* ends;
      },
    });
    await using _keeping = await keepNode({ db, clock, log, node, runs: chat.runs, isAlone: false, leaseMs });
    const threadId = await runOn(chat);
    // Again where a beat came in the same moment, which did not see it.
    for (const make of [() => silentFor(node.id, 60), () => db.deleteFrom('nodes').execute()]) {
      warnings.length = 0;
      for (let attempt = 0; warnings.length === 0 && attempt < 5; attempt += 1) {
        await make();
        await until(async () => !(await isSilent(node.id)));
      }
      await until(() => warnings.length > 0);
      expect(warnings).toEqual([expect.stringContaining('this node was silent for so long')]);
    }
    gate.resolve();
    await until(async () => (await stateOf(threadId)) === 'completed');
    expect(await attemptsOf(threadId)).toBe(1);
  });
});
