import type { Frame } from '@inlay/contract/chat.ts';
import { type AgentAddress, type Client, type Credential, createClient } from '@inlay/sdk/client.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chatIdOf, until } from '../chat-world.ts';
import { databaseKinds } from '../databases.ts';
import { dumpTables } from '../seed.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

const agent: AgentAddress = { accountName: 'demo', agentId: 1 };
const base = '/api/v1/public/demo/agents/1/chat';
const path = `${base}/stream-chat-state`;
const unknownId = '00000000-0000-4000-8000-000000000000';
const settingsOf = (merchant: number) => ({
  externalId: `merchant-${merchant}`,
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: merchant }],
});

describe.each(databaseKinds)('chat over HTTP on %s', (kind) => {
  let server: TestServer;
  let key: string;
  let client: Client;
  beforeAll(async () => {
    server = await openTestServer({ kind });
    key = `Api-Key ${server.apiKey}`;
    client = clientOf({ kind: 'api-key', apiKey: server.apiKey });
  });
  afterAll(() => server.close());

  const clientOf = (credential: Credential): Client => createClient({ baseUrl: server.url, credential });
  const ask = async (merchant: number, input: string): Promise<Frame[]> =>
    Array.fromAsync(await client.chat(agent, { input, sessionSettings: settingsOf(merchant) }));
  const results = (frames: readonly Frame[]) =>
    frames.flatMap(({ toolCall }) =>
      toolCall?.name === 'platformSqlApi' && toolCall.result !== undefined ? [JSON.parse(toolCall.result)] : [],
    );

  test('a question streams to an answer out of the merchant’s rows alone', async () => {
    const frames = await ask(7, 'revenue by month');
    const state = foldFrames(frames);
    expect(state).toMatchObject({ isStreaming: false, error: null, isAborted: false });
    const [result] = results(frames);
    expect(Object.keys(result)).toEqual([
      ...['sqlQuery', 'queryTitle', 'description', 'userRequest', 'schema', 'data', 'totalRows', 'uuid', 'vegaSpec'],
    ]);
    expect(result.totalRows).toBeGreaterThan(0);
    expect(result.data.length).toBe(Math.min(100, result.totalRows));
    expect(JSON.parse(result.vegaSpec)).not.toHaveProperty('data');
    expect(finalAnswer(frames)).toBe(state.messages.at(-2)?.content);
    expect(state.usage).toMatchObject({ models: ['builtin-analyst'], queries: 1, rows: result.totalRows });
    expect(frames.filter(({ isDelta }) => isDelta).length).toBeGreaterThan(1);

    const [other] = results(await ask(8, 'revenue by month'));
    expect(other.data).not.toEqual(result.data);

    const chatId = chatIdOf(frames);
    const read = await Array.fromAsync(await client.chat(agent, { chatId, sessionSettings: settingsOf(7) }));
    expect(foldFrames(read)).toEqual({ ...state, usage: null });

    // A follow-up refers to the result that it builds upon.
    const next = await client.chat(agent, { chatId, input: 'only 2024', sessionSettings: settingsOf(7) });
    const followUp = await Array.fromAsync(next);
    const calls = followUp.flatMap(({ toolCall, sort }) =>
      toolCall?.name === 'platformSqlApi' && toolCall.result !== undefined && sort > state.messages.length
        ? [JSON.parse(toolCall.input)]
        : [],
    );
    expect(calls).toMatchObject([{ memoryId: result.uuid }]);
  });

  test('a user without rights gets no row', async () => {
    const sessionSettings = { externalId: 'nobody' };
    const frames = await Array.fromAsync(await client.chat(agent, { input: 'revenue by month', sessionSettings }));
    expect(finalAnswer(frames)).not.toBeNull();
    expect(results(frames).flatMap(({ data = [] }) => data)).toEqual([]);
    const metadata = frames.flatMap(({ toolCall }) =>
      toolCall?.name === 'platformMeta' && toolCall.result ? [JSON.parse(toolCall.result)] : [],
    );
    for (const { cubes } of metadata) expect(cubes).toEqual([]);
  });

  test('an embed token opens the chat of its own user', async () => {
    const bearer = await openSession(server, server.demo, settingsOf(7));
    const own = clientOf({ kind: 'embed-token', token: bearer.slice('Bearer '.length) });
    const frames = await Array.fromAsync(await own.chat(agent, { input: 'total revenue' }));
    const chatId = chatIdOf(frames);
    expect(finalAnswer(frames)).not.toBeNull();
    // The same user, named by an API key.
    const read = await Array.fromAsync(await client.chat(agent, { chatId, sessionSettings: settingsOf(7) }));
    expect(finalAnswer(read)).toBe(finalAnswer(frames));
    await expect(client.chat(agent, { chatId, sessionSettings: settingsOf(8) })).rejects.toMatchObject({
      statusCode: 404,
    });
    await expect(own.chat({ accountName: 'other', agentId: 2 }, { input: 'hi' })).rejects.toMatchObject({
      statusCode: 404,
    });
    await expect(own.chat(agent, { input: 'hi', activeBranchName: 'dev' })).rejects.toMatchObject({
      code: 'BRANCH_NOT_ALLOWED',
    });
    await own.abort(agent, { chatId });
  });

  test('is sent as whole lines that nobody keeps', async () => {
    const reply = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: key, 'accept-encoding': 'gzip' },
      body: JSON.stringify({ sessionSettings: settingsOf(7) }),
    });
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(reply.headers.get('content-encoding')).toBeNull();
    expect(await reply.text()).toMatch(/^\{"id":"__cutoff__".*"isStreaming":false\}\}\n$/);
  });

  test('what is refused is refused before the stream begins, and changes nothing', async () => {
    const before = await dumpTables(server.context.db);
    const sessionSettings = { externalId: 'never-made' };
    const input = 'hi';
    const cases: readonly (readonly [string, string, object, string | undefined, number, string])[] = [
      ['no credential', path, { input, sessionSettings }, undefined, 401, 'UNAUTHENTICATED'],
      ['another account', path.replace('demo', 'other'), { input, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['the agent of another account', path.replace('/1/', '/2/'), { input, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['no such agent', path.replace('/1/', '/99999999999/'), { input, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['a path before a body', path.replace('/1/', '/x/'), { input: 5 }, key, 404, 'NOT_FOUND'],
      ['a region', `/eu-1${path}`, { input, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['no user', path, { input }, key, 400, 'SESSION_SETTINGS_REQUIRED'],
      ['a blank input', path, { input: '  ', sessionSettings }, key, 400, 'INVALID_REQUEST'],
      ['a long input', path, { input: 'x'.repeat(32_001), sessionSettings }, key, 400, 'INPUT_TOO_LONG'],
      ['a blank chatId', path, { chatId: ' ', sessionSettings }, key, 400, 'INVALID_REQUEST'],
      [
        'a messageId that is none',
        path,
        { input, messageId: '1-message', sessionSettings },
        key,
        400,
        'INVALID_REQUEST',
      ],
      ['a branch', path, { input, activeBranchName: 'dev', sessionSettings }, key, 404, 'BRANCH_NOT_FOUND'],
      ['no branch', path, { input, isDefaultBranch: false, sessionSettings }, key, 400, 'INVALID_REQUEST'],
      [
        'roles',
        path,
        { input, sessionSettings: { ...sessionSettings, roles: ['x'] } },
        key,
        400,
        'FIELD_NOT_SUPPORTED',
      ],
      ['no such thread', path, { input, chatId: unknownId, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['no such thread to read', path, { chatId: unknownId, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['no thread without a user', path, { chatId: unknownId }, key, 400, 'SESSION_SETTINGS_REQUIRED'],
      ['abort: no such thread', `${path}/abort`, { chatId: unknownId, sessionSettings }, key, 404, 'NOT_FOUND'],
      ['abort: no thread', `${base}/abort`, { sessionSettings }, key, 400, 'INVALID_REQUEST'],
      ['abort: a region', `/eu-1${base}/abort`, { chatId: unknownId }, key, 404, 'NOT_FOUND'],
    ];
    for (const [what, where, body, authorization, status, code] of cases) {
      const reply = await postJson(server, where, body, authorization);
      expect([what, reply.status, reply.body['code']]).toEqual([what, status, code]);
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('a chatId is text: in capitals it is the same thread, and what no thread has is not found', async () => {
    const sessionSettings = settingsOf(7);
    const chatId = chatIdOf(await ask(7, 'total revenue'));
    const read = (id: string) => client.chat(agent, { chatId: id, sessionSettings });
    expect(await Array.fromAsync(await read(chatId.toUpperCase()))).toEqual(await Array.fromAsync(await read(chatId)));
    for (const id of ['x', `${chatId} `, `{${chatId}}`, '00000000-0000-0000-0000-000000000001', "'", '\0']) {
      await expect(read(id)).rejects.toMatchObject({ statusCode: 404, code: 'NOT_FOUND' });
      const abort = client.abort(agent, { chatId: id, sessionSettings });
      await expect(abort).rejects.toMatchObject({ statusCode: 404, code: 'NOT_FOUND' });
    }
  });

  test('needs a plan that has it, whatever its case; an abort does not', async () => {
    const { db } = server.context;
    const sessionSettings = settingsOf(7);
    const chatId = chatIdOf(await Array.fromAsync(await client.chat(agent, { sessionSettings })));
    const setPlan = (plan: string) => db.updateTable('accounts').set({ plan }).where('name', '=', 'demo').execute();
    await setPlan('starter');
    try {
      await expect(client.chat(agent, { sessionSettings })).rejects.toMatchObject({
        statusCode: 403,
        code: 'PLAN_REQUIRED',
      });
      await client.abort(agent, { chatId, sessionSettings });
      await setPlan('PREMIUM');
      await client.chat(agent, { sessionSettings });
    } finally {
      await setPlan('enterprise');
    }
  });

  test('an abort is the owner’s, on both paths, and makes nobody', async () => {
    const chatId = chatIdOf(await ask(7, 'total revenue'));
    const before = await dumpTables(server.context.db);
    for (const end of ['stream-chat-state/abort', 'abort']) {
      const abort = (sessionSettings: unknown) => postJson(server, `${base}/${end}`, { chatId, sessionSettings }, key);
      expect(await abort(settingsOf(7))).toMatchObject({ status: 204, body: {} });
      for (const settings of [settingsOf(8), { externalId: 'unknown' }, undefined]) {
        expect(await abort(settings)).toMatchObject({ status: 403, body: { code: 'THREAD_NOT_OWNED' } });
      }
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('a client that hangs up at once finds the whole answer later', async () => {
    const sessionSettings = settingsOf(7);
    const gone = new AbortController();
    const seen: Frame[] = [];
    const reading = (async () => {
      for await (const frame of await client.chat(
        agent,
        { input: 'revenue by category', sessionSettings },
        { signal: gone.signal },
      )) {
        seen.push(frame);
        gone.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    const chatId = chatIdOf(seen);
    const read = async () => Array.fromAsync(await client.chat(agent, { chatId, sessionSettings }));
    await until(async () => !(await read()).some(({ state }) => state?.isStreaming));
    const answer = finalAnswer(await read());
    expect(answer).toBe(finalAnswer(await ask(7, 'revenue by category')));
  });
});
