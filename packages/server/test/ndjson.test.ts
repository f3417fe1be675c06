import { get } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { InlayError } from '../src/errors.ts';
import { failureOf } from '../src/http/error-response.ts';
import { disconnectSignal, sendJson, sendNdjson } from '../src/http/ndjson.ts';
import { until } from './chat-world.ts';

const defect = new TypeError('a defect');
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that sends the lines; resolves `done` with what sendNdjson threw, or null. */
async function serve(
  lines: (signal: AbortSignal) => AsyncIterable<object | string>,
  errorLine?: (error: unknown) => object,
  stallMs?: number,
  ended?: AbortSignal,
) {
  const app = fastify();
  closing.push(() => app.close());
  const { promise: done, resolve } = Promise.withResolvers<unknown>();
  app.get('/', async (_request, reply) => {
    reply.header('x-request-id', 'req_1');
    try {
      await sendNdjson(reply, lines(disconnectSignal(reply)), {
        ...(errorLine && { errorLine }),
        ...(stallMs && { stallMs }),
        ...(ended && { ended }),
      });
      resolve(null);
    } catch (error) {
      resolve(error);
      throw error;
    }
    return reply;
  });
  const connections = (): Promise<number> =>
    new Promise((found, fail) => {
      app.server.getConnections((error, count) => (error === null ? found(count) : fail(error)));
    });
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), done, connections };
}

async function* count(to: number, failure?: Error): AsyncGenerator<{ n: number }> {
  if (failure !== undefined) throw failure;
  for (let n = 0; n < to; n++) yield { n };
}

test('lines are whole, each ends with a newline, and the headers forbid buffering', async () => {
  const { url, done } = await serve(() => count(3));
  const reply = await fetch(url);
  expect(await reply.text()).toBe('{"n":0}\n{"n":1}\n{"n":2}\n');
  expect(await done).toBeNull();
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    'content-type': 'application/x-ndjson; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': 'req_1',
  });
});

test('texts are lines already; those that are there at once go out together, each chunk whole lines', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const { url, done } = await serve(async function* () {
    for (let n = 0; n < 1_000; n++) yield `{"n":${n}}\n`;
    await go;
    yield '{"n":"ü"}\n';
    yield { n: 'last' };
  });
  const chunks: string[] = [];
  const request = get(url);
  const response = await new Promise<import('node:http').IncomingMessage>((found) => request.once('response', found));
  for await (const bytes of response) {
    chunks.push(String(bytes));
    if (chunks.join('').includes('"n":999')) resolve();
  }
  expect(await done).toBeNull();
  const expected = [...Array(1_000).keys(), 'ü', 'last'].map((n) => `${JSON.stringify({ n })}\n`).join('');
  expect(chunks.join('')).toBe(expected);
  // The parser of the client may cut a chunk of ours; it never makes more of them than the writes that a line each would be.
  expect(chunks.length).toBeLessThan(20);
  for (const chunk of chunks) expect(chunk.endsWith('\n')).toBe(true);
});

test('an expected failure later breaks the reply off, and is nobody’s defect', async () => {
  const { url, done } = await serve(async function* () {
    yield { n: 0 };
    await nextTurn();
    throw new InlayError('NOT_READY', 'The server is stopping.');
  });
  await expect(fetch(url).then((reply) => reply.text())).rejects.toThrow();
  expect(await done).toBeNull();
});

test('no line at all is an empty reply', async () => {
  const { url } = await serve(() => count(0));
  const reply = await fetch(url);
  expect([reply.status, await reply.text()]).toEqual([200, '']);
});

test('a failure before the first line is an HTTP error', async () => {
  const { url } = await serve(() => count(Number.NaN, new Error('at once')));
  expect((await fetch(url)).status).toBe(500);
});

test('a failure later is the last line, or without one breaks the reply off', async () => {
  async function* failing() {
    yield { n: 0 };
    throw new Error('later');
  }
  const told = await serve(failing, (error) => ({ error: String(error) }));
  expect(await (await fetch(told.url)).text()).toBe('{"n":0}\n{"error":"Error: later"}\n');
  const broken = await serve(failing);
  await expect(fetch(broken.url).then((reply) => reply.text())).rejects.toThrow();
  expect(await broken.done).toBeInstanceOf(Error);
});

test('a client that does not read holds the lines back', async () => {
  let made = 0;
  const text = 'x'.repeat(100_000);
  const { url } = await serve(async function* () {
    for (; made < 2_000; made++) yield { text };
  });
  const request = get(url);
  const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
    request.once('response', resolve),
  );
  response.pause();
  let before = -1;
  // The maker stops once the buffers of both ends are full: far from all of 200 MB.
  const deadline = Date.now() + 20_000;
  for (let still = 0; still < 200 && Date.now() < deadline; before = made) {
    still = made === before ? still + 1 : 0;
    await nextTurn();
  }
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(1_000);
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  expect(bytes).toBe(2_000 * (text.length + '{"text":""}\n'.length));
});

