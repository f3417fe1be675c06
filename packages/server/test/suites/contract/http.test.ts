/** Decisions 2 and 3: what holds for every call: errors, the order of checks, limits, cross-origin calls. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { callHttp, type HttpCall, type HttpReply, jsonCall, problemsOf } from '../http-check.ts';
import { generateSessionPath, makeAccount, makeKey, memberOf, openSuiteWorld, type SuiteWorld } from '../world.ts';
import { bytes, names, nested } from './field-rows.ts';

const chatPath = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
const sqlPath = '/api/v1/deployments/1/cubesql';

describe.each(databaseKinds)('calls on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  const key = () => `Api-Key ${world.demo.apiKey}`;
  const send = async (call: HttpCall): Promise<HttpReply> => {
    const reply = await callHttp(world.server.url, call);
    expect(problemsOf(reply), reply.text).toEqual([]);
    return reply;
  };
  const post = (path: string, body: HttpCall['body'], headers: Record<string, string>) =>
    send({ method: 'POST', path, headers, ...(body === undefined ? {} : { body }) });
  const json = 'application/json';

  test('an error has all its members, and validation says where', async () => {
    const reply = await world.call('POST', generateSessionPath, { deploymentId: 1, externalId: 'Upper', groups: [7] });
    expect(reply.json).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: expect.any(String),
      code: expect.stringMatching(/^[A-Z]+(_[A-Z]+)*$/),
      requestId: reply.headers.get('x-request-id'),
      issues: expect.arrayContaining([
        { path: 'externalId', message: expect.any(String) },
        { path: 'groups.0', message: expect.any(String) },
      ]),
    });
  });

  test('on data routes `error` holds the message', async () => {
    const reply = await world.call('POST', sqlPath, {
      query: 'SELECT nonsense',
      sessionSettings: { internalId: 'analyst' },
    });
    expect(reply.status).toBe(400);
    expect(memberOf(reply.json, 'error')).toBe(memberOf(reply.json, 'message'));
  });

  describe('the order of checks: 401, path 404, 403, 413 / 415 / 400, 404 of the body, 409 / 429', () => {
    const broken = '{"deploymentId": ';
    const large = JSON.stringify({ padding: bytes(1_048_577) });
    test.each([
      { what: 'no credential, a broken body', path: generateSessionPath, body: broken, authorization: '', status: 401 },
      {
        what: 'no credential, a body too large',
        path: generateSessionPath,
        body: large,
        authorization: '',
        status: 401,
      },
      {
        what: 'no credential, an unknown agent',
        path: chatPath.replace('/1/', '/4711/'),
        body: broken,
        authorization: '',
        status: 401,
      },
      { what: 'a path that does not exist', path: '/api/v1/nothing', body: broken, status: 404 },
      { what: 'an unknown agent, a broken body', path: chatPath.replace('/1/', '/4711/'), body: broken, status: 404 },
      {
        what: 'an unknown deployment, a body too large',
        path: sqlPath.replace('/1/', '/4711/'),
        body: large,
        status: 404,
      },
      { what: 'another account', path: chatPath.replace('/demo/', '/other/'), body: broken, status: 404 },
      { what: 'an unknown region', path: `/eu${chatPath}`, body: broken, status: 404 },
      { what: 'a body too large', path: generateSessionPath, body: large, status: 413 },
      { what: 'a body of another type', path: generateSessionPath, body: broken, type: 'text/plain', status: 415 },
      { what: 'a broken body', path: generateSessionPath, body: broken, status: 400 },
      {
        what: 'a bad field, then an unknown deployment',
        path: generateSessionPath,
        body: '{"deploymentId":4711}',
        status: 400,
      },
      {
        what: 'an unknown deployment',
        path: generateSessionPath,
        body: '{"deploymentId":4711,"externalId":"a"}',
        status: 404,
      },
    ])('$what: $status', async ({ path, body, authorization = key(), type = json, status }) => {
      const reply = await post(path, body, {
        'content-type': type,
        ...(authorization === '' ? {} : { authorization }),
      });
      expect(reply.status).toBe(status);
    });

    test('a key that is not allowed on the deployment of the path comes before the body', async () => {
      const authorization = await makeKey(world, { deploymentIds: [4711] });
      for (const path of [chatPath, sqlPath]) {
        expect((await post(path, broken, { 'content-type': json, authorization })).status).toBe(403);
        expect((await post(path, large, { 'content-type': 'text/plain', authorization })).status).toBe(403);
      }
    });

    test('the plan comes before the body, in any case of its letters; an abort needs none', async () => {
      for (const [plan, status] of [
        ['free', 403],
        ['starter', 403],
        ['PREMIUM', 200],
        ['Enterprise', 200],
      ] as const) {
        const account = await makeAccount(world, { name: `plan-${plan.toLowerCase()}`, plan });
        const path = `/api/v1/public/plan-${plan.toLowerCase()}/agents/${account.agentId}/chat/stream-chat-state`;
        const headers = { 'content-type': json, authorization: `Api-Key ${account.apiKey}` };
        const state = await post(path, '{"sessionSettings":{"externalId":"a"}}', headers);
        expect(state.status).toBe(status);
        if (status === 403) {
          expect(memberOf(state.json, 'code')).toBe('PLAN_REQUIRED');
          expect(memberOf((await post(path, broken, headers)).json, 'code')).toBe('PLAN_REQUIRED');
        }
        const abort = await post(`${path}/abort`, '{"chatId":"3a579a0c-8f97-4da1-8f17-2f3aacd2be8b"}', headers);
        expect(abort.status).toBe(404);
      }
    });
  });

  test.each([
    generateSessionPath,
    '/api/v1/embed/session/token',
    chatPath,
    `${chatPath}/abort`,
    sqlPath,
    '/api/v1/groups',
  ])('a trailing slash of %s is accepted', async (path) => {
    const method = path.endsWith('groups') ? 'GET' : 'POST';
    const body = method === 'GET' ? undefined : {};
    const plain = await send(jsonCall(method, path, key(), body));
    const slashed = await send(jsonCall(method, `${path}/`, key(), body));
    expect([slashed.status, memberOf(slashed.json, 'code')]).toEqual([plain.status, memberOf(plain.json, 'code')]);
    expect(memberOf(plain.json, 'code')).not.toBe('ROUTE_NOT_FOUND');
  });

  test('sessionSettings also come as base64url JSON in the header; without any an API key asks for nobody', async () => {
    const query = 'SELECT MEASURE(revenue) AS revenue FROM sales';
    const header = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const ask = (headers: Record<string, string>) =>
      post(sqlPath, JSON.stringify({ query }), { 'content-type': json, authorization: key(), ...headers });
    expect((await ask({ 'x-inlay-session-settings': header({ internalId: 'analyst' }) })).status).toBe(200);
    expect((await ask({ 'x-inlay-session-settings': header({}) })).status).toBe(400);
    expect((await ask({ 'x-inlay-session-settings': 'no json' })).status).toBe(400);
    expect((await ask({})).status).toBe(400);
    expect((await world.call('POST', chatPath, {})).status).toBe(400);
  });

  test('each limit has a code of its own', async () => {
    const settings = (more: object) => ({ sessionSettings: { externalId: 'limits', ...more } });
    const mint = (more: object) => world.mint({ externalId: 'limits', ...more });
    const creator = { creatorMode: true, embedTenantName: 'limits-tenant' };
    const deep = `SELECT MEASURE(revenue) FROM sales WHERE ${'('.repeat(70)}channel = 'web'${')'.repeat(70)}`;
    const attribute = (value: unknown) => ({ userAttributes: [{ name: 'a_string', value }] });
    const passed: Record<string, HttpReply> = {
      body: await mint({ padding: bytes(1_048_577) }),
      name: await mint({ groups: [bytes(129)] }),
      externalId: await mint({ externalId: bytes(256) }),
      groups: await mint({ groups: names(501) }),
      definitions: await mint({ ...creator, groupDefinitions: names(501).map((name) => ({ name })) }),
      attributeText: await mint(attribute(bytes(4097))),
      attributeItems: await mint(attribute(names(1001))),
      contextBytes: await mint({ securityContext: { a: bytes(16_384) } }),
      contextDepth: await mint({ securityContext: nested(9) }),
      picture: await mint({ userProfile: { picture: `https://example.com/${bytes(2048)}` } }),
      input: await world.call('POST', chatPath, { input: bytes(32_001), ...settings({}) }),
      sqlBytes: await world.call('POST', sqlPath, { query: bytes(65_537), ...settings({}) }),
      sqlDepth: await world.call('POST', sqlPath, { query: deep, ...settings({}) }),
    };
    const codes = Object.entries(passed).map(([what, reply]) => {
      expect([what, reply.status]).toEqual([what, what === 'body' ? 413 : 400]);
      expect(problemsOf(reply)).toEqual([]);
      return String(memberOf(reply.json, 'code'));
    });
    expect(new Set(codes).size, codes.join(' ')).toBe(codes.length);
    expect(codes).not.toContain('INVALID_REQUEST');
    // The same limits hold for sessionSettings, under the same codes.
    const inSettings = await world.call('POST', chatPath, settings({ groups: names(501) }));
    expect([inSettings.status, memberOf(inSettings.json, 'code')]).toEqual([
      400,
      memberOf(passed['groups']?.json, 'code'),
    ]);
  });

  test('rates: 429 with Retry-After in whole seconds, for the key that is too fast and for no other', async () => {
    const account = await makeAccount(world, { name: 'fast', limits: { keyRequestsPerMinuteMax: 5 } });
    const replies = await Promise.all(Array.from({ length: 60 }, () => world.mint({ externalId: 'a' }, account)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const reply of refused) {
      expect(problemsOf(reply)).toEqual([]);
      expect(memberOf(reply.json, 'code')).not.toBe('EXTERNAL_USER_LIMIT');
      expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect((await world.mint({ externalId: 'a' })).status).toBe(200);
  });

  describe('cross-origin calls', () => {
    const listed = 'https://app.example.com';
    const allowed = ['authorization', 'content-type', 'x-request-id'];
    const corsHeaders = (reply: HttpReply) =>
      [...reply.headers.keys()].filter((name) => name.startsWith('access-control-'));
    const preflight = (path: string, origin: string) =>
      callHttp(world.server.url, {
        method: 'OPTIONS',
        path,
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': allowed.join(','),
        },
      });

    test('embed-token routes answer the origins that the account lists, and no others', async () => {
      const account = await makeAccount(world, { name: 'listed', allowedOrigins: [listed] });
      const path = `/api/v1/public/listed/agents/${account.agentId}/chat/stream-chat-state`;
      const asked = await preflight(path, listed);
      expect([200, 204]).toContain(asked.status);
      expect(asked.headers.get('access-control-allow-origin')).toBe(listed);
      const allows = (asked.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/, */);
      expect(allows).toEqual(expect.arrayContaining(allowed));
      expect(asked.headers.get('access-control-allow-credentials')).not.toBe('true');
      for (const origin of [
        'https://evil.example.com',
        'https://app.example.com.evil.com',
        'http://app.example.com',
        'null',
      ]) {
        expect((await preflight(path, origin)).headers.has('access-control-allow-origin')).toBe(false);
      }
      const token = await world.token({ externalId: 'browser' }, account);
      const call = (origin: string) => post(path, '{}', { 'content-type': json, authorization: token, origin });
      expect((await call(listed)).headers.get('access-control-allow-origin')).toBe(listed);
      expect(corsHeaders(await call('https://evil.example.com'))).toEqual([]);
      const elsewhere = await world.token({ externalId: 'browser' });
      const foreign = await post(chatPath, '{}', { 'content-type': json, authorization: elsewhere, origin: listed });
      expect(corsHeaders(foreign)).toEqual([]);
    });

    test('API-key routes and calls with an API key send none', async () => {
      for (const path of [generateSessionPath, '/api/v1/groups', '/api/v1/embed-tenants/default/groups']) {
        expect((await preflight(path, listed)).headers.has('access-control-allow-origin')).toBe(false);
        const method = path === generateSessionPath ? 'POST' : 'GET';
        const headers = { authorization: key(), origin: listed, 'content-type': json };
        const body = method === 'POST' ? '{"deploymentId":1,"externalId":"a"}' : undefined;
        expect(corsHeaders(await send({ method, path, headers, ...(body === undefined ? {} : { body }) }))).toEqual([]);
      }
      const headers = { authorization: key(), origin: listed, 'content-type': json };
      expect(corsHeaders(await post(chatPath, '{"sessionSettings":{"externalId":"a"}}', headers))).toEqual([]);
    });
  });
});
