/** The Model Context Protocol over real HTTP, with the client of its own library (docs/guides/mcp.md). */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCancellations } from '../../src/http/mcp/cancellations.ts';
import { type ScriptStep, say, scripted, stall, wait } from '../scripted-language-model.ts';
import { dumpTables } from '../seed.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await openTestServer();
});
afterAll(() => server.close());
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const merchant = (id: number) => ({
  externalId: `merchant-${id}`,
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: id }],
});
const encode = (settings: unknown): string => Buffer.from(JSON.stringify(settings)).toString('base64url');
const urlOf = (deploymentId: number, query = ''): URL =>
  new URL(`${server.url}/api/v1/deployments/${deploymentId}/mcp${query}`);
const asMerchant = (id: number): Record<string, string> => ({
  authorization: `Api-Key ${server.apiKey}`,
  'x-inlay-session-settings': encode(merchant(id)),
});

async function connect(headers: Record<string, string>, url: URL = urlOf(1)): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  await client.connect(transport);
  clients.push(client);
  return client;
}

/** What a call gives: what is in its first text, parsed where it is JSON. */
async function call(client: Client, name: string, input: Record<string, unknown>): Promise<CallReply> {
  const reply = await client.callTool({ name, arguments: input });
  const [first] = Array.isArray(reply.content) ? reply.content : [];
  const text = String(first?.text);
  return {
    isError: reply.isError === true,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : null,
    structured: Object(reply.structuredContent),
  };
}
interface CallReply {
  readonly isError: boolean;
  readonly text: string;
  readonly json: Record<string, unknown> | null;
  readonly structured: Record<string, unknown>;
}
const orders = {
  sqlQuery: 'select measure(orders_count) from sales',
  queryTitle: 'Orders',
  description: 'All orders.',
  userRequest: 'How many orders?',
};

/** Posts a message as it is. */
async function post(body: unknown, headers: Record<string, string>, url: URL = urlOf(1)) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('the client of the library', () => {
  test('lists the tools, and each user gets their own rows and members', async () => {
    const client = await connect(asMerchant(7));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'platformMeta',
      'platformSqlApi',
      'chat',
    ]);
    expect(client.getServerVersion()?.name).toBe('inlay');
    const counts = new Set<unknown>();
    for (const [id, account] of [
      [7, server.demo],
      [8, server.demo],
      [9, server.other],
    ] as const) {
      const own = await connect(
        { authorization: `Api-Key ${account.apiKey}`, 'x-inlay-session-settings': encode(merchant(id)) },
        urlOf(account.deploymentId),
      );
      const { json, isError, structured } = await call(own, 'platformSqlApi', orders);
      expect(isError).toBe(false);
      expect(json).toMatchObject({ totalRows: 1, sqlQuery: orders.sqlQuery, schema: [{ name: 'orders_count' }] });
      expect(structured).toEqual(json);
      counts.add(JSON.stringify(json?.['data']));
    }
    expect(counts.size).toBe(3);
    const meta = await call(client, 'platformMeta', { searchQuery: 'orders' });
    expect(JSON.stringify(meta.json)).toContain('orders_count');
    const nobody = await connect({ ...asMerchant(7), 'x-inlay-session-settings': encode({ externalId: 'nobody' }) });
    expect((await call(nobody, 'platformMeta', { searchQuery: 'orders' })).json).toMatchObject({ cubes: [] });
    expect((await call(nobody, 'platformSqlApi', orders)).json).toMatchObject({
      error: { code: 'RELATION_NOT_FOUND' },
    });
  });

  test('with an embed token it is the user of the token, whatever the header says', async () => {
    const token = await openSession(server, server.demo, merchant(7));
    const own = await call(await connect({ authorization: token }), 'platformSqlApi', orders);
    const header = { 'x-inlay-session-settings': encode({ internalId: 'analyst' }) };
    expect(
      (await call(await connect({ authorization: token, ...header }), 'platformSqlApi', orders)).json?.['data'],
    ).toEqual(own.json?.['data']);
    const staff = await connect({ authorization: `Api-Key ${server.apiKey}`, ...header });
    expect((await call(staff, 'platformSqlApi', orders)).json?.['data']).not.toEqual(own.json?.['data']);
  });

  test('a call that fails says what is wrong, and nothing of the inside', async () => {
    const client = await connect(asMerchant(7));
    const wrong = await call(client, 'platformSqlApi', { ...orders, sqlQuery: 'select nothing from sales' });
    expect(wrong).toMatchObject({ isError: true, json: { error: { code: 'MEMBER_NOT_FOUND' } } });
    const refused = await call(client, 'platformSqlApi', { ...orders, sqlQuery: 'select version() from sales' });
    expect(refused).toMatchObject({ isError: true, json: { error: { code: 'SQL_NOT_SUPPORTED' } } });
    expect(refused.text).not.toMatch(/web|store|duckdb|parquet/i);
    expect(await call(client, 'platformSqlApi', {})).toMatchObject({ json: { error: { code: 'TOOL_INPUT_INVALID' } } });
    await expect(client.callTool({ name: 'unknown', arguments: {} })).rejects.toThrow(
      // Once: by the client's library.
      /^MCP error -32602: There is no such tool\.$/,
    );
  });

  test('a branch in the address is asked under the rules of the data API', async () => {
    await call(await connect(asMerchant(7), urlOf(1, '?branch=main')), 'platformSqlApi', orders);
    const client = await connect(asMerchant(7), urlOf(1, '?branch=none'));
    await expect(client.callTool({ name: 'platformSqlApi', arguments: orders })).rejects.toThrow('BRANCH_NOT_FOUND');
    const token = await openSession(server, server.demo, merchant(7));
    const bound = await connect({ authorization: token }, urlOf(1, '?branch=none'));
    await expect(bound.callTool({ name: 'platformMeta', arguments: {} })).rejects.toThrow('BRANCH_NOT_ALLOWED');
  });
});

