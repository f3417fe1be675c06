/** API keys: making one, looking whether there is any, and keeping the demo account's key at the value that the operator gave. */
import { type Kysely, sql } from 'kysely';
import { ConfigError } from '../config.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret, newSecret } from '../store/secret.ts';

/** Characters of a key that stay visible, `sk-` among them: enough to tell keys apart, useless for guessing. */
const prefixCharacters = 9;

/** A new text for an API key: `sk-` and 256 random bits (http-api.md). */
export function newApiKey(): string {
  return newSecret('sk-');
}

/**
 * Makes an API key. Its text exists in the result only: the store keeps the hash.
 * @param key.deploymentIds the deployments it opens; all of the account when left out.
 */
export async function createApiKey(
  db: Kysely<Schema>,
  key: { readonly accountId: number; readonly role: 'admin' | 'member'; readonly deploymentIds?: readonly number[] },
): Promise<{ readonly key: string; readonly prefix: string }> {
  const text = newApiKey();
  const prefix = text.slice(0, prefixCharacters);
  await db
    .insertInto('api_keys')
    .values({
      account_id: key.accountId,
      role: key.role,
      prefix,
      hash: hashSecret(text),
      deployment_ids: key.deploymentIds === undefined ? null : JSON.stringify(key.deploymentIds),
    })
    .execute();
  return { key: text, prefix };
}

/** Whether an API key exists that is not revoked; without one nobody can use the API. */
export async function hasApiKey(db: Kysely<Schema>): Promise<boolean> {
  const key = await db.selectFrom('api_keys').select('id').where('revoked_at', 'is', null).limit(1).executeTakeFirst();
  return key !== undefined;
}

const demoLabel = 'demo';

/**
 * Makes `key` the demo key of the account: an admin key under the label `demo`. A demo key with another text is revoked, so
 * that after a change of INLAY_API_KEY, or between it and the key file, the earlier one stops working. Its hash is spoilt as
 * well, which lets the operator go back to the earlier text later: that is a new key, without the sessions of the old one.
 * @throws ConfigError when the text is another key already, of this account or another, or was revoked by somebody.
 */
export async function setDemoKey(db: Kysely<Schema>, accountId: number, key: string, now: Date): Promise<void> {
  const hash = hashSecret(key);
  await db.transaction().execute(async (transaction) => {
    await sql`select id from accounts where id = ${accountId} for update`.execute(transaction);
    const same = await transaction
      .selectFrom('api_keys')
      .select(['account_id', 'label', 'revoked_at'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (same?.account_id === accountId && same.label === demoLabel && same.revoked_at === null) return;
    if (same !== undefined)
      throw new ConfigError(['INLAY_API_KEY or the key file holds a key that is in use elsewhere or revoked.']);
    await transaction
      .updateTable('api_keys')
      .set({ revoked_at: now, hash: sql<string>`hash || '-' || id` })
      .where('account_id', '=', accountId)
      .where('label', '=', demoLabel)
      .where('revoked_at', 'is', null)
      .execute();
    await transaction
      .insertInto('api_keys')
      // No character of a key that the operator chose is shown: it may be short of randomness.
      .values({ account_id: accountId, role: 'admin', label: demoLabel, prefix: demoLabel, hash })
      .execute();
  });
}
