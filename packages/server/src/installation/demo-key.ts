/** The API key of the demo account: it is what the operator gives. */
import { type Kysely, sql } from 'kysely';
import { keptOfKey } from '../admin/make-api-key.ts';
import { ConfigError } from '../config.ts';
import { publish } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';

const demoLabel = 'demo';

/**
 * Makes `key` the demo key of the account: an admin key under the label `demo`. A demo key with another text is revoked, so
 * that after a change of INLAY_API_KEY, or between it and the key file, the earlier one stops working. Its hash is spoilt as
 * well, which lets the operator go back to the earlier text later: that is a new key, without the sessions of the old one.
 * So the demo key follows what the operator gives; whoever rotates it by the management API undoes that at the next start.
 * @throws ConfigError when the text is that of a key which is revoked, of another account, or no admin key.
 */
export async function setDemoKey(db: Kysely<Schema>, accountId: number, key: string, now: Date): Promise<void> {
  const { hash } = keptOfKey(key);
  await db.transaction().execute(async (transaction) => {
    await sql`select id from accounts where id = ${accountId} for no key update`.execute(transaction);
    const same = await transaction
      .selectFrom('api_keys')
      .select(['account_id', 'role', 'deployment_ids', 'revoked_at'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    // Under any label, since the management API can give it another.
    const isAdmin = same?.role === 'admin' && same.deployment_ids === null;
    if (same?.account_id === accountId && isAdmin && same.revoked_at === null) return;
    if (same !== undefined)
      throw new ConfigError(['INLAY_API_KEY or the key file holds a key that is in use elsewhere or revoked.']);
    const revoked = await transaction
      .updateTable('api_keys')
      .set({
        revoked_at: now,
        hash: sql<string>`hash || '-' || id`,
        previous_hash: null,
        previous_ends_at: null,
      })
      .where('account_id', '=', accountId)
      .where('label', '=', demoLabel)
      .where('revoked_at', 'is', null)
      .returning('id')
      .execute();
    for (const { id } of revoked) await publish(transaction, { kind: 'api-key', id });
    await transaction
      .insertInto('api_keys')
      // No character of a key that the operator chose is shown: it may be short of randomness.
      .values({ account_id: accountId, role: 'admin', label: demoLabel, prefix: demoLabel, hash })
      .execute();
  });
}