describe('chat', () => {
  test('gives the answer and the chat to go on with, and tells meanwhile how it goes', async () => {
    const client = await connect(asMerchant(7));
    const told: string[] = [];
    const reply = await client.callTool({ name: 'chat', arguments: { input: 'How many orders?' } }, undefined, {
      onprogress: ({ message = '' }) => told.push(message),
    });
    const { answer, chatId } = Object(reply.structuredContent);
    expect(answer).toMatch(/\d/);
    expect(reply.content).toEqual([
      { type: 'text', text: answer },
      { type: 'text', text: `chatId: ${chatId}` },
    ]);
    expect(told[0]).toBe(`chatId: ${chatId}`);
    expect(told).toContain('platformSqlApi: begun');
    const next = await call(client, 'chat', { input: 'And by channel?', chatId });
    expect(next.structured['chatId']).toBe(chatId);
    expect(next.text).not.toBe(answer);
  });

  test("another user's chat, another account's agent and a wrong input are refused", async () => {
    const client = await connect(asMerchant(7));
    const { structured } = await call(client, 'chat', { input: 'How many orders?' });
    const other = await connect(asMerchant(8));
    const { chatId } = structured;
    expect(await call(other, 'chat', { input: 'And now?', chatId })).toMatchObject({
      json: { error: { code: 'NOT_FOUND' } },
    });
    expect(await call(client, 'chat', { input: 'Hi', agentId: 2 })).toMatchObject({
      json: { error: { code: 'NOT_FOUND' } },
    });
    for (const input of [{}, { input: ' ' }, { input: 7 }, { input: 'Hi', agentId: 'one' }]) {
      expect(await call(client, 'chat', input)).toMatchObject({ json: { error: { code: 'TOOL_INPUT_INVALID' } } });
    }
    expect(await call(client, 'chat', { input: 'x'.repeat(32_001) })).toMatchObject({
      json: { error: { code: 'INPUT_TOO_LONG' } },
    });
  });

  test('is there for those only who may chat', async () => {
    const token = await openSession(server, server.demo, { ...merchant(7), settings: { allowAi: false } });
    const client = await connect({ authorization: token });
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('chat');
    expect(await call(client, 'chat', { input: 'Hi' })).toMatchObject({ json: { error: { code: 'AI_NOT_ALLOWED' } } });
    const { db } = server.context;
    await db.updateTable('accounts').set({ plan: 'starter' }).where('id', '=', server.other.accountId).execute();
    const poor = await connect(
      { authorization: `Api-Key ${server.other.apiKey}`, 'x-inlay-session-settings': encode(merchant(7)) },
      urlOf(2),
    );
    expect((await poor.listTools()).tools.map(({ name }) => name)).not.toContain('chat');
    expect(await call(poor, 'chat', { input: 'Hi' })).toMatchObject({ json: { error: { code: 'PLAN_REQUIRED' } } });
    await db.updateTable('accounts').set({ plan: 'enterprise' }).where('id', '=', server.other.accountId).execute();
  });

  test('of several agents one has to be named', async () => {
    const { db } = server.context;
    await db
      .insertInto('agents')
      .values({ id: 77, account_id: server.accountId, deployment_id: 1, name: 'second' })
      .execute();
    const client = await connect(asMerchant(7));
    expect(await call(client, 'chat', { input: 'How many orders?' })).toMatchObject({
      json: { error: { code: 'TOOL_INPUT_INVALID' } },
    });
    expect((await call(client, 'chat', { input: 'How many orders?', agentId: 77 })).structured['answer']).toMatch(/\d/);
    await db.deleteFrom('agents').where('id', '=', 77).execute();
  });
});

