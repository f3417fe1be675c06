import { afterAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../src/admin/make-api-key.ts';
import { setDemoKey } from '../src/installation/demo-key.ts';
import { hashSecret } from '../src/store/secret.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';

describe.each(databaseKinds)('API keys on %s', async (kind) => {
  const { db, close } = await openTestDatabase(kind);
  afterAll(close);
  const keys = (accountId: number) =>
    db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId).orderBy('id').execute();
  let accounts = 0;
  const shop = async (): Promise<number> => {
    const row = await db
      .insertInto('accounts')
      .values({ name: `shop-${accounts++}`, plan: 'premium', use_creator_mode: false })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  };
  const now = new Date('2026-01-02T03:04:05.000Z');

  test('a made key is stored as a hash', async () => {
    const accountId = await shop();
    const { key, prefix } = await insertApiKey(db, { accountId, role: 'member', deploymentIds: [1] });
    expect(key).toMatch(/^sk-[\w-]{43}$/);
    const stored = await keys(accountId);
    expect(stored).toMatchObject([
      {
        role: 'member',
        prefix: key.slice(0, 9),
        hash: hashSecret(key),
        deployment_ids: [1],
        label: null,
        revoked_at: null,
      },
    ]);
    expect(prefix).toBe(key.slice(0, 9));
    expect(JSON.stringify(stored)).not.toContain(key.slice(9));
  });

  test('the demo key follows what the operator gives, and going back is a new key', async () => {
    const accountId = await shop();
    const working = async (): Promise<readonly string[]> =>
      (await keys(accountId)).filter(({ revoked_at }) => revoked_at === null).map(({ hash }) => hash);
    const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
    await setDemoKey(db, accountId, first, now);
    await setDemoKey(db, accountId, first, now);
    expect(await keys(accountId)).toMatchObject([{ role: 'admin', label: 'demo', prefix: 'demo', revoked_at: null }]);
    await setDemoKey(db, accountId, second, now);
    expect(await working()).toStrictEqual([hashSecret(second)]);
    await setDemoKey(db, accountId, first, now);
    expect(await working()).toStrictEqual([hashSecret(first)]);
    const all = await keys(accountId);
    expect(all).toHaveLength(3);
    expect(all.filter(({ hash }) => hash === hashSecret(first))).toMatchObject([{ revoked_at: null }]);
  });

  test('other keys stay when the demo key changes', async () => {
    const accountId = await shop();
    await insertApiKey(db, { accountId, role: 'admin' });
    await setDemoKey(db, accountId, 'c'.repeat(40), now);
    await setDemoKey(db, accountId, 'd'.repeat(40), now);
    expect((await keys(accountId)).map(({ revoked_at }) => revoked_at)).toStrictEqual([null, now, null]);
  });

  test('a text that is another key already is refused', async () => {
    const accountId = await shop();
    const { key } = await insertApiKey(db, { accountId, role: 'member' });
    await expect(setDemoKey(db, accountId, key, now)).rejects.toMatchObject({ name: 'ConfigError' });
  });
});
