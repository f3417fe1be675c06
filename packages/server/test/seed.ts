/** A small account in a test database, without an installation file: for tests of one use case. */
import { randomUUID } from 'node:crypto';
import type { AttributeType } from '@inlay/contract/user.ts';
import type { Kysely } from 'kysely';
import type { Schema } from '../src/store/schema.ts';
import { hashSecret, newSecret } from '../src/store/secret.ts';
import type { Principal } from '../src/users/principal.ts';

/** What a test needs to know of it. */
export interface SeededAccount {
  readonly accountId: number;
  readonly deploymentId: number;
  readonly apiKeyId: number;
  readonly apiKey: string;
}

/** The attributes of every seeded account, one of each type, and two with defaults. */
const seededAttributes = [
  { name: 'merchant_id', type: 'number', default_value: null },
  { name: 'region', type: 'string', default_value: null },
  { name: 'is_manager', type: 'boolean', default_value: null },
  { name: 'regions', type: 'string_array', default_value: null },
  { name: 'merchant_ids', type: 'number_array', default_value: null },
  { name: 'tier', type: 'number', default_value: '3' },
  { name: 'channels', type: 'string_array', default_value: '["web","shop"]' },
] as const satisfies readonly { name: string; type: AttributeType; default_value: string | null }[];

/** The groups of every seeded account. */
export const seededGroups = ['merchant', 'merchant_admin', 'platform_team'] as const;

/** Makes account `name` with one deployment, one admin key, the groups and attributes above and the user `analyst`. */
export async function seedAccount(db: Kysely<Schema>, name: string, deploymentId: number): Promise<SeededAccount> {
  const { id: accountId } = await db
    .insertInto('accounts')
    .values({ name, plan: 'enterprise', use_creator_mode: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('deployments')
    .values({
      id: deploymentId,
      account_id: accountId,
      name: 'storefront',
      model_folder: 'none',
      warehouse: JSON.stringify({ type: 'duckdb', folder: 'none' }),
    })
    .execute();
  await db
    .insertInto('groups')
    .values(seededGroups.map((group) => ({ account_id: accountId, name: group, description: null })))
    .execute();
  await db
    .insertInto('user_attributes')
    .values(
      seededAttributes.map((attribute) => ({
        account_id: accountId,
        display_name: null,
        description: null,
        ...attribute,
      })),
    )
    .execute();
  await db
    .insertInto('users')
    .values({
      account_id: accountId,
      kind: 'internal',
      external_id: null,
      username: 'analyst',
      email: 'Analyst@example.com',
      display_name: null,
      picture: null,
      expires_at: null,
    })
    .execute();
  const apiKey = newSecret('sk-');
  const { id: apiKeyId } = await db
    .insertInto('api_keys')
    .values({
      account_id: accountId,
      role: 'admin',
      prefix: apiKey.slice(0, 8),
      hash: hashSecret(apiKey),
      deployment_ids: null,
      expires_at: null,
      revoked_at: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { accountId, deploymentId, apiKeyId, apiKey };
}

/** A session of a user of `account`, exchanged at `start`, that ends ten minutes later; the principal of its token. */
export async function seedSession(
  db: Kysely<Schema>,
  account: SeededAccount,
  userId: number,
  start: Date,
): Promise<Principal> {
  const { accountId, deploymentId, apiKeyId } = account;
  const sessionId = randomUUID();
  const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);
  await db
    .insertInto('sessions')
    .values({
      id: sessionId,
      secret_hash: sessionId,
      account_id: accountId,
      deployment_id: deploymentId,
      user_id: userId,
      api_key_id: apiKeyId,
      security_context: '{}',
      created_at: start,
      exchange_before: after(300),
      exchanged_at: start,
      ends_at: after(600),
    })
    .execute();
  return { accountId, userId, sessionId, apiKeyId: null, scopeId: null, securityContext: {} };
}

const tables = [
  'accounts',
  'api_keys',
  'deployments',
  'agents',
  'groups',
  'user_attributes',
  'users',
  'user_groups',
  'user_attribute_values',
  'sessions',
  'threads',
  'runs',
  'messages',
] as const satisfies readonly (keyof Schema)[];

/** Every row of every table as text, in a fixed order: equal when nothing has changed. */
export async function dumpTables(db: Kysely<Schema>): Promise<string> {
  const lines: string[] = [];
  for (const table of tables) {
    const rows = await db.selectFrom(table).selectAll().execute();
    lines.push(...rows.map((row) => `${table} ${JSON.stringify(row)}`).sort());
  }
  return lines.join('\n');
}
