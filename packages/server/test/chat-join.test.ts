import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatWorld, chatIdOf, openChatWorld, toolThat, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering, call, type ScriptStep, say, scripted, stall, wait } from './scripted-language-model.ts';

describe.each(databaseKinds)('readers and aborts on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  /** A language model that goes one step on each time it is let. */
  function stepwise(steps: readonly ScriptStep[]) {
    const gates = steps.map(() => Promise.withResolvers<void>());
    const model = scripted([steps.flatMap((step, index) => [wait(gates[index]?.promise ?? Promise.resolve()), step])]);
    let next = 0;
    return { model, go: () => gates[next++]?.resolve() };
  }
  test('a reader who joins anywhere sees the same thread, no delta lost or doubled', async () => {
    const words = ['one ', 'two ', 'three ', 'four ', 'five ', 'six'];
    const { model, go } = stepwise(words.map(say));
    const chat = world.chat({ languageModel: model });
    const { ann } = world.callers;
    const live = (await chat.open(ann, { input: 'count' }))[Symbol.asyncIterator]();
    const seen: Frame[] = [(await live.next()).value, (await live.next()).value];
    const chatId = chatIdOf(seen);
    const readers: Promise<Frame[]>[] = [];
    for (const word of words) {
      readers.push(chat.open(ann, { chatId }).then((frames) => Array.fromAsync(frames)));
      // Some join in the very moment of a delta.
      go();
      readers.push(chat.open(ann, { chatId }).then((frames) => Array.fromAsync(frames)));
      const { value } = await live.next();
      expect(value.content).toBe(word);
      seen.push(value);
    }
    for (let next = await live.next(); !next.done; next = await live.next()) seen.push(next.value);
    const all = foldFrames(seen);
    expect(all.messages.map(({ content }) => content)).toEqual(['count', words.join(''), words.join('')]);
    for (const frames of await Promise.all(readers)) {
      // Who comes when the run is over reads the thread; what the run used is not part of it.
      const isLive = frames.some(({ state }) => state?.isStreaming);
      expect(foldFrames(frames)).toEqual(isLive ? all : { ...all, usage: null });
    }
  });

  test('hanging up stops nothing; the thread reads the same afterwards', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chat = world.chat({ languageModel: scripted([[say('Half '), wait(promise), say('and whole.')]]) });
    const { ann } = world.callers;
    const gone = new AbortController();
    const seen: Frame[] = [];
    for await (const frame of await chat.open(ann, { input: 'go on without me' }, gone.signal)) {
      seen.push(frame);
      if (frame.content === 'Half ') gone.abort();
    }
    expect(seen.at(-1)?.content).toBe('Half ');
    const chatId = chatIdOf(seen);
    resolve();
    await until(async () => !foldFrames(await chat.read(ann, { chatId })).isStreaming);
    const frames = await chat.read(ann, { chatId });
    expect(finalAnswer(frames)).toBe('Half and whole.');
    expect(frames.at(-1)).toMatchObject({ id: '__cutoff__', state: { isStreaming: false } });
  });

  test('a reader who waits and goes away is let go', async () => {
    const chat = world.chat({ languageModel: scripted([[stall]]) });
    const { ann } = world.callers;
    const gone = new AbortController();
    const stream = (await chat.open(ann, { input: 'wait' }, gone.signal))[Symbol.asyncIterator]();
    const chatId = chatIdOf([(await stream.next()).value]);
    await stream.next();
    const waiting = stream.next();
    gone.abort();
    expect(await waiting).toMatchObject({ done: true });
    await chat.abort(ann, chatId);
  });

  test('an abort in mid-text closes the text with what it has, and is durable', async () => {
    const chat = world.chat({ languageModel: scripted([[say('So far'), stall]]) });
    const { ann } = world.callers;
    const seen: Frame[] = [];
    for await (const frame of await chat.open(ann, { input: 'stop me' })) {
      seen.push(frame);
      if (frame.isDelta) await chat.abort(ann, chatIdOf(seen));
    }
    expect(seen.slice(-3).map(({ id, content, isInProcess }) => [id.slice(0, 2), content, isInProcess])).toEqual([
      [expect.any(String), 'So far', false],
      ['__', '', undefined],
      ['__', '', undefined],
    ]);
    const state = foldFrames(await chat.read(ann, { chatId: chatIdOf(seen) }));
    expect(state.messages.map(({ content, isInProcess }) => [content, isInProcess])).toEqual([
      ['stop me', false],
      ['So far', false],
    ]);
    // An abort of what has ended is no failure, and the thread takes another message.
    await chat.abort(ann, chatIdOf(seen));
    const next = world.chat({ languageModel: answering('Again.') });
    const again = await next.read(ann, { chatId: chatIdOf(seen), input: 'once more' });
    expect(finalAnswer(again)).toBe('Again.');
    expect(foldFrames(again).messages.map(({ sort }) => sort)).toEqual([1, 2, 3, 4, 5]);
  });

  test('abort resolves though the tool does not listen', async () => {
    const deaf = toolThat('deaf', () => new Promise(() => undefined));
    const chat = world.chat({ languageModel: scripted([[call('deaf', {})]]), tools: [deaf] });
    const { ann } = world.callers;
    const seen: Frame[] = [];
    for await (const frame of await chat.open(ann, { input: 'stop me' })) {
      seen.push(frame);
      if (frame.toolCall !== undefined) await chat.abort(ann, chatIdOf(seen));
    }
    expect(seen.at(-1)?.id).toBe('__usage__');
  });

  test('a look at the thread in the very moment of a message sees all of it or nothing', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel: scripted(() => [stall]) });
    for (let round = 0; round < 20; round++) {
      const chatId = chatIdOf(await chat.read(ann, {}));
      const started = chat.open(ann, { chatId, input: 'now' });
      let isStarted = false;
      const looks: AsyncIterable<Frame>[] = [];
      const lookOn = async (): Promise<void> => {
        while (!isStarted) looks.push(await chat.open(ann, { chatId }));
      };
      const looking = [lookOn(), lookOn(), lookOn(), lookOn()];
      await started;
      isStarted = true;
      await Promise.all(looking);
      await chat.abort(ann, chatId);
      for (const look of looks) {
        const frames = await Array.fromAsync(look);
        const isStreaming = frames.some(({ state }) => state?.isStreaming);
        expect(frames.map(({ id }) => id.slice(-7))).toEqual(
          isStreaming ? expect.arrayContaining(['message', 'orted__', 'usage__']) : ['utoff__'],
        );
      }
    }
  });
});
