/**
 * Abort, as an operator runs it: servers in processes of their own, with the abort on the node that writes the answer and on another.
 * How long it takes is the benches' to say; here it is whether anything is left.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Frame } from '@inlay/contract/chat.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../chat-world.ts';
import { databaseKinds, openTestDatabase } from '../../databases.ts';
import {
  calls,
  type LanguageModelServer,
  openLanguageModelServer,
  says,
  type WireRequest,
} from '../../language-model-server.ts';
import { abortChat, type ChatEnding, type ChatWords, readChat, type Speaker } from '../lossless/chat-call.ts';
import { writeChatInstallation } from '../lossless/installation.ts';
import { type ServerProcess, startServer } from '../server-process.ts';

/** As many queries as a warehouse runs at once: were one of them left running, there would be no place for a next. */
const places = 3;
const secret = 'yT5wQ8zLr3Vn6Kx1Jb9Hd4Fs7Gm2CpAe';
const endless = {
  sqlQuery: 'SELECT MEASURE(count) FROM endless',
  queryTitle: 'Count',
  description: '',
  userRequest: 'c',
};
const words = 'I think about it. ';

/** Says the words and then nothing, counts for ever, or answers at once, as the question asks for. */
function script({ text }: WireRequest) {
  if (text.includes('speak for ever')) return { steps: [says(words), { type: 'stall' as const }] };
  if (text.includes('count for ever')) return { steps: [calls('platformSqlApi', endless)] };
  return { steps: [says(words)] };
}

/** Someone who reads a chat. */
interface Reading {
  readonly frames: readonly Frame[];
  readonly ending: Promise<ChatEnding>;
}

