/** Whoever reads a run, from whenever on and on whichever node, has the same thread in the end. */
import type { Frame } from '@inlay/contract/chat.ts';
import { foldFrames } from '@inlay/sdk/thread-state.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import type { RunAgent } from '../src/agent/run-agent.ts';
import { sweep } from '../src/store/sweep.ts';
import { type ChatWorld, chatIdOf, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering } from './scripted-language-model.ts';

const usage = { models: ['m'], llmCalls: 1, inputTokens: 0, outputTokens: 0, totalTokens: 0, queries: 0, rows: 0 };
const languageModel = answering();
const never = new AbortController().signal;

/** An agent that does what it is told, one event after the other. */
const playing = (events: readonly AgentEvent[], between: (index: number) => Promise<unknown>): RunAgent =>
  async function* () {
    for (const [index, event] of events.entries()) {
      yield event;
      await between(index);
    }
  };

/** What an agent may do: texts, thoughts and tool calls, several of them at the same time, steps, and texts begun anew. */
const eventsArbitrary: fc.Arbitrary<AgentEvent[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('text', 'thinking', 'tool', 'step', 'more', 'more', 'more', 'close', 'restart' as const),
      words: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      which: fc.nat(3),
    }),
    { maxLength: 25 },
  )
  .map((actions) => {
    const events: AgentEvent[] = [];
    let open: { readonly messageId: string; readonly kind: 'text' | 'thinking' | 'tool' }[] = [];
    let count = 0;
    const say = (kind: 'text' | 'thinking', messageId: string, text: string) =>
      events.push({ type: `${kind}-delta`, messageId, text });
    const close = (which: number): void => {
      const message = open[which % open.length];
      if (message === undefined) return;
      const { kind, messageId } = message;
      open = open.filter((one) => one !== message);
      events.push(kind === 'tool' ? { type: 'tool-end', messageId, result: '{}' } : { type: `${kind}-end`, messageId });
    };
    for (const { kind, words, which } of actions) {
      const message = open[which % open.length];
      if (kind === 'text' || kind === 'thinking' || kind === 'tool') {
        const messageId = `${String(++count).padStart(8, '0')}-0000-4000-8000-000000000000`;
        open.push({ messageId, kind });
        if (kind === 'tool') events.push({ type: 'tool-start', messageId, name: 't', input: JSON.stringify(words) });
        else say(kind, messageId, words);
      } else if (kind === 'step') {
        const step = { kind: 'tool' as const, messageId: 'x', failure: null, usage: { ...usage } };
        events.push({ type: 'step', step });
      } else if (kind === 'close') close(which);
      else if (message !== undefined && message.kind !== 'tool') {
        if (kind === 'restart') events.push({ type: 'restart', messageId: message.messageId });
        else say(message.kind, message.messageId, words);
      }
    }
    while (open.length > 0) close(0);
    return [...events, { type: 'final', messageId: 'f', text: 'All.' }, { type: 'usage', usage }];
  });

