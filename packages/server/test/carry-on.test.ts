/** Runs whose node has gone in the middle: another one carries them on, from the last finished step, and every reader sees one thread. */
import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentStep } from '../src/agent/agent-step.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import type { AgentInput, RunAgent } from '../src/agent/run-agent.ts';
import { type LoggedEntry, readProgress } from '../src/chat/carry-on.ts';
import { noUsage } from '../src/chat/frames.ts';
import { type Chat, type ChatWorld, chatIdOf, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { scripted } from './scripted-language-model.ts';

const used = { models: ['m'], llmCalls: 1, inputTokens: 10, outputTokens: 5, queries: 0, rows: 0 };
const turn = (text: string, calls: readonly string[] = []): AgentEvent => ({
  type: 'step',
  step: {
    kind: 'turn',
    text,
    toolCalls: calls.map((messageId) => ({ id: `call-${messageId}`, name: 'tool', input: '{}', messageId })),
    turnData: null,
    isPrivate: false,
    usage: used,
  },
});
const toolStep = (messageId: string): AgentEvent => ({
  type: 'step',
  step: { kind: 'tool', messageId, failure: null, usage: used },
});
const say = (messageId: string, ...pieces: readonly string[]): AgentEvent[] =>
  pieces.map((text) => ({ type: 'text-delta', messageId, text }));
const end = (messageId: string): AgentEvent => ({ type: 'text-end', messageId });
const restart = (messageId: string): AgentEvent => ({ type: 'restart', messageId });
const start = (messageId: string): AgentEvent => ({ type: 'tool-start', messageId, name: 'tool', input: '{}' });
const done = (messageId: string, result = '{"ok":true}'): AgentEvent => ({ type: 'tool-end', messageId, result });
const finish = (text: string): AgentEvent[] => [
  { type: 'final', messageId: `final-${text}`, text },
  { type: 'usage', usage: noUsage },
];

/** An agent that says what it is told to, and then, where that is not the end of the run, nothing until it is stopped. */
function agent(events: readonly AgentEvent[]): RunAgent & { readonly inputs: AgentInput[] } {
  const inputs: AgentInput[] = [];
  const run: RunAgent = async function* (input) {
    inputs.push(input);
    yield* events;
    if (events.at(-1)?.type === 'usage') return;
    await new Promise((resolve) => input.signal.addEventListener('abort', resolve, { once: true }));
    const isSilent = input.signal.reason.code === 'RUN_INTERRUPTED';
    if (!isSilent) yield { type: 'failed', code: input.signal.reason.code, message: 'Ended.', requestId: 'r' };
    if (!isSilent) yield { type: 'usage', usage: noUsage };
  };
  return Object.assign(run, { inputs });
}

describe.each(databaseKinds)('a run that is carried on, on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  const chatThat = (runAgent: RunAgent, more = {}): Chat =>
    world.chat({ languageModel: scripted([]), runAgent, ...more });
  const runOf = async (threadId: string) =>
    world.database.db.selectFrom('runs').selectAll().where('thread_id', '=', threadId).executeTakeFirstOrThrow();
  /** Whether the event is in the log. */
  const isDurable = async (threadId: string, event: AgentEvent | undefined): Promise<boolean> => {
    if (event === undefined) return true;
    const log = world.database.db.selectFrom('run_log').innerJoin('runs', 'runs.id', 'run_log.run_id');
    const rows = await log.select(['line', 'step']).where('thread_id', '=', threadId).execute();
    return rows.some(({ line, step }) => {
      if (event.type === 'step') return step?.kind === event.step.kind;
      const frame = line === null ? null : JSON.parse(line);
      if (event.type === 'text-delta') return frame?.isDelta === true && frame.content.endsWith(event.text);
      return (
        frame?.isInProcess === !event.type.endsWith('end') && 'messageId' in event && frame?.id === event.messageId
      );
    });
  };
  /** Starts a run, and reads it to its end in the background. */
  async function ask(chat: Chat, input = 'why?') {
    const frames: Frame[] = [];
    const stream = await chat.open(world.callers.ann, { input });
    const reading = (async () => {
      for await (const frame of stream) frames.push(frame);
    })();
    await until(() => frames.length >= 2);
    return { frames, reading, threadId: chatIdOf(frames) };
  }
  const contents = (frames: readonly Frame[]) =>
    foldFrames(frames).messages.map(({ content, toolCall }) => toolCall?.result ?? content);

  /**
   * Begins a run on one node up to some point, carries it on on another, and compares what the readers of both, and those who come
   * later, see.
   */
  async function carry(before: readonly AgentEvent[], after: readonly AgentEvent[]) {
    const [first, second] = [agent(before), agent(after)];
    const [one, two] = [chatThat(first), chatThat(second)];
    const { frames, reading, threadId } = await ask(one);
    await until(async () => first.inputs.length === 1 && (await isDurable(threadId, before.at(-1))));
    await one.runs.close(0);
    const joined = await one.open(world.callers.ann, { chatId: threadId });
    expect(await two.runs.carryOn()).toBe(1);
    const elsewhere = await two.read(world.callers.ann, { chatId: threadId });
    await reading;
    const [here, later] = [await Array.fromAsync(joined), await two.read(world.callers.ann, { chatId: threadId })];
    const all = contents(frames);
    for (const other of [elsewhere, here, later]) expect(contents(other)).toEqual(all);
    const [begun, resumed] = [first.inputs[0], second.inputs[0]];
    if (begun === undefined || resumed === undefined) throw new Error('an agent was not asked');
    expect(resumed.startedAt).toEqual(begun.startedAt);
    expect({ ...resumed, resume: null, signal: null }).toEqual({ ...begun, resume: null, signal: null });
    expect(begun.signal.reason).toMatchObject({ code: 'RUN_INTERRUPTED' });
    expect(await runOf(threadId)).toMatchObject({ state: 'completed', attempts: 1 });
    return { resume: resumed.resume, contents: all, errors: [...one.errors, ...two.errors] };
  }

  test('before its first word: it begins anew', async () => {
    const { resume, contents: said } = await carry([], [...say('a', 'So.'), end('a'), turn('So.'), ...finish('So.')]);
    expect([resume, said]).toEqual([null, ['why?', 'So.', 'So.']]);
  });

  test('in mid-text: what was said is void and said again', async () => {
    const rest = [restart('a'), ...say('a', 'Who', 'le.'), end('a'), turn('Whole.'), ...finish('Whole.')];
    const { resume, contents: said } = await carry(say('a', 'Ha', 'lf'), rest);
    expect(resume).toEqual({ steps: [], results: new Map(), unfinished: [{ kind: 'text', messageId: 'a' }] });
    expect(said).toEqual(['why?', 'Whole.', 'Whole.']);
  });

  test('between the end of a text and that of its turn: the same', async () => {
    const rest = [restart('a'), ...say('a', 'New.'), end('a'), turn('New.'), ...finish('New.')];
    const { resume, contents: said } = await carry([...say('a', 'Old.'), end('a')], rest);
    expect(resume?.unfinished).toEqual([{ kind: 'text', messageId: 'a' }]);
    expect(said).toEqual(['why?', 'New.', 'New.']);
  });

  test('in mid-tool, of two beside each other: the finished one is kept, the other runs again in its place', async () => {
    const begun = [
      ...say('a', 'Look.'),
      end('a'),
      turn('Look.', ['t', 'u']),
      start('t'),
      start('u'),
      done('u', '{"u":1}'),
    ];
    const rest = [
      start('t'),
      done('t', '{"t":1}'),
      toolStep('t'),
      ...say('b', 'So.'),
      end('b'),
      turn('So.'),
      ...finish('So.'),
    ];
    const { resume, contents: said } = await carry([...begun, toolStep('u')], rest);
    expect(resume?.results).toEqual(new Map([['u', '{"u":1}']]));
    expect(resume?.unfinished).toEqual([]);
    expect(resume?.steps.map(({ kind: what }) => what)).toEqual(['turn', 'tool']);
    expect(said).toEqual(['why?', 'Look.', '{"t":1}', '{"u":1}', 'So.', 'So.']);
  });

  test('between two turns: it goes on with the next', async () => {
    const begun = [turn('', ['t']), start('t'), done('t'), toolStep('t')];
    const { resume, contents: said } = await carry(begun, [
      ...say('b', 'So.'),
      end('b'),
      turn('So.'),
      ...finish('So.'),
    ]);
    expect([resume?.steps.length, resume?.unfinished]).toEqual([2, []]);
    expect(said).toEqual(['why?', '{"ok":true}', 'So.', 'So.']);
  });

  test('an agent that does not take up again what was open leaves nothing open', async () => {
    const { contents: said } = await carry([...say('a', 'Half'), start('t')], finish('Done.'));
    const failure = { error: { code: 'INTERNAL', message: 'Something failed inside.', hint: '' } };
    expect(said).toEqual(['why?', 'Half', JSON.stringify(failure), 'Done.']);
  });

  test('a node that was taken for gone, and goes on: it is told so at its next word, which nobody sees', async () => {
    const gate = Promise.withResolvers<void>();
    const inputs: AgentInput[] = [];
    const one = chatThat(async function* (input) {
      inputs.push(input);
      yield* say('a', 'Half');
      await gate.promise;
      yield* say('a', ' and lost');
      await until(() => input.signal.aborted);
    });
    const two = chatThat(agent([restart('a'), ...say('a', 'Whole.'), end('a'), ...finish('Whole.')]));
    const { frames, reading, threadId } = await ask(one);
    await until(() => frames.length >= 3);
    expect(await two.runs.carryOn()).toBe(1);
    await until(async () => (await runOf(threadId)).state === 'completed');
    gate.resolve();
    await reading;
    expect(contents(frames)).toEqual(['why?', 'Whole.', 'Whole.']);
    expect(JSON.stringify(frames)).not.toContain('lost');
    await until(() => inputs[0]?.signal.reason?.code === 'RUN_INTERRUPTED');
    expect(await runOf(threadId)).toMatchObject({ attempts: 2, node_id: two.nodeId });
  });

  test('a node takes up what it gave up itself', async () => {
    const { db } = world.database;
    const gate = Promise.withResolvers<void>();
    let attempts = 0;
    const chat = chatThat(async function* (input) {
      attempts += 1;
      if (attempts > 1) return yield* [restart('a'), ...say('a', 'Whole.'), end('a'), ...finish('Whole.')];
      yield* say('a', 'Half');
      await gate.promise;
      yield* say('a', ' and lost');
      await until(() => input.signal.aborted);
    });
    const { frames, reading, threadId } = await ask(chat);
    await until(() => frames.length >= 3);
    expect(await chat.runs.carryOn()).toBe(0);
    // A store that refuses what it is to keep.
    await sql`alter table run_log add constraint refusing check (line is null or line not like '%and lost%')`.execute(
      db,
    );
    gate.resolve();
    await until(() => chat.errors.length > 0);
    await sql`alter table run_log drop constraint refusing`.execute(db);
    expect(chat.errors).toMatchObject([{ runIds: [(await runOf(threadId)).id] }]);
    await until(async () => (await chat.runs.carryOn()) === 1);
    await reading;
    expect(contents(frames)).toEqual(['why?', 'Whole.', 'Whole.']);
    expect(await runOf(threadId)).toMatchObject({ attempts: 2, state: 'completed' });
  });

  test('often enough, it fails: open messages are closed with what they have, and the thread goes on', async () => {
    const runLimits = { runAttemptsMax: 1 };
    const first = agent([turn('', ['t']), start('t'), ...say('a', 'Half')]);
    const one = chatThat(first, { runLimits });
    const two = chatThat(agent([...say('b', 'Now.'), end('b'), ...finish('Now.')]), { runLimits });
    const { frames, reading, threadId } = await ask(one);
    await until(() => frames.length >= 4);
    expect(await two.runs.carryOn()).toBe(1);
    await until(async () => (await runOf(threadId)).state !== 'running');
    // Its node finds that another has ended it, and stops its agent.
    expect(first.inputs[0]?.signal.aborted).toBe(false);
    await one.runs.carryOn();
    expect(first.inputs[0]?.signal.reason).toMatchObject({ code: 'RUN_INTERRUPTED' });
    await reading;
    const { error, messages } = foldFrames(frames);
    expect(error).toMatchObject({ code: 'RUN_INTERRUPTED' });
    expect(messages.map(({ isInProcess, content }) => [isInProcess, content])).toEqual([
      [false, 'why?'],
      [false, ''],
      [false, 'Half'],
    ]);
    expect(messages[1]?.toolCall?.result).toContain('RUN_INTERRUPTED');
    expect(frames.at(-1)?.usage).toMatchObject({ llmCalls: 1, totalTokens: 15 });
    expect(contents(await two.read(world.callers.ann, { chatId: threadId }))).toEqual(contents(frames));
    const next = await two.read(world.callers.ann, { chatId: threadId, input: 'again' });
    expect(finalAnswer(next)).toBe('Now.');
  });

  test('an abort while nobody writes it ends it as soon as somebody could', async () => {
    const second = agent(finish('never'));
    const [one, two] = [chatThat(agent(say('a', 'Half'))), chatThat(second)];
    const { frames, reading, threadId } = await ask(one);
    await until(() => frames.length >= 3);
    await one.runs.close(0);
    const aborting = two.abort(world.callers.ann, threadId);
    await until(async () => (await runOf(threadId)).abort_asked_at !== null);
    expect(await two.runs.carryOn()).toBe(1);
    await aborting;
    expect(await runOf(threadId)).toMatchObject({ state: 'aborted' });
    await reading;
    expect(foldFrames(frames)).toMatchObject({ isAborted: true, isStreaming: false });
    expect(second.inputs).toEqual([]);
  });

  test('an abort that its node has not heard of is found when it looks', async () => {
    const first = agent(say('a', 'Half'));
    const [one, two] = [chatThat(first), chatThat(agent([]))];
    const { frames, reading, threadId } = await ask(one);
    const aborting = two.abort(world.callers.ann, threadId);
    await until(async () => (await runOf(threadId)).abort_asked_at !== null);
    expect(await one.runs.carryOn()).toBe(0);
    await aborting;
    await reading;
    expect(first.inputs[0]?.signal.reason).toMatchObject({ code: 'ABORTED' });
    expect(frames.at(-1)?.id).toBe('__usage__');
  });

  test('each is taken by one node only, as many as there is room for', async () => {
    const one = chatThat(agent([]));
    const asked: Awaited<ReturnType<typeof ask>>[] = [];
    for (let index = 0; index < 10; index += 1) asked.push(await ask(one, `question ${index}`));
    await one.runs.close(0);
    const nodes = Array.from({ length: 3 }, () =>
      chatThat(agent(finish('Done.')), { runLimits: { runsMax: 2, runsWaitingMax: 1 } }),
    );
    for (const node of nodes) await world.keepAlive(node);
    const taken = await Promise.all(nodes.map(({ runs }) => runs.carryOn()));
    expect(taken).toEqual([3, 3, 3]);
    await until(async () => (await Promise.all(nodes.map(({ runs }) => runs.carryOn()))).some((count) => count === 1));
    await Promise.all(asked.map(({ reading }) => reading));
    expect(asked.map(({ frames }) => finalAnswer(frames))).toEqual(Array.from({ length: 10 }, () => 'Done.'));
    for (const { threadId } of asked) expect(await runOf(threadId)).toMatchObject({ attempts: 1, state: 'completed' });
  });

  test('its user has ended meanwhile: it fails with that', async () => {
    const { db } = world.database;
    const second = agent([]);
    const [one, two] = [chatThat(agent(say('a', 'Half'))), chatThat(second)];
    const { reading, threadId } = await ask(one);
    await one.runs.close(0);
    const { userId } = world.callers.ann.principal;
    await db.updateTable('users').set({ is_active: false }).where('id', '=', userId).execute();
    try {
      await two.runs.carryOn();
      await until(async () => (await runOf(threadId)).state !== 'running');
      expect((await runOf(threadId)).error).toMatchObject({ code: 'SESSION_ENDED' });
    } finally {
      await db.updateTable('users').set({ is_active: true }).where('id', '=', userId).execute();
    }
    await reading;
  });
});

