/** Reading long threads: page by page, as fast as the reader takes it, and yet as of one instant. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Frame } from '@inlay/contract/chat.ts';
import { foldFrames } from '@inlay/sdk/thread-state.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import type { AgentInput, RunAgent } from '../src/agent/run-agent.ts';
import { noUsage } from '../src/chat/frames.ts';
import { sweep } from '../src/store/sweep.ts';
import { type Caller, type Chat, type ChatWorld, chatIdOf, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering } from './scripted-language-model.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');
function heapUsed(): number {
  if (typeof collectGarbage === 'function') collectGarbage();
  return process.memoryUsage().heapUsed;
}

const languageModel = answering('Well.');
const ending: AgentEvent[] = [
  { type: 'final', messageId: 'final', text: 'All.' },
  { type: 'usage', usage: noUsage },
];

describe.each(databaseKinds)('long threads on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  /** A thread of so many messages of so many bytes: a question, four of the agent, and so on. */
  async function seed(chat: Chat, caller: Caller, count: number, bytes: number, isMeasured = true): Promise<string> {
    const chatId = chatIdOf(await chat.read(caller, {}));
    const { userId } = caller.principal;
    await sql`
      with run as (
        insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at, ended_at)
        values (gen_random_uuid(), ${chatId}::uuid, ${userId}, ${caller.agentId}, ${`${chatId}-1`}, 'completed', now(), now())
        returning id
      )
      insert into messages (thread_id, run_id, sort, id, role, content, graph_path, is_in_process, bytes, created_at)
      select ${chatId}::uuid, run.id, n, ${chatId} || '-' || n,
        case when n % 5 = 1 then 'user' else 'assistant' end, n || repeat('x', ${bytes}::integer),
        case when n % 5 = 1 then null else '["platform_data_analyst_agent"]'::jsonb end, false,
        case when ${isMeasured}::boolean then ${bytes}::integer end, now()
      from run, generate_series(1, ${count}::integer) n`.execute(world.database.db);
    return chatId;
  }

  /** A reader who is let read on by hand. */
  async function join(chat: Chat, caller: Caller, chatId: string) {
    const stream = (await chat.open(caller, { chatId }))[Symbol.asyncIterator]();
    const seen: Frame[] = [];
    const take = async (isEnough: (last: Frame) => boolean): Promise<Frame[]> => {
      for (let step = await stream.next(); !step.done; step = await stream.next()) {
        seen.push(step.value);
        if (isEnough(step.value)) break;
      }
      return seen;
    };
    return { seen, take, takeAll: () => take(() => false), leave: () => stream.return?.() };
  }
  const sortsOf = (frames: readonly Frame[]) =>
    frames
      .slice(
        0,
        frames.findIndex(({ id }) => id === '__cutoff__'),
      )
      .map(({ sort }) => sort);
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  test.each([
    ['many small ones', 450, 10, true],
    ['pages of which bytes are the bound', 30, 100_000, true],
    ['of an earlier version, which did not measure', 30, 100_000, false],
    ['messages larger than a page', 5, 1_000_000, true],
    ['exactly a page', 200, 10, true],
    ['one more', 201, 10, true],
  ])('each message once, in order: %s', async (_, count, bytes, isMeasured) => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel });
    const chatId = await seed(chat, ann, count, bytes, isMeasured);
    const frames = await chat.read(ann, { chatId });
    expect(sortsOf(frames)).toEqual(upTo(count));
    expect(frames).toHaveLength(count + 1);
    expect(frames.every(({ content, sort }) => sort === 0 || content === `${sort}${'x'.repeat(bytes)}`)).toBe(true);
  });

  test('a short thread is one statement, a long one a statement for each page', async () => {
    const { ann } = world.callers;
    const noted: string[] = [];
    const counting = world.database.db.withPlugin({
      transformQuery: ({ node }) => {
        noted.push(node.kind);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const chat = world.chat({ languageModel, db: counting });
    const counts: number[] = [];
    for (const count of [5, 450]) {
      const chatId = await seed(chat, ann, count, 10);
      const stream = await chat.open(ann, { chatId });
      noted.length = 0;
      await Array.fromAsync(stream);
      counts.push(noted.length);
    }
    expect(counts).toEqual([0, 2]);
  });

  test('many readers who take nothing more cost a page each', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel });
    const chatId = await seed(chat, ann, 1000, 10_000);
    const before = heapUsed();
    const readers = await Promise.all(Array.from({ length: 40 }, () => join(chat, ann, chatId)));
    // Some at the border of a page.
    await Promise.all(readers.map(({ take }, index) => take(({ sort }) => sort === 10 + index)));
    // The whole thread for each would be 400 MB.
    expect(heapUsed() - before).toBeLessThan(80_000_000);
    const [first] = readers;
    expect(sortsOf((await first?.takeAll()) ?? [])).toEqual(upTo(1000));
    await Promise.all(readers.map(({ leave }) => leave()));
  });

  /** An agent that does what it is told, each step when it is let. */
  function stepwise(steps: readonly (readonly AgentEvent[])[]) {
    const gates = steps.map(() => Promise.withResolvers<void>());
    let next = 0;
    const runAgent: RunAgent = async function* ({ signal }) {
      for (const [index, events] of steps.entries()) {
        await Promise.race([
          gates[index]?.promise,
          new Promise((resolve) => signal.addEventListener('abort', resolve)),
        ]);
        if (signal.aborted) return;
        yield* events;
      }
    };
    return { runAgent, go: () => gates[next++]?.resolve() };
  }
  const linesOf = async (chatId: string): Promise<number> => {
    const { rows } = await sql<{
      n: number;
    }>`select count(*)::integer as n from run_log l join runs r on r.id = l.run_id
      where r.thread_id = ${chatId}`.execute(world.database.db);
    return rows[0]?.n ?? 0;
  };
  const isOver = async (chatId: string): Promise<boolean> => {
    const runs = await world.database.db.selectFrom('runs').select('state').where('thread_id', '=', chatId).execute();
    return runs.every(({ state }) => state !== 'running');
  };
  /** Asks, and reads to the end without waiting for it. */
  async function ask(chat: Chat, chatId: string) {
    return Array.fromAsync(await chat.open(world.callers.ann, { chatId, input: 'why?' }));
  }
  const textOf = (messageId: string, text: string): AgentEvent[] => [
    { type: 'text-delta', messageId, text },
    { type: 'text-end', messageId },
  ];

  test.each([199, 200, 201, 399, 400, 401])(
    'a join that stops after message %i while the run goes on and ends has the right thread',
    async (place) => {
      const { ann } = world.callers;
      const { runAgent, go } = stepwise([
        // Two calls side by side, of which the later one ends first.
        [
          ...textOf('text', 'Look.'),
          { type: 'tool-start', messageId: 'one', name: 't', input: '{}' },
          { type: 'tool-start', messageId: 'two', name: 't', input: '{}' },
          { type: 'tool-end', messageId: 'two', result: '2' },
          { type: 'text-delta', messageId: 'open', text: 'Half ' },
        ],
        [
          { type: 'tool-end', messageId: 'one', result: '1' },
          { type: 'text-delta', messageId: 'open', text: 'and whole.' },
          { type: 'text-end', messageId: 'open' },
          ...ending,
        ],
      ]);
      const chat = world.chat({ languageModel, runAgent });
      const other = world.chat({ languageModel, rememberedMax: 1 });
      const chatId = await seed(chat, ann, 397, 10);
      const asking = ask(chat, chatId);
      go();
      await until(async () => (await linesOf(chatId)) >= 6);
      const readers = await Promise.all([chat, other].map((node) => join(node, ann, chatId)));
      for (const { take } of readers) await take(({ sort }) => sort === place);
      go();
      await asking;
      await until(() => isOver(chatId));
      const whole = foldFrames(await asking);
      for (const { takeAll } of readers) {
        const frames = await takeAll();
        expect(foldFrames(frames)).toEqual(whole);
        // As of the join: whatever closed meanwhile is told by the log.
        expect(sortsOf(frames)).toEqual(upTo(402));
        expect(frames.slice(0, 402).flatMap(({ isInProcess, sort }) => (isInProcess ? [sort] : []))).toEqual([
          400, 402,
        ]);
      }
    },
  );

  /** The run's first text is closed, then another node carries the run on, and makes it void. */
  async function carriedOn(rememberedMax: number) {
    const { ann } = world.callers;
    const first = stepwise([textOf('text', 'Half'), []]);
    const one = world.chat({ languageModel, runAgent: first.runAgent });
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const two = world.chat({
      languageModel,
      runAgent: async function* () {
        await gates[0]?.promise;
        yield { type: 'restart', messageId: 'text' };
        await gates[1]?.promise;
        yield* [...textOf('text', 'Whole.'), ...ending];
      },
    });
    const reading = world.chat({ languageModel, rememberedMax });
    const chatId = await seed(one, ann, 250, 10);
    const asking = ask(one, chatId);
    first.go();
    await until(async () => (await linesOf(chatId)) >= 2);
    const reader = await join(reading, ann, chatId);
    await reader.take(({ sort }) => sort === 10);
    await one.runs.close(0);
    expect(await two.runs.carryOn()).toBe(1);
    // It goes on to the end, whichever node writes.
    return { chatId, reader, gates, reading, asking };
  }

  test.each(['before', 'between', 'after'] as const)('a message made void %s its page is read', async (when) => {
    const { ann } = world.callers;
    const { chatId, reader, gates, reading, asking } = await carriedOn(1_000_000);
    if (when === 'before') await reader.take(({ id }) => id === '__cutoff__');
    gates[0]?.resolve();
    await until(async () => (await linesOf(chatId)) >= 3);
    if (when === 'between') await reader.take(({ id }) => id === '__cutoff__');
    gates[1]?.resolve();
    await until(() => isOver(chatId));
    await asking;
    const state = foldFrames(await reader.takeAll());
    expect(state.messages.slice(250).map(({ content }) => content)).toEqual(['why?', 'Whole.', 'All.']);
    expect(state).toEqual({ ...foldFrames(await reading.read(ann, { chatId })), usage: noUsage });
  });

  test('one made void as its page was read is told whole when its log has been given up', async () => {
    const { chatId, reader, gates, asking } = await carriedOn(1);
    gates[0]?.resolve();
    await until(async () => (await linesOf(chatId)) >= 3);
    await reader.take(({ id }) => id === '__cutoff__');
    expect(reader.seen.some(({ content }) => content === 'Half')).toBe(false);
    gates[1]?.resolve();
    await until(() => isOver(chatId));
    await asking;
    const later = new Date(Date.now() + 301_000);
    const signal = new AbortController().signal;
    await sweep(world.database.db, later, { auditRetentionDays: 1 }, { removed: () => undefined, signal });
    const state = foldFrames(await reader.takeAll());
    expect(state.messages.slice(250).map(({ content }) => content)).toEqual(['why?', 'Whole.', 'All.']);
  });

  test('a thread deleted between two pages is not told as if it were whole', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel });
    const chatId = await seed(chat, ann, 250, 10);
    const reader = await join(chat, ann, chatId);
    await reader.take(({ sort }) => sort === 10);
    await world.database.db.deleteFrom('threads').where('id', '=', chatId).execute();
    const frames = await reader.takeAll();
    expect(frames.slice(-2)).toMatchObject([{ id: '__error__', code: 'NOT_FOUND' }, { id: '__usage__' }]);
    expect(frames.some(({ id }) => id === '__cutoff__')).toBe(false);
  });

  test('the same while a run goes on; and nobody is kept as a reader who left before the run was told', async () => {
    const { ann } = world.callers;
    const { runAgent, go } = stepwise([textOf('text', 'Half'), ending]);
    const chat = world.chat({ languageModel, runAgent });
    const other = world.chat({ languageModel });
    const chatId = await seed(chat, ann, 250, 10);
    const asking = ask(chat, chatId);
    go();
    await until(async () => (await linesOf(chatId)) >= 2);
    const [reader, leaver] = [await join(other, ann, chatId), await join(other, ann, chatId)];
    for (const { take } of [reader, leaver]) await take(({ sort }) => sort === 10);
    await leaver.leave();
    await world.database.db.deleteFrom('threads').where('id', '=', chatId).execute();
    expect((await reader.takeAll()).slice(-2)).toMatchObject([
      { id: '__error__', code: 'NOT_FOUND' },
      { id: '__usage__' },
    ]);
    expect(other.tails.size).toBe(0);
    go();
    await asking;
  });

  test('a repeated message of a long thread comes after all other messages', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel });
    const chatId = await seed(chat, ann, 450, 10);
    const asked = { chatId, input: 'why?', messageId: `${Date.now()}-message` };
    const own = await chat.read(ann, asked);
    expect(sortsOf(own)).toEqual(upTo(450));
    await chat.read(ann, { chatId, input: 'and then?' });
    const again = await chat.read(ann, asked);
    const cutoff = again.findIndex(({ id }) => id === '__cutoff__');
    expect(sortsOf(again)).toEqual([...upTo(450), 454, 455, 456]);
    expect(again.slice(cutoff + 1).map(({ content }) => content)).toEqual(['why?', 'Well.', 'Well.', '']);
  });

  test('a new run reads the latest of the thread, its client all of it', async () => {
    const { ann } = world.callers;
    const inputs: AgentInput[] = [];
    const runAgent: RunAgent = async function* (input) {
      inputs.push(input);
      yield* ending;
    };
    const chat = world.chat({ languageModel, runAgent });
    for (const [count, bytes] of [
      [601, 10],
      [100, 100_000],
      // The last question and its answer are more than is told otherwise.
      [10, 1_000_000],
    ] as const) {
      const chatId = await seed(chat, ann, count, bytes);
      expect(sortsOf(await ask(chat, chatId))).toEqual(upTo(count));
    }
    const told = inputs.map(({ messages }) => messages.map(({ role }) => role));
    expect(told.map(([first, ...rest]) => [first, rest.at(-1)])).toEqual([0, 1, 2].map(() => ['user', 'user']));
    // 400 and 21 messages, from the first question in them; the last question, its four answers; and the new question.
    expect(told.map(({ length }) => length)).toEqual([397, 21, 6]);
  });
});
