/** A run is written by one attempt only, also where two of them are of the same node. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Message } from '../src/chat/frames.ts';
import { writeLog } from '../src/chat/write-log.ts';
import { type ChatWorld, chatIdOf, openChatWorld } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { scripted } from './scripted-language-model.ts';

describe.each(databaseKinds)('attempts of one node on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  /** A node whose agent says nothing until it is stopped. */
  const silentChat = () =>
    world.chat({
      languageModel: scripted([]),
      async *runAgent({ signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
  const runOf = (threadId: string) =>
    world.database.db.selectFrom('runs').selectAll().where('thread_id', '=', threadId).executeTakeFirstOrThrow();

  test('what an earlier attempt has to say is not written beside a later one, in one statement', async () => {
    const { db } = world.database;
    const chat = silentChat();
    const stream = await chat.open(world.callers.ann, { input: 'why?' });
    const { id } = await runOf(chatIdOf([(await stream[Symbol.asyncIterator]().next()).value]));
    await db.updateTable('runs').set({ attempts: 2 }).where('id', '=', id).execute();
    const message = (text: string): Message => ({
      id: text,
      role: 'assistant',
      content: text,
      graphPath: [],
      toolCall: null,
      thinking: null,
      modelText: null,
      isInProcess: false,
      sort: 2,
    });
    const [stale, own] = [1, 2].map((attempts) => ({
      run: { id, attempts },
      rows: [{ seq: 1, sort: 2, line: `{"id":"${attempts}"}`, step: null }],
      closed: [message(String(attempts))],
      voided: [],
      end: null,
    }));
    if (stale === undefined || own === undefined) throw new Error('no entries');
    expect([...(await writeLog(db, chat.nodeId, [stale, own], new Date()))]).toEqual([own.run]);
    const lines = db.selectFrom('run_log').select('line').where('run_id', '=', id);
    expect(await lines.execute()).toEqual([{ line: '{"id":"2"}' }]);
    const messages = db.selectFrom('messages').select('content').where('run_id', '=', id).where('sort', '=', 2);
    expect(await messages.execute()).toEqual([{ content: '2' }]);
    await chat.runs.close(0);
  });

  test('a run that is just being begun is not taken by its own node', async () => {
    const chat = silentChat();
    const attempts: number[] = [];
    for (let round = 0; round < 40; round++) {
      const looking = chat.runs.carryOn();
      const stream = await chat.open(world.callers.ann, { input: 'why?' });
      await looking;
      attempts.push((await runOf(chatIdOf([(await stream[Symbol.asyncIterator]().next()).value]))).attempts);
    }
    expect(attempts).toEqual(attempts.map(() => 1));
    await chat.runs.close(0);
  });
});
