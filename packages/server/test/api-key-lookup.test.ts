/** API keys are looked up in memory while all changes are heard, and in the store when not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiKeyLookup, createApiKeyLookup } from '../src/http/api-key-lookup.ts';
import { type Changes, isHearing, noChanges, publish } from '../src/store/changes.ts';
import { hashSecret } from '../src/store/secret.ts';
import { until } from './chat-world.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';
import { seedAccount } from './seed.ts';

describe.each(databaseKinds)('API keys on %s', async (kind) => {
  const { db, openChanges, close } = await openTestDatabase(kind);
  const { accountId, apiKeyId: id, apiKey } = await seedAccount(db, 'shop', 1);
  const now = new Date('2026-05-01T10:00:00Z');
  const later = new Date(now.getTime() + 1000);
  let changes: Changes;
  let apiKeys: ApiKeyLookup;
  beforeAll(async () => {
    changes = await openChanges();
    apiKeys = createApiKeyLookup({ db, changes });
    await until(() => isHearing(changes, performance.now()));
  });
  afterAll(async () => {
    apiKeys[Symbol.dispose]();
    await close();
  });

  const change = (values: { role?: 'admin' | 'member'; expires_at?: Date | null; revoked_at?: Date | null }) =>
    db.updateTable('api_keys').set(values).where('id', '=', id).execute();
  async function tell(): Promise<void> {
    await publish(db, { kind: 'api-key', id });
    await changes.catchUp();
  }
  /** What was changed without telling is not seen where the key is in memory. */
  const isFromMemory = async (): Promise<boolean> => {
    await change({ role: 'member' });
    const key = await apiKeys.find(apiKey, now);
    await change({ role: 'admin' });
    return key?.role === 'admin';
  };

  test('with the settings of the account, and from memory the second time', async () => {
    expect(await apiKeys.find(apiKey, now)).toEqual({
      id,
      accountId,
      role: 'admin',
      deploymentIds: null,
      name: apiKey.slice(0, 8),
      account: { name: 'shop', plan: 'enterprise', useCreatorMode: true, limits: {}, allowedOrigins: [] },
    });
    await until(isFromMemory);
  });

  test('a change of the key or its account that is told is there at once', async () => {
    await until(isFromMemory);
    await change({ role: 'member' });
    await tell();
    expect(await apiKeys.find(apiKey, now)).toMatchObject({ role: 'member' });
    await db
      .updateTable('accounts')
      .set({ plan: 'premium', allowed_origins: JSON.stringify(['https://a.example']) })
      .where('id', '=', accountId)
      .execute();
    await publish(db, { kind: 'account', id: accountId });
    await changes.catchUp();
    expect(await apiKeys.find(apiKey, now)).toMatchObject({
      account: { plan: 'premium', allowedOrigins: ['https://a.example'] },
    });
    await change({ role: 'admin' });
    await tell();
  });

  test('expiry counts to the instant, also from memory', async () => {
    await change({ expires_at: later });
    await tell();
    expect(await apiKeys.find(apiKey, now)).toMatchObject({ id });
    await until(isFromMemory);
    expect(await apiKeys.find(apiKey, new Date(later.getTime() - 1))).toMatchObject({ id });
    expect(await apiKeys.find(apiKey, later)).toBeNull();
    await change({ expires_at: null });
    await tell();
    expect(await apiKeys.find(apiKey, later)).toMatchObject({ id });
  });

  test('after a rotation the text of before opens until its end, the new one beyond', async () => {
    await db
      .updateTable('api_keys')
      .set({ hash: hashSecret('new text'), previous_hash: hashSecret(apiKey), previous_ends_at: later })
      .where('id', '=', id)
      .execute();
    await tell();
    for (const text of [apiKey, 'new text']) expect(await apiKeys.find(text, now)).toMatchObject({ id });
    expect(await apiKeys.find(apiKey, later)).toBeNull();
    expect(await apiKeys.find('new text', later)).toMatchObject({ id });
    await db
      .updateTable('api_keys')
      .set({ hash: hashSecret(apiKey), previous_hash: null, previous_ends_at: null })
      .where('id', '=', id)
      .execute();
    await tell();
    expect(await apiKeys.find('new text', now)).toBeNull();
  });

  test('a node without the channel always asks the store', async () => {
    using deaf = createApiKeyLookup({ db, changes: noChanges });
    expect(await deaf.find(apiKey, now)).toMatchObject({ id });
    await change({ revoked_at: now });
    expect(await deaf.find(apiKey, now)).toBeNull();
    await change({ revoked_at: null });
    expect(await deaf.find(apiKey, now)).toMatchObject({ id });
  });

  test.each(['', 'sk-', `sk-${'A'.repeat(43)}`, 'x'.repeat(100_000)])('unknown: %#', async (text) => {
    expect(await apiKeys.find(text, now)).toBeNull();
  });
});