describe.each(databaseKinds)('readers on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  test('a join after any event, on this node or another, comes to the same thread', async () => {
    const { ann } = world.callers;
    const other = world.chat({ languageModel, rememberedMax: 300 });
    await fc.assert(
      fc.asyncProperty(eventsArbitrary, fc.boolean(), async (events, isGated) => {
        const joined: Promise<Frame[]>[] = [];
        let chatId: string | null = null;
        const begun = Promise.withResolvers<void>();
        const chat = world.chat({
          languageModel,
          rememberedMax: 300,
          runAgent: playing(events, async (index) => {
            await begun.promise;
            if (index >= events.length - 2 || chatId === null) return;
            const asked = { chatId };
            const opening = [chat, other].map((node) => node.open(ann, asked));
            // Some come in the very moment in which more is written.
            if (isGated) await Promise.all(opening);
            joined.push(...opening.map(async (frames) => Array.fromAsync(await frames)));
          }),
        });
        const live: Frame[] = [];
        for await (const frame of await chat.open(ann, { input: 'go' })) {
          live.push(frame);
          chatId ??= chatIdOf(live);
          begun.resolve();
        }
        const whole = foldFrames(live);
        expect(whole).toMatchObject({ isStreaming: false, usage });
        expect(whole.messages.filter(({ isInProcess }) => isInProcess)).toEqual([]);
        for (const frames of await Promise.all(joined)) {
          const cutoff = frames.findIndex(({ id }) => id === '__cutoff__');
          const [history, rest] = [frames.slice(0, cutoff), frames.slice(cutoff + 1)];
          if (frames[cutoff]?.state?.isStreaming !== true) {
            expect([foldFrames(frames), rest]).toEqual([{ ...whole, usage: null }, []]);
            continue;
          }
          // What comes live is the end of the same lines, and what came before is the history: nothing is lost or said twice.
          const from = live.length - rest.length;
          expect(rest).toEqual(live.slice(from));
          expect(history.every(({ isDelta }) => isDelta === false)).toBe(true);
          expect(foldFrames(history).messages).toEqual(foldFrames(live.slice(0, from)).messages);
        }
        expect([...chat.errors, ...other.errors]).toEqual([]);
        expect([chat.tails.size, other.tails.size]).toEqual([0, 0]);
      }),
      { numRuns: kind === 'pglite' ? 25 : 40 },
    );
  });

  /** A run that says much more than is remembered; its readers read when they are let. */
  function talkative(words: number) {
    const events: AgentEvent[] = [];
    for (let message = 0; message < 4; message++) {
      const messageId = `0000000${message}-0000-4000-8000-000000000000`;
      for (let word = 0; word < words; word++)
        events.push({ type: 'text-delta', messageId, text: `${word} `.repeat(50) });
      events.push({ type: 'text-end', messageId });
    }
    events.push({ type: 'final', messageId: 'f', text: 'All.' }, { type: 'usage', usage });
    // Each word by itself, or they would go out together.
    const pause = () => new Promise((resolve) => setImmediate(resolve));
    return world.chat({ languageModel, rememberedMax: 5_000, runAgent: playing(events, pause) });
  }

  test('a reader who takes nothing until all is said gets all of it, from the log', async () => {
    const { ann } = world.callers;
    const chat = talkative(100);
    const [quick, slow] = await Promise.all(
      [await chat.open(ann, { input: 'talk' })].map(async (frames) => {
        const iterator = frames[Symbol.asyncIterator]();
        const seen: Frame[] = [(await iterator.next()).value];
        const late = (await chat.open(ann, { chatId: chatIdOf(seen) }))[Symbol.asyncIterator]();
        const first: Frame = (await late.next()).value;
        for (let step = await iterator.next(); !step.done; step = await iterator.next()) seen.push(step.value);
        const rest: Frame[] = [];
        for (let step = await late.next(); !step.done; step = await late.next()) rest.push(step.value);
        return [seen, [first, ...rest]];
      }),
    ).then(([both]) => both ?? []);
    expect(foldFrames(slow ?? [])).toEqual(foldFrames(quick ?? []));
    expect(foldFrames(slow ?? []).messages).toHaveLength(6);
  });

  test('one so slow that the log is gone gets the rest in whole messages', async () => {
    const { ann } = world.callers;
    const { db } = world.database;
    const chat = talkative(60);
    const stream = (await chat.open(ann, { input: 'talk' }))[Symbol.asyncIterator]();
    const seen: Frame[] = [(await stream.next()).value];
    while (seen.at(-1)?.isDelta !== true) seen.push((await stream.next()).value);
    const runs = () => db.selectFrom('runs').select('state').where('thread_id', '=', chatIdOf(seen)).execute();
    await until(async () => (await runs()).every(({ state }) => state === 'completed'));
    const later = new Date(Date.now() + 301_000);
    const swept: [string, number][] = [];
    await sweep(db, later, { auditRetentionDays: 1 }, { removed: (...one) => void swept.push(one), signal: never });
    expect(swept).toContainEqual(['run logs', expect.any(Number)]);
    const before = seen.length;
    for (let step = await stream.next(); !step.done; step = await stream.next()) seen.push(step.value);
    const read = foldFrames(await chat.read(ann, { chatId: chatIdOf(seen) }));
    expect(foldFrames(seen)).toEqual({ ...read, usage });
    // Nothing of it in pieces: what is told is whole, in order, each message once, and none that was told whole before.
    const rest = seen.slice(before).filter(({ id }) => !id.startsWith('__'));
    expect(rest.slice(-5).every(({ isDelta }) => isDelta === false)).toBe(true);
    expect(rest.filter(({ isDelta }) => isDelta === false).map(({ sort }) => sort)).toEqual([2, 3, 4, 5, 6]);
  });

  test('a reader of a thread that is deleted meanwhile is told so, on every node', async () => {
    const { ann } = world.callers;
    const gate = Promise.withResolvers<void>();
    const events: AgentEvent[] = [{ type: 'text-delta', messageId: 'a', text: 'So far' }];
    const chat = world.chat({ languageModel, runAgent: playing(events, () => gate.promise) });
    const other = world.chat({ languageModel });
    const own = (await chat.open(ann, { input: 'go' }))[Symbol.asyncIterator]();
    const seen: Frame[] = [];
    while (seen.at(-1)?.content !== 'So far') seen.push((await own.next()).value);
    const reading = Array.fromAsync(await other.open(ann, { chatId: chatIdOf(seen) }));
    await until(() => other.tails.size === 1);
    await world.database.db.deleteFrom('threads').where('id', '=', chatIdOf(seen)).execute();
    const frames = await reading;
    expect(foldFrames(frames)).toMatchObject({
      isStreaming: false,
      error: { code: 'NOT_FOUND' },
      messages: [{ content: 'go' }, { content: 'So far', isInProcess: false }],
    });
    gate.resolve();
  });

  test('a reader whose node stops is cut off, and finds the rest on another', async () => {
    const { ann } = world.callers;
    const gate = Promise.withResolvers<void>();
    const events: AgentEvent[] = [
      { type: 'text-delta', messageId: 'a', text: 'Half ' },
      { type: 'text-delta', messageId: 'a', text: 'and whole.' },
      { type: 'text-end', messageId: 'a' },
      { type: 'final', messageId: 'f', text: 'Half and whole.' },
      { type: 'usage', usage },
    ];
    const chat = world.chat({ languageModel, runAgent: playing(events, () => gate.promise) });
    const [one, two] = [world.chat({ languageModel }), world.chat({ languageModel })];
    const own = Array.fromAsync(await chat.open(ann, { input: 'go' }));
    await until(async () => {
      const { rows } = await world.database.db.executeQuery<{ n: number }>(
        world.database.db
          .selectFrom('run_log')
          .select(({ fn }) => fn.countAll<number>().as('n'))
          .compile(),
      );
      return Number(rows[0]?.n) > 0;
    });
    const { id } = await world.database.db
      .selectFrom('runs')
      .select('thread_id as id')
      .where('state', '=', 'running')
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();
    const stream = (await one.open(ann, { chatId: id }))[Symbol.asyncIterator]();
    const seen: Frame[] = [];
    while (seen.at(-1)?.id !== '__cutoff__') seen.push((await stream.next()).value);
    one.tails.close();
    await expect(stream.next()).rejects.toMatchObject({ code: 'NOT_READY' });
    const again = Array.fromAsync(await two.open(ann, { chatId: id }));
    gate.resolve();
    expect(foldFrames([...seen, ...(await again)])).toEqual(foldFrames(await own));
  });
});
