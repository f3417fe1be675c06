import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deriveEmbedTokenKeys } from '../../src/embed/embed-token.ts';
import { databaseKinds } from '../databases.ts';
import { type JsonReply, openTestServer, postJson, type TestServer } from '../test-server.ts';

const path = '/api/v1/embed/session/token';
const day = 86_400_000;

describe.each(databaseKinds)('session/token on %s', (kind) => {
  let server: TestServer;
  let now = Date.parse('2026-05-01T10:00:00.250Z');
  beforeAll(async () => {
    server = await openTestServer({ kind, clock: () => new Date(now) });
  });
  afterAll(() => server.close());

  async function mint(externalId = 'seven'): Promise<string> {
    const body = { deploymentId: 1, externalId };
    const reply = await postJson(server, '/api/v1/embed/generate-session', body, `Api-Key ${server.apiKey}`);
    return String(reply.body['sessionId']);
  }
  const exchange = (sessionId: unknown): Promise<JsonReply> => postJson(server, path, { sessionId });
  const renew = (token: unknown): Promise<JsonReply> => postJson(server, path, undefined, `Bearer ${String(token)}`);
  const refused = { status: 401, body: { code: 'UNAUTHENTICATED', statusCode: 401 } };

  test('a session is exchanged once, without an API key, for a token that holds ids only', async () => {
    const sessionId = await mint();
    const reply = await exchange(sessionId);
    expect(reply).toMatchObject({
      status: 200,
      body: { expiresAt: new Date(Math.floor((now + day) / 1000) * 1000).toISOString() },
    });
    const claims = decodeJwt(String(reply.body['token']));
    expect(Object.keys(claims).sort()).toEqual(['acc', 'aud', 'dep', 'exp', 'iat', 'iss', 'scp', 'sid', 'sub']);
    expect(Number(claims.exp) * 1000).toBe(Date.parse(String(reply.body['expiresAt'])));
    expect(await exchange(sessionId)).toMatchObject(refused);
    expect(reply.headers.get('cache-control')).toBe('no-store');
  });

  test('of twenty at once one gets the token', async () => {
    const sessionId = await mint();
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => exchange(sessionId)))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(19);
  });

  test('a session waits five minutes, and unknown ones are refused', async () => {
    const [early, late] = [await mint(), await mint()];
    now += 299_999;
    expect(await exchange(early)).toMatchObject({ status: 200 });
    now += 1;
    expect(await exchange(late)).toMatchObject(refused);
    expect(await exchange(`es-${'A'.repeat(43)}`)).toMatchObject(refused);
    expect(await exchange('')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(await exchange(7)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(await exchange('a\u0000b')).toMatchObject(refused);
  });

  test('without a body a token gives the next one, never past the end of the session', async () => {
    const start = now;
    let token = (await exchange(await mint())).body['token'];
    const sessionEnd = Math.floor((start + 7 * day) / 1000) * 1000;
    for (let elapsed = day - 1000; elapsed < 7 * day; elapsed += day - 1000) {
      now = start + elapsed;
      const reply = await renew(token);
      expect(reply.status).toBe(200);
      const end = Date.parse(String(reply.body['expiresAt']));
      expect(end).toBe(Math.min(Math.floor((now + day) / 1000) * 1000, sessionEnd));
      token = reply.body['token'];
    }
    now = start + 7 * day;
    expect(await renew(token)).toMatchObject(refused);
  });

  test('a renewal needs an embed token, and a body that is there must name a session', async () => {
    expect(await postJson(server, path, undefined)).toMatchObject(refused);
    expect(await postJson(server, path, undefined, `Api-Key ${server.apiKey}`)).toMatchObject(refused);
    expect(await renew('a.b.c')).toMatchObject(refused);
    const { body } = await exchange(await mint());
    expect(await postJson(server, path, {}, `Bearer ${String(body['token'])}`)).toMatchObject({ status: 400 });
    // An empty body without a content type, as a browser sends it.
    const reply = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Embed-Token ${String(body['token'])}` },
    });
    expect(reply.status).toBe(200);
  });

  test('a token holds a minute longer than its reply named, and on nodes whose clock is a minute behind', async () => {
    const start = now;
    const { body } = await exchange(await mint());
    const end = Date.parse(String(body['expiresAt']));
    for (const [instant, status] of [
      [end, 200],
      [end + 59_999, 200],
      [end + 60_000, 401],
      [start - 60_000, 200],
      [start - 61_250, 401],
    ] as const) {
      now = instant;
      expect([instant - start, (await renew(body['token'])).status]).toEqual([instant - start, status]);
    }
    now = end;
  });

  test('but never longer than its session or user', async () => {
    const { db } = server.context;
    const [user, session] = [(await exchange(await mint('minute'))).body, (await exchange(await mint())).body];
    const end = new Date(Date.parse(String(user['expiresAt'])));
    await db.updateTable('users').set({ expires_at: end }).where('external_id', '=', 'minute').execute();
    const { sid } = decodeJwt(String(session['token']));
    await db.updateTable('sessions').set({ ends_at: end }).where('id', '=', String(sid)).execute();
    now = end.getTime() - 1;
    for (const { token } of [user, session]) expect(await renew(token)).toMatchObject({ status: 200 });
    now = end.getTime();
    for (const { token } of [user, session]) expect(await renew(token)).toMatchObject(refused);
  });

  test('tokens end with their user, with the key that minted them, and with the end of an ephemeral user', async () => {
    const { db } = server.context;
    const { body } = await exchange(await mint('short'));
    const userOf = db.updateTable('users').where('external_id', '=', 'short');
    await userOf.set({ expires_at: new Date(now + 10_000) }).execute();
    const renewed = await renew(body['token']);
    expect(Date.parse(String(renewed.body['expiresAt']))).toBe(Math.floor((now + 10_000) / 1000) * 1000);
    now += 10_000;
    for (const token of [body['token'], renewed.body['token']]) expect(await renew(token)).toMatchObject(refused);

    const active = (await exchange(await mint('inactive'))).body['token'];
    await db.updateTable('users').set({ is_active: false }).where('external_id', '=', 'inactive').execute();
    expect(await renew(active)).toMatchObject(refused);
    await db.updateTable('users').set({ is_active: true }).where('external_id', '=', 'inactive').execute();
    expect(await renew(active)).toMatchObject({ status: 200 });

    const { insertApiKey } = await import('../../src/admin/make-api-key.ts');
    const { key, prefix } = await insertApiKey(db, { accountId: server.accountId, role: 'admin' });
    const mintWith = async () =>
      (
        await postJson(
          server,
          '/api/v1/embed/generate-session',
          { deploymentId: 1, externalId: 'seven' },
          `Api-Key ${key}`,
        )
      ).body['sessionId'];
    const [used, waiting] = [await mintWith(), await mintWith()];
    const minted = (await exchange(used)).body['token'];
    expect(await renew(minted)).toMatchObject({ status: 200 });
    await db
      .updateTable('api_keys')
      .set({ revoked_at: new Date(now) })
      .where('prefix', '=', prefix)
      .execute();
    expect(await renew(minted)).toMatchObject(refused);
    expect(await exchange(waiting)).toMatchObject(refused);
  });

  test('tokens that were not signed here, or for something else, are refused', async () => {
    const good = String((await exchange(await mint())).body['token']);
    const claims = decodeJwt(good);
    const { bytes, id } = server.context.tokenKeys.signing;
    const sign = (payload: object, by: Uint8Array = bytes, alg = 'HS256', kid: string | null = id) =>
      new SignJWT({ ...payload }).setProtectedHeader({ alg, ...(kid === null ? {} : { kid }) }).sign(by);
    const strange = deriveEmbedTokenKeys(['x'.repeat(32)]).signing;
    expect(await renew(await sign(claims))).toMatchObject({ status: 200 });

    const [, payload] = good.split('.');
    const header = Buffer.from('{"alg":"none"}').toString('base64url');
    const wrong = [
      `${header}.${payload}.`,
      good.slice(0, -2),
      await sign(claims, strange.bytes),
      await sign(claims, strange.bytes, 'HS256', strange.id),
      await sign(claims, bytes, 'HS256', strange.id),
      await sign(claims, bytes, 'HS256', null),
      await sign(claims, bytes, 'HS256', '__proto__'),
      await sign(claims, new TextEncoder().encode(server.signingSecret)),
      await sign(claims, new Uint8Array(64).fill(1), 'HS512'),
      await sign({ ...claims, aud: 'something-else' }),
      await sign({ ...claims, iss: 'somebody-else' }),
      await sign({ ...claims, exp: undefined }),
      await sign({ ...claims, sid: 'not-a-session' }),
      await sign({ ...claims, sub: '99999999999' }),
      await sign({ ...claims, sub: String(Number(claims.sub) + 1) }),
      await sign({ ...claims, acc: server.other.accountId }),
      await sign({ ...claims, dep: 2 }),
      await sign({ ...claims, scp: 1 }),
      await sign({ ...claims, scp: undefined }),
      await sign({ ...claims, iat: undefined }),
      await sign({ ...claims, iat: Math.floor(now / 1000) + 61 }),
      await sign({ ...claims, nbf: Math.floor(now / 1000) + 61 }),
    ];
    for (const token of wrong) expect(await renew(token)).toMatchObject(refused);
  });
});
