import { randomUUID } from 'node:crypto';
import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageFrame } from '../src/chat/frames.ts';
import { closeInterruptedRuns } from '../src/chat/interrupted-runs.ts';
import { insertRun, writeMessage } from '../src/chat/run-store.ts';
import { insertThread, readMessages } from '../src/chat/thread-store.ts';
import { noUsage } from '../src/chat/write-run.ts';
import { type ChatWorld, chatIdOf, openChatWorld, toolThat } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering, call, say, scripted, stall, wait } from './scripted-language-model.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

describe.each(databaseKinds)('runs on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  test('a thread is its user’s and its agent’s', async () => {
    const chat = world.chat({ languageModel: answering() });
    const { ann, bob, annElsewhere } = world.callers;
    const chatId = chatIdOf(await chat.read(ann, { input: 'mine' }));
    for (const stranger of [bob, annElsewhere]) {
      await expect(chat.open(stranger, { chatId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(chat.open(stranger, { chatId, input: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    await expect(chat.open(ann, { chatId: unknownId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(chat.abort(bob, chatId)).rejects.toMatchObject({ code: 'THREAD_NOT_OWNED' });
    await expect(chat.abort(annElsewhere, chatId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(chat.abort(ann, unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const wrongAccount = { ...ann, accountName: 'two' };
    const wrongAgent = { ...ann, agentId: annElsewhere.agentId };
    for (const caller of [wrongAccount, wrongAgent]) {
      await expect(chat.open(caller, {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  test('what a chat belongs to is deleted after it was looked up: it is not found', async () => {
    const { db } = world.database;
    const { accountId, userId } = world.callers.ann.principal;
    const { agentId } = world.callers.ann;
    const owner = { accountId, userId, agentId, scopeId: null };
    const gone = 2_000_000_000;
    const message = {
      nodeId: randomUUID(),
      threadId: null,
      messageId: '1777629600001-message',
      input: 'x',
      title: 'x',
    };
    for (const lost of [{ userId: gone }, { agentId: gone }, { scopeId: gone }]) {
      const of = { ...owner, ...lost };
      await expect(insertThread(db, of, '', new Date())).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(insertRun(db, { ...message, owner: of }, new Date())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    await expect(insertRun(db, { ...message, owner, threadId: unknownId }, new Date())).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('without input and chatId: an empty thread, titled by the first input', async () => {
    const chat = world.chat({ languageModel: answering() });
    const { ann } = world.callers;
    const frames = await chat.read(ann, {});
    expect(frames).toEqual([
      {
        id: '__cutoff__',
        role: 'assistant',
        content: '',
        sort: 0,
        state: { chatId: expect.any(String), isStreaming: false },
      },
    ]);
    const chatId = chatIdOf(frames);
    await chat.read(ann, { chatId, input: '🛒'.repeat(100) });
    await chat.read(ann, { chatId, input: 'second' });
    const { db } = world.database;
    const thread = await db.selectFrom('threads').selectAll().where('id', '=', chatId).executeTakeFirstOrThrow();
    expect(thread.title).toBe('🛒'.repeat(80));
  });

  test('caps on runs, given back when runs end', async () => {
    const model = () => scripted(() => [stall]);
    const { ann, bob } = world.callers;
    const perUser = world.chat({ languageModel: model(), runsPerUserMax: 1 });
    const first = await perUser.open(ann, { input: 'a' });
    const chatId = chatIdOf([(await first[Symbol.asyncIterator]().next()).value]);
    await expect(perUser.open(ann, { input: 'b' })).rejects.toMatchObject({
      code: 'TOO_MANY_RUNS',
      retryAfterSeconds: 5,
    });
    await perUser.open(bob, { input: 'c' });
    await perUser.abort(ann, chatId);
    await perUser.open(ann, { input: 'd' });

    const perProcess = world.chat({ languageModel: model(), runsMax: 1 });
    const results = await Promise.allSettled([
      perProcess.open(ann, { input: 'a' }),
      perProcess.open(bob, { input: 'b' }),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('the brand is a setting', async () => {
    const languageModel = scripted([[call('acmeMeta', {})], [say('Done.')]]);
    const chat = world.chat({ languageModel, brand: 'acme', tools: [toolThat('acmeMeta', async () => ({}))] });
    const frames = await chat.read(world.callers.ann, { input: 'hello' });
    expect(new Set(frames.flatMap(({ graphPath }) => (graphPath === undefined ? [] : [graphPath.join('/')])))).toEqual(
      new Set(['acme_data_analyst_agent/tools', 'acme_data_analyst_agent', 'final']),
    );
  });

  test('what tools take and give is kept, whatever it holds', async () => {
    const odd = { text: 'a\0b\ud800 "quoted" \\u0000 🛒' };
    const languageModel = scripted([[call('tool', odd)], [say('Done.')]]);
    const chat = world.chat({ languageModel, tools: [toolThat('tool', async () => odd)] });
    const { ann } = world.callers;
    const live = await chat.read(ann, { input: 'odd' });
    const read = await chat.read(ann, { chatId: chatIdOf(live) });
    expect(foldFrames(read).messages).toEqual(foldFrames(live).messages);
    const toolCall = read.find((frame) => frame.toolCall !== undefined)?.toolCall;
    expect([toolCall?.input, toolCall?.result].map((json) => JSON.parse(json ?? ''))).toEqual([odd, odd]);
  });

  test('the conversation that a second turn is told of', async () => {
    const languageModel = scripted([[say('Looking.'), call('tool', { a: 1 })], [say('One.')], [say('Two.')]]);
    const uuid = '11111111-1111-4111-8111-111111111111';
    const chat = world.chat({ languageModel, tools: [toolThat('tool', async () => ({ uuid }))] });
    const { ann } = world.callers;
    const chatId = chatIdOf(await chat.read(ann, { input: 'first' }));
    await chat.read(ann, { chatId, input: 'second' });
    expect(languageModel.requests[2]?.messages).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'Looking.', toolCalls: [] },
      { role: 'assistant', content: '', toolCalls: [{ id: expect.any(String), name: 'tool', input: '{"a":1}' }] },
      { role: 'tool', toolCallId: expect.any(String), name: 'tool', result: JSON.stringify({ uuid }) },
      { role: 'assistant', content: 'One.', toolCalls: [] },
      { role: 'user', content: 'second' },
    ]);
  });

  test('closing lets runs end, and begins none', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chat = world.chat({ languageModel: scripted([[wait(promise), say('In time.')]]) });
    const { ann } = world.callers;
    const quick = await chat.open(ann, { input: 'quick' });
    const closing = chat.runs.close(20_000);
    await expect(chat.open(ann, { input: 'late' })).rejects.toMatchObject({ code: 'NOT_READY' });
    resolve();
    await closing;
    expect(finalAnswer(await Array.fromAsync(quick))).toBe('In time.');
  });

  test('closing stops the runs that do not end, and says so', async () => {
    const chat = world.chat({ languageModel: scripted([[say('x'), stall]]) });
    const slow = await chat.open(world.callers.ann, { input: 'slow' });
    await chat.runs.close(50);
    expect(foldFrames(await Array.fromAsync(slow)).error).toMatchObject({ code: 'RUN_INTERRUPTED' });
    const { db } = world.database;
    const left = await db
      .selectFrom('messages')
      .select('id')
      .where('is_in_process', '=', true)
      .where('content', '=', 'x')
      .execute();
    expect(left).toEqual([]);
  });

  test('an agent that fails after its last word ends its run once', async () => {
    const { ann } = world.callers;
    const chat = world.chat({
      languageModel: scripted([]),
      async *runAgent() {
        yield { type: 'final', messageId: randomUUID(), text: 'Done.' };
        yield { type: 'usage', usage: noUsage };
        throw new Error('too late');
      },
    });
    const frames = await chat.read(ann, { input: 'once' });
    expect(frames.slice(2).map(({ id, content }) => (id.startsWith('__') ? id : content))).toEqual([
      'Done.',
      '__usage__',
    ]);
    expect(chat.errors).toHaveLength(1);
  });

  test('when the store takes nothing any more, readers still get an end', async () => {
    const { ann } = world.callers;
    const lost = world.database.db;
    let isBroken = false;
    const broken = new Proxy(lost, {
      get: (target, key) => {
        if (isBroken) throw new Error('the store is gone');
        const value = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const chat = world.chat({ db: broken, languageModel: scripted([[say('Half'), wait(promise), say(' whole.')]]) });
    const stream = (await chat.open(ann, { input: 'lose it' }))[Symbol.asyncIterator]();
    const seen: Frame[] = [];
    for (let next = await stream.next(); !next.done; next = await stream.next()) {
      seen.push(next.value);
      if (next.value.isDelta) {
        isBroken = true;
        resolve();
      }
    }
    expect(foldFrames(seen)).toMatchObject({ error: { code: 'INTERNAL' }, isStreaming: false });
    expect(JSON.stringify(seen)).not.toContain('the store is gone');
    await closeInterruptedRuns(lost, new Date());
  });
});

describe.each(databaseKinds)('after a crash on %s', (kind) => {
  test('open messages and runs are closed, and the thread goes on', async () => {
    const world = await openChatWorld(kind);
    const { db } = world.database;
    const { ann } = world.callers;
    const owner = { ...ann.principal, agentId: ann.agentId };
    const now = new Date();
    const messageId = '1767225600000-message';
    const run = await insertRun(
      db,
      { nodeId: randomUUID(), owner, threadId: null, messageId, input: 'lost', title: 'lost' },
      now,
    );
    if (run.kind !== 'inserted') throw new Error('not inserted');
    const written = { id: run.runId, threadId: run.threadId };
    const base = { role: 'assistant', content: '', isInProcess: true } as const;
    const toolCall = { name: 'platformSqlApi', input: '{"sqlQuery":"SELECT 1"}' };
    const text = { ...base, id: 'text', content: 'So ', graphPath: ['x'], toolCall: null, sort: 2 };
    const tool = { ...base, id: 'tool', graphPath: ['x', 'tools'], toolCall, sort: 3 };
    await writeMessage(db, written, text, now);
    await writeMessage(db, written, tool, now);

    expect(await closeInterruptedRuns(db, now)).toBe(1);
    expect(await closeInterruptedRuns(db, now)).toBe(0);

    const lost = 'The server stopped before the answer was complete.';
    const result = JSON.stringify({ error: { code: 'RUN_INTERRUPTED', message: lost, hint: '' } });
    const closed = [
      { ...text, isInProcess: false },
      { ...tool, isInProcess: false, toolCall: { ...toolCall, result } },
    ];
    expect((await readMessages(db, run.threadId)).slice(1)).toEqual(closed);

    const chat = world.chat({ languageModel: answering('Now.') });
    const state = await chat.read(ann, { chatId: run.threadId });
    expect(state.slice(1, 3).map((frame) => JSON.stringify(frame))).toEqual(
      closed.map((message) => JSON.stringify(messageFrame(message))),
    );
    expect(state.at(-1)).toMatchObject({ state: { isStreaming: false } });
    expect(foldFrames(await chat.read(ann, { input: 'lost', messageId })).error).toMatchObject({ message: lost });
    expect(finalAnswer(await chat.read(ann, { chatId: run.threadId, input: 'again' }))).toBe('Now.');
    await world.close();
  });
});
