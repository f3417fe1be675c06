import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatWorld, chatIdOf, openChatWorld } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering, say, scripted, stall, wait } from './scripted-language-model.ts';

describe.each(databaseKinds)('messages on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  test('two messages at once on a thread: one wins, the other is told', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chat = world.chat({ languageModel: scripted(() => [wait(promise), say('Done.')]) });
    const { ann } = world.callers;
    const chatId = chatIdOf(await chat.read(ann, {}));
    const results = await Promise.allSettled(['a', 'b', 'c'].map((input) => chat.open(ann, { chatId, input })));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(2);
    for (const error of refused) {
      expect(error).toMatchObject({ code: 'RUN_IN_PROGRESS', message: 'Streaming for thread is in progress' });
    }
    resolve();
    const [winner] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const frames = await Array.fromAsync(winner ?? []);
    expect(foldFrames(frames).messages).toHaveLength(3);
  });

  test('the store itself keeps two runs off one thread', async () => {
    const other = world.chat({ languageModel: scripted([[stall]]) });
    const { ann } = world.callers;
    const stream = (await other.open(ann, { input: 'first' }))[Symbol.asyncIterator]();
    const chatId = chatIdOf([(await stream.next()).value]);
    // Another process on the same store knows nothing of the first one's memory.
    const chat = world.chat({ languageModel: answering() });
    await expect(chat.open(ann, { chatId, input: 'second' })).rejects.toMatchObject({ code: 'RUN_IN_PROGRESS' });
    await other.abort(ann, chatId);
    expect(finalAnswer(await chat.read(ann, { chatId, input: 'third' }))).toBe('Here it is.');
  });

  test('the same messageId joins the run that goes on, then replays it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const model = scripted([[say('Half '), wait(promise), say('whole.')]]);
    const chat = world.chat({ languageModel: model });
    const { ann, bob } = world.callers;
    const messageId = '1767225600001-message';
    const [one, two] = await Promise.all([
      chat.open(ann, { input: 'same', messageId }),
      chat.open(ann, { input: 'same', messageId }),
    ]);
    resolve();
    const [first, second] = await Promise.all([Array.fromAsync(one), Array.fromAsync(two)]);
    // Whichever was first: the other has joined it, and not read what of it was in the store at that moment.
    expect([first, second].map((frames) => frames.at(-1)?.id)).toEqual(['__usage__', '__usage__']);
    const state = foldFrames(first);
    expect(foldFrames(second)).toEqual(state);
    expect(model.requests).toHaveLength(1);

    const replay = await chat.read(ann, { input: 'same', messageId });
    expect(foldFrames(replay)).toEqual(state);
    expect(replay.map(({ id }) => id)).toEqual(['__cutoff__', ...state.messages.map(({ id }) => id), '__usage__']);
    const chatId = chatIdOf(first);
    expect(foldFrames(await chat.read(ann, { chatId, input: 'same', messageId }))).toEqual(state);

    for (const request of [
      { input: 'another', messageId },
      { input: 'another', messageId, chatId },
      { input: 'same', messageId, chatId: chatIdOf(await chat.read(ann, {})) },
    ]) {
      await expect(chat.open(ann, request)).rejects.toMatchObject({ code: 'MESSAGE_ID_REUSED' });
    }
    // Another user may have chosen the same id.
    const other = world.chat({ languageModel: answering() });
    expect(chatIdOf(await other.read(bob, { input: 'same', messageId }))).not.toBe(chatId);
  });

  test('the same message sent twice at once begins one run, time and again', async () => {
    const { ann } = world.callers;
    const languageModel = answering();
    const chat = world.chat({ languageModel });
    for (let round = 0; round < 10; round++) {
      const request = { input: 'same', messageId: `17672256100${round + 10}-message` };
      const streams = await Promise.all(Array.from({ length: 4 }, () => chat.read(ann, request)));
      for (const frames of streams) expect(foldFrames(frames)).toEqual(foldFrames(streams[0] ?? []));
      expect(foldFrames(streams[0] ?? [])).toMatchObject({ isStreaming: false, usage: { llmCalls: 1 } });
      expect(languageModel.requests).toHaveLength(round + 1);
    }
  });

  test('a replay shows how the run ended, in a thread that has gone on', async () => {
    const { ann } = world.callers;
    const messageId = '1767225600002-message';
    const failing = world.chat({ languageModel: scripted([[say('Well'), new Error('secret of the inside')]]) });
    const failed = await failing.read(ann, { input: 'fail', messageId });
    const chatId = chatIdOf(failed);
    expect(JSON.stringify(failed)).not.toContain('secret of the inside');
    const chat = world.chat({ languageModel: answering() });
    const later = await chat.read(ann, { chatId, input: 'later' });
    const replay = await chat.read(ann, { input: 'fail', messageId });
    expect(foldFrames(replay)).toMatchObject({
      error: { code: 'LANGUAGE_MODEL_FAILED', requestId: 'req_test' },
      messages: foldFrames(later).messages,
      usage: foldFrames(failed).usage,
    });
    expect(replay.slice(-2).map(({ sort }) => sort)).toEqual([6, 7]);
  });

  test('messages of one millisecond do not collide', async () => {
    const clock = () => new Date(1767225700000);
    const chats = [1, 2].map(() => world.chat({ languageModel: answering(), clock }));
    const { ann } = world.callers;
    const streams = await Promise.all(
      chats.flatMap((chat) => ['a', 'b', 'c'].map((input) => chat.read(ann, { input }))),
    );
    const ids = streams.map((frames) => frames[1]?.id);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^\d{13}-message$/);
  });

  test('whoever has read the last line may ask again at once', async () => {
    const { ann } = world.callers;
    const chat = world.chat({ languageModel: answering() });
    const { principal, agentId } = ann;
    const agent = { id: agentId, name: 'shop', deploymentId: 1 };
    const request = { principal, agent, branch: null, input: 'again', messageId: undefined, requestId: 'r' };
    const seen: Frame[] = [];
    for await (const frame of await chat.open(ann, { input: 'first' })) {
      seen.push(frame);
      if (frame.id !== '__usage__') continue;
      expect(await chat.runs.start({ ...request, threadId: chatIdOf(seen) })).toMatchObject({ kind: 'started' });
    }
  });
});
