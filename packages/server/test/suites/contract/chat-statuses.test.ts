/** service.md 4.3, 4.4 and 7 with decisions 6: the statuses of chat and abort, and the rules of `sessionSettings`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { problemsOf } from '../http-check.ts';
import { dumpStore, memberOf, openSuiteWorld, type SuiteWorld, storedUser, tablesOfRefusals } from '../world.ts';

const path = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
const nobodysThread = '3a579a0c-8f97-4da1-8f17-2f3aacd2be8b';

describe.each(databaseKinds)('chat on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  const settings = { externalId: 'chatter' };
  const chatIdIn = (text: string): string => /"chatId":"([^"]+)"/.exec(text)?.[1] ?? 'none';
  /** A new, empty thread of the user. */
  const thread = async (authorization?: string, sessionSettings: object = settings): Promise<string> => {
    const reply = await world.call('POST', path, { sessionSettings }, authorization);
    expect(reply.status).toBe(200);
    return chatIdIn(reply.text);
  };

  test('a new thread: one line, the cut-off with its id', async () => {
    const reply = await world.call('POST', path, { sessionSettings: settings });
    expect(reply.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('x-accel-buffering')).toBe('no');
    expect(reply.headers.has('content-encoding')).toBe(false);
    expect(reply.text.split('\n')).toHaveLength(2);
    expect(JSON.parse(reply.text)).toMatchObject({
      id: '__cutoff__',
      role: 'assistant',
      content: '',
      sort: 0,
      state: { chatId: expect.any(String), isStreaming: false },
    });
  });

  test.each([
    { what: 'no sessionSettings with an API key', body: {} },
    { what: 'sessionSettings without an id', body: { sessionSettings: {} } },
    { what: 'both ids', body: { sessionSettings: { externalId: 'a', internalId: 'analyst' } } },
    { what: 'a blank input', body: { sessionSettings: settings, input: ' \n ' } },
    { what: 'an input that is no text', body: { sessionSettings: settings, input: 7 } },
    { what: 'a chatId that is no text', body: { sessionSettings: settings, chatId: 7 } },
    { what: 'a messageId of another form', body: { sessionSettings: settings, input: 'hi', messageId: 'x' } },
    {
      what: 'isDefaultBranch that contradicts',
      body: { sessionSettings: settings, activeBranchName: 'main', isDefaultBranch: false },
    },
    ...['embedTenantName', 'creatorMode', 'groupDefinitions', 'userAttributeDefinitions', 'userProfile'].map(
      (field) => ({
        what: `${field} inside sessionSettings`,
        body: {
          sessionSettings: {
            ...settings,
            [field]: { embedTenantName: 'chat-tenant', creatorMode: true, userProfile: {} }[field] ?? [],
          },
        },
      }),
    ),
    ...['roles', 'groups', 'userAttributes', 'securityContext'].map((field) => ({
      what: `${field} with internalId`,
      body: { sessionSettings: { internalId: 'analyst', [field]: field === 'securityContext' ? {} : [] } },
    })),
    { what: 'a role', body: { sessionSettings: { ...settings, roles: ['admin'] } } },
    {
      what: 'a duplicate attribute',
      body: {
        sessionSettings: {
          ...settings,
          userAttributes: [
            { name: 'a_number', value: 1 },
            { name: 'a_number', value: 2 },
          ],
        },
      },
    },
    {
      what: 'a value of another type',
      body: { sessionSettings: { ...settings, userAttributes: [{ name: 'a_number', value: '1' }] } },
    },
    { what: 'ephemeralTtlSeconds 0', body: { sessionSettings: { ...settings, ephemeralTtlSeconds: 0 } } },
    {
      what: 'ephemeralTtlSeconds beyond a year',
      body: { sessionSettings: { ...settings, ephemeralTtlSeconds: 31_536_001 } },
    },
  ])('$what: 400, and nothing is written', async ({ body }) => {
    const before = await dumpStore(world.db, tablesOfRefusals);
    const reply = await world.call('POST', path, body);
    expect([reply.status, problemsOf(reply)], reply.text).toEqual([400, []]);
    expect(await dumpStore(world.db, tablesOfRefusals)).toBe(before);
  });

  test('the messages of generate-session', async () => {
    const messageOf = async (more: object) =>
      memberOf((await world.call('POST', path, { sessionSettings: { ...settings, ...more } })).json, 'message');
    expect(await messageOf({ groups: ['nope', 'nix'] })).toBe('Groups with names nope, nix not found');
    expect(await messageOf({ userAttributes: [{ name: 'nope', value: 1 }] })).toBe('User attributes not found');
  });

  test('users of the chat are ephemeral, a week by default; isEphemeral false makes them persistent', async () => {
    await thread(undefined, { externalId: 'passing', groups: ['g-one'] });
    expect(await storedUser(world.db, world.demo, 'passing')).toMatchObject({
      isEphemeral: true,
      groups: { '': ['g-one'] },
    });
    await thread(undefined, { externalId: 'passing', isEphemeral: false });
    expect(await storedUser(world.db, world.demo, 'passing')).toMatchObject({ isEphemeral: false });
    await thread(undefined, { externalId: 'passing' });
    expect(await storedUser(world.db, world.demo, 'passing')).toMatchObject({ isEphemeral: false });
  });

  test('with an embed token sessionSettings are ignored', async () => {
    const token = await world.token({ externalId: 'token-user' });
    const chatId = await thread(token, { externalId: 'somebody-else', groups: ['nope'] });
    expect(await storedUser(world.db, world.demo, 'somebody-else')).toBeNull();
    expect((await world.call('POST', path, { chatId }, token)).status).toBe(200);
  });

  test('401 without, 404 for an agent, account or region that is not there', async () => {
    const body = { sessionSettings: settings };
    expect((await world.call('POST', path, body, null)).status).toBe(401);
    expect((await world.call('POST', path, body, 'Api-Key sk-unknown')).status).toBe(401);
    for (const wrong of [
      path.replace('demo', 'nobody'),
      path.replace('demo', 'other'),
      path.replace('/1/', '/2/'),
      path.replace('/1/', '/x/'),
      `/eu${path}`,
    ]) {
      for (const end of ['', '/abort']) {
        const reply = await world.call('POST', wrong + end, { ...body, chatId: nobodysThread });
        expect([wrong + end, reply.status, problemsOf(reply)]).toEqual([wrong + end, 404, []]);
      }
    }
  });

  test('404 for a thread that is not there, or of another user, or of another scope of the same user', async () => {
    const read = async (chatId: string, authorization: string) =>
      (await world.call('POST', path, { chatId }, authorization)).status;
    const wide = await world.token({ externalId: 'scoped' });
    const inTenant = await world.token({ externalId: 'scoped', creatorMode: true, embedTenantName: 'thread-tenant' });
    const someoneElse = await world.token({ externalId: 'someone-else' });
    const ofWide = await thread(wide);
    const ofTenant = await thread(inTenant);
    const expected = [
      [ofWide, wide, 200],
      [ofTenant, inTenant, 200],
      [ofWide, inTenant, 404],
      [ofTenant, wide, 404],
      [ofWide, someoneElse, 404],
      [nobodysThread, wide, 404],
      ['no-uuid', wide, 404],
    ] as const;
    for (const [chatId, authorization, status] of expected) expect(await read(chatId, authorization)).toBe(status);
    // A session that only names the embed tenant is tenant-wide.
    expect(await read(ofWide, await world.token({ externalId: 'scoped', embedTenantName: 'thread-tenant' }))).toBe(200);
  });

  describe.each(['/api/v1/public/demo/agents/1/chat/abort', `${path}/abort`])('abort at %s', (abortPath) => {
    const abort = (body: object, authorization?: string | null) => world.call('POST', abortPath, body, authorization);

    test('204 for the owner, who need not exist for it; 404 before 403', async () => {
      const chatId = await thread();
      const done = await abort({ chatId, sessionSettings: settings });
      expect([done.status, done.text]).toEqual([204, '']);
      const notTheOwner = await world.token({ externalId: 'not-the-owner' });
      const before = await dumpStore(world.db, tablesOfRefusals);
      const stranger = { externalId: 'never-seen' };
      for (const [body, status] of [
        [{ chatId: nobodysThread, sessionSettings: settings }, 404],
        [{ chatId: nobodysThread, sessionSettings: stranger }, 404],
        [{ chatId: nobodysThread }, 404],
        [{ chatId, sessionSettings: stranger }, 403],
        [{ chatId }, 403],
        [{ sessionSettings: settings }, 400],
        [{ chatId: 7, sessionSettings: settings }, 400],
        [{}, 400],
      ] as const) {
        const reply = await abort(body);
        expect([body, reply.status, problemsOf(reply)]).toEqual([body, status, []]);
      }
      expect((await abort({ chatId }, null)).status).toBe(401);
      expect((await abort({ chatId }, notTheOwner)).status).toBe(403);
      expect(await dumpStore(world.db, tablesOfRefusals), 'an abort writes no user').toBe(before);
    });
  });

  test('the same messageId joins the run that it began; with another text it is 409', async () => {
    const token = await world.token({ internalId: 'analyst' });
    const chatId = await thread(token);
    const messageId = `${Date.now()}-message`;
    const ask = (body: object) => world.call('POST', path, { chatId, ...body }, token);
    const first = await ask({ input: 'How much revenue?', messageId });
    expect([first.status, problemsOf(first)]).toEqual([200, []]);
    const again = await ask({ input: 'How much revenue?', messageId });
    expect([again.status, problemsOf(again)]).toEqual([200, []]);
    const reused = await ask({ input: 'Something else', messageId });
    expect([reused.status, memberOf(reused.json, 'code')]).toEqual([409, 'MESSAGE_ID_REUSED']);
  });
});
