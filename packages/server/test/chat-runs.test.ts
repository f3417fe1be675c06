import { randomUUID } from 'node:crypto';
import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunAgent } from '../src/agent/run-agent.ts';
import { messageFrame, noUsage } from '../src/chat/frames.ts';
import { closeFirstRuns } from '../src/chat/interrupted-runs.ts';
import { insertRun } from '../src/chat/run-store.ts';
import { insertThread } from '../src/chat/thread-store.ts';
import {
  type Chat,
  type ChatWorld,
  chatIdOf,
  openChatWorld,
  readMessages,
  testRunLimits,
  toolThat,
  until,
} from './chat-world.ts';
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
    const { principal, agentId } = world.callers.ann;
    const owner = { accountId: principal.accountId, userId: principal.userId, agentId, scopeId: null };
    const gone = 2_000_000_000;
    const run = () => ({
      nodeId: randomUUID(),
      runId: randomUUID(),
      principal,
      agent: { id: agentId, deploymentId: agentId },
      branch: null,
      threadId: null,
      messageId: '1777629600001-message',
      input: 'x',
      title: 'x',
      requestId: 'req_test',
    });
    const insert = (more: object) => insertRun(db, { ...run(), ...more }, testRunLimits, new Date());
    for (const lost of [{ userId: gone }, { agentId: gone }, { scopeId: gone }]) {
      await expect(insertThread(db, { ...owner, ...lost }, '', new Date())).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    }
    for (const lost of [
      { principal: { ...principal, userId: gone } },
      { agent: { id: gone, deploymentId: agentId } },
      { principal: { ...principal, scopeId: gone } },
      { threadId: unknownId },
    ]) {
      await expect(insert(lost)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    expect(await db.selectFrom('runs').select('id').where('user_id', '=', gone).execute()).toEqual([]);
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

  test('a title is one line, whatever white space the first input has', async () => {
    const chat = world.chat({ languageModel: answering() });
    const { ann } = world.callers;
    const input = `\n  revenue\r\n\tby   channel\u00a0${'x'.repeat(100)}`;
    const chatId = chatIdOf(await chat.read(ann, { input }));
    const { db } = world.database;
    const thread = await db.selectFrom('threads').selectAll().where('id', '=', chatId).executeTakeFirstOrThrow();
    expect(thread.title).toBe(`revenue by channel ${'x'.repeat(61)}`);
  });

  test('caps on the runs of a user and of an account, on all nodes, given back when runs end', async () => {
    const model = () => scripted(() => [stall]);
    const { ann, bob, annElsewhere } = world.callers;
    for (const [runLimits, own, other] of [
      [{ runsPerUserMax: 1 }, ann, bob],
      [{ runsPerAccountMax: 1 }, bob, annElsewhere],
    ] as const) {
      const nodes = [
        world.chat({ languageModel: model(), runLimits }),
        world.chat({ languageModel: model(), runLimits }),
      ] as const;
      const first = await nodes[0].open(own, { input: 'a' });
      const chatId = chatIdOf([(await first[Symbol.asyncIterator]().next()).value]);
      for (const node of nodes) {
        await expect(node.open(ann, { input: 'b' })).rejects.toMatchObject({
          code: 'TOO_MANY_RUNS',
          retryAfterSeconds: 5,
        });
      }
      // Which other refusal it would be is said first.
      await expect(nodes[0].open(own, { input: 'b', chatId })).rejects.toMatchObject({ code: 'RUN_IN_PROGRESS' });
      await nodes[1].open(other, { input: 'c' });
      await nodes[0].abort(own, chatId);
      await nodes[1].open(own, { input: 'd' });
      await Promise.all(nodes.map(({ runs }) => runs.close(0)));
      await endAll();
    }
  });

  test('a user’s calls at once cannot pass the cap, and one that is repeated is not refused', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel: scripted(() => [stall]), runLimits: { runsPerUserMax: 3 } });
    const messageId = '1777629600777-message';
    const first = await chat.open(ann, { input: 'a', messageId });
    const chatId = chatIdOf([(await first[Symbol.asyncIterator]().next()).value]);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => chat.open(ann, { input: 'b' })));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const again = (await chat.open(ann, { input: 'a', messageId }))[Symbol.asyncIterator]();
    const frames = [(await again.next()).value, (await again.next()).value];
    expect([frames[0].content, chatIdOf(frames)]).toEqual(['a', chatId]);
    await chat.runs.close(0);
    await endAll();
  });

  test('more runs than a process works on wait for a place, begun already; more than may wait are refused', async () => {
    const { ann, bob } = world.callers;
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let turn = 0;
    const languageModel = scripted(() => [wait(gates[turn++]?.promise ?? Promise.resolve()), say('Here.')]);
    const chat = world.chat({ languageModel, runLimits: { runsMax: 1, runsWaitingMax: 2 } });
    const streams = [await chat.open(ann, { input: 'a' }), await chat.open(ann, { input: 'b' })];
    const waiting = await chat.open(bob, { input: 'c' });
    await expect(chat.open(bob, { input: 'd' })).rejects.toMatchObject({ code: 'TOO_MANY_RUNS' });
    const iterator = waiting[Symbol.asyncIterator]();
    const begun = [(await iterator.next()).value, (await iterator.next()).value];
    expect(begun.map(({ content }) => content)).toEqual(['', 'c']);
    const chatId = chatIdOf(begun);
    await chat.abort(bob, chatId);
    expect((await iterator.next()).value).toMatchObject({ id: '__aborted__' });
    expect(languageModel.requests).toHaveLength(1);
    for (const gate of gates) gate.resolve();
    for (const stream of streams) expect(finalAnswer(await Array.fromAsync(stream))).toBe('Here.');
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
      { role: 'assistant', content: 'Looking.', modelText: null, toolCalls: [], turnData: null },
      {
        role: 'assistant',
        content: '',
        modelText: null,
        toolCalls: [{ id: expect.any(String), name: 'tool', input: '{"a":1}' }],
        turnData: null,
      },
      { role: 'tool', toolCallId: expect.any(String), name: 'tool', result: JSON.stringify({ uuid }) },
      { role: 'assistant', content: 'One.', modelText: null, toolCalls: [], turnData: null },
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

  test('closing hands on the runs that do not end, and those that wait, as they are', async () => {
    const { db } = world.database;
    const languageModel = scripted([[say('x'), stall]]);
    const chat = world.chat({ languageModel, runLimits: { runsMax: 1 } });
    const slow = (await chat.open(world.callers.ann, { input: 'slow' }))[Symbol.asyncIterator]();
    const first = [(await slow.next()).value, (await slow.next()).value, (await slow.next()).value];
    const threads = [
      chatIdOf(first),
      chatIdOf([await firstOf(await chat.open(world.callers.ann, { input: 'waits' }))]),
    ];
    await chat.runs.close(50);
    expect(first.at(-1)).toMatchObject({ content: 'x', isInProcess: true });
    expect(languageModel.signals).toMatchObject([{ aborted: true }]);
    for (const thread of threads) {
      const run = db.selectFrom('runs').select(['state', 'node_id', 'attempts']).where('thread_id', '=', thread);
      expect(await run.execute()).toEqual([{ state: 'running', node_id: null, attempts: 0 }]);
    }
    await endAll();
  });

  test('an agent that fails ends its run once: as it said last, or with an error', async () => {
    const { ann } = world.callers;
    for (const [last, ids, errors] of [
      [[{ type: 'usage', usage: noUsage }], ['Done.', '__usage__'], 0],
      [[], ['__error__', '__usage__'], 1],
    ] as const) {
      const chat = world.chat({
        languageModel: scripted([]),
        async *runAgent() {
          yield { type: 'final', messageId: randomUUID(), text: 'Done.' };
          yield* last;
          throw new Error('too late');
        },
      });
      const frames = await chat.read(ann, { input: 'once' });
      expect(frames.slice(2).map(({ id, content }) => (id.startsWith('__') ? id : content))).toEqual(ids);
      expect(chat.errors).toHaveLength(errors);
    }
  });

  test('a run that begins in the moment in which the one before ends is told all that was said', async () => {
    const { ann } = world.callers;
    const told: number[] = [];
    const runAgent: RunAgent = async function* ({ messages }) {
      told.push(messages.length);
      yield { type: 'text-delta', messageId: randomUUID(), text: 'a' };
      const messageId = randomUUID();
      yield { type: 'text-delta', messageId, text: 'b' };
      yield { type: 'text-end', messageId };
      yield { type: 'final', messageId: randomUUID(), text: 'b' };
      yield { type: 'usage', usage: noUsage };
    };
    const nodes = [1, 2].map(() => world.chat({ languageModel: scripted([]), runAgent }));
    const [first] = nodes;
    const chatId = chatIdOf((await first?.read(ann, {})) ?? []);
    let begun = 0;
    const hammer = async ({ runs }: Chat): Promise<void> => {
      const { principal, agentId } = ann;
      const agent = { id: agentId, name: 'shop', deploymentId: agentId };
      const request = { principal, agent, branch: null, threadId: chatId, input: 'x', messageId: undefined };
      while (begun < 30) {
        const started = await runs.start({ ...request, requestId: 'req_test' }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'RUN_IN_PROGRESS' });
          return null;
        });
        // PGlite answers within this turn of the event loop, in which no run would ever end.
        await new Promise((resolve) => setImmediate(resolve));
        if (started?.kind !== 'started') continue;
        begun += 1;
        const { history, firstSort } = started;
        expect(history.map(({ sort }) => sort)).toEqual(Array.from({ length: firstSort - 1 }, (_, index) => index + 1));
        expect(history.every(({ isInProcess }) => !isInProcess)).toBe(true);
      }
    };
    await Promise.all(nodes.map(hammer));
    await until(() => told.length === begun);
    // Each run adds the question, two texts and the final answer, which is not told.
    expect(told).toEqual(told.map((_, index) => 1 + 3 * index));
  });

  /** Ends what the tests have left, which would count towards the caps of the next. */
  async function endAll(): Promise<void> {
    const ended = { state: 'failed', ended_at: new Date() } as const;
    await world.database.db.updateTable('runs').set(ended).where('state', '=', 'running').execute();
  }
  async function firstOf(stream: AsyncIterable<Frame>): Promise<Frame> {
    return (await stream[Symbol.asyncIterator]().next()).value;
  }
});

