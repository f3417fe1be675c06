/** What ends a session closes the streams that are open by it and stops their runs, on whichever node they are. */
import { foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/admin/make-api-key.ts';
import { publish } from '../../src/store/changes.ts';
import { revokeSessions } from '../../src/users/revoke-sessions.ts';
import { until } from '../chat-world.ts';
import { databaseKinds } from '../databases.ts';
import { type OpenStream, openStream } from '../open-stream.ts';
import { say, scripted, stall } from '../scripted-language-model.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

const chat = '/api/v1/public/demo/agents/1/chat/stream-chat-state';

const chatIdOf = ({ frames }: OpenStream): string | undefined =>
  frames.find(({ id }) => id === '__cutoff__')?.state?.chatId;
const hasBegun = ({ frames }: OpenStream): boolean => frames.some(({ isDelta }) => isDelta === true);

describe.each(databaseKinds)('open streams on %s', (kind) => {
  let server: TestServer;
  /** Where the streams are open: another node of the same installation, where the store can have several. */
  let node: TestServer;
  /** A node that is told of nothing and has to look for itself. */
  let deaf: TestServer;
  let now = Date.now();
  beforeAll(async () => {
    const open = (more: object) =>
      openTestServer({
        kind,
        clock: () => new Date(now),
        languageModel: scripted(() => [say('I begin. '), stall]),
        ...more,
      });
    server = await open({});
    node = kind === 'pglite' ? server : await open({ nodeOf: server });
    deaf = kind === 'pglite' ? server : await open({ nodeOf: server, isDeaf: true });
  });
  afterAll(async () => {
    for (const one of new Set([deaf, node, server])) await one.close();
  });

  async function openRun(at: TestServer, authorization: string, more: object = {}): Promise<OpenStream> {
    const stream = openStream(at.url, authorization, { input: 'go', ...more });
    await until(() => hasBegun(stream));
    return stream;
  }

  const userIdOf = async (externalId: string): Promise<number> =>
    (
      await server.context.db
        .selectFrom('users')
        .select('id')
        .where('external_id', '=', externalId)
        .where('account_id', '=', server.accountId)
        .executeTakeFirstOrThrow()
    ).id;

  async function manage(method: string, path: string): Promise<void> {
    const reply = await fetch(server.url + path, { method, headers: { authorization: `Api-Key ${server.apiKey}` } });
    expect(reply.status).toBe(204);
  }

  /** The stream said that it was ended, in whole: nothing is left open, and the usage is the last line. */
  async function expectEnded(stream: OpenStream): Promise<void> {
    await stream.end;
    expect(stream.frames.slice(-2).map(({ id }) => id)).toEqual(['__error__', '__usage__']);
    const folded = foldFrames(stream.frames);
    expect(folded).toMatchObject({ error: { code: 'SESSION_ENDED' }, isStreaming: false });
    expect(folded.messages.map(({ content, isInProcess }) => [content, isInProcess])).toEqual([
      ['go', false],
      ['I begin. ', false],
    ]);
    const sorts = stream.frames.filter(({ sort }) => sort > 0).map(({ sort }) => sort);
    expect(sorts).toEqual([...sorts].sort((one, other) => one - other));
  }

  async function expectRunEnded(chatId: string | undefined): Promise<void> {
    const { db } = server.context;
    const runOf = () =>
      db.selectFrom('runs').select(['state', 'error']).where('thread_id', '=', String(chatId)).executeTakeFirst();
    await until(async () => (await runOf())?.state !== 'running');
    expect(await runOf()).toMatchObject({ state: 'failed', error: { code: 'SESSION_ENDED' } });
  }

  test.each([
    ['the session', 'session'],
    ['the user', 'user'],
    ['the user, on a node that hears nothing', 'deaf'],
  ])('revoking %s closes the stream and stops the run', async (_name, cause) => {
    const at = cause === 'deaf' ? deaf : node;
    const externalId = `reader-${cause}`;
    const minted = await postJson(
      server,
      '/api/v1/embed/generate-session',
      { deploymentId: 1, externalId },
      `Api-Key ${server.apiKey}`,
    );
    const { body } = await postJson(server, '/api/v1/embed/session/token', minted.body);
    const stream = await openRun(at, `Bearer ${String(body['token'])}`);
    const another = await openRun(at, await openSession(server, server.demo, { externalId: `${externalId}-2` }));
    if (cause === 'session') {
      const reply = await postJson(server, '/api/v1/embed/session/revoke', minted.body, `Api-Key ${server.apiKey}`);
      expect(reply.status).toBe(204);
    } else {
      const actor = { kind: 'operator', id: null, name: null, address: null, requestId: null } as const;
      const { db, clock } = server.context;
      const which = { kind: 'user', id: await userIdOf(externalId) } as const;
      expect(await revokeSessions({ db, clock }, { accountId: server.accountId, actor, which })).toBe(1);
    }
    await expectEnded(stream);
    await expectRunEnded(chatIdOf(stream));
    expect(another.frames.some(({ id }) => id === '__error__')).toBe(false);
    const path = `${chat}/abort`;
    await postJson(at, path, { chatId: chatIdOf(another) }, `Api-Key ${server.apiKey}`);
    await manage('DELETE', `/api/v1/external-users/${await userIdOf(`${externalId}-2`)}`);
    await another.end;
  });

  test('the text that is closed is told whole', async () => {
    const authorization = await openSession(server, server.demo, { externalId: 'whole' });
    const stream = await openRun(node, authorization);
    const joined = openStream(server.url, `Api-Key ${server.apiKey}`, {
      chatId: chatIdOf(stream),
      sessionSettings: { externalId: 'whole' },
    });
    await until(() => joined.frames.some(({ id }) => id === '__cutoff__'));
    const { db } = server.context;
    await db.updateTable('users').set({ is_active: false }).where('external_id', '=', 'whole').execute();
    await publish(db, { kind: 'user', id: await userIdOf('whole') });
    for (const one of [stream, joined]) {
      await expectEnded(one);
      expect(one.frames.at(-3)).toMatchObject({ content: 'I begin. ', isDelta: false, isInProcess: false });
    }
  });

  test('deleting the user closes the stream, though nothing can be kept any more', async () => {
    const stream = await openRun(node, await openSession(server, server.demo, { externalId: 'deleted' }));
    await manage('DELETE', `/api/v1/external-users/${await userIdOf('deleted')}`);
    await expectEnded(stream);
  });

  test('the end of an ephemeral user closes the stream at its instant', async () => {
    const sessionSettings = { externalId: 'short', ephemeralTtlSeconds: 60 };
    const stream = await openRun(node, `Api-Key ${server.apiKey}`, { sessionSettings });
    now += 59_999;
    const kept = await openRun(node, await openSession(server, server.demo, { externalId: 'kept' }));
    expect(stream.frames.some(({ id }) => id === '__error__')).toBe(false);
    now += 1;
    await expectEnded(stream);
    expect(kept.frames.some(({ id }) => id === '__error__')).toBe(false);
    await manage('DELETE', `/api/v1/external-users/${await userIdOf('kept')}`);
    await kept.end;
  });

  test('an end that is brought forward counts', async () => {
    const stream = await openRun(node, `Api-Key ${server.apiKey}`, {
      sessionSettings: { externalId: 'shorter', ephemeralTtlSeconds: 3600 },
    });
    const { status } = await postJson(
      server,
      chat,
      { sessionSettings: { externalId: 'shorter', ephemeralTtlSeconds: 1 } },
      `Api-Key ${server.apiKey}`,
    );
    expect(status).toBe(200);
    now += 1000;
    await expectEnded(stream);
  });

  test('a stream that an API key opened ends with the key', async () => {
    const { db } = server.context;
    const { key, prefix } = await insertApiKey(db, { accountId: server.accountId, role: 'member' });
    const { id } = await db.selectFrom('api_keys').select('id').where('prefix', '=', prefix).executeTakeFirstOrThrow();
    const stream = await openRun(node, `Api-Key ${key}`, { sessionSettings: { externalId: 'by-key' } });
    await manage('DELETE', `/api/v1/api-keys/${id}`);
    await expectEnded(stream);
    await expectRunEnded(chatIdOf(stream));
  });

  test('a reader whose session ends leaves the run of another session alone', async () => {
    const user = { externalId: 'two-sessions' };
    const first = await openSession(server, server.demo, user);
    const minted = await postJson(
      server,
      '/api/v1/embed/generate-session',
      { deploymentId: 1, ...user },
      `Api-Key ${server.apiKey}`,
    );
    const { body } = await postJson(server, '/api/v1/embed/session/token', minted.body);
    const run = await openRun(node, first);
    const reader = openStream(node.url, `Bearer ${String(body['token'])}`, { chatId: chatIdOf(run) });
    await until(() => reader.frames.some(({ isInProcess }) => isInProcess === true));
    await postJson(server, '/api/v1/embed/session/revoke', minted.body, `Api-Key ${server.apiKey}`);
    await expectEnded(reader);
    expect(run.frames.some(({ id }) => id === '__error__')).toBe(false);
    const abort = await postJson(node, `${chat}/abort`, { chatId: chatIdOf(run) }, first);
    expect(abort.status).toBe(204);
    await run.end;
    expect(run.frames.slice(-2).map(({ id }) => id)).toEqual(['__aborted__', '__usage__']);
  });

  test('an abort reaches the node that writes the answer', async () => {
    const authorization = await openSession(server, server.demo, { externalId: 'aborter' });
    const stream = await openRun(node, authorization);
    expect((await postJson(server, `${chat}/abort`, { chatId: chatIdOf(stream) }, authorization)).status).toBe(204);
    await stream.end;
    expect(stream.frames.slice(-2).map(({ id }) => id)).toEqual(['__aborted__', '__usage__']);
  });

  test('the end of the token alone closes nothing', async () => {
    const authorization = await openSession(server, server.demo, { externalId: 'long-reader' });
    const stream = await openRun(node, authorization);
    now += 86_400_000 + 61_000;
    expect((await postJson(node, chat, {}, authorization)).status).toBe(401);
    const renewed = await openSession(server, server.demo, { externalId: 'long-reader' });
    expect(stream.frames.some(({ id }) => id === '__error__')).toBe(false);
    expect((await postJson(node, `${chat}/abort`, { chatId: chatIdOf(stream) }, renewed)).status).toBe(204);
    await stream.end;
    expect(stream.frames.slice(-2).map(({ id }) => id)).toEqual(['__aborted__', '__usage__']);
  });
});
