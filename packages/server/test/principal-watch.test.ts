/** Whoever is watched hears of the end of their user, session or key: by the channel, by the clock, or by asking the store. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Change, type Changes, noChanges, publish } from '../src/store/changes.ts';
import type { Schema } from '../src/store/schema.ts';
import {
  createPrincipalWatches,
  type PrincipalWatches,
  type Watch,
  type Watched,
} from '../src/users/principal-watch.ts';
import { until } from './chat-world.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';
import { type SeededAccount, seedAccount } from './seed.ts';

const ended = { code: 'SESSION_ENDED' };

describe.each(databaseKinds)('watches on %s', async (kind) => {
  const { db, openChanges, close } = await openTestDatabase(kind);
  const changes = await openChanges();
  const account = await seedAccount(db, 'shop', 1);
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const open: PrincipalWatches[] = [];
  afterEach(() => {
    for (const watches of open.splice(0)) watches[Symbol.dispose]();
  });
  afterAll(close);

  function openWatches(
    more: { changes?: Changes; clock?: () => Date; db?: Kysely<Schema>; nowMs?: () => number } = {},
  ) {
    const watches = createPrincipalWatches({ db, changes, clock: () => new Date(), log, ...more });
    open.push(watches);
    return watches;
  }

  async function makeUser(expiresAt: Date | null = null): Promise<number> {
    const { id } = await db
      .insertInto('users')
      .values({ account_id: account.accountId, kind: 'external', external_id: randomUUID(), expires_at: expiresAt })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  async function makeSession(userId: number, { apiKeyId }: Pick<SeededAccount, 'apiKeyId'> = account): Promise<string> {
    const id = randomUUID();
    const now = new Date();
    const later = new Date(now.getTime() + 86_400_000);
    await db
      .insertInto('sessions')
      .values({
        id,
        secret_hash: id,
        account_id: account.accountId,
        deployment_id: account.deploymentId,
        user_id: userId,
        api_key_id: apiKeyId,
        embed_tenant_id: null,
        security_context: '{}',
        created_from: null,
        created_at: now,
        exchange_before: later,
        exchanged_at: now,
        revoked_at: null,
        ends_at: later,
      })
      .execute();
    return id;
  }

  async function makeKey(expiresAt: Date | null = null): Promise<number> {
    const { id } = await db
      .insertInto('api_keys')
      .values({
        account_id: account.accountId,
        role: 'member',
        label: null,
        prefix: 'sk-x',
        hash: randomUUID(),
        deployment_ids: null,
        expires_at: expiresAt,
        revoked_at: null,
        previous_hash: null,
        previous_ends_at: null,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  const bySession = (userId: number, sessionId: string): Watched => {
    return { accountId: account.accountId, userId, sessionId, apiKeyId: null };
  };
  const byKey = (userId: number, apiKeyId: number): Watched => {
    return { accountId: account.accountId, userId, sessionId: null, apiKeyId };
  };
  const end = (watch: Watch): Promise<void> => until(() => watch.signal.aborted);
  const revoked = { revoked_at: new Date() };

  interface Case {
    readonly watched: Watched;
    readonly change: Change;
    readonly end: () => Promise<unknown>;
  }
  const cases: Readonly<Record<string, () => Promise<Case>>> = {
    'a session that is revoked': async () => {
      const userId = await makeUser();
      const id = await makeSession(userId);
      return {
        watched: bySession(userId, id),
        change: { kind: 'session', id },
        end: () => db.updateTable('sessions').set(revoked).where('id', '=', id).execute(),
      };
    },
    'a user who is deleted': async () => {
      const id = await makeUser();
      return {
        watched: bySession(id, await makeSession(id)),
        change: { kind: 'user', id },
        end: () => db.deleteFrom('users').where('id', '=', id).execute(),
      };
    },
    'a user for whom a key acts, and who is deactivated': async () => {
      const id = await makeUser();
      return {
        watched: byKey(id, account.apiKeyId),
        change: { kind: 'user', id },
        end: () => db.updateTable('users').set({ is_active: false }).where('id', '=', id).execute(),
      };
    },
    'a key that acts, and is revoked': async () => {
      const id = await makeKey();
      return {
        watched: byKey(await makeUser(), id),
        change: { kind: 'api-key', id },
        end: () => db.updateTable('api_keys').set(revoked).where('id', '=', id).execute(),
      };
    },
    'a key that minted the session, and is revoked': async () => {
      const [apiKeyId, userId] = [await makeKey(), await makeUser()];
      return {
        watched: bySession(userId, await makeSession(userId, { apiKeyId })),
        change: { kind: 'api-key', id: apiKeyId },
        end: () => db.updateTable('api_keys').set(revoked).where('id', '=', apiKeyId).execute(),
      };
    },
  };

  describe.each(Object.entries(cases))('%s', (_name, make) => {
    test.each([
      ['is heard of', true],
      ['is looked up where nothing is heard', false],
    ])('%s', async (_how, isHeard) => {
      const watches = openWatches(isHeard ? {} : { changes: noChanges });
      const one = await make();
      const other = byKey(await makeUser(), account.apiKeyId);
      using watch = watches.watch(one.watched);
      using rest = watches.watch(other);
      expect(watch.signal.aborted).toBe(false);
      await one.end();
      if (isHeard) await publish(db, one.change);
      await end(watch);
      expect(watch.signal.reason).toMatchObject(ended);
      expect(rest.signal.aborted).toBe(false);
    });
  });

  test('who does not stand when the watch begins is told at once', async () => {
    const watches = openWatches();
    using unknown = watches.watch(byKey(2_000_000_000, account.apiKeyId));
    using past = watches.watch(byKey(await makeUser(new Date(Date.now() - 1)), account.apiKeyId));
    using stranger = watches.watch({ ...byKey(await makeUser(), account.apiKeyId), accountId: account.accountId + 1 });
    await Promise.all([end(unknown), end(past), end(stranger)]);
  });

  test('an end in time comes by the clock, without any news, unless it was put off', async () => {
    let now = Date.parse('2026-05-01T10:00:00Z');
    const watches = openWatches({ clock: () => new Date(now) });
    const endsAt = new Date(now + 1000);
    const [ephemeral, persisted] = [await makeUser(endsAt), await makeUser(endsAt)];
    const expiring = await makeKey(endsAt);
    using user = watches.watch(byKey(ephemeral, account.apiKeyId));
    using kept = watches.watch(byKey(persisted, account.apiKeyId));
    using key = watches.watch(byKey(await makeUser(), expiring));
    // Whoever is watched last has been looked up together with those before, or after them.
    using gone = watches.watch(byKey(2_000_000_000, account.apiKeyId));
    await end(gone);
    await db.updateTable('users').set({ expires_at: null }).where('id', '=', persisted).execute();
    expect([user, kept, key].map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
    now += 1000;
    await Promise.all([end(user), end(key)]);
    expect(kept.signal.aborted).toBe(false);
  });

  test('a watch that is disposed hears nothing', async () => {
    const watches = openWatches();
    const [one, other] = [await makeUser(), await makeUser()];
    const disposed = watches.watch(byKey(one, account.apiKeyId));
    using watch = watches.watch(byKey(other, account.apiKeyId));
    disposed[Symbol.dispose]();
    for (const id of [one, other]) {
      await db.deleteFrom('users').where('id', '=', id).execute();
      await publish(db, { kind: 'user', id });
    }
    await end(watch);
    expect(disposed.signal.aborted).toBe(false);
  });

  test('where neither the channel nor the store says anything, nobody goes on for long', async () => {
    let isLost = false;
    let nowMs = 0;
    const broken = new Proxy(db, {
      get: (target, key) => {
        if (isLost) throw new Error('the store is gone');
        const value = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const watches = openWatches({ db: broken, changes: noChanges, nowMs: () => nowMs });
    using watch = watches.watch(byKey(await makeUser(), account.apiKeyId));
    using gone = watches.watch(byKey(2_000_000_000, account.apiKeyId));
    await end(gone);
    isLost = true;
    nowMs = 15_000;
    await new Promise((resolve) => setImmediate(resolve));
    expect(watch.signal.aborted).toBe(false);
    nowMs = 15_001;
    await end(watch);
    expect(watch.signal.reason).toMatchObject({ code: 'NOT_READY' });
  });
});