describe.each(databaseKinds)('what version 0.1 has left on %s', (kind) => {
  test('open messages and runs are closed, and the thread goes on', async () => {
    const world = await openChatWorld(kind);
    const { db } = world.database;
    const { ann } = world.callers;
    const now = new Date();
    const messageId = '1767225600000-message';
    const owner = {
      accountId: ann.principal.accountId,
      userId: ann.principal.userId,
      agentId: ann.agentId,
      scopeId: null,
    };
    const threadId = await insertThread(db, owner, 'lost', now);
    const [runId, nodeId] = [randomUUID(), randomUUID()];
    await sql`insert into runs (id, thread_id, user_id, agent_id, message_id, node_id, state, created_at)
      values (${runId}, ${threadId}, ${owner.userId}, ${owner.agentId}, ${messageId}, ${nodeId}, 'running', ${now})`.execute(
      db,
    );
    const toolCall = { name: 'platformSqlApi', input: '{"sqlQuery":"SELECT 1"}' };
    const base = { thinking: null, modelText: null, toolCall: null, content: '', isInProcess: true };
    const question = {
      ...base,
      id: messageId,
      role: 'user',
      content: 'lost',
      graphPath: null,
      isInProcess: false,
      sort: 1,
    } as const;
    const text = { ...base, id: 'text', role: 'assistant', content: 'So ', graphPath: ['x'], sort: 2 } as const;
    const tool = { ...base, id: 'tool', role: 'assistant', graphPath: ['x', 'tools'], toolCall, sort: 3 } as const;
    for (const message of [question, text, tool]) {
      const { id, role, content, graphPath, toolCall: call, isInProcess, sort } = message;
      await sql`insert into messages (thread_id, run_id, id, role, content, graph_path, tool_call, is_in_process, sort, created_at)
        values (${threadId}, ${runId}, ${id}, ${role}, ${content}, ${graphPath === null ? null : JSON.stringify(graphPath)}::text::jsonb,
          ${call === null ? null : JSON.stringify(call)}::text::jsonb, ${isInProcess}, ${sort}, ${now})`.execute(db);
    }
    const leaseMs = 10_000;
    await db
      .insertInto('nodes')
      .values({ id: nodeId, seen_at: new Date(Date.now() + 60_000) })
      .execute();
    expect(await closeFirstRuns(db, leaseMs, now)).toBe(0);
    await db.deleteFrom('nodes').execute();
    const chat = world.chat({ languageModel: answering('Now.') });
    expect(await chat.runs.carryOn()).toBe(0);
    expect(await closeFirstRuns(db, leaseMs, now)).toBe(1);
    expect(await closeFirstRuns(db, leaseMs, now)).toBe(0);

    const lost = 'The server stopped before the answer was complete.';
    const result = JSON.stringify({ error: { code: 'RUN_INTERRUPTED', message: lost, hint: '' } });
    const closed = [
      { ...text, isInProcess: false },
      { ...tool, isInProcess: false, toolCall: { ...toolCall, result } },
    ];
    expect((await readMessages(db, threadId)).slice(1)).toEqual(closed);
    const state = await chat.read(ann, { chatId: threadId });
    expect(state.slice(1, 3).map((frame) => JSON.stringify(frame))).toEqual(
      closed.map((message) => JSON.stringify(messageFrame(message))),
    );
    expect(state.at(-1)).toMatchObject({ state: { isStreaming: false } });
    expect(foldFrames(await chat.read(ann, { input: 'lost', messageId })).error).toMatchObject({ message: lost });
    expect(finalAnswer(await chat.read(ann, { chatId: threadId, input: 'again' }))).toBe('Now.');
    await world.close();
  });
});
