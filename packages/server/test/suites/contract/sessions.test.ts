/** Decisions 4 and 6: how long sessions, tokens and ephemeral users live, and what ends them. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { callHttp, type HttpReply, jsonCall, problemsOf } from '../http-check.ts';
import { makeKey, memberOf, openSuiteWorld, type SuiteWorld, sessionTokenPath } from '../world.ts';

const minute = 60_000;
const day = 86_400_000;
const revokePath = '/api/v1/embed/session/revoke';
const start = Date.parse('2026-05-01T10:00:00Z');

describe.each(databaseKinds)('sessions on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind, { startsAt: new Date(start) });
  });
  afterAll(() => world.close());

  const later = (milliseconds: number) => world.setNow(new Date(world.now().getTime() + milliseconds));
  const sessionOf = async (body: Record<string, unknown>, account = world.demo): Promise<string> => {
    const reply = await world.mint(body, account);
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('sessionId')]);
    return String(memberOf(reply.json, 'sessionId'));
  };
  const exchange = async (sessionId: unknown): Promise<HttpReply> => {
    const reply = await world.call('POST', sessionTokenPath, { sessionId }, null);
    expect(problemsOf(reply)).toEqual([]);
    return reply;
  };
  const renew = async (authorization: string): Promise<HttpReply> => {
    const reply = await world.call('POST', sessionTokenPath, undefined, authorization);
    expect(problemsOf(reply)).toEqual([]);
    return reply;
  };
  const tokenIn = (reply: HttpReply): string => {
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('token')]);
    const token = String(memberOf(reply.json, 'token'));
    world.secrets.add(token);
    return `Bearer ${token}`;
  };
  const endOf = (reply: HttpReply): number => Date.parse(String(memberOf(reply.json, 'expiresAt')));
  /** A state read of a new thread: whether the token opens anything. */
  const use = (authorization: string) =>
    world.call('POST', '/api/v1/public/demo/agents/1/chat/stream-chat-state', {}, authorization);

  describe('the exchange', () => {
    test('gives a token and its end, once', async () => {
      const sessionId = await sessionOf({ externalId: 'once' });
      const reply = await exchange(sessionId);
      expect(reply.json).toEqual({ token: expect.any(String), expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) });
      expect(endOf(reply)).toBe(world.now().getTime() + day);
      expect((await use(tokenIn(reply))).status).toBe(200);
      expect((await exchange(sessionId)).status).toBe(401);
    });

    test('of many at once, one gets the token', async () => {
      const sessionId = await sessionOf({ externalId: 'race' });
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await exchange(sessionId)).status));
      expect(statuses.toSorted()).toEqual([200, ...Array(7).fill(401)]);
    });

    test('five minutes after minting there is nothing to exchange', async () => {
      const inTime = await sessionOf({ externalId: 'waits' });
      const late = await sessionOf({ externalId: 'waits' });
      later(5 * minute - 1000);
      expect((await exchange(inTime)).status).toBe(200);
      later(1000);
      expect((await exchange(late)).status).toBe(401);
    });

    test.each([
      ['nothing', undefined, 401],
      ['an unknown id', 'es-unknown', 401],
      ['a number', 7, 400],
      ['an object', {}, 400],
      ['an empty text', '', 400],
    ])('of %s: %s is %i', async (_what, sessionId, status) => {
      const body = sessionId === undefined ? undefined : { sessionId };
      const reply = await world.call('POST', sessionTokenPath, body, null);
      expect(reply.status).toBe(status);
      expect(problemsOf(reply)).toEqual([]);
    });

    test('the sessionId opens nothing by itself, and neither does a key exchange without one', async () => {
      const sessionId = await sessionOf({ externalId: 'nothing' });
      for (const scheme of ['Bearer', 'Api-Key', 'Embed-Token']) {
        expect((await use(`${scheme} ${sessionId}`)).status).toBe(401);
      }
      expect((await renew(`Api-Key ${world.demo.apiKey}`)).status).toBe(401);
    });
  });

  describe('the token', () => {
    test('lives a day; the next one of the same session never ends after the session, seven days from minting', async () => {
      const minted = world.now().getTime();
      let reply = await exchange(await sessionOf({ externalId: 'renews' }));
      for (let age = 0.5; age < 7; age += 0.75) {
        world.setNow(new Date(minted + age * day));
        reply = await renew(tokenIn(reply));
        expect(endOf(reply)).toBe(minted + Math.min(7, age + 1) * day);
      }
      const last = tokenIn(reply);
      world.setNow(new Date(minted + 7 * day - 1000));
      expect((await use(last)).status).toBe(200);
      world.setNow(new Date(minted + 7 * day));
      expect((await use(last)).status).toBe(401);
      expect((await renew(last)).status).toBe(401);
    });

    test('is refused once it has ended, clocks that differ by a minute allowed for', async () => {
      const token = await world.token({ externalId: 'ends' });
      later(day + 61_000);
      expect((await use(token)).status).toBe(401);
      expect((await renew(token)).status).toBe(401);
    });

    test('is taken under both schemes, in any case', async () => {
      const token = (await world.token({ externalId: 'schemes' })).slice('Bearer '.length);
      for (const scheme of ['Bearer', 'bearer', 'Embed-Token', 'embed-token']) {
        expect((await use(`${scheme} ${token}`)).status).toBe(200);
        expect((await renew(`${scheme} ${token}`)).status).toBe(200);
      }
    });

    test('holds ids only', async () => {
      const secret = {
        externalId: 'holds-ids',
        email: 'holds@example.com',
        groups: ['g-one'],
        securityContext: { a: 'ctx' },
      };
      const token = await world.token({ ...secret, userProfile: { displayName: 'Shown Name' } });
      const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
      expect(JSON.parse(claims)).toMatchObject({ exp: expect.any(Number) });
      for (const text of ['holds-ids', 'holds@example.com', 'g-one', 'ctx', 'Shown Name'])
        expect(claims).not.toContain(text);
    });
  });

  describe('revocation', () => {
    const revoke = (sessionId: string, authorization = `Api-Key ${world.demo.apiKey}`) =>
      world.call('POST', revokePath, { sessionId }, authorization);

    test('ends the token and the exchange, and is idempotent', async () => {
      const waiting = await sessionOf({ externalId: 'revoked' });
      const used = await sessionOf({ externalId: 'revoked' });
      const other = await world.token({ externalId: 'revoked' });
      const token = tokenIn(await exchange(used));
      for (const sessionId of [waiting, used, used]) {
        const reply = await revoke(sessionId);
        expect([reply.status, reply.text]).toEqual([204, '']);
      }
      expect((await exchange(waiting)).status).toBe(401);
      expect((await use(token)).status).toBe(401);
      expect((await renew(token)).status).toBe(401);
      expect((await use(other)).status, 'another session of the user stands').toBe(200);
    });

    test('of what does not exist, or is of another account: 204, and nothing is done', async () => {
      const sessionId = await sessionOf({ externalId: 'stays' });
      const token = tokenIn(await exchange(sessionId));
      expect((await revoke('es-unknown')).status).toBe(204);
      expect((await revoke(sessionId, `Api-Key ${world.other.apiKey}`)).status).toBe(204);
      expect((await use(token)).status).toBe(200);
    });

    test('needs an API key, of any role, and a sessionId', async () => {
      const sessionId = await sessionOf({ externalId: 'revokes' });
      const token = tokenIn(await exchange(sessionId));
      expect((await world.call('POST', revokePath, { sessionId }, null)).status).toBe(401);
      expect((await revoke(sessionId, token)).status).toBe(403);
      expect((await world.call('POST', revokePath, {})).status).toBe(400);
      expect((await world.call('POST', revokePath, { sessionId: 7 })).status).toBe(400);
      expect((await use(token)).status).toBe(200);
      expect((await revoke(sessionId, await makeKey(world, { role: 'member' }))).status).toBe(204);
      expect((await use(token)).status).toBe(401);
    });
  });

  describe('ephemeral users', () => {
    const endsIn = async (externalId: string): Promise<number | null> => {
      const { expires_at } = await world.db
        .selectFrom('users')
        .select('expires_at')
        .where('external_id', '=', externalId)
        .where('account_id', '=', world.demo.accountId)
        .executeTakeFirstOrThrow();
      return expires_at === null ? null : Math.round((expires_at.getTime() - world.now().getTime()) / 1000);
    };
    const week = 604_800;
    const ephemeral = (ephemeralTtlSeconds?: number) => ({ isEphemeral: true, ephemeralTtlSeconds });

    test.each([
      { name: 'nothing said', calls: [{}], lives: null },
      { name: 'persistent', calls: [{ isEphemeral: false }], lives: null },
      { name: 'a week by default', calls: [ephemeral()], lives: week },
      { name: 'as long as said', calls: [ephemeral(60)], lives: 60 },
      { name: 'a later call shortens', calls: [ephemeral(600), ephemeral(60)], lives: 60 },
      { name: 'a later call does not lengthen', calls: [ephemeral(60), ephemeral(600)], lives: 60 },
      { name: 'a call that says nothing leaves the end', calls: [ephemeral(60), {}], lives: 60 },
      { name: 'an ephemeral user made persistent', calls: [ephemeral(60), { isEphemeral: false }], lives: null },
      { name: 'a persistent user is never ephemeral', calls: [{}, ephemeral(60)], lives: null },
    ])('$name', async ({ name, calls, lives }) => {
      const externalId = name.replaceAll(' ', '-');
      for (const call of calls) await sessionOf({ externalId, ...call });
      expect(await endsIn(externalId)).toBe(lives);
    });

    test('end from that instant on, with their tokens and sessions; a later call makes another user', async () => {
      const body = { externalId: 'short-lived', ...ephemeral(3600), groups: ['g-one'] };
      const waiting = await sessionOf({ ...body, ephemeralTtlSeconds: 120 });
      const reply = await exchange(await sessionOf(body));
      expect(endOf(reply)).toBe(world.now().getTime() + 120_000);
      const token = tokenIn(reply);
      const chat = await use(token);
      const chatId = /"chatId":"([^"]+)"/.exec(chat.text)?.[1];
      later(119_000);
      expect((await use(token)).status).toBe(200);
      later(1_000);
      expect((await use(token)).status).toBe(401);
      expect((await renew(token)).status).toBe(401);
      expect((await exchange(waiting)).status).toBe(401);
      const again = await world.token({ externalId: 'short-lived' });
      expect(
        (await world.call('POST', '/api/v1/public/demo/agents/1/chat/stream-chat-state', { chatId }, again)).status,
      ).toBe(404);
      expect((await use(token)).status, 'the old token is not the new user').toBe(401);
      expect(await endsIn('short-lived')).toBeNull();
    });
  });

  test('what the session says of itself is enforced: allowAi and branchName', async () => {
    const path = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
    const silent = await world.token({ externalId: 'no-ai', settings: { allowAi: false } });
    const reply = await world.call('POST', path, { input: 'How many orders?' }, silent);
    expect([reply.status, memberOf(reply.json, 'code')]).toEqual([403, 'AI_NOT_ALLOWED']);
    const bound = await world.token({ externalId: 'bound', settings: { branchName: 'main' } });
    const other = await world.call('POST', path, { activeBranchName: 'dev' }, bound);
    expect([other.status, memberOf(other.json, 'code')]).toEqual([403, 'BRANCH_NOT_ALLOWED']);
    expect((await world.call('POST', path, { activeBranchName: 'main' }, bound)).status).toBe(200);
  });

  test('a security context belongs to its session, and neither to the user nor to the next session', async () => {
    const externalId = 'context';
    for (const securityContext of [{ a: 1, b: { c: 2 } }, { a: 3 }, undefined])
      await sessionOf({ externalId, securityContext });
    const { rows } = await sql<{ security_context: unknown }>`
      select s.security_context from sessions s join users u on u.id = s.user_id where u.external_id = ${externalId}
      order by s.security_context::text`.execute(world.db);
    const stored = rows.map((row) => row.security_context);
    expect(stored).toHaveLength(3);
    expect(stored).toEqual(expect.arrayContaining([{}, { a: 3 }, { a: 1, b: { c: 2 } }]));
  });

  test('what ends a session: its user, its key, its embed tenant, its deployment', async () => {
    const key = await makeKey(world);
    const mint = async (body: object): Promise<string> => {
      const minted = await world.call('POST', '/api/v1/embed/generate-session', { deploymentId: 1, ...body }, key);
      return tokenIn(await exchange(memberOf(minted.json, 'sessionId')));
    };
    const { db, demo } = world;
    const tokens = {
      user: await mint({ externalId: 'deleted' }),
      inactive: await mint({ externalId: 'inactive' }),
      tenant: await mint({ externalId: 'of-tenant', creatorMode: true, embedTenantName: 'ending-tenant' }),
      key: await mint({ externalId: 'of-key' }),
    };
    for (const token of Object.values(tokens)) expect((await use(token)).status).toBe(200);
    await db.deleteFrom('users').where('external_id', '=', 'deleted').execute();
    await db.updateTable('users').set({ is_active: false }).where('external_id', '=', 'inactive').execute();
    await db.deleteFrom('embed_tenants').where('name', '=', 'ending-tenant').execute();
    expect((await use(tokens.key)).status).toBe(200);
    for (const ended of [tokens.user, tokens.inactive, tokens.tenant]) {
      expect((await use(ended)).status).toBe(401);
      expect((await renew(ended)).status).toBe(401);
    }
    await db
      .updateTable('api_keys')
      .set({ revoked_at: world.now() })
      .where('account_id', '=', demo.accountId)
      .where('prefix', '=', key.slice('Api-Key '.length, 'Api-Key '.length + 9))
      .execute();
    expect((await use(tokens.key)).status).toBe(401);
    const none = await callHttp(world.server.url, jsonCall('POST', sessionTokenPath, tokens.key));
    expect(none.status).toBe(401);
  });
});
