/** API keys by their text: from memory while this node hears of every change, else from the store (http-api.md). */
import { type Kysely, sql } from 'kysely';
import { type AccountSettings, accountSettings } from '../embed/account-settings.ts';
import type { Changes } from '../store/changes.ts';
import { createHeardCache } from '../store/heard-cache.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret } from '../store/secret.ts';

/** Keys held in memory; more than an installation uses within a second. */
const keysMax = 10_000;
const ageMsMax = 60_000;

/** An API key that opens, and its account as it is now. */
export interface KnownApiKey {
  readonly id: number;
  readonly accountId: number;
  readonly role: 'admin' | 'member';
  /** Null: every deployment of the account. */
  readonly deploymentIds: readonly number[] | null;
  /** What the key is called in the audit log: its label, else its visible prefix. */
  readonly name: string;
  readonly account: AccountSettings;
}

/** The look-up of a process. Disposing ends its subscription to changes. */
export interface ApiKeyLookup extends Disposable {
  /** The key with this text, if it opens at `now`: known, not revoked, not expired; else null. */
  find(text: string, now: Date): Promise<KnownApiKey | null>;
}

interface Found {
  readonly key: KnownApiKey;
  /** The instant, in milliseconds, from which on this text opens nothing; Infinity without one. */
  readonly endsAtMs: number;
}

/** Makes the look-up of a process; nothing is in memory. */
export function createApiKeyLookup(dependencies: {
  readonly db: Kysely<Schema>;
  readonly changes: Changes;
}): ApiKeyLookup {
  const { db, changes } = dependencies;
  const cache = createHeardCache<Found>({
    changes,
    ageMsMax,
    sizeMax: keysMax,
    isAffected: ({ key }, change) =>
      (change.kind === 'api-key' && change.id === key.id) || (change.kind === 'account' && change.id === key.accountId),
  });
  return {
    async find(text, now) {
      const hash = hashSecret(text);
      const found = await cache.get(hash, () => readApiKey(db, hash));
      // To the instant, also from memory.
      return found !== null && found.endsAtMs > now.getTime() ? found.key : null;
    },
    [Symbol.dispose]: () => cache[Symbol.dispose](),
  };
}

/** The key whose text, or whose text before the last rotation, has this hash, unless it is revoked. */
async function readApiKey(db: Kysely<Schema>, hash: string): Promise<Found | null> {
  const { rows } = await sql<{
    readonly id: number;
    readonly account_id: number;
    readonly role: 'admin' | 'member';
    readonly deployment_ids: readonly number[] | null;
    readonly name: string;
    readonly ends_at: Date | null;
    readonly account: AccountSettings;
  }>`
    select k.id, k.account_id, k.role, k.deployment_ids, coalesce(k.label, k.prefix) as name,
      least(k.expires_at, case when k.hash = ${hash} then null else k.previous_ends_at end) as ends_at,
      ${accountSettings} as account
    from api_keys k join accounts a on a.id = k.account_id
    where (k.hash = ${hash} or k.previous_hash = ${hash}) and k.revoked_at is null`.execute(db);
  const row = rows[0];
  if (row === undefined) return null;
  const { id, account_id: accountId, role, deployment_ids: deploymentIds, name, account } = row;
  return {
    key: { id, accountId, role, deploymentIds, name, account },
    endsAtMs: row.ends_at?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}
