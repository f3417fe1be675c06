/** API keys as the management API sees them (management-api.md). */
import type { ApiKey, ApiKeyBody, ApiKeyChanges, ApiKeyQuery, NewApiKey } from '@inlay/contract/admin/api-keys.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, type Change, change, orNameTaken } from './change.ts';
import { insertApiKey, keptOfKey, newApiKey } from './make-api-key.ts';

interface Row {
  readonly id: number;
  readonly label: string | null;
  readonly role: 'admin' | 'member';
  readonly prefix: string;
  readonly deployment_ids: readonly number[] | null;
  readonly state: ApiKey['state'];
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly previous_ends_at: Date | null;
}

const stateAt = (now: Date): RawBuilder<unknown> => sql`case when k.revoked_at is not null then 'revoked'
  when k.expires_at <= ${now} then 'expired' else 'active' end`;

const columnsAt = (now: Date): RawBuilder<unknown> => sql`k.id, k.label, k.role, k.prefix, k.deployment_ids,
  k.created_at, k.expires_at, k.revoked_at, ${stateAt(now)} as state,
  case when k.previous_ends_at > ${now} and k.revoked_at is null then k.previous_ends_at end as previous_ends_at`;

const toApiKey = (row: Row): ApiKey => ({
  id: row.id,
  label: row.label,
  role: row.role,
  prefix: row.prefix,
  deploymentIds: row.deployment_ids === null ? null : [...row.deployment_ids],
  state: row.state,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  revokedAt: row.revoked_at?.toISOString() ?? null,
  previousEndsAt: row.previous_ends_at?.toISOString() ?? null,
});

/** A page of the keys of an account, as they stand at `now`. @throws InlayError INVALID_CURSOR */
export function listApiKeys(
  db: Kysely<Schema>,
  { accountId, now }: { readonly accountId: number; readonly now: Date },
  query: ApiKeyQuery,
): Promise<Page<ApiKey>> {
  return keysetPage<Row, ApiKey, 'createdAt' | 'label'>(
    db,
    {
      columns: columnsAt(now),
      from: sql`api_keys k`,
      where: [
        sql`k.account_id = ${accountId}`,
        ...filters(
          equals(sql`k.role`, query.role),
          equals(stateAt(now), query.state),
          contains([sql`coalesce(k.label, '')`, sql`k.prefix`], query.search),
        ),
      ],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', label: { expression: sql`coalesce(k.label, '')`, type: 'text' } },
      id: { expression: sql`k.id`, type: 'integer' },
    },
    query,
    toApiKey,
  );
}

