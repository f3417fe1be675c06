/** A run outlives the node that writes it, over HTTP, with the real agent: nodes that stop, and nodes that lose it. */
import { randomUUID } from 'node:crypto';
import type { Frame } from '@inlay/contract/chat.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../chat-world.ts';
import { type OpenStream, openStream } from '../open-stream.ts';
import { call, type ScriptStep, say, scripted, stall } from '../scripted-language-model.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

/** A stream whose end may be that it is cut off, with its node. */
function read(...[url, authorization, body]: Parameters<typeof openStream>): OpenStream {
  const { frames, end } = openStream(url, authorization, body);
  return { frames, end: end.catch(() => undefined) };
}

describe('a run whose node', () => {
  /** What the language model says in its turns, whichever node asks it. */
  let turns: (readonly ScriptStep[])[];
  let first: TestServer;
  let second: TestServer;
  let authorization: string;
  beforeEach(async () => {
    turns = [];
    const languageModel = scripted(() => turns.shift() ?? [say('Too often.')]);
    first = await openTestServer({ languageModel });
    second = await openTestServer({ languageModel, nodeOf: first });
    authorization = await openSession(first, first.demo, { externalId: 'ann' });
  });
  afterEach(async () => {
    for (const server of [second, first]) server.context.tails.close();
    for (const server of [second, first]) await server.close();
  });

  /** Begins a run on the second node, read there and on the first, up to where the language model is silent. */
  async function begin() {
    const there = read(second.url, authorization, { input: 'go' });
    await until(() => there.frames.some(({ isDelta }) => isDelta === true));
    const chatId = there.frames.find(({ id }) => id === '__cutoff__')?.state?.chatId;
    const here = read(first.url, authorization, { chatId });
    await until(() => here.frames.some(({ content }) => content === 'Half '));
    return { there, here, chatId };
  }
  const contents = (frames: readonly Frame[]) =>
    foldFrames(frames).messages.map(({ content, toolCall, isInProcess }) => [toolCall?.name ?? content, isInProcess]);

  test('stops is carried on by another: its readers there see no end, those elsewhere the rest', async () => {
    turns = [[say('Half '), stall], [say('Whole.')]];
    const { there, here, chatId } = await begin();
    await second.context.runs.close(0);
    second.context.tails.close();
    await there.end;
    expect(there.frames.some(({ id }) => id === '__usage__')).toBe(false);
    await here.end;
    expect(finalAnswer(here.frames)).toBe('Whole.');
    expect(contents(here.frames)).toEqual([
      ['go', false],
      ['Whole.', false],
      ['Whole.', false],
    ]);
    const again = read(first.url, authorization, { chatId });
    await again.end;
    expect(contents(again.frames)).toEqual(contents(here.frames));
  });

  test('loses it to another that dies is carried on, by it or by a third, and every reader sees the same', async () => {
    turns = [[call('platformMeta', { searchQuery: 'revenue' })], [say('Half '), stall], [say('Whole.')]];
    const { there, here } = await begin();
    await sql`update runs set node_id = ${randomUUID()}, attempts = attempts + 1`.execute(first.context.db);
    await Promise.all([there.end, here.end]);
    expect(contents(there.frames)).toEqual([
      ['go', false],
      ['platformMeta', false],
      ['Whole.', false],
      ['Whole.', false],
    ]);
    expect(contents(here.frames)).toEqual(contents(there.frames));
    // What the call that was cut off had used is known to nobody.
    expect(there.frames.at(-1)?.usage).toMatchObject({ llmCalls: 2 });
    expect(turns).toEqual([]);
  });
});