describe('what is checked before', () => {
  test('a credential that does not open is 401, whatever is sent; another deployment is 404', async () => {
    for (const authorization of ['Api-Key sk-wrong', 'Bearer wrong', '']) {
      const headers = { ...asMerchant(7), authorization };
      expect((await post('nonsense', headers)).status).toBe(401);
      await expect(connect(headers)).rejects.toThrow('UNAUTHENTICATED');
    }
    expect((await post(listTools, asMerchant(7), urlOf(2))).status).toBe(404);
    const token = await openSession(server, server.demo, merchant(7));
    expect((await post(listTools, { authorization: token }, urlOf(2))).status).toBe(404);
    expect((await post(listTools, { authorization: token }, urlOf(99))).status).toBe(404);
  });

  test('an API key without a user is refused at once, and a message that calls nothing makes none', async () => {
    const { authorization = '' } = asMerchant(7);
    const reply = await post(listTools, { authorization });
    expect([reply.status, JSON.parse(reply.text).code]).toEqual([400, 'SESSION_SETTINGS_REQUIRED']);
    const before = await dumpTables(server.context.db);
    const headers = { authorization, 'x-inlay-session-settings': encode({ externalId: 'not-yet' }) };
    expect((await post(listTools, headers)).status).toBe(200);
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    expect((await post(cancelled, headers)).status).toBe(202);
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test.each([
    ['a batch', [listTools, listTools]],
    ['no message', { hello: 1 }],
    ['half a message', { jsonrpc: '2.0', params: {} }],
    ['a text', 'tools/list'],
    ['nothing', undefined],
  ])('%s is 400', async (_what, body) => {
    expect((await post(body, asMerchant(7))).status).toBe(400);
  });

  test('a client that takes JSON only gets JSON, and a version that is not known is 400', async () => {
    const message = {
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: { name: 'platformSqlApi', arguments: orders },
    };
    const reply = await post(message, { ...asMerchant(7), accept: 'application/json' });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(JSON.parse(reply.text)).toMatchObject({ id: 'a', result: { structuredContent: { totalRows: 1 } } });
    const events = await post(message, asMerchant(7));
    expect(events.headers.get('content-type')).toBe('text/event-stream');
    const old = await post(listTools, { ...asMerchant(7), 'mcp-protocol-version': '1999-01-01' });
    expect([old.status, JSON.parse(old.text).code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('what comes back with every word of progress is short', async () => {
    const asked = (progressToken: unknown) => ({ ...listTools, params: { _meta: { progressToken, 'x/y': 'z' } } });
    expect((await post(asked('t'.repeat(256)), asMerchant(7))).status).toBe(400);
    for (const token of ['t'.repeat(255), 7, undefined]) {
      expect((await post(asked(token), asMerchant(7))).status).toBe(200);
    }
  });

  test('there are no sessions of the protocol: GET and DELETE are 405', async () => {
    for (const method of ['GET', 'DELETE']) {
      const reply = await fetch(urlOf(1), { method, headers: asMerchant(7) });
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
      expect((await fetch(urlOf(1), { method })).status).toBe(401);
    }
  });

  test('a page may call where its account lists it', async () => {
    const origin = 'https://app.example.com';
    const { db, accountId } = { db: server.context.db, accountId: server.accountId };
    await db
      .updateTable('accounts')
      .set({ allowed_origins: JSON.stringify([origin]) })
      .where('id', '=', accountId)
      .execute();
    const authorization = await openSession(server, server.demo, merchant(7));
    const reply = await post(listTools, { authorization, origin });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    const byKey = await post(listTools, { ...asMerchant(7), origin });
    expect(byKey.headers.get('access-control-allow-origin')).toBeNull();
    const preflight = await fetch(urlOf(1), { method: 'OPTIONS', headers: { origin } });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version');
  });
});

describe('a chat that goes on', () => {
  let steps: readonly ScriptStep[] = [];
  let held: TestServer;
  beforeAll(async () => {
    held = await openTestServer({ languageModel: scripted(() => steps) });
  });
  afterAll(() => held.close());
  const url = () => new URL(`${held.url}/api/v1/deployments/1/mcp`);
  const headers = () => ({
    authorization: `Api-Key ${held.apiKey}`,
    'x-inlay-session-settings': encode({ externalId: 'holder', isEphemeral: false }),
  });
  const stateOf = async (chatId: string) =>
    (await held.context.db.selectFrom('runs').select('state').where('thread_id', '=', chatId).executeTakeFirst())
      ?.state;

  /** Calls the chat until it has begun. */
  async function begin(client: Client, signal: AbortSignal) {
    const { promise: begun, resolve } = Promise.withResolvers<string>();
    const reply = client.callTool({ name: 'chat', arguments: { input: 'Go on' } }, undefined, {
      signal,
      onprogress: ({ message = '' }) => resolve(message.replace('chatId: ', '')),
    });
    reply.catch(() => undefined);
    return { reply, chatId: await begun };
  }

  test('is aborted when the client cancels it', async () => {
    steps = [say('One'), stall];
    const controller = new AbortController();
    const { reply, chatId } = await begin(await connect(headers(), url()), controller.signal);
    expect(await stateOf(chatId)).toBe('running');
    controller.abort();
    await expect(reply).rejects.toThrow();
    await expect.poll(() => stateOf(chatId), { timeout: 10_000 }).toBe('aborted');
  });

  test('goes on when the client goes away', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    steps = [say('One'), wait(promise), say(' and two')];
    const client = await connect(headers(), url());
    const { chatId } = await begin(client, new AbortController().signal);
    await client.close();
    resolve();
    await expect.poll(() => stateOf(chatId), { timeout: 10_000 }).toBe('completed');
  });

  test('ends with the session, and says so', async () => {
    steps = [say('One'), stall];
    const minted = await postJson(
      held,
      '/api/v1/embed/generate-session',
      { deploymentId: 1, externalId: 'revoked' },
      `Api-Key ${held.apiKey}`,
    );
    const { body } = await postJson(held, '/api/v1/embed/session/token', minted.body);
    const client = await connect({ authorization: `Bearer ${body['token']}` }, url());
    const { reply } = await begin(client, new AbortController().signal);
    await postJson(held, '/api/v1/embed/session/revoke', minted.body, `Api-Key ${held.apiKey}`);
    expect(await reply).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('SESSION_ENDED') }, { text: expect.stringMatching(/^chatId: /) }],
    });
  });

  test('fails as the run fails, in the words of the chat', async () => {
    steps = [new Error('secret inside')];
    const { isError, text, structured } = await call(await connect(headers(), url()), 'chat', { input: 'Fail' });
    expect(isError).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'LANGUAGE_MODEL_FAILED' } });
    expect(text).not.toContain('secret');
    // The thread has the question: the next call can go on in it.
    expect(structured).toEqual({ chatId: expect.stringMatching(/^[\w-]+$/) });
  });
});

test('where two clients of a user use the same number, neither call is cancelled', () => {
  const { enter, cancel } = createCancellations();
  using one = enter('user', 1);
  const other = enter('user', 1);
  using third = enter('user', '1');
  cancel('user', 1);
  cancel('nobody', 1);
  expect([one, other, third].map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
  other[Symbol.dispose]();
  cancel('user', 1);
  expect([one, other, third].map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
});