describe.each(databaseKinds)('abort on %s', (kind) => {
  const opened = new AsyncDisposableStack();
  let model: LanguageModelServer;
  let nodes: ServerProcess[] = [];
  let apiKey = '';
  let env: Record<string, string> = {};
  let numbers = 0;

  beforeAll(async () => {
    model = await openLanguageModelServer(script);
    opened.defer(() => model.close());
    const installation = opened.use(await writeChatInstallation(model));
    const folder = await mkdtemp(join(tmpdir(), 'inlay-abort-'));
    opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    env = {
      ...installation.env,
      INLAY_DATA_DIR: join(folder, 'one'),
      INLAY_QUERY_TIMEOUT_MS: '600000',
      INLAY_RUN_LEASE_MS: '2000',
    };
    if (kind === 'postgres') {
      const database = await openTestDatabase('postgres');
      opened.defer(() => database.close());
      if (database.store.kind !== 'postgres') throw new Error('not PostgreSQL');
      Object.assign(env, { DATABASE_URL: database.store.url, INLAY_SECRET: secret });
    }
    apiKey = await installation.apply(env);
    // The embedded store is one process's alone.
    const folders = kind === 'postgres' ? ['one', 'two'] : ['one'];
    nodes = await Promise.all(folders.map((name) => startServer({ ...env, INLAY_DATA_DIR: join(folder, name) })));
    for (const node of nodes) opened.defer(() => node.end('SIGKILL'));
  }, 300_000);
  afterAll(() => opened.disposeAsync(), 60_000);

  const urlOf = (node: ServerProcess | undefined): string => node?.url ?? '';
  const writer = (): string => urlOf(nodes[0]);
  /** Where there is another node, that one. */
  const other = (): string => urlOf(nodes.at(-1));
  const newSpeaker = (): Speaker => {
    numbers += 1;
    return { apiKey, externalId: `speaker-${numbers}`, agentId: 1 };
  };

  function read(url: string, speaker: Speaker, request: ChatWords): Reading {
    const frames: Frame[] = [];
    const onFrame = (frame: Frame): void => void frames.push(frame);
    const ending = readChat({ url, speaker, words: request, cutAt: null, rests: { count: 0, ms: 0 }, onFrame });
    return { frames, ending };
  }

  /** Asks on the first node, with a second reader there and one on the other node; resolves when all have seen so much. */
  async function ask(input: string, hasSeen: (frames: readonly Frame[]) => boolean) {
    const speaker = newSpeaker();
    const first = read(writer(), speaker, { input: `${input} (${speaker.externalId})` });
    await until(() => first.frames.some(({ state }) => state !== undefined));
    const chatId = first.frames.find(({ state }) => state !== undefined)?.state?.chatId ?? '';
    const readings = [first, read(writer(), speaker, { chatId }), read(other(), speaker, { chatId })];
    await until(() => readings.every(({ frames }) => hasSeen(frames)));
    return { speaker, chatId, readings };
  }

  async function expectAborted({ readings }: { readonly readings: readonly Reading[] }): Promise<Frame[]> {
    for (const { ending } of readings) expect(await ending).toEqual({ kind: 'ended' });
    const lasts = readings.map(({ frames }) => frames.slice(-3));
    for (const [, aborted, usage] of lasts) {
      expect(aborted).toMatchObject({ id: '__aborted__', type: 'abort', code: 'chat_aborted' });
      expect(usage).toMatchObject({ id: '__usage__', type: 'usage', usage: { models: ['scripted'], llmCalls: 1 } });
    }
    return lasts.flatMap(([closed]) => closed ?? []);
  }

  const requestOf = (speaker: Speaker): WireRequest | undefined =>
    model.requests.find(({ text }) => text.includes(`(${speaker.externalId})`));
  const hasText = (frames: readonly Frame[]): boolean =>
    frames.map(({ graphPath, content }) => (graphPath === undefined ? '' : content)).join('') === words;

  test('in the middle of a text: the language model is left, and every reader is told', async () => {
    const asked = await ask('speak for ever', hasText);
    expect(await abortChat(other(), asked.speaker, asked.chatId)).toBe(204);
    for (const closed of await expectAborted(asked)) {
      expect(closed).toMatchObject({ content: words, isDelta: false, isInProcess: false });
    }
    expect(await requestOf(asked.speaker)?.ended).toBe('left');
    const later = read(other(), asked.speaker, { chatId: asked.chatId });
    expect(await later.ending).toEqual({ kind: 'ended' });
    expect(later.frames.slice(1).map(({ id, content }) => (id.startsWith('__') ? id : content))).toEqual([
      words,
      '__cutoff__',
    ]);
  });

  test('in the middle of queries: the engine is free, and every reader is told', async () => {
    const isCounting = (frames: readonly Frame[]): boolean => frames.some(({ toolCall }) => toolCall !== undefined);
    const all = await Promise.all(Array.from({ length: places }, () => ask('count for ever', isCounting)));
    for (const { speaker, chatId } of all) expect(await abortChat(other(), speaker, chatId)).toBe(204);
    for (const asked of all) {
      for (const closed of await expectAborted(asked)) {
        expect(closed.isInProcess).toBe(false);
        const error = { code: 'ABORTED', message: 'Stopped by the user.', hint: '' };
        expect(JSON.parse(closed.toolCall?.result ?? '')).toEqual({ error });
      }
    }
    // Were a query still running, these would wait for its place.
    const replies = all.map(async ({ speaker }) => {
      const reply = await fetch(`${writer()}/api/v1/deployments/1/cubesql`, {
        method: 'POST',
        headers: { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          query: 'SELECT MEASURE(count) FROM numbers',
          sessionSettings: { externalId: speaker.externalId, groups: ['everyone'], isEphemeral: false },
        }),
      });
      return [reply.status, (await reply.text()).includes('1000')];
    });
    expect(await Promise.all(replies)).toEqual(all.map(() => [200, true]));
  }, 60_000);

  test("another user's is refused, an unknown one not found, and one that is over is left as it is", async () => {
    const asked = await ask('speak for ever', hasText);
    for (const url of [writer(), other()]) {
      expect(await abortChat(url, newSpeaker(), asked.chatId)).toBe(403);
      expect(await abortChat(url, asked.speaker, '00000000-0000-4000-8000-000000000000')).toBe(404);
      expect(await abortChat(url, asked.speaker, 'no thread')).toBe(404);
    }
    expect(asked.readings.flatMap(({ frames }) => frames).filter(({ id }) => id === '__aborted__')).toEqual([]);
    await abortChat(writer(), asked.speaker, asked.chatId);
    await expectAborted(asked);
    expect(await abortChat(other(), asked.speaker, asked.chatId)).toBe(204);

    const speaker = newSpeaker();
    const whole = read(writer(), speaker, { input: `answer (${speaker.externalId})` });
    expect(await whole.ending).toEqual({ kind: 'ended' });
    const chatId = whole.frames.find(({ state }) => state !== undefined)?.state?.chatId ?? '';
    expect(await abortChat(other(), speaker, chatId)).toBe(204);
    const later = read(other(), speaker, { chatId });
    expect(await later.ending).toEqual({ kind: 'ended' });
    expect(later.frames.map(({ graphPath }) => graphPath?.[0])).toContain('final');
    expect(later.frames.map(({ id }) => id)).not.toContain('__aborted__');
  });

  test.runIf(kind === 'postgres')(
    'while its node is dead: whoever takes it over ends it',
    async () => {
      const asked = await ask('speak for ever', hasText);
      await nodes[0]?.end('SIGKILL');
      expect(await abortChat(other(), asked.speaker, asked.chatId)).toBe(204);
      const here = asked.readings.slice(-1);
      for (const { frames, ending } of here) {
        expect(await ending).toEqual({ kind: 'ended' });
        expect(frames.slice(-2).map(({ id }) => id)).toEqual(['__aborted__', '__usage__']);
        expect(frames.filter(({ id }) => id === frames.at(-3)?.id).at(-1)).toMatchObject({ isInProcess: false });
      }
      // Nobody asks the language model again for what is not wanted.
      expect(model.requests.filter(({ text }) => text.includes(`(${asked.speaker.externalId})`))).toHaveLength(1);
    },
    60_000,
  );
});
