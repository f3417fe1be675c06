import type { Frame } from '@inlay/contract/chat.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tool } from '../src/agent/tools/tool.ts';
import * as transcripts from './chat-transcripts.ts';
import { type ChatWorld, chatIdOf, openChatWorld, queryTool, toolThat, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { call, type ScriptStep, say, scripted, stall, wait } from './scripted-language-model.ts';

const { answer, metaAnswer, metaInput, sqlAnswer, sqlInput, toLabelledLines, wrongSqlInput } = transcripts;
const expected = (frames: readonly object[]): string[] => frames.map((frame) => JSON.stringify(frame));
const begin = new Date(1767225600000);
const metaTool = toolThat('platformMeta', async () => metaAnswer);
const sqlTool = queryTool('platformSqlApi', sqlAnswer);
const tools: Tool[] = [metaTool, sqlTool];

/** What is said while the words before are still on their way goes out as one line with them: this holds it back until then. */
function readable() {
  const seen = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (words: string): PromiseWithResolvers<void> => {
    const gate = seen.get(words) ?? Promise.withResolvers<void>();
    seen.set(words, gate);
    return gate;
  };
  return {
    /** Goes on when the words have been read. */
    after: (words: string): ScriptStep => wait(gateOf(words).promise),
    async read(frames: AsyncIterable<Frame>): Promise<Frame[]> {
      const all: Frame[] = [];
      for await (const frame of frames) {
        all.push(frame);
        gateOf(frame.content).resolve();
      }
      return all;
    },
  };
}

const firstRun = (after: (words: string) => ScriptStep) => [
  [say('I look up '), after('I look up '), say('revenue and channel.'), call('platformMeta', metaInput)],
  [call('platformSqlApi', sqlInput)],
  [say(answer[0]), after(answer[0]), say(answer[1])],
];

describe.each(databaseKinds)('the stream on %s is', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  test('a new thread, its state, and a second turn', async () => {
    let now = begin;
    const { after, read } = readable();
    const languageModel = scripted([...firstRun(after), [call('platformSqlApi', sqlInput)], [say('Web: 182,340.50.')]]);
    const chat = world.chat({ languageModel, tools, clock: () => now });
    const { ann } = world.callers;

    const first = await read(await chat.open(ann, { input: 'revenue by channel' }));
    expect(toLabelledLines(first)).toEqual(expected(transcripts.newThread));

    const chatId = chatIdOf(first);
    expect(toLabelledLines(await chat.read(ann, { chatId }))).toEqual(expected(transcripts.stateRead));

    now = new Date(1767225660000);
    const second = await chat.read(ann, { chatId, input: 'only web' });
    expect(toLabelledLines(second)).toEqual(expected(transcripts.secondTurn));
  });

  test('a join in mid-message', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const languageModel = scripted([
      ...firstRun(() => wait(Promise.resolve())).slice(0, 2),
      [say(answer[0]), wait(promise), say(answer[1])],
    ]);
    const chat = world.chat({ languageModel, tools, clock: () => begin });
    const { bob } = world.callers;
    const live = (await chat.open(bob, { input: 'revenue by channel' }))[Symbol.asyncIterator]();
    const seen = [];
    while (seen.at(-1)?.content !== answer[0]) seen.push((await live.next()).value);
    const joined = await chat.open(bob, { chatId: chatIdOf(seen) });
    resolve();
    expect(toLabelledLines(await Array.fromAsync(joined))).toEqual(expected(transcripts.joinInMidMessage));
    expect(chat.errors).toEqual([]);
  });

  test('a tool error and then the right call', async () => {
    const chat = world.chat({
      clock: () => begin,
      languageModel: scripted([
        [call('platformSqlApi', wrongSqlInput)],
        [call('platformSqlApi', sqlInput)],
        [say(answer.join(''))],
      ]),
      tools: [
        {
          ...sqlTool,
          prepare: (input, context) => ({
            input,
            run:
              input === wrongSqlInput
                ? () =>
                    Promise.reject(
                      new SemanticError('MEMBER_NOT_FOUND', 'No member "chanel" in sales.', 'Closest: channel'),
                    )
                : sqlTool.prepare(input, context).run,
          }),
        },
      ],
    });
    const { annElsewhere } = world.callers;
    const frames = await chat.read(annElsewhere, { input: 'revenue by channel' });
    expect(toLabelledLines(frames)).toEqual(expected(transcripts.toolErrorThenRight));
  });

  test('an abort while a tool runs, which the tool hears of', async () => {
    let heard: unknown = null;
    const slow = toolThat('platformSqlApi', (_input, signal) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => {
        heard = signal.reason;
        reject(signal.reason);
      });
      return promise;
    });
    const chat = world.chat({
      languageModel: scripted([[call('platformSqlApi', sqlInput)]]),
      tools: [slow],
      clock: () => new Date(begin.getTime()),
    });
    const { bob } = world.callers;
    const stream = await chat.open(bob, { input: 'revenue by channel', messageId: '1767225600000000-message' });
    const seen = [];
    for await (const frame of stream) {
      seen.push(frame);
      if (frame.toolCall !== undefined && heard === null) await chat.abort(bob, chatIdOf(seen));
    }
    expect(heard).toMatchObject({ code: 'ABORTED' });
    const lines = toLabelledLines(seen).map((line) => line.replace('1767225600000000-', '1767225600000-'));
    expect(lines).toEqual(expected(transcripts.abortedDuringATool));
  });

  test('an error in mid-answer', async () => {
    const languageModel = scripted([[say('I look up '), stall]]);
    const chat = world.chat({ languageModel, tools, limits: { languageModelSilenceMs: 50 }, clock: () => begin });
    const { annElsewhere } = world.callers;
    const frames = await chat.read(annElsewhere, {
      input: 'revenue by channel',
      messageId: '1767225600000001-message',
    });
    const lines = toLabelledLines(frames).map((line) => line.replace('1767225600000001-', '1767225600000-'));
    expect(lines).toEqual(expected(transcripts.runError));
    await until(() => languageModel.signals.every(({ aborted }) => aborted));
  });
});
