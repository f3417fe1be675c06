/** The rules between fields, and the limits, over HTTP: each refusal generated from the table, and nothing written. */
import { type LimitName, limitRules } from '@inlay/contract/limits.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fieldRules, type Place } from '../../src/embed/session-rules.ts';
import { databaseKinds } from '../databases.ts';
import { dumpTables } from '../seed.ts';
import { type JsonReply, openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

/** A value of the right shape for every field. */
const values = {
  deploymentId: 1,
  externalId: 'seven',
  internalId: 'analyst',
  email: 'seven@example.com',
  userProfile: { displayName: 'Seven' },
  embedTenantName: 'acme-inc',
  creatorMode: true,
  userAttributes: [{ name: 'merchant_id', value: 7 }],
  groups: ['merchant'],
  userAttributeDefinitions: [{ name: 'merchant_id', type: 'number' }],
  groupDefinitions: [{ name: 'merchant' }],
  securityContext: { plan: 'gold' },
  settings: { theme: 'dark' },
  isEphemeral: true,
  ephemeralTtlSeconds: 60,
  roles: ['admin'],
} as const satisfies Readonly<Record<string, unknown>>;
const sample = (field: string): unknown => Object.entries(values).find(([name]) => name === field)?.[1];
const pick = (...fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, sample(field)]));

const limits = {
  bodyBytesMax: 4096,
  nameCharactersMax: 16,
  groupsMax: 2,
  attributesMax: 2,
  definitionsMax: 3,
  attributeItemsMax: 3,
  securityContextDepthMax: 2,
  ephemeralTtlSecondsMax: 100,
  ephemeralTtlSecondsDefault: 100,
  inputCharactersMax: 100,
  sqlDepthMax: 4,
} as const satisfies Partial<Record<LimitName, number>>;

