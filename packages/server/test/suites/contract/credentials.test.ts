/** Decisions 3 and service.md 5: API keys through their life, and what each credential opens. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { problemsOf } from '../http-check.ts';
import { generateSessionPath, makeKey, memberOf, openSuiteWorld, type SuiteWorld, sessionTokenPath } from '../world.ts';

const start = Date.parse('2026-05-01T10:00:00Z');
const hour = 3_600_000;
const keysPath = '/api/v1/api-keys';
const chatPath = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
const sqlPath = '/api/v1/deployments/1/cubesql';
const query = 'SELECT MEASURE(revenue) AS revenue FROM sales';

describe.each(databaseKinds)('credentials on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind, { startsAt: new Date(start) });
  });
  afterAll(() => world.close());

  interface Made {
    readonly id: unknown;
    readonly authorization: string;
  }
  const make = async (body: object): Promise<Made> => {
    const reply = await world.call('POST', keysPath, body);
    expect([reply.status, problemsOf(reply)], reply.text).toEqual([201, []]);
    return taken(reply.json);
  };
  const taken = (body: unknown): Made => {
    const key = String(memberOf(body, 'key'));
    // 256 random bits.
    expect(key).toMatch(/^sk-[\w-]{43}$/);
    world.secrets.add(key);
    return { id: memberOf(body, 'id'), authorization: `Api-Key ${key}` };
  };
  const mint = (authorization: string, more: object = {}) =>
    world.call('POST', generateSessionPath, { deploymentId: 1, externalId: 'of-key', ...more }, authorization);
  const tokenOf = async (authorization: string): Promise<string> => {
    const sessionId = memberOf((await mint(authorization)).json, 'sessionId');
    const { json } = await world.call('POST', sessionTokenPath, { sessionId }, null);
    return `Bearer ${String(memberOf(json, 'token'))}`;
  };
  const use = async (token: string) => (await world.call('POST', chatPath, {}, token)).status;

  test('a key is shown once: afterwards there is only its beginning', async () => {
    const { id, authorization } = await make({ role: 'admin', label: 'shown once' });
    const key = authorization.slice('Api-Key '.length);
    for (const path of [keysPath, `${keysPath}/${id}`, '/api/v1/audit-log']) {
      const reply = await world.call('GET', path);
      expect(reply.status).toBe(200);
      expect(reply.text).not.toContain(key);
    }
    const { json } = await world.call('GET', `${keysPath}/${id}`);
    expect(key.startsWith(String(memberOf(json, 'prefix')))).toBe(true);
    expect(String(memberOf(json, 'prefix')).length).toBeLessThan(13);
  });

  test('an expiry holds to the instant', async () => {
    const { authorization } = await make({ role: 'member', expiresAt: new Date(start + hour).toISOString() });
    world.setNow(new Date(start + hour - 1));
    expect((await mint(authorization)).status).toBe(200);
    world.setNow(new Date(start + hour));
    expect((await mint(authorization)).status).toBe(401);
  });

  test('rotation with overlap: both texts open until it is over; sessions stay', async () => {
    const first = await make({ role: 'admin', label: 'rotated' });
    const token = await tokenOf(first.authorization);
    const began = world.now().getTime();
    const rotated = await world.call('POST', `${keysPath}/${first.id}/rotate`, { overlapSeconds: 60 });
    expect(rotated.status).toBe(200);
    const second = taken(rotated.json);
    expect(second.id).toBe(first.id);
    expect((await mint(first.authorization)).status).toBe(200);
    expect((await mint(second.authorization)).status).toBe(200);
    world.setNow(new Date(began + 60_000));
    expect((await mint(first.authorization)).status).toBe(401);
    expect((await mint(second.authorization)).status).toBe(200);
    expect(await use(token)).toBe(200);
    const third = taken((await world.call('POST', `${keysPath}/${first.id}/rotate`, { overlapSeconds: 0 })).json);
    expect((await mint(second.authorization)).status).toBe(401);
    expect((await mint(third.authorization)).status).toBe(200);
    expect(await use(token)).toBe(200);
  });

  test('revocation ends the key, its earlier texts, and the sessions that it minted', async () => {
    const { id, authorization } = await make({ role: 'member', label: 'revoked' });
    const rotated = taken((await world.call('POST', `${keysPath}/${id}/rotate`, { overlapSeconds: 600 })).json);
    const tokens = [await tokenOf(authorization), await tokenOf(rotated.authorization)];
    const waiting = memberOf((await mint(authorization)).json, 'sessionId');
    const other = await tokenOf(`Api-Key ${world.demo.apiKey}`);
    expect((await world.call('DELETE', `${keysPath}/${id}`)).status).toBe(204);
    for (const ended of [authorization, rotated.authorization]) expect((await mint(ended)).status).toBe(401);
    for (const token of tokens) {
      expect(await use(token)).toBe(401);
      expect((await world.call('POST', sessionTokenPath, undefined, token)).status).toBe(401);
    }
    expect((await world.call('POST', sessionTokenPath, { sessionId: waiting }, null)).status).toBe(401);
    expect(await use(other), 'a session of the same user by another key').toBe(200);
  });

  test('a member key uses the account and manages nothing', async () => {
    const member = (await make({ role: 'member' })).authorization;
    const sessionSettings = { internalId: 'analyst' };
    expect((await mint(member)).status).toBe(200);
    expect((await world.call('POST', chatPath, { sessionSettings }, member)).status).toBe(200);
    expect((await world.call('POST', sqlPath, { query, sessionSettings }, member)).status).toBe(200);
    expect((await world.call('GET', keysPath, undefined, member)).status).toBe(403);
    expect((await world.call('POST', keysPath, { role: 'admin' }, member)).status).toBe(403);
  });

  test('a list of deployments bounds a key, and a key so bound manages nothing', async () => {
    const elsewhere = await makeKey(world, { deploymentIds: [4711] });
    const here = (await make({ role: 'admin', deploymentIds: [1] })).authorization;
    const sessionSettings = { internalId: 'analyst' };
    for (const [authorization, status] of [
      [here, 200],
      [elsewhere, 403],
    ] as const) {
      expect((await mint(authorization)).status).toBe(status);
      expect((await world.call('POST', chatPath, { sessionSettings }, authorization)).status).toBe(status);
      expect((await world.call('POST', sqlPath, { query, sessionSettings }, authorization)).status).toBe(status);
      expect((await world.call('GET', keysPath, undefined, authorization)).status).toBe(403);
    }
  });

  test('an API key without sessionSettings is 400, never an unfiltered principal', async () => {
    for (const body of [{ query }, { query, sessionSettings: null }, { query, sessionSettings: {} }]) {
      const reply = await world.call('POST', sqlPath, body);
      expect([reply.status, problemsOf(reply)]).toEqual([400, []]);
    }
  });

  test('a token acts as its one user, whatever sessionSettings say', async () => {
    const user = { externalId: 'acts', groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
    const token = await world.token(user);
    const own = await world.call('POST', sqlPath, { query }, token);
    const sneaky = await world.call('POST', sqlPath, { query, sessionSettings: { internalId: 'analyst' } }, token);
    expect([sneaky.status, sneaky.text]).toEqual([200, own.text]);
    const header = Buffer.from('{"internalId":"analyst"}').toString('base64url');
    const reply = await fetch(world.server.url + sqlPath, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: token, 'x-inlay-session-settings': header },
      body: JSON.stringify({ query }),
    });
    expect(await reply.text()).toBe(own.text);
  });
});
