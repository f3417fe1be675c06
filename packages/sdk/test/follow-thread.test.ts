import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Frame } from '@inlay/contract/chat.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../src/client.ts';
import { followThread } from '../src/follow-thread.ts';
import { foldFrames, type ThreadState } from '../src/thread-state.ts';

interface Asked {
  readonly input?: string;
  readonly chatId?: string;
  readonly messageId?: string;
}
let answer: (reply: ServerResponse, asked: Asked) => void = () => undefined;
let asked: Asked[] = [];
const server = createServer(async (request, reply) => {
  const body: Asked = JSON.parse((await Array.fromAsync(request)).join(''));
  asked.push(body);
  answer(reply, body);
});
let baseUrl = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() satisfies AddressInfo | string | null;
  if (address === null || typeof address === 'string') throw new Error('not listening');
  baseUrl = `http://127.0.0.1:${address.port}`;
});
afterAll(() => server.close());

const agent = { accountName: 'demo', agentId: 1 };
const follow = (request: Asked, more: object = {}): AsyncGenerator<ThreadState> => {
  const client = createClient({ baseUrl, credential: { kind: 'embed-token', token: 't' } });
  return followThread(client, agent, request, { waitMs: 1, ...more });
};
const last = async (states: AsyncIterable<ThreadState>): Promise<ThreadState | undefined> =>
  (await Array.fromAsync(states)).at(-1);

const message = (id: string, content: string, sort: number, more: Partial<Frame> = {}): Frame => ({
  id,
  role: 'assistant',
  content,
  isDelta: false,
  isInProcess: false,
  sort,
  ...more,
});
const cutoff = (isStreaming: boolean): Frame => ({
  ...message('__cutoff__', '', 0),
  state: { chatId: 'thread', isStreaming },
});
const usage = { models: ['m'], llmCalls: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2, queries: 0, rows: 0 };
const words = ['one ', 'zwei ', '🛒 ', 'four ', 'five'];
const live: Frame[] = [
  message('q', 'count', 1, { role: 'user' }),
  ...words.map((word) => message('a', word, 2, { isDelta: true, isInProcess: true })),
  message('a', words.join(''), 2),
  message('f', words.join(''), 3, { graphPath: ['final'] }),
  { ...message('__usage__', '', 4), usage },
];
const bytesOf = (frames: readonly Frame[]): Buffer =>
  Buffer.from(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));

test('wherever the connection is cut, and however often, the thread is right and the message is sent once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.nat(9), bytes: fc.nat(1500), isClean: fc.boolean() }), { maxLength: 7 }),
      async (cuts) => {
        asked = [];
        const left = [...cuts];
        let written = 0;
        answer = (reply) => {
          // The run goes on meanwhile; a reader who comes gets what there is of it as history.
          const cut = left.shift();
          written = Math.max(written, cut === undefined ? live.length : cut.at);
          const history = live.slice(0, written);
          const said = foldFrames(history).messages.map(({ graphPath: _, ...frame }) => ({ ...frame, isDelta: false }));
          const isOver = history.at(-1)?.id === '__usage__';
          const head = isOver ? [cutoff(true), ...history] : [...said, cutoff(true)];
          const whole = bytesOf([...head, ...live.slice(written)]);
          reply.writeHead(200);
          if (cut === undefined) reply.end(whole);
          else if (cut.isClean) reply.end(whole.subarray(0, Math.min(cut.bytes, whole.lastIndexOf('{"id":"__usage'))));
          else reply.write(whole.subarray(0, cut.bytes), () => reply.destroy());
        };
        const state = await last(follow({ input: 'count' }));
        const expected = foldFrames([cutoff(true), ...live]);
        expect(state).toMatchObject({ chatId: 'thread', isStreaming: false, usage, error: null });
        expect(state?.messages.map(({ id, content }) => [id, content])).toEqual(
          expected.messages.map(({ id, content }) => [id, content]),
        );
        expect(new Set(asked.map(({ messageId }) => messageId)).size).toBe(1);
        expect(asked[0]?.messageId).toMatch(/^\d{20}-message$/);
      },
    ),
    { numRuns: 60 },
  );
});

test('without a message it reads the thread again, by its id', async () => {
  asked = [];
  answer = (reply) => {
    if (asked.length === 1)
      reply.writeHead(200).write(bytesOf([cutoff(true), ...live.slice(0, 3)]), () => reply.destroy());
    else reply.writeHead(200).end(bytesOf([...live.slice(-3, -1), cutoff(false)]));
  };
  expect(await last(follow({ chatId: 'thread' }))).toMatchObject({ isStreaming: false, messages: [{}, {}, {}] });
  expect(asked).toEqual([{ chatId: 'thread' }, { chatId: 'thread' }]);
});

test('it waits where the server says so, and gives up what the server refuses', async () => {
  asked = [];
  const refuse = (reply: ServerResponse, statusCode: number, code: string): void => {
    const body = { statusCode, error: '', message: 'No.', code, requestId: 'r' };
    reply.writeHead(statusCode, { 'retry-after': '0' }).end(JSON.stringify(body));
  };
  answer = (reply) => {
    if (asked.length === 1) refuse(reply, 503, 'NOT_READY');
    else if (asked.length === 2) refuse(reply, 429, 'TOO_MANY_RUNS');
    else refuse(reply, 409, 'RUN_IN_PROGRESS');
  };
  await expect(last(follow({ input: 'hi' }))).rejects.toMatchObject({ code: 'RUN_IN_PROGRESS' });
  expect(asked).toHaveLength(3);

  asked = [];
  answer = (reply) => void reply.destroy();
  await expect(last(follow({ input: 'hi' }, { attemptsMax: 2 }))).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  expect(asked).toHaveLength(3);
});

test('it ends when told to, also while it waits', async () => {
  const stop = new AbortController();
  answer = (reply) => {
    reply.destroy();
    stop.abort(new Error('enough'));
  };
  await expect(last(follow({ input: 'hi' }, { signal: stop.signal, waitMs: 60_000 }))).rejects.toThrow('enough');
});