describe.each(databaseKinds)('the rules between fields on %s', (kind) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer({ kind, config: limits });
  });
  afterAll(() => server.close());

  const post = (path: string, body: unknown): Promise<JsonReply> =>
    postJson(server, path, body, `Api-Key ${server.apiKey}`);
  const generate = (fields: object) => post('/api/v1/embed/generate-session', { deploymentId: 1, ...fields });
  const query = (sessionSettings: object, sql = 'not sql') =>
    post('/api/v1/deployments/1/cubesql', { query: sql, sessionSettings });
  const chat = (sessionSettings: object) =>
    post('/api/v1/public/demo/agents/1/chat/stream-chat-state', { input: 'hi', sessionSettings });
  const send = async (place: Place, fields: object): Promise<readonly JsonReply[]> =>
    place === 'generate-session' ? [await generate(fields)] : [await query(fields), await chat(fields)];

  /** Sends the fields and expects this refusal on every route of the place, with no row of any table changed. */
  async function expectRefusal(place: Place, fields: object, code: string | null, path: string): Promise<void> {
    const before = await dumpTables(server.context.db);
    const prefix = place === 'session-settings' ? 'sessionSettings.' : '';
    for (const { status, body } of await send(place, fields)) {
      expect([status, body['code']]).toEqual([400, code]);
      expect(body['issues']).toMatchObject([{ path: prefix + path }]);
    }
    expect(await dumpTables(server.context.db)).toBe(before);
  }

  const places = ['generate-session', 'session-settings'] as const;

  test.each(places.flatMap((place) => fieldRules[place].apart.map(([one, other]) => ({ place, one, other }))))(
    '$place: $one with $other',
    async ({ place, one, other }) => {
      const needed = fieldRules[place].needed.filter(({ field }) => field === other).map(({ needs }) => needs);
      await expectRefusal(place, pick(one, other, ...needed), 'INVALID_REQUEST', other);
    },
  );

  test.each(places.flatMap((place) => fieldRules[place].needed.map((rule) => ({ place, ...rule }))))(
    '$place: $field without $needs',
    async ({ place, field, needs, value }) => {
      const others = fieldRules[place].needed
        .filter((rule) => rule.field === field && rule.needs !== needs)
        .map((rule) => rule.needs);
      const fields = pick('externalId', field, ...others);
      await expectRefusal(place, fields, 'INVALID_REQUEST', field);
      if (value === true) await expectRefusal(place, { ...fields, [needs]: false }, 'INVALID_REQUEST', field);
    },
  );

  test.each(places.flatMap((place) => fieldRules[place].refused.map(({ field }) => ({ place, field }))))(
    '$place: $field is not there',
    async ({ place, field }) => {
      await expectRefusal(place, pick('externalId', field), 'FIELD_NOT_SUPPORTED', field);
    },
  );

  test.each(places)('%s: neither id, and both', async (place) => {
    await expectRefusal(place, {}, 'INVALID_REQUEST', 'externalId');
    await expectRefusal(place, pick('externalId', 'internalId'), 'INVALID_REQUEST', 'externalId');
  });

  const names = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `n${at}` }));
  const beyond = [
    ['nameCharactersMax', 'groups.0', { groups: ['x'.repeat(17)] }],
    ['groupsMax', 'groups', { groups: ['a', 'b', 'c'] }],
    ['attributesMax', 'userAttributes', { userAttributes: names(3).map(({ name }) => ({ name, value: 1 })) }],
    [
      'attributeItemsMax',
      'userAttributes.0.value',
      { userAttributes: [{ name: 'regions', value: ['a', 'b', 'c', 'd'] }] },
    ],
    ['securityContextDepthMax', 'securityContext', { securityContext: { a: [{}] } }],
    ['ephemeralTtlSecondsMax', 'ephemeralTtlSeconds', { isEphemeral: true, ephemeralTtlSeconds: 101 }],
  ] as const satisfies readonly (readonly [LimitName, string, object])[];

  test.each(places.flatMap((place) => beyond.map((row) => [place, ...row] as const)))(
    '%s: beyond %s',
    async (place, name, path, fields) => {
      await expectRefusal(place, { externalId: 'a', ...fields }, limitRules[name].code, path);
    },
  );

  test('more definitions than allowed, groups and attributes counted together', async () => {
    const fields = { ...pick('externalId', 'creatorMode', 'embedTenantName'), groupDefinitions: names(2) };
    const userAttributeDefinitions = names(2).map(({ name }) => ({ name, type: 'string' }));
    await expectRefusal(
      'generate-session',
      { ...fields, userAttributeDefinitions },
      'TOO_MANY_DEFINITIONS',
      'groupDefinitions',
    );
  });

  test('two limits at once, or a limit and something else, are INVALID_REQUEST with all that is wrong', async () => {
    const groups = ['x'.repeat(17), 'b', 'c'];
    for (const fields of [{ groups }, { groups: ['a', 'b', 'c'], email: 'none' }]) {
      const { status, body } = await generate({ externalId: 'a', ...fields });
      expect([status, body['code']]).toEqual([400, 'INVALID_REQUEST']);
      expect(body['issues']).toHaveLength(2);
    }
  });

  test('beyond the body, the message and the depth of SQL', async () => {
    const large = await generate({ externalId: 'a', securityContext: { text: 'x'.repeat(4096) } });
    expect([large.status, large.body['code']]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const sessionSettings = { externalId: 'a' };
    const path = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
    const long = await post(path, { input: 'x'.repeat(101), sessionSettings });
    expect([long.status, long.body['code']]).toEqual([400, 'INPUT_TOO_LONG']);
    const deep = await query(sessionSettings, 'select (((((1))))) from sales');
    expect([deep.status, deep.body['code']]).toEqual([400, 'SQL_TOO_DEEP']);
  });

  test.each([
    ['INVALID_REQUEST', 'embedTenantName', { embedTenantName: 'Acme' }],
    ['INVALID_REQUEST', 'settings', { settings: { colour: 'red' } }],
    ['INVALID_REQUEST', 'settings.locale', { settings: { locale: '!' } }],
    ['INVALID_REQUEST', 'settings.timezone', { settings: { timezone: 'Mars/Olympus' } }],
    ['INVALID_REQUEST', 'settings.timezone', { settings: { timezone: '+02:00' } }],
    ['INVALID_REQUEST', 'creatorMode', { creatorMode: 'yes' }],
    ['INVALID_REQUEST', 'isEphemeral', { isEphemeral: 1 }],
    [
      'INVALID_REQUEST',
      'userAttributeDefinitions.0.type',
      { ...pick('creatorMode', 'embedTenantName'), userAttributeDefinitions: [{ name: 'a', type: 'date' }] },
    ],
    [
      'ATTRIBUTE_TYPE_MISMATCH',
      'userAttributeDefinitions.0.defaultValue',
      {
        ...pick('creatorMode', 'embedTenantName'),
        userAttributeDefinitions: [{ name: 'a', type: 'number', defaultValue: 'seven' }],
      },
    ],
    [
      'DUPLICATE_NAME',
      'groupDefinitions.1.name',
      { ...pick('creatorMode', 'embedTenantName'), groupDefinitions: [{ name: 'a' }, { name: 'a' }] },
    ],
  ])('%s at %s', async (code, path, fields) => {
    await expectRefusal('generate-session', { externalId: 'a', ...fields }, code, path);
  });

  test('a branch that is not there is 404', async () => {
    const reply = await generate({ externalId: 'a', settings: { branchName: 'dev' } });
    expect(reply).toMatchObject({ status: 404, body: { code: 'BRANCH_NOT_FOUND' } });
  });

  test('the description tells the limits', async () => {
    const description = JSON.parse(await (await fetch(`${server.url}/api/openapi.json`)).text());
    const { properties } = description.components.schemas.GenerateSessionRequestInput;
    expect(properties).toMatchObject({
      groups: { maxItems: 2, items: { maxLength: 16, minLength: 1 } },
      ephemeralTtlSeconds: { maximum: 100, minimum: 1 },
      settings: { additionalProperties: false, properties: { allowAi: { description: expect.any(String) } } },
    });
  });

  test('a session that does not allow the agent cannot chat, and can query', async () => {
    const path = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
    for (const [allowAi, status, code] of [
      [false, 403, 'AI_NOT_ALLOWED'],
      [true, 400, 'INVALID_REQUEST'],
    ] as const) {
      const token = await openSession(server, server.demo, { externalId: 'silent', settings: { allowAi } });
      // Said before the body is looked at.
      expect(await postJson(server, path, { input: ' ' }, token)).toMatchObject({ status, body: { code } });
      const asked = await postJson(server, '/api/v1/deployments/1/cubesql', { query: 'not sql' }, token);
      expect(asked.body['code']).toMatch(/^SQL_/);
    }
  });

  test('what the rules allow is taken, with all of it at once', async () => {
    const all = Object.keys(values).filter((field) => field !== 'internalId' && field !== 'roles');
    await server.context.db.updateTable('accounts').set({ use_creator_mode: true }).execute();
    expect(await generate({ ...pick(...all), roles: [] })).toMatchObject({ status: 200 });
    expect(await generate(pick('internalId', 'creatorMode', 'embedTenantName', 'settings', 'email'))).toMatchObject({
      status: 200,
    });
    const session = await server.context.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.settings', 'is_creator_mode', 'security_context', 'users.expires_at'])
      .where('external_id', '=', 'seven')
      .executeTakeFirst();
    expect(session).toMatchObject({
      settings: { theme: 'dark' },
      is_creator_mode: true,
      security_context: { plan: 'gold' },
      expires_at: expect.any(Date),
    });
  });
});
