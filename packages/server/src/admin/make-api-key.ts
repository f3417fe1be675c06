/** The making of API keys: their text, and the row that is kept of it. For the management API, the demo and the command line. */
import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { hashSecret, newSecret } from '../store/secret.ts';

/** Characters of a key that stay visible, `sk-` among them: enough to tell keys apart, useless for guessing. */
const prefixCharacters = 9;

/** A key to make. `deploymentIds` left out or null: every deployment of the account. */
export interface NewKey {
  readonly accountId: number;
  readonly role: 'admin' | 'member';
  readonly label?: string | null | undefined;
  readonly deploymentIds?: readonly number[] | null | undefined;
  readonly expiresAt?: Date | null | undefined;
}

/** A new text for an API key: `sk-` and 256 random bits (http-api.md). */
export function newApiKey(): string {
  return newSecret('sk-');
}

/** What the store keeps of a key with this text. */
export function keptOfKey(text: string): { readonly prefix: string; readonly hash: string } {
  return { prefix: text.slice(0, prefixCharacters), hash: hashSecret(text) };
}

/**
 * Makes an API key. Its text exists in the result only: the store keeps the hash.
 * @throws the database's unique_violation when a key that is not revoked has the label.
 */
export async function insertApiKey(
  db: Kysely<Schema>,
  { accountId, role, label = null, deploymentIds = null, expiresAt = null }: NewKey,
): Promise<{ readonly id: number; readonly key: string; readonly prefix: string }> {
  const key = newApiKey();
  const kept = keptOfKey(key);
  const { id } = await db
    .insertInto('api_keys')
    .values({
      account_id: accountId,
      role,
      label,
      ...kept,
      deployment_ids: deploymentIds === null ? null : JSON.stringify(deploymentIds),
      expires_at: expiresAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, key, prefix: kept.prefix };
}

/** Whether an API key exists that is not revoked; without one nobody can use the API. */
export async function hasApiKey(db: Kysely<Schema>): Promise<boolean> {
  const key = await db.selectFrom('api_keys').select('id').where('revoked_at', 'is', null).limit(1).executeTakeFirst();
  return key !== undefined;
}
