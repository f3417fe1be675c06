import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../databases.ts';
import { dumpTables } from '../seed.ts';
import { type JsonReply, openTestServer, postJson, type TestServer } from '../test-server.ts';

const path = '/api/v1/embed/generate-session';
const user = { deploymentId: 1, externalId: 'seven' };

describe.each(databaseKinds)('generate-session on %s', (kind) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer({ kind, config: { externalUsersMax: 12 } });
  });
  afterAll(() => server.close());

  const generate = (body: unknown, key = server.demo.apiKey): Promise<JsonReply> =>
    postJson(server, path, body, `Api-Key ${key}`);
  const storedUser = (externalId: string, accountId = server.accountId) =>
    server.context.db
      .selectFrom('users')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('external_id', '=', externalId)
      .executeTakeFirst();

  test('gives a sessionId and stores the user with what the call says', async () => {
    const reply = await generate({
      ...user,
      email: 'seven@example.com',
      userProfile: { displayName: 'Seven', picture: 'https://images.example/7.png' },
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: 7 }],
      securityContext: { plan: { name: 'gold' } },
      aFieldOfNoMeaning: true,
      creatorMode: false,
      roles: [],
    });
    expect(reply).toMatchObject({ status: 200, body: { sessionId: expect.stringMatching(/^es-[\w-]{43}$/) } });
    expect(Object.keys(reply.body)).toEqual(['sessionId']);
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    expect(await storedUser('seven')).toMatchObject({
      email: 'seven@example.com',
      display_name: 'Seven',
      picture: 'https://images.example/7.png',
      expires_at: null,
    });
    const session = await server.context.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['security_context', 'deployment_id', 'exchanged_at'])
      .where('external_id', '=', 'seven')
      .executeTakeFirst();
    expect(session).toEqual({ security_context: { plan: { name: 'gold' } }, deployment_id: 1, exchanged_at: null });
  });

  test('the same externalId in another account is another user', async () => {
    await generate({ ...user, externalId: 'both', email: 'one@example.com' });
    await generate({ ...user, externalId: 'both', deploymentId: 2 }, server.other.apiKey);
    expect(await storedUser('both', server.other.accountId)).toMatchObject({ email: null });
  });

  test('every call gives a new session of one user', async () => {
    const [one, two] = [
      await generate({ ...user, externalId: 'again' }),
      await generate({ ...user, externalId: 'again' }),
    ];
    expect(one.body['sessionId']).not.toBe(two.body['sessionId']);
  });

  test.each(['analyst', 'ANALYST@example.com'])(
    'an internal user is named as %s; an email is ignored',
    async (internalId) => {
      const before = await server.context.db
        .selectFrom('users')
        .selectAll()
        .where('username', '=', 'analyst')
        .execute();
      expect(await generate({ deploymentId: 1, internalId, email: 'x@example.com' })).toMatchObject({ status: 200 });
      const after = await server.context.db.selectFrom('users').selectAll().where('username', '=', 'analyst').execute();
      expect(after).toEqual(before);
    },
  );

  const longText = 'é'.repeat(2049);
  const deep = JSON.parse(`${'{"a":'.repeat(9)}1${'}'.repeat(9)}`);
  test.each<{ name: string; body: unknown; status: number; code: string; message?: string; paths?: string[] }>([
    { name: 'no body at all', body: undefined, status: 400, code: 'INVALID_REQUEST' },
    { name: 'null', body: null, status: 400, code: 'INVALID_REQUEST' },
    { name: 'a list', body: [], status: 400, code: 'INVALID_REQUEST' },
    {
      name: 'no deploymentId',
      body: { externalId: 'a' },
      status: 400,
      code: 'INVALID_REQUEST',
      paths: ['deploymentId'],
    },
    { name: 'deploymentId as text', body: { ...user, deploymentId: '1' }, status: 400, code: 'INVALID_REQUEST' },
    { name: 'deploymentId as a fraction', body: { ...user, deploymentId: 1.5 }, status: 400, code: 'INVALID_REQUEST' },
    { name: 'neither id', body: { deploymentId: 1 }, status: 400, code: 'INVALID_REQUEST' },
    { name: 'both ids', body: { ...user, internalId: 'analyst' }, status: 400, code: 'INVALID_REQUEST' },
    ...['Seven', ' seven', 'seven ', 'se ven', 'se\u00a0ven', 'se\tven', 'se\u0000ven', '\ud800', '', 'É'].map(
      (externalId) => ({
        name: `externalId ${JSON.stringify(externalId.slice(0, 20))}`,
        body: { ...user, externalId },
        status: 400,
        code: 'INVALID_REQUEST',
        paths: ['externalId'],
      }),
    ),
    ...['ftp://a.example/p', '/p.png', 'javascript:alert(1)', 'https://', 'p.png', ' https://a.example/p'].map(
      (picture) => ({
        name: `picture ${picture.slice(0, 30)}`,
        body: { ...user, userProfile: { picture } },
        status: 400,
        code: 'INVALID_REQUEST',
        paths: ['userProfile.picture'],
      }),
    ),
    { name: 'an email that is none', body: { ...user, email: 'seven' }, status: 400, code: 'INVALID_REQUEST' },
    {
      name: 'an unknown attribute',
      body: { ...user, userAttributes: [{ name: 'colour', value: 'red' }] },
      status: 400,
      code: 'USER_ATTRIBUTES_NOT_FOUND',
      message: 'User attributes not found',
      paths: ['userAttributes.0.name'],
    },
    {
      name: 'unknown groups',
      body: { ...user, groups: ['merchant', 'x', 'y'] },
      status: 400,
      code: 'GROUPS_NOT_FOUND',
      message: 'Groups with names x, y not found',
    },
    {
      name: 'an attribute twice',
      body: {
        ...user,
        userAttributes: [
          { name: 'merchant_id', value: 1 },
          { name: 'merchant_id', value: 1 },
        ],
      },
      status: 400,
      code: 'DUPLICATE_NAME',
      paths: ['userAttributes.1.name'],
    },
    { name: 'a group twice', body: { ...user, groups: ['merchant', 'merchant'] }, status: 400, code: 'DUPLICATE_NAME' },
    ...['7', null, true, [7], ['7']].map((value) => ({
      name: `${JSON.stringify(value)} for a number`,
      body: { ...user, externalId: 'typed', userAttributes: [{ name: 'merchant_id', value }] },
      status: value === null ? 200 : 400,
      code: 'ATTRIBUTE_TYPE_MISMATCH',
    })),
    {
      name: 'a list of two types',
      body: { ...user, userAttributes: [{ name: 'regions', value: ['a', 1] }] },
      status: 400,
      code: 'INVALID_REQUEST',
    },
    {
      name: 'a text of more than 4 KiB',
      body: { ...user, userAttributes: [{ name: 'region', value: longText }] },
      status: 400,
      code: 'ATTRIBUTE_TEXT_TOO_LONG',
    },
    {
      name: 'a list of more than 1,000',
      body: { ...user, userAttributes: [{ name: 'regions', value: Array.from({ length: 1001 }, String) }] },
      status: 400,
      code: 'ATTRIBUTE_LIST_TOO_LONG',
    },
    {
      name: '501 groups',
      body: { ...user, groups: Array.from({ length: 501 }, String) },
      status: 400,
      code: 'TOO_MANY_GROUPS',
    },
    { name: 'a long group name', body: { ...user, groups: ['g'.repeat(129)] }, status: 400, code: 'NAME_TOO_LONG' },
    { name: 'NUL in a group name', body: { ...user, groups: ['g\u0000'] }, status: 400, code: 'INVALID_REQUEST' },
    { name: 'groups as null', body: { ...user, groups: null }, status: 400, code: 'INVALID_REQUEST' },
    {
      name: 'a deep securityContext',
      body: { ...user, securityContext: deep },
      status: 400,
      code: 'SECURITY_CONTEXT_TOO_DEEP',
    },
    {
      name: 'a large securityContext',
      body: { ...user, securityContext: { a: 'x'.repeat(16_384) } },
      status: 400,
      code: 'SECURITY_CONTEXT_TOO_LARGE',
    },
    ...['\u0000', '\ud800', '\udc00x'].flatMap((text) => [
      {
        name: `securityContext with ${JSON.stringify(text)}`,
        body: { ...user, securityContext: { a: [text] } },
        status: 400,
        code: 'INVALID_REQUEST',
      },
      {
        name: `securityContext with the key ${JSON.stringify(text)}`,
        body: { ...user, securityContext: { a: { [text]: 1 } } },
        status: 400,
        code: 'INVALID_REQUEST',
      },
    ]),
    { name: 'securityContext as a list', body: { ...user, securityContext: [] }, status: 400, code: 'INVALID_REQUEST' },
    {
      name: 'groups with internalId',
      body: { deploymentId: 1, internalId: 'analyst', groups: [] },
      status: 400,
      code: 'INVALID_REQUEST',
      paths: ['groups'],
    },
    { name: 'roles', body: { ...user, roles: ['admin'] }, status: 400, code: 'FIELD_NOT_SUPPORTED', paths: ['roles'] },
    { name: 'an unknown deployment', body: { ...user, deploymentId: 99 }, status: 404, code: 'NOT_FOUND' },
    {
      name: 'a deployment beyond all numbers',
      body: { ...user, deploymentId: 9_007_199_254_740_991 },
      status: 404,
      code: 'NOT_FOUND',
    },
    { name: 'the deployment of another account', body: { ...user, deploymentId: 2 }, status: 404, code: 'NOT_FOUND' },
    {
      name: 'an unknown internal user',
      body: { deploymentId: 1, internalId: 'nobody' },
      status: 404,
      code: 'NOT_FOUND',
    },
    {
      name: 'an external user as internal',
      body: { deploymentId: 1, internalId: 'seven' },
      status: 404,
      code: 'NOT_FOUND',
    },
  ])('$name: $status', async ({ body, status, code, message, paths }) => {
    const before = await dumpTables(server.context.db);
    const reply = await generate(body);
    expect(reply.status).toBe(status);
    if (status === 200) return;
    expect(reply.body).toMatchObject({
      statusCode: status,
      error: status === 400 ? 'Bad Request' : 'Not Found',
      code,
      requestId: reply.headers.get('x-request-id'),
      message: message ?? expect.stringMatching(/\S/),
    });
    if (paths !== undefined)
      expect(reply.body).toMatchObject({
        issues: expect.arrayContaining(paths.map((path) => expect.objectContaining({ path }))),
      });
    expect(await dumpTables(server.context.db)).toBe(before);
  });

  test('accepts what only looks wrong', async () => {
    const odd = {
      ...user,
      externalId: "o'hara@example.com/ß-日本-🛒",
      userAttributes: [
        { name: 'region', value: '' },
        { name: 'regions', value: ["a'b", '\\u0000 as text', '🛒'] },
        { name: 'merchant_id', value: -0.1e-7 },
      ],
      securityContext: { text: '\\u0000 \\ud800 as text', list: [1.5, null, false, { deep: {} }] },
    };
    expect(await generate(odd)).toMatchObject({ status: 200 });
    expect(await storedUser(odd.externalId)).toBeDefined();
  });

  test('a key for some deployments may use no other', async () => {
    const { context, accountId } = server;
    const { insertApiKey } = await import('../../src/admin/make-api-key.ts');
    const none = await insertApiKey(context.db, { accountId, role: 'member', deploymentIds: [] });
    const one = await insertApiKey(context.db, { accountId, role: 'member', deploymentIds: [1] });
    expect(await generate(user, none.key)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect(await generate(user, one.key)).toMatchObject({ status: 200 });
  });

  test('one user too many is 429 without Retry-After, and an update is fine', async () => {
    const replies: JsonReply[] = [];
    for (let index = 0; index <= 12; index++) replies.push(await generate({ ...user, externalId: `many-${index}` }));
    const refused = replies.at(-1);
    expect(refused).toMatchObject({ status: 429, body: { code: 'EXTERNAL_USER_LIMIT', error: 'Too Many Requests' } });
    expect(refused?.headers.has('retry-after')).toBe(false);
    expect(await generate({ ...user, externalId: 'many-0', groups: ['merchant'] })).toMatchObject({ status: 200 });
  });
});