describe('what is left of a run', () => {
  const line = (seq: number, frame: Partial<Frame>): LoggedEntry => ({
    seq,
    line: JSON.stringify({ role: 'assistant', content: '', sort: 5, ...frame }),
    step: null,
  });
  const stepRow = (seq: number, step: AgentStep): LoggedEntry => ({ seq, line: null, step });

  test('nothing was said: it begins after the question', () => {
    const left = readProgress('acme', 4, []);
    expect(left).toMatchObject({ seq: 0, resume: null, usage: noUsage });
    expect(left.state).toMatchObject({ graphRoot: 'acme_data_analyst_agent', nextSort: 5 });
  });

  test('thoughts, void words, and messages of turns that are over', () => {
    const { resume, state, seq, usage } = readProgress('x', 4, [
      line(1, { id: 'a', thinking: 'One', isDelta: true, isInProcess: true, sort: 5 }),
      line(2, { id: 'a', thinking: 'One', isDelta: false, isInProcess: false, sort: 5 }),
      stepRow(3, { kind: 'turn', text: '', toolCalls: [], turnData: null, isPrivate: false, usage: used }),
      line(4, { id: 'b', thinking: 'Old', isDelta: true, isInProcess: true, sort: 6 }),
      line(5, { id: 'b', thinking: '', isDelta: false, isInProcess: true, sort: 6 }),
      line(6, { id: 'c', content: 'A', isDelta: true, isInProcess: true, sort: 7 }),
      line(7, { id: 'b', thinking: 'New', isDelta: true, isInProcess: true, sort: 6 }),
      line(8, { id: 'c', content: 'B', isDelta: true, isInProcess: true, sort: 7 }),
    ]);
    expect(resume?.unfinished).toEqual([
      { kind: 'thinking', messageId: 'b' },
      { kind: 'text', messageId: 'c' },
    ]);
    expect([...state.open.values()].map(({ thinking, content, sort }) => [thinking, content, sort])).toEqual([
      ['New', '', 6],
      [null, 'AB', 7],
    ]);
    expect([seq, state.nextSort, usage.totalTokens]).toEqual([8, 8, 15]);
  });
});