test('a client that takes nothing for long is gone', async () => {
  const text = 'x'.repeat(100_000);
  let isReturned = false;
  const endless = async function* () {
    try {
      while (true) yield { text };
    } finally {
      isReturned = true;
    }
  };
  const { url, done } = await serve(endless, undefined, 50);
  const request = get(url);
  const { promise: broken, resolve } = Promise.withResolvers<void>();
  request.on('error', () => resolve());
  request.once('response', (response) => {
    response.on('error', () => resolve());
    response.pause();
  });
  expect(await done).toBeNull();
  expect(isReturned).toBe(true);
  request.destroy();
  await broken;
});

test('when the client goes away the iterator is returned and the signal aborts', async () => {
  let isReturned = false;
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
  const { url, done } = await serve(async function* (signal) {
    signal.addEventListener('abort', () => resolve(signal.reason));
    try {
      yield { n: 0 };
      await aborted;
      yield { n: 1 };
      yield { n: 2 };
    } finally {
      isReturned = true;
    }
  });
  const abort = new AbortController();
  const reply = await fetch(url, { signal: abort.signal });
  await reply.body?.getReader().read();
  abort.abort();
  // A hang-up is nobody's defect.
  expect(failureOf(await aborted)).toMatchObject({ code: 'ABORTED', isLogged: false });
  expect(await done).toBeNull();
  expect(isReturned).toBe(true);
});

test.each([
  ['an expected failure of lines that nobody reads any more is nobody’s', new InlayError('ABORTED', 'Gone.'), null],
  ['a defect is told all the same', defect, defect],
])('%s', async (_name, failure, told) => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const { url, done } = await serve(async function* (signal) {
    signal.addEventListener('abort', () => resolve());
    yield { n: 0 };
    await gone;
    throw failure;
  });
  const abort = new AbortController();
  const reply = await fetch(url, { signal: abort.signal });
  await reply.body?.getReader().read();
  abort.abort();
  expect(await done).toBe(told);
});

test('the signal does not abort when the reply has ended', async () => {
  let signal: AbortSignal | undefined;
  const { url, done } = await serve((given) => {
    signal = given;
    return count(1);
  });
  await (await fetch(url)).text();
  await done;
  for (const close of closing.splice(0)) await close();
  expect(signal?.aborted).toBe(false);
});

/** Lines without end, until the reader may not read on. */
async function* untilEnded(ended: AbortSignal, text: string): AsyncGenerator<{ text: string }> {
  while (true) {
    await nextTurn();
    ended.throwIfAborted();
    yield { text };
  }
}

test('pieces of JSON are one text, however they are cut; a failure in the middle breaks it off', async () => {
  const app = fastify();
  closing.push(() => app.close());
  const text = JSON.stringify(['👩‍👩‍👧'.repeat(60_000), 'é'.repeat(65_535), '😀'.repeat(65_537)]);
  app.get('/whole', async (_request, reply) => {
    await sendJson(reply, piecesOf('', text.slice(0, 3), text.slice(3, 200_001), text.slice(200_001)));
    return reply;
  });
  app.get('/broken', async (_request, reply) => {
    await sendJson(reply, piecesOf('[1', new InlayError('SESSION_ENDED', 'over')));
    return reply;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const whole = await fetch(`${url}/whole`);
  expect(whole.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await whole.text()).toBe(text);
  await expect(fetch(`${url}/broken`).then((reply) => reply.text())).rejects.toThrow();
});

async function* piecesOf(...pieces: readonly (string | Error)[]): AsyncGenerator<string> {
  for (const piece of pieces) {
    if (typeof piece !== 'string') throw piece;
    yield piece;
  }
}

test('when the client may not read on, the last line says so and the reply ends', async () => {
  const ended = new AbortController();
  const { url, done } = await serve(
    () => untilEnded(ended.signal, 'x'),
    (error) => ({ error: String(error) }),
    undefined,
    ended.signal,
  );
  const reply = await fetch(url);
  ended.abort('over');
  const lines = (await reply.text()).trimEnd().split('\n');
  expect(lines.at(-1)).toBe('{"error":"over"}');
  expect(await done).toBeNull();
});

test('a client that may not read on and does not read is cut off, whatever still waits for it', async () => {
  const ended = new AbortController();
  let made = 0;
  const { url, done, connections } = await serve(
    async function* () {
      for await (const line of untilEnded(ended.signal, 'x'.repeat(100_000))) {
        made += 1;
        yield line;
      }
    },
    (error) => ({ error: String(error) }),
    undefined,
    ended.signal,
  );
  const request = get(url).on('error', () => undefined);
  request.once('response', (response) => {
    response.on('error', () => undefined).pause();
  });
  // The maker waits for the client once the buffers of both ends are full.
  for (let before = -1, still = 0; still < 200; before = made) {
    await nextTurn();
    still = made === before && made > 0 ? still + 1 : 0;
  }
  ended.abort('over');
  expect(await done).toBeNull();
  await until(async () => (await connections()) === 0);
  request.destroy();
});
