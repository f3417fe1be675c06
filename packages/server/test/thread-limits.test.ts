/** How long a thread may be, and how much the tools of a run may give. */
import { foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatWorld, chatIdOf, openChatWorld, readMessages, toolThat } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering, call, say, scripted } from './scripted-language-model.ts';

describe.each(databaseKinds)('limits on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());
  const tooLong = { code: 'THREAD_TOO_LONG', message: expect.stringContaining('Begin a new one') };

  test.each([
    ['messages', { threadMessagesMax: 3 }],
    // 'question' and 'Well.' twice are 18.
    ['bytes', { threadBytesMax: 18 }],
  ])('a thread that has its %s takes no more, but can be read, and a message repeated', async (_, runLimits) => {
    const { ann } = world.callers;
    const roomy = world.chat({ languageModel: answering('Well.') });
    const chat = world.chat({ languageModel: answering('Well.'), runLimits });
    const messageId = `${Date.now()}-message`;
    const asked = await chat.read(ann, { input: 'question', messageId });
    const chatId = chatIdOf(asked);
    await expect(chat.read(ann, { chatId, input: 'more' })).rejects.toMatchObject(tooLong);
    await expect(chat.read(ann, { chatId, input: 'more', messageId: '2-message' })).rejects.toMatchObject(tooLong);
    // Nothing of it is left.
    expect(await readMessages(world.database.db, chatId)).toHaveLength(3);
    const repeated = await chat.read(ann, { chatId, input: 'question', messageId });
    expect(foldFrames(repeated)).toEqual(foldFrames(asked));
    expect(foldFrames(await chat.read(ann, { chatId })).messages).toEqual(foldFrames(asked).messages);
    await chat.read(ann, { input: 'question' });
    await roomy.read(ann, { chatId, input: 'more' });
  });

  test('one that is a byte, or a message, below takes one more', async () => {
    const { ann } = world.callers;
    const runLimits = { threadMessagesMax: 4, threadBytesMax: 19 };
    const chat = world.chat({ languageModel: answering('Well.'), runLimits });
    const chatId = chatIdOf(await chat.read(ann, { input: 'question' }));
    await chat.read(ann, { chatId, input: 'more' });
    await expect(chat.read(ann, { chatId, input: 'more' })).rejects.toMatchObject(tooLong);
  });

  test('a message keeps its size, with the result of its call', async () => {
    const { ann } = world.callers;
    const tool = toolThat('tool', async () => ({ text: 'ä'.repeat(100) }));
    const chat = world.chat({ languageModel: scripted([[call('tool', {})], [say('Öh.')]]), tools: [tool] });
    const threadId = chatIdOf(await chat.read(ann, { input: 'für' }));
    const { db } = world.database;
    const rows = await db
      .selectFrom('messages')
      .select('bytes')
      .where('thread_id', '=', threadId)
      .orderBy('sort')
      .execute();
    const result = Buffer.byteLength(JSON.stringify({ text: 'ä'.repeat(100) }));
    expect(rows.map(({ bytes }) => bytes)).toEqual([4, 'tool'.length + '{}'.length + result, 4, 4]);
  });

  test.each([
    ['over several turns', (messages: readonly unknown[]) => [call('tool', { turn: messages.length })], 4],
    ['in one turn', () => Array.from({ length: 10 }, (_, n) => call('tool', { n })), 10],
  ])('results of a run have a sum: %s', async (_, turn, calls) => {
    const { ann } = world.callers;
    const tool = toolThat('tool', async () => ({ text: 'x'.repeat(1000) }));
    const chat = world.chat({
      languageModel: scripted(turn),
      tools: [tool],
      limits: { runResultBytesMax: 3500 },
    });
    const state = foldFrames(await chat.read(ann, { input: 'much' }));
    const results = state.messages.flatMap(({ toolCall }) => (toolCall === undefined ? [] : [toolCall.result ?? '']));
    expect(results.filter((result) => result.includes('xxx'))).toHaveLength(3);
    expect(results).toHaveLength(calls);
    expect(JSON.parse(results.at(-1) ?? '')).toMatchObject({ error: { code: 'RESULT_TOO_LARGE' } });
    expect(state).toMatchObject({ error: null, isStreaming: false });
    expect(state.messages.at(-1)?.content).toMatch(/^I stop here: the answer has read as much data as one may read/);
  });
});