/** @throws InlayError NOT_FOUND when the account has no such key. */
export async function readApiKey(
  db: Kysely<Schema>,
  { accountId, now, id }: { readonly accountId: number; readonly now: Date; readonly id: number },
): Promise<ApiKey> {
  const { rows } = await sql<Row>`
    select ${columnsAt(now)} from api_keys k where k.id = ${id} and k.account_id = ${accountId}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('NOT_FOUND', 'API key not found');
  return toApiKey(row);
}

/**
 * Makes a key, whose text is in the reply only.
 * @throws InlayError NOT_FOUND for a deployment that the account does not have; INVALID_REQUEST when it would have expired
 * already; NAME_TAKEN for a label that a key has which is not revoked.
 */
export function createApiKey(call: AdminCall, body: ApiKeyBody): Promise<NewApiKey> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const expiresAt = body.expiresAt == null ? null : new Date(body.expiresAt);
    if (expiresAt !== null && expiresAt <= now) throw invalid('expiresAt', 'must be in the future');
    const deploymentIds = body.deploymentIds == null ? null : [...new Set(body.deploymentIds)];
    if (deploymentIds !== null) await requireDeployments(tx, accountId, deploymentIds);
    const { role, label = null } = body;
    const { id, key } = await orLabelTaken(() =>
      insertApiKey(tx, { accountId, role, label, deploymentIds, expiresAt }),
    );
    const details = { role, ...(deploymentIds === null ? {} : { deployments: deploymentIds.length }) };
    await audit('api-key.create', { kind: 'api-key', id, name: label ?? keptOfKey(key).prefix }, details);
    return { ...(await readApiKey(tx, { accountId, now, id })), key };
  });
}

async function requireDeployments(tx: Transaction<Schema>, accountId: number, ids: readonly number[]): Promise<void> {
  const rows = await tx
    .selectFrom('deployments')
    .select('id')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`id in (select value::integer from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))`)
    // In one order for all. One that is deleted at this moment is waited for: it would be taken out of no list that is still to come.
    .orderBy('id')
    .forKeyShare()
    .execute();
  const found = new Set(rows.map(({ id }) => id));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length === 0) return;
  throw new InlayError('NOT_FOUND', 'Deployment not found', {
    issues: missing.map((id) => ({ path: `deploymentIds.${ids.indexOf(id)}`, message: `${id} not found` })),
  });
}

/** Changes the label of a key. @throws InlayError NOT_FOUND, NAME_TAKEN */
export function updateApiKey(call: AdminCall, id: number, { label }: ApiKeyChanges): Promise<ApiKey> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const stored = await lockKey(tx, { accountId, now, id });
    if (label === undefined || label === stored.label) return stored;
    await orLabelTaken(() => tx.updateTable('api_keys').set({ label }).where('id', '=', id).execute());
    await audit('api-key.update', { kind: 'api-key', id, name: label ?? stored.prefix }, { fields: ['label'] });
    // The label is what the audit log calls the key.
    await publish(tx, { kind: 'api-key', id });
    return { ...stored, label };
  });
}

/**
 * Gives a key a new text. The present one opens for `overlapSeconds` more; the one before it, if it still did, ends at once.
 * Sessions that the key minted go on.
 * @throws InlayError NOT_FOUND; KEY_NOT_ACTIVE when it is revoked or expired.
 */
export function rotateApiKey(
  call: AdminCall,
  id: number,
  { overlapSeconds }: { readonly overlapSeconds: number },
): Promise<NewApiKey> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const { state, label } = await lockKey(tx, { accountId, now, id });
    if (state !== 'active') throw new InlayError('KEY_NOT_ACTIVE', `The API key is ${state}`);
    const key = newApiKey();
    const endsAt = overlapSeconds === 0 ? null : new Date(now.getTime() + overlapSeconds * 1000);
    await tx
      .updateTable('api_keys')
      .set({
        previous_hash: endsAt === null ? null : sql<string>`hash`,
        previous_ends_at: endsAt,
        ...keptOfKey(key),
      })
      .where('id', '=', id)
      .execute();
    await audit('api-key.rotate', { kind: 'api-key', id, name: label ?? keptOfKey(key).prefix }, { overlapSeconds });
    await publish(tx, { kind: 'api-key', id });
    return { ...(await readApiKey(tx, { accountId, now, id })), key };
  });
}

/**
 * Revokes a key at once, with the sessions that it minted; doing so again changes nothing.
 * @throws InlayError NOT_FOUND; LAST_ADMIN_KEY when no other key could manage the account any more.
 */
export function revokeApiKey(call: AdminCall, id: number): Promise<void> {
  return change(call, async (deed) => {
    const { tx, accountId, now, audit } = deed;
    // Two keys that revoke each other at once have to wait for each other here.
    await sql`select id from accounts where id = ${accountId} for no key update`.execute(tx);
    const { state, label, prefix } = await lockKey(tx, { accountId, now, id });
    if (state === 'revoked') return;
    await requireAnotherAdminKey(deed, id);
    await tx
      .updateTable('api_keys')
      .set({ revoked_at: now, previous_hash: null, previous_ends_at: null })
      .where('id', '=', id)
      .execute();
    await audit('api-key.revoke', { kind: 'api-key', id, name: label ?? prefix });
    await publish(tx, { kind: 'api-key', id });
  });
}

async function requireAnotherAdminKey({ tx, accountId, now }: Change, id: number): Promise<void> {
  const { rows } = await sql`
    select id from api_keys
    where account_id = ${accountId} and id <> ${id} and role = 'admin' and deployment_ids is null
      and revoked_at is null and (expires_at is null or expires_at > ${now})
    limit 1`.execute(tx);
  if (rows.length === 0) {
    throw new InlayError('LAST_ADMIN_KEY', 'No other key could manage the account: make another admin key first');
  }
}

/** The key as it stands, which nobody else changes until the transaction ends. @throws InlayError NOT_FOUND */
async function lockKey(
  tx: Transaction<Schema>,
  key: { readonly accountId: number; readonly now: Date; readonly id: number },
): Promise<ApiKey> {
  await sql`
    select id from api_keys where id = ${key.id} and account_id = ${key.accountId} for no key update`.execute(tx);
  return readApiKey(tx, key);
}

const orLabelTaken = <T>(statement: () => Promise<T>): Promise<T> =>
  orNameTaken('Another key has that label', statement);

function invalid(path: string, message: string): InlayError {
  return new InlayError('INVALID_REQUEST', `${path} ${message}`, { issues: [{ path, message }] });
}
