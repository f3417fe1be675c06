/** The management API goes by the limits of the process, and by their own error codes (settings.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Config, readConfig } from '../../src/config.ts';
import { type AdminApi, adminApiOf } from '../admin-api.ts';
import { openTestServer, type TestServer } from '../test-server.ts';

/** The limits that these tests set, as the environment sets them. */
function limitsOf(env: Readonly<Record<string, string>>): Partial<Config> {
  const { nameCharactersMax, descriptionCharactersMax, attributeStringBytesMax } = readConfig(env);
  return { nameCharactersMax, descriptionCharactersMax, attributeStringBytesMax };
}

describe.each([
  ['lower', 20],
  ['higher', 300],
])('with a %s limit on names', (_name, charactersMax) => {
  let server: TestServer;
  let api: AdminApi;
  beforeAll(async () => {
    server = await openTestServer({ config: limitsOf({ INLAY_NAME_CHARACTERS_MAX: String(charactersMax) }) });
    api = adminApiOf(server, server.demo);
  });
  afterAll(() => server.close());

  const named = (characters: number, letter = 'n'): string => letter.repeat(characters);
  const tooLong = {
    status: 400,
    body: {
      code: 'NAME_TOO_LONG',
      issues: [expect.objectContaining({ message: `must be at most ${charactersMax} characters` })],
    },
  };

  test.each<[method: string, path: string, field: string, more: Record<string, unknown>, status: number]>([
    ['POST', '/groups', 'name', {}, 201],
    ['POST', '/user-attributes', 'name', { type: 'string' }, 201],
    ['POST', '/agents', 'name', { deploymentId: 1 }, 201],
    ['POST', '/api-keys', 'label', { role: 'member' }, 201],
    ['PATCH', '/deployments/1', 'name', {}, 200],
    ['PATCH', '/agents/1', 'name', {}, 200],
  ])('%s %s takes a %s up to it', async (method, path, field, more, status) => {
    const longest = named(charactersMax, method === 'POST' ? 'p' : 'q');
    expect(await api(method, path, { ...more, [field]: longest })).toMatchObject({
      status,
      body: { [field]: longest },
    });
    expect(await api(method, path, { ...more, [field]: named(charactersMax + 1) })).toMatchObject(tooLong);
  });

  test('so do the names of the groups of an internal user', async () => {
    const user = { username: 'limited', email: 'limited@example.com' };
    const groups = [named(charactersMax + 1)];
    expect(await api('POST', '/internal-users', { ...user, groups })).toMatchObject(tooLong);
    // Unknown, but not too long.
    const reply = await api('POST', '/internal-users', { ...user, groups: [named(charactersMax, 'u')] });
    expect(reply).toMatchObject({ status: 400, body: { code: 'GROUPS_NOT_FOUND' } });
  });

  test('the description of the API tells it', async () => {
    const description = JSON.parse(await (await fetch(`${server.url}/api/openapi.json`)).text());
    const { schema } = description.paths['/api/v1/groups'].post.requestBody.content['application/json'];
    expect(schema.properties.name.maxLength).toBe(charactersMax);
  });
});

test('what was stored under higher limits is found, read and deleted under lower ones', async () => {
  const limits = limitsOf({
    INLAY_NAME_CHARACTERS_MAX: '16',
    INLAY_DESCRIPTION_CHARACTERS_MAX: '16',
    INLAY_ATTRIBUTE_STRING_BYTES_MAX: '64',
  });
  await using opened = new AsyncDisposableStack();
  const server = await openTestServer({ config: limits });
  opened.defer(() => server.close());
  const { db } = server.context;
  const api = adminApiOf(server, server.demo);
  const account_id = server.accountId;
  const text = 'stored '.repeat(40);
  const ofAccount = { account_id, name: text, description: text };
  const group = await db.insertInto('groups').values(ofAccount).returning('id').executeTakeFirstOrThrow();
  const attribute = await db
    .insertInto('user_attributes')
    .values({ ...ofAccount, type: 'string' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const user = await db
    .insertInto('users')
    .values({ account_id, kind: 'external', external_id: 'early' })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db.insertInto('user_groups').values({ user_id: user.id, group_id: group.id }).execute();
  const value = { user_id: user.id, attribute_id: attribute.id, value: JSON.stringify(text) };
  await db.insertInto('user_attribute_values').values(value).execute();

  const name = encodeURIComponent(text);
  expect((await api('GET', `/groups?name=${name}`)).body.items).toMatchObject([{ id: group.id, description: text }]);
  expect((await api('GET', `/external-users?group=${name}`)).body.items).toMatchObject([{ id: user.id }]);
  expect(await api('GET', `/external-users/${user.id}`)).toMatchObject({
    status: 200,
    body: { scopes: [{ groups: [text], userAttributes: [{ name: text, value: text }] }] },
  });
  // What a change leaves alone may stay as it is.
  expect((await api('PATCH', `/groups/${group.id}`, { description: 'short' })).status).toBe(200);
  expect((await api('DELETE', `/user-attributes/${attribute.id}`)).status).toBe(204);
});
