/** The list of threads, and their deletion, for the user of the caller and nobody else. */
import type { Frame, ThreadPage } from '@inlay/contract/chat.ts';
import { type AgentAddress, type Client, createClient } from '@inlay/sdk/client.ts';
import { followThread } from '@inlay/sdk/follow-thread.ts';
import { foldFrames, type ThreadState } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chatIdOf, until } from '../chat-world.ts';
import { databaseKinds } from '../databases.ts';
import { say, scripted, stall } from '../scripted-language-model.ts';
import { dumpTables } from '../seed.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const agent: AgentAddress = { accountName: 'demo', agentId: 1 };
const base = '/api/v1/public/demo/agents/1/chat';
const unknownId = '00000000-0000-4000-8000-000000000000';

describe.each(databaseKinds)('threads on %s', (kind) => {
  let server: TestServer;
  let byKey: Client;
  let now = Date.parse('2026-05-01T10:00:00Z');
  let users = 0;
  beforeAll(async () => {
    const languageModel = scripted((messages) => {
      const last = messages.at(-1);
      return last?.role === 'user' && last.content.startsWith('stall') ? [say('So far'), stall] : [say('Done.')];
    });
    server = await openTestServer({ kind, clock: () => new Date(now), languageModel });
    byKey = createClient({ baseUrl: server.url, credential: { kind: 'api-key', apiKey: server.apiKey } });
  });
  afterAll(() => server.close());

  const newUser = () => ({ externalId: `threads-${kind}-${++users}` });
  const withToken = async (user: Record<string, unknown>): Promise<Client> => {
    const token = (await openSession(server, server.demo, user)).slice('Bearer '.length);
    return createClient({ baseUrl: server.url, credential: { kind: 'embed-token', token } });
  };
  const ask = async (client: Client, request: Parameters<Client['chat']>[1]) =>
    chatIdOf(await Array.fromAsync(await client.chat(agent, request)));
  const chatIds = ({ items }: ThreadPage): string[] => items.map(({ chatId }) => chatId);
  const raw = async (method: string, path: string, headers: Record<string, string>) => {
    const reply = await fetch(server.url + path, { method, headers });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? null : JSON.parse(text), headers: reply.headers };
  };

  test('are listed page by page, those written in last first, with the beginning of the first message', async () => {
    const user = newUser();
    const client = await withToken(user);
    expect(await client.threads(agent)).toEqual({
      items: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      now += 1000;
      made.push(await ask(client, { input: `question ${n} ${'x'.repeat(100)}` }));
    }
    const empty = await ask(client, {});
    now += 1000;
    await ask(client, { chatId: made[1] ?? '', input: 'again' });
    const expected = [made[1], ...[empty, made[4]].sort().reverse(), made[3], made[2], made[0]];
    const all = await client.threads(agent);
    expect(chatIds(all)).toEqual(expected);
    expect(all.items[0]).toEqual({
      chatId: made[1],
      title: `question 1 ${'x'.repeat(69)}`,
      createdAt: new Date(now - 4000).toISOString(),
      updatedAt: new Date(now).toISOString(),
    });
    expect(all.items.find(({ chatId }) => chatId === empty)?.title).toBe('');

    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await client.threads(agent, { first: 2, after });
      seen.push(...chatIds(page));
      after = page.pageInfo.hasNextPage ? (page.pageInfo.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
    expect(seen).toEqual(expected);
    // The same for an API key that names the user.
    expect(await byKey.threads(agent, { sessionSettings: user })).toEqual(all);
  });

  test('belong to one user in one scope with one agent', async () => {
    const user = newUser();
    const tenants = { creatorMode: true, embedTenantName: 'threads-inc' };
    const clients = [await withToken(user), await withToken({ ...user, ...tenants }), await withToken(newUser())];
    const own: string[] = [];
    for (const client of clients) own.push(await ask(client, { input: 'mine' }));
    for (const [index, client] of clients.entries()) {
      expect(chatIds(await client.threads(agent))).toEqual([own[index]]);
      for (const chatId of own.filter((_, other) => other !== index)) {
        await expect(client.deleteThread(agent, { chatId })).rejects.toMatchObject({ statusCode: 404 });
      }
    }
    const other = createClient({ baseUrl: server.url, credential: { kind: 'api-key', apiKey: server.other.apiKey } });
    const elsewhere = { accountName: 'other', agentId: 2 };
    expect((await other.threads(elsewhere, { sessionSettings: user })).items).toEqual([]);
    const deletion = other.deleteThread(elsewhere, { chatId: own[0] ?? '', sessionSettings: user });
    await expect(deletion).rejects.toMatchObject({ statusCode: 404 });
    const [client] = clients;
    await expect(client?.threads(elsewhere)).rejects.toMatchObject({ statusCode: 404 });
    expect((await byKey.threads(agent, { sessionSettings: user })).items).toHaveLength(1);
  });

  test('are deleted whole, and only once', async () => {
    const client = await withToken(newUser());
    const [kept, chatId] = [await ask(client, { input: 'keep' }), await ask(client, { input: 'delete' })];
    await client.deleteThread(agent, { chatId: chatId.toUpperCase() });
    expect(chatIds(await client.threads(agent))).toEqual([kept]);
    await expect(client.deleteThread(agent, { chatId })).rejects.toMatchObject({ statusCode: 404, code: 'NOT_FOUND' });
    await expect(client.chat(agent, { chatId })).rejects.toMatchObject({ statusCode: 404 });
    expect(await dumpTables(server.context.db)).not.toContain(chatId);
  });

  test('an answer that is being written is stopped first, and its readers see that', async () => {
    const user = newUser();
    const client = await withToken(user);
    const seen: Frame[] = [];
    const reading = (async () => {
      for await (const frame of await client.chat(agent, { input: 'stall' })) seen.push(frame);
    })();
    await until(() => seen.some(({ content }) => content === 'So far'));
    await byKey.deleteThread(agent, { chatId: chatIdOf(seen), sessionSettings: user });
    await reading;
    expect(foldFrames(seen)).toMatchObject({ isAborted: true, isStreaming: false, error: null });
    expect((await client.threads(agent)).items).toEqual([]);
  });

  test('a call that is refused changes nothing, and neither makes a user', async () => {
    const key = `Api-Key ${server.apiKey}`;
    const settings = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const nobody = { authorization: key, 'x-inlay-session-settings': settings({ externalId: 'never-made' }) };
    const before = await dumpTables(server.context.db);
    const cases: readonly (readonly [string, string, string, Record<string, string>, number, string | undefined])[] = [
      ['list: nobody there', 'GET', `${base}/threads`, nobody, 200, undefined],
      ['list: no credential', 'GET', `${base}/threads`, {}, 401, 'UNAUTHENTICATED'],
      ['list: no user', 'GET', `${base}/threads`, { authorization: key }, 400, 'SESSION_SETTINGS_REQUIRED'],
      ['list: no agent', 'GET', `${base.replace('/1/', '/77/')}/threads`, nobody, 404, 'NOT_FOUND'],
      ['list: a region', 'GET', `/eu-1${base}/threads`, nobody, 404, 'NOT_FOUND'],
      ['list: a cursor that is none', 'GET', `${base}/threads?after=x`, nobody, 400, 'INVALID_CURSOR'],
      ['list: too many', 'GET', `${base}/threads?first=501`, nobody, 400, 'INVALID_REQUEST'],
      ['delete: nobody there', 'DELETE', `${base}/threads/${unknownId}`, nobody, 404, 'NOT_FOUND'],
      ['delete: no id', 'DELETE', `${base}/threads/x`, nobody, 404, 'NOT_FOUND'],
      [
        'delete: no user',
        'DELETE',
        `${base}/threads/${unknownId}`,
        { authorization: key },
        400,
        'SESSION_SETTINGS_REQUIRED',
      ],
      ['delete: a region', 'DELETE', `/eu-1${base}/threads/${unknownId}`, nobody, 404, 'NOT_FOUND'],
      [
        'roles',
        'GET',
        `${base}/threads`,
        { authorization: key, 'x-inlay-session-settings': settings({ externalId: 'a', roles: ['x'] }) },
        400,
        'FIELD_NOT_SUPPORTED',
      ],
    ];
    for (const [what, method, path, headers, status, code] of cases) {
      const reply = await raw(method, path, headers);
      expect([what, reply.status, reply.body?.code]).toEqual([what, status, code]);
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('a session that may not ask the agent may list and delete; a plan without chat may still delete', async () => {
    const user = newUser();
    const chatId = await ask(await withToken(user), { input: 'before' });
    const silent = await withToken({ ...user, settings: { allowAi: false } });
    await expect(silent.chat(agent, { chatId })).rejects.toMatchObject({ code: 'AI_NOT_ALLOWED' });
    expect(chatIds(await silent.threads(agent))).toEqual([chatId]);
    const { db } = server.context;
    const setPlan = (plan: string) => db.updateTable('accounts').set({ plan }).where('name', '=', 'demo').execute();
    await setPlan('starter');
    try {
      await expect(silent.threads(agent)).rejects.toMatchObject({ statusCode: 403, code: 'PLAN_REQUIRED' });
      await silent.deleteThread(agent, { chatId });
    } finally {
      await setPlan('enterprise');
    }
    expect((await silent.threads(agent)).items).toEqual([]);
  });
});

test('a client whose node stops goes on with another, and has one thread', async () => {
  const gate = Promise.withResolvers<void>();
  const languageModel = scripted(() => [say('Half '), { type: 'wait', for: gate.promise }, say('and whole.')]);
  const server = await openTestServer({ languageModel });
  const node = await openTestServer({ nodeOf: server, languageModel });
  // As a load balancer does.
  let stopped: string | null = null;
  const balanced: typeof fetch = (url, options) =>
    fetch(String(url).replace('http://balanced', stopped === node.url ? server.url : node.url), options);
  const credential = { kind: 'api-key', apiKey: server.apiKey } as const;
  const own = createClient({ baseUrl: server.url, credential });
  const sessionSettings = { externalId: 'reader' };
  const run = (await own.chat(agent, { input: 'go', sessionSettings }))[Symbol.asyncIterator]();
  const chatId = chatIdOf([(await run.next()).value]);
  const client = createClient({ baseUrl: 'http://balanced', credential, fetch: balanced });
  const states: ThreadState[] = [];
  for await (const state of followThread(client, agent, { chatId, sessionSettings }, { waitMs: 1 })) {
    states.push(state);
    if (stopped !== null || state.messages.at(-1)?.content !== 'Half ') continue;
    stopped = node.url;
    node.context.tails.close();
    gate.resolve();
  }
  expect(stopped).toBe(node.url);
  expect(states.at(-1)?.messages.map(({ content }) => content)).toEqual(['go', 'Half and whole.', 'Half and whole.']);
  expect(node.logText()).not.toContain('request failed');
  await node.close();
  await server.close();
});

test('a stream on another node is the same, to its last line', async () => {
  const gate = Promise.withResolvers<void>();
  const languageModel = scripted(() => [say('Half '), { type: 'wait', for: gate.promise }, say('and whole.')]);
  const server = await openTestServer({ languageModel });
  const node = await openTestServer({ nodeOf: server, languageModel });
  const sessionSettings = { externalId: 'reader' };
  const clientOf = (of: TestServer) =>
    createClient({ baseUrl: of.url, credential: { kind: 'api-key', apiKey: server.apiKey } });
  const own = (await clientOf(server).chat(agent, { input: 'go', sessionSettings }))[Symbol.asyncIterator]();
  const seen = [(await own.next()).value];
  while (seen.at(-1)?.content !== 'Half ') seen.push((await own.next()).value);
  const chatId = chatIdOf(seen);
  const elsewhere = Array.fromAsync(await clientOf(node).chat(agent, { chatId, sessionSettings }));
  gate.resolve();
  for (let step = await own.next(); !step.done; step = await own.next()) seen.push(step.value);
  expect(foldFrames(await elsewhere)).toEqual(foldFrames(seen));
  expect((await elsewhere).slice(-3)).toEqual(seen.slice(-3));
  await node.close();
  await server.close();
});
