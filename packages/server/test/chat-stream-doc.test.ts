/** The frames that chat-stream.md shows are those that the server sends. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { createClient } from '@inlay/sdk/client.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import { abortedFrame, applyEvent, errorFrame, startRun } from '../src/chat/frames.ts';
import { openTestServer, type TestServer } from './test-server.ts';

let server: TestServer;
let text: string;
beforeAll(async () => {
  server = await openTestServer();
  text = await readFile(join(import.meta.dirname, '../../../docs/reference/chat-stream.md'), 'utf8');
});
afterAll(() => server.close());

/** The lines of the first example after some words of the document. */
function exampleAfter(words: string): string[] {
  const at = text.indexOf(words);
  const lines = /```json\n(.*?)\n```/s.exec(text.slice(at))?.[1]?.split('\n');
  if (at === -1 || lines === undefined) throw new Error(`There is no example after "${words}".`);
  return lines;
}

/** What the example says a line looks like: … stands for anything, and ids are those of the day of its recording. */
function patternOf(line: string): RegExp {
  const pattern = line
    .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    .replaceAll(/[0-9a-f]{8}-(…|[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/g, '[0-9a-f-]{36}')
    .replaceAll(/\d{13}-message/g, '\\d{13}-message')
    .replaceAll('…', '.*');
  return new RegExp(`^${pattern}$`);
}

/** How many pieces a text comes in depends on the moment: they count as one. */
function withoutPieces(lines: readonly string[]): string[] {
  const frames: Frame[] = [];
  for (const line of lines) {
    const frame = frameSchema.parse(JSON.parse(line));
    const last = frames.at(-1);
    if (frame.isDelta === true && last?.isDelta === true && last.id === frame.id) {
      frames[frames.length - 1] = { ...last, content: last.content + frame.content };
    } else frames.push(frame);
  }
  return frames.map((frame) => JSON.stringify(frame));
}

test('a whole stream', async () => {
  const client = createClient({ baseUrl: server.url, credential: { kind: 'api-key', apiKey: server.apiKey } });
  const sessionSettings = {
    externalId: 'user-17',
    groups: ['merchant'],
    userAttributes: [{ name: 'merchant_id', value: 7 }],
  };
  const agent = { accountName: 'demo', agentId: 1 };
  const frames = await Array.fromAsync(
    await client.chat(agent, { input: 'revenue by channel in 2025', sessionSettings }),
  );
  const sent = withoutPieces(frames.map((frame) => JSON.stringify(frame)));
  const shown = withoutPieces(exampleAfter('A whole stream'));
  expect(sent).toHaveLength(shown.length);
  for (const [index, line] of sent.entries()) expect(line).toMatch(patternOf(shown[index] ?? ''));
});

test('thoughts', () => {
  const messageId = '6c1d8a40-1111-4111-8111-111111111111';
  const events: AgentEvent[] = [
    { type: 'thinking-delta', messageId, text: 'They mean 2025, ' },
    { type: 'thinking-delta', messageId, text: 'all of it.' },
    { type: 'thinking-end', messageId },
  ];
  let state = startRun('platform', 2);
  for (const line of exampleAfter('With thoughts')) {
    const event = events.shift();
    if (event === undefined) throw new Error('more lines than events');
    const step = applyEvent(state, event);
    state = step.state;
    expect(JSON.stringify(step.frame)).toMatch(patternOf(line));
  }
  expect(events).toEqual([]);
});

test('how an answer ends that was stopped, or failed', () => {
  expect(JSON.stringify(abortedFrame(4))).toBe(exampleAfter('## Stop')[0]);
  const failure = { code: 'LANGUAGE_MODEL_TIMEOUT', message: 'The language model did not answer in time.' };
  const line = JSON.stringify(errorFrame({ ...failure, requestId: 'req_1' }, 3));
  expect(line).toMatch(patternOf(exampleAfter('## When an answer fails')[0] ?? ''));
});
