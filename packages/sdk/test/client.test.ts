import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, type Credential, createClient } from '../src/client.ts';

/** What a plain HTTP server heard, and what it is to answer next. */
interface Heard {
  readonly method?: string | undefined;
  readonly settings?: string | undefined;
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}
let answer: (reply: ServerResponse) => void = () => undefined;
let heard: Heard | null = null;
let baseUrl = '';

const server = createServer(async (request: IncomingMessage, reply) => {
  const body = (await Array.fromAsync(request)).join('');
  heard = {
    path: request.url,
    authorization: request.headers.authorization,
    body: body === '' ? null : JSON.parse(body),
  };
  const settings = request.headers['x-inlay-session-settings'];
  if (request.method !== 'POST') heard = { ...heard, method: request.method, settings: settings?.toString() };
  answer(reply);
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() satisfies AddressInfo | string | null;
  if (address === null || typeof address === 'string') throw new Error('not listening');
  baseUrl = `http://127.0.0.1:${address.port}/`;
});
afterAll(() => server.close());

const client = (credential: Credential): Client => createClient({ baseUrl, credential });
const ofKey = (): Client => client({ kind: 'api-key', apiKey: 'sk-1' });
const json = (status: number, body: object, headers: Record<string, string> = {}) => {
  answer = (reply) => void reply.writeHead(status, headers).end(JSON.stringify(body));
};
const lines = (...body: object[]) => {
  answer = (reply) => void reply.writeHead(200).end(body.map((line) => `${JSON.stringify(line)}\n`).join(''));
};
const agent = { accountName: 'de mo', agentId: 1 };

describe('the client', () => {
  test('mints and exchanges a session', async () => {
    json(200, { sessionId: 's' });
    expect(await ofKey().generateSession({ deploymentId: 1, externalId: 'ann' })).toEqual({ sessionId: 's' });
    expect(heard).toEqual({
      path: '/api/v1/embed/generate-session',
      authorization: 'Api-Key sk-1',
      body: { deploymentId: 1, externalId: 'ann' },
    });
    const token = { token: 't', expiresAt: '2026-01-01T00:00:00.000Z' };
    json(200, token);
    expect(await ofKey().exchangeSession('s')).toEqual(token);
    expect(heard).toEqual({ path: '/api/v1/embed/session/token', authorization: undefined, body: { sessionId: 's' } });
  });

  test('streams a chat, and aborts it', async () => {
    const frame = { id: 'a', role: 'user', content: 'hi', sort: 1 };
    lines(frame, frame);
    const frames = await client({ kind: 'embed-token', token: 't' }).chat(agent, { input: 'hi' });
    expect(await Array.fromAsync(frames)).toEqual([frame, frame]);
    const path = '/api/v1/public/de%20mo/agents/1/chat/stream-chat-state';
    expect(heard).toEqual({ path, authorization: 'Bearer t', body: { input: 'hi' } });
    answer = (reply) => void reply.writeHead(204).end();
    await ofKey().abort(agent, { chatId: 'c', sessionSettings: { externalId: 'ann' } });
    expect(heard).toMatchObject({
      path: `${path}/abort`,
      body: { chatId: 'c', sessionSettings: { externalId: 'ann' } },
    });
  });

  test('lists threads and deletes one, for the user that a header names', async () => {
    const page = {
      items: [
        { chatId: 'c', title: 't', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
      ],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: 'x', endCursor: 'x' },
    };
    json(200, page);
    const sessionSettings = { externalId: 'zoë~?>' };
    expect(await ofKey().threads(agent, { first: 7, after: 'a b', sessionSettings })).toEqual(page);
    expect(heard).toMatchObject({
      method: 'GET',
      path: '/api/v1/public/de%20mo/agents/1/chat/threads?first=7&after=a+b',
      body: null,
    });
    expect(heard?.settings).toMatch(/^[\w-]+$/);
    expect(JSON.parse(String(Buffer.from(heard?.settings ?? '', 'base64url')))).toEqual(sessionSettings);
    expect(await client({ kind: 'embed-token', token: 't' }).threads(agent)).toEqual(page);
    expect(heard).toMatchObject({ path: '/api/v1/public/de%20mo/agents/1/chat/threads', authorization: 'Bearer t' });
    expect(heard?.settings).toBeUndefined();
    answer = (reply) => void reply.writeHead(204).end();
    await ofKey().deleteThread(agent, { chatId: '../c', sessionSettings });
    expect(heard).toMatchObject({ method: 'DELETE', path: '/api/v1/public/de%20mo/agents/1/chat/threads/..%2Fc' });
  });

  test('reads rows, and throws a failure on the way', async () => {
    const schema = { schema: [{ name: 'n', column_type: 'Int64' }] };
    lines(schema, { data: [[1], [2]] });
    expect(await Array.fromAsync(await ofKey().cubeSql(1, { query: 'SELECT 1' }))).toEqual([
      schema,
      { data: [[1], [2]] },
    ]);
    lines(schema, { error: 'The query took too long.' });
    const rows = Array.fromAsync(await ofKey().cubeSql(1, { query: 'SELECT 1' }));
    await expect(rows).rejects.toMatchObject({ code: 'QUERY_FAILED', message: 'The query took too long.' });
  });

  test('tells what went wrong', async () => {
    const issues = [{ path: 'input', message: 'must not be blank' }];
    const body = {
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Wait.',
      code: 'TOO_MANY_RUNS',
      requestId: 'r',
      issues,
    };
    json(429, body, { 'retry-after': '5' });
    await expect(ofKey().chat(agent, { input: 'hi' })).rejects.toMatchObject({
      name: 'InlayClientError',
      message: 'Wait.',
      code: 'TOO_MANY_RUNS',
      statusCode: 429,
      requestId: 'r',
      retryAfterSeconds: 5,
      issues,
    });
    answer = (reply) => void reply.writeHead(502).end('<html>');
    await expect(ofKey().exchangeSession('s')).rejects.toMatchObject({ code: 'REPLY_INVALID', statusCode: 502 });
    json(200, { session: 's' });
    await expect(ofKey().exchangeSession('s')).rejects.toMatchObject({ code: 'REPLY_INVALID' });
  });

  test('ends a call when told to', async () => {
    answer = (reply) => void reply.writeHead(200).write('{"id":"a","role":"user","content":"","sort":1}\n');
    const stop = new AbortController();
    const frames = await ofKey().chat(agent, { input: 'hi' }, { signal: stop.signal });
    await expect(
      (async () => {
        for await (const _frame of frames) stop.abort();
      })(),
    ).rejects.toMatchObject({ name: 'AbortError' });
  });
});
