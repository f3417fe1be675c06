/** API keys over HTTP: made, listed, rotated and revoked. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { databaseKinds } from '../databases.ts';
import { allPages, type ManageClient, manageClient } from '../manage-client.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

describe.each(databaseKinds)('API keys on %s', (kind) => {
  let server: TestServer;
  let call: ManageClient;
  let callOther: ManageClient;
  let now = Date.parse('2026-05-01T10:00:00Z');
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
    call = manageClient(server, server.demo.apiKey);
    callOther = manageClient(server, server.other.apiKey);
  });
  afterAll(() => server.close());
  const lastAudit = async (count = 1) => (await call('GET', `audit-log?actorKind=api-key&first=${count}`)).body.items;
  const make = async (body: Record<string, unknown> = {}) => {
    const made = await call('POST', 'api-keys', { role: 'member', ...body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body;
  };
  const opens = async (key: string) =>
    (await manageClient(server, key)('POST', 'embed/generate-session', {})).status !== 401;
  /** Which of the texts open, as soon as it is that: every node hears of a change within a second. */
  const open = (keys: readonly string[], expected: readonly boolean[]) =>
    vi.waitFor(async () => expect(await Promise.all(keys.map(opens))).toEqual(expected), {
      timeout: 10_000,
      interval: 20,
    });
  const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toISOString();

  test('a new key is shown once, and works', async () => {
    const made = await make({ role: 'admin', label: 'ci', expiresAt: '2026-06-01T12:00:00+02:00' });
    const { key, ...shown } = made;
    expect(key).toMatch(/^sk-[\w-]{43}$/);
    expect(shown).toEqual({
      id: expect.any(Number),
      label: 'ci',
      role: 'admin',
      prefix: key.slice(0, 9),
      deploymentIds: null,
      state: 'active',
      createdAt: expect.any(String),
      expiresAt: '2026-06-01T10:00:00.000Z',
      revokedAt: null,
      previousEndsAt: null,
    });
    expect(await call('GET', `api-keys/${made.id}`)).toMatchObject({ status: 200, body: shown });
    expect((await manageClient(server, key)('GET', 'account')).body.name).toBe('demo');
    expect(await lastAudit()).toMatchObject([
      {
        action: 'api-key.create',
        object: { kind: 'api-key', id: String(made.id), name: 'ci' },
        details: { role: 'admin' },
      },
    ]);
    const log = JSON.stringify((await call('GET', 'audit-log?first=500')).body);
    expect(log).not.toContain(key.slice(9));
    expect(server.logText()).not.toContain(key.slice(9));
  });

  test('a key opens the deployments that it names, and nothing from its end on', async () => {
    const { key } = await make({ deploymentIds: [1, 1], expiresAt: inSeconds(60) });
    const callAs = manageClient(server, key);
    const mint = () => callAs('POST', 'embed/generate-session', { deploymentId: 1, externalId: 'seven' });
    expect((await mint()).status).toBe(200);
    now += 60_000;
    expect((await mint()).status).toBe(401);
  });

  test.each([
    [{ role: 'owner' }, 400, 'INVALID_REQUEST', 'role'],
    [{ role: undefined }, 400, 'INVALID_REQUEST', 'role'],
    [{ label: '' }, 400, 'INVALID_REQUEST', 'label'],
    [{ label: 'a\0b' }, 400, 'INVALID_REQUEST', 'label'],
    [{ label: 'x'.repeat(129) }, 400, 'NAME_TOO_LONG', 'label'],
    [{ deploymentIds: [] }, 400, 'INVALID_REQUEST', 'deploymentIds'],
    [{ deploymentIds: ['1'] }, 400, 'INVALID_REQUEST', 'deploymentIds.0'],
    [{ deploymentIds: [1, 2] }, 404, 'NOT_FOUND', 'deploymentIds.1'],
    [{ deploymentIds: [999] }, 404, 'NOT_FOUND', 'deploymentIds.0'],
    [{ expiresAt: '2026-05-01T10:00:00Z' }, 400, 'INVALID_REQUEST', 'expiresAt'],
    [{ expiresAt: 'tomorrow' }, 400, 'INVALID_REQUEST', 'expiresAt'],
  ])('refuses to make %j', async (body, status, code, path) => {
    const count = (await allPages(call, 'api-keys', 500)).length;
    const refused = await call('POST', 'api-keys', { role: 'member', ...body });
    expect(refused).toMatchObject({ status, body: { code, issues: [{ path }] } });
    expect((await allPages(call, 'api-keys', 500)).length).toBe(count);
    expect(await lastAudit()).toMatchObject([{ action: 'api-key.create', object: { id: null }, result: code }]);
  });

  test('a label belongs to one key that is not revoked, in each account', async () => {
    const first = await make({ label: 'web' });
    expect(await call('POST', 'api-keys', { role: 'member', label: 'web' })).toMatchObject({
      status: 409,
      body: { code: 'NAME_TAKEN' },
    });
    expect((await callOther('POST', 'api-keys', { role: 'member', label: 'web' })).status).toBe(201);
    const second = await make();
    expect(await call('PATCH', `api-keys/${second.id}`, { label: 'web' })).toMatchObject({ status: 409 });
    expect((await call('DELETE', `api-keys/${first.id}`)).status).toBe(204);
    expect(await call('PATCH', `api-keys/${second.id}`, { label: 'web' })).toMatchObject({
      status: 200,
      body: { id: second.id, label: 'web' },
    });
    expect(await lastAudit()).toMatchObject([{ action: 'api-key.update', details: { fields: ['label'] } }]);
    expect((await call('PATCH', `api-keys/${second.id}`, {})).body.label).toBe('web');
    expect((await call('PATCH', `api-keys/${second.id}`, { label: null })).body.label).toBeNull();
    // An entry of what the key does calls it by its label from now on.
    await call('PATCH', `api-keys/${second.id}`, { label: 'web-2' });
    await vi.waitFor(
      async () => {
        await manageClient(server, second.key)('PATCH', 'account', {});
        const actor = { id: String(second.id), name: 'web-2' };
        expect(await lastAudit()).toMatchObject([{ actor, result: 'FORBIDDEN' }]);
      },
      { timeout: 10_000, interval: 20 },
    );
  });

  test('rotation: the earlier text opens until the overlap ends, and sessions go on', async () => {
    const { id, key: first } = await make();
    const account = { ...server.demo, apiKey: first };
    const token = await openSession(server, account, { externalId: 'rotated' });
    const rotated = await call('POST', `api-keys/${id}/rotate`, { overlapSeconds: 100 });
    expect(rotated).toMatchObject({ status: 200, body: { id, state: 'active', previousEndsAt: inSeconds(100) } });
    const second: string = rotated.body.key;
    expect(rotated.body.prefix).toBe(second.slice(0, 9));
    expect(await lastAudit()).toMatchObject([{ action: 'api-key.rotate', details: { overlapSeconds: 100 } }]);
    await open([first, second], [true, true]);
    now += 99_999;
    expect(await opens(first)).toBe(true);
    now += 1;
    await open([first, second], [false, true]);
    expect((await call('GET', `api-keys/${id}`)).body.previousEndsAt).toBeNull();

    // Rotating again within an overlap ends the oldest at once.
    const third: string = (await call('POST', `api-keys/${id}/rotate`)).body.key;
    expect((await call('GET', `api-keys/${id}`)).body.previousEndsAt).toBe(inSeconds(86_400));
    const fourth: string = (await call('POST', `api-keys/${id}/rotate`, {})).body.key;
    await open([second, third, fourth], [false, true, true]);
    const fifth: string = (await call('POST', `api-keys/${id}/rotate`, { overlapSeconds: 0 })).body.key;
    await open([third, fourth, fifth], [false, false, true]);
    const renewed = await fetch(`${server.url}/api/v1/embed/session/token`, {
      method: 'POST',
      headers: { authorization: token },
    });
    expect(renewed.status).toBe(200);
    const log = JSON.stringify((await call('GET', 'audit-log?first=500')).body) + server.logText();
    for (const key of [first, second, third, fourth, fifth]) expect(log).not.toContain(key.slice(9));
  });

  test('an overlap is 0 to 7 days; only an active key is rotated', async () => {
    const { id } = await make({ expiresAt: inSeconds(10) });
    for (const overlapSeconds of [-1, 604_801, 0.5, '9']) {
      expect(await call('POST', `api-keys/${id}/rotate`, { overlapSeconds })).toMatchObject({ status: 400 });
    }
    now += 10_000;
    expect(await call('POST', `api-keys/${id}/rotate`)).toMatchObject({
      status: 409,
      body: { code: 'KEY_NOT_ACTIVE' },
    });
    expect(await lastAudit()).toMatchObject([
      { action: 'api-key.rotate', object: { id: String(id) }, result: 'KEY_NOT_ACTIVE' },
    ]);
    await call('DELETE', `api-keys/${id}`);
    expect(await call('POST', `api-keys/${id}/rotate`)).toMatchObject({
      status: 409,
      body: { code: 'KEY_NOT_ACTIVE' },
    });
  });

  test('revocation ends the key, both of its texts, and its sessions; again it does nothing', async () => {
    const { id, key } = await make({ role: 'admin', label: 'leaked' });
    const rotated: string = (await call('POST', `api-keys/${id}/rotate`)).body.key;
    const token = await openSession(server, { ...server.demo, apiKey: key }, { externalId: 'leaked' });
    expect((await manageClient(server, rotated)('DELETE', `api-keys/${id}`)).status).toBe(204);
    await open([key, rotated], [false, false]);
    const renewed = await fetch(`${server.url}/api/v1/embed/session/token`, {
      method: 'POST',
      headers: { authorization: token },
    });
    expect(renewed.status).toBe(401);
    expect((await call('GET', `api-keys/${id}`)).body).toMatchObject({
      state: 'revoked',
      revokedAt: new Date(now).toISOString(),
      previousEndsAt: null,
    });
    expect(await lastAudit()).toMatchObject([{ action: 'api-key.revoke', actor: { id: String(id) }, result: 'OK' }]);
    now += 1000;
    expect((await call('DELETE', `api-keys/${id}`)).status).toBe(204);
    expect((await call('GET', `api-keys/${id}`)).body.revokedAt).toBe(new Date(now - 1000).toISOString());
    expect(await lastAudit()).toMatchObject([{ action: 'api-key.revoke', actor: { id: String(id) } }]);
  });

  test('the last key that manages stays, also when two revoke each other at once', async () => {
    const other = await callOther('GET', 'api-keys?role=admin&state=active');
    expect(other.body.items).toHaveLength(1);
    const [own] = other.body.items;
    // These could not take over: bound, a member, of too short a life.
    await callOther('POST', 'api-keys', { role: 'admin', deploymentIds: [2] });
    await callOther('POST', 'api-keys', { role: 'member' });
    await callOther('POST', 'api-keys', { role: 'admin', expiresAt: inSeconds(5) });
    now += 5000;
    expect(await callOther('DELETE', `api-keys/${own.id}`)).toMatchObject({
      status: 409,
      body: { code: 'LAST_ADMIN_KEY' },
    });
    const entries = (await callOther('GET', 'audit-log?actorKind=api-key&first=1')).body.items;
    expect(entries).toMatchObject([{ action: 'api-key.revoke', result: 'LAST_ADMIN_KEY' }]);

    const second = (await callOther('POST', 'api-keys', { role: 'admin' })).body;
    const callSecond = manageClient(server, second.key);
    const statuses = await Promise.all([
      callOther('DELETE', `api-keys/${second.id}`),
      callSecond('DELETE', `api-keys/${own.id}`),
    ]);
    const sorted = statuses.map(({ status }) => status).sort();
    // Whoever comes second finds itself revoked, or the last.
    expect([
      [204, 401],
      [204, 409],
    ]).toContainEqual(sorted);
    const left = [await callOther('GET', 'account'), await callSecond('GET', 'account')].map(({ status }) => status);
    expect(left.sort()).toEqual([200, 401]);
  });

  test("another account's key does not exist, whatever is done to it", async () => {
    const { id, key } = await make({ label: 'mine' });
    for (const [method, path, body] of [
      ['GET', `api-keys/${id}`],
      ['PATCH', `api-keys/${id}`, { label: 'theirs' }],
      ['PATCH', `api-keys/${id}`, '{"half": '],
      ['POST', `api-keys/${id}/rotate`],
      ['POST', `api-keys/${id}/rotate`, { overlapSeconds: 'x' }],
      ['DELETE', `api-keys/${id}`],
    ] as const) {
      expect(await manageClient(server, (await freshOther()).key)(method, path, body)).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    }
    expect(await opens(key)).toBe(true);
    expect((await call('GET', `api-keys/${id}`)).body).toMatchObject({ label: 'mine', state: 'active' });
  });
  /** The test above may have revoked the key that the account came with. */
  const freshOther = async () => {
    const { insertApiKey } = await import('../../src/admin/make-api-key.ts');
    return insertApiKey(server.context.db, { accountId: server.other.accountId, role: 'admin' });
  };

  test('lists: filters, search, both sorts, and pages while keys come and go', async () => {
    const labels = (items: readonly { label: string | null }[]) => items.map(({ label }) => label);
    const made = [];
    for (const label of ['list-b', 'list-a', 'list-c', 'LIST-d']) made.push(await make({ label }));
    await call('DELETE', `api-keys/${made[2]?.id}`);
    const listed = async (query: string) => labels(await allPages(call, `api-keys?search=list-&${query}`));
    expect(await listed('')).toEqual(['LIST-d', 'list-c', 'list-a', 'list-b']);
    expect(await listed('sort=createdAt')).toEqual(['list-b', 'list-a', 'list-c', 'LIST-d']);
    expect(await listed('sort=-label&state=active')).not.toContain('list-c');
    expect((await listed('sort=label')).filter((label) => label !== 'LIST-d')).toEqual(['list-a', 'list-b', 'list-c']);
    expect(await listed('state=revoked')).toEqual(['list-c']);
    expect(await listed('role=admin')).toEqual([]);
    expect(labels((await call('GET', `api-keys?search=${made[0]?.prefix}`)).body.items)).toEqual(['list-b']);
    const all = await allPages(call, 'api-keys', 3);
    expect(all.every((item) => !('key' in item))).toBe(true);
    expect(all.some(({ state }) => state === 'expired')).toBe(true);

    const first = (await call('GET', 'api-keys?search=list-&sort=label&first=2')).body;
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    await make({ label: 'list-0' });
    const next = (await call('GET', `api-keys?search=list-&sort=label&first=9&after=${first.pageInfo.endCursor}`)).body;
    expect(next.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect([...labels(first.items), ...labels(next.items)].sort()).toEqual(
      ['LIST-d', 'list-a', 'list-b', 'list-c'].sort(),
    );
  });
});
