/** Embed tenants: which there are, what is in their scope, and their end. */
import type { EmbedTenant, EmbedTenantDetails, EmbedTenantQuery } from '@inlay/contract/admin/embed-tenants.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { contains, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, change } from './change.ts';
import { endSessions } from './end-sessions.ts';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly created_at: Date;
}

const toEmbedTenant = ({ id, name, created_at }: Row): EmbedTenant => ({
  id,
  name,
  createdAt: created_at.toISOString(),
});

/** A page of the embed tenants of an account. @throws InlayError INVALID_CURSOR */
export function listEmbedTenants(
  db: Kysely<Schema>,
  accountId: number,
  query: EmbedTenantQuery,
): Promise<Page<EmbedTenant>> {
  return keysetPage<Row, EmbedTenant, 'createdAt' | 'name'>(
    db,
    {
      columns: sql`e.id, e.name, e.created_at`,
      from: sql`embed_tenants e`,
      where: [sql`e.account_id = ${accountId}`, ...filters(contains([sql`e.name`], query.search))],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', name: { expression: sql`e.name`, type: 'text' } },
      id: { expression: sql`e.id`, type: 'integer' },
    },
    query,
    toEmbedTenant,
  );
}

/** An embed tenant with what is in its scope. @throws InlayError NOT_FOUND */
export async function readEmbedTenant(
  db: Kysely<Schema>,
  { accountId, name, now }: { readonly accountId: number; readonly name: string; readonly now: Date },
): Promise<EmbedTenantDetails> {
  interface DetailsRow extends Row {
    readonly group_count: number;
    readonly attribute_count: number;
    readonly thread_count: number;
    readonly session_count: number;
  }
  const { rows } = await sql<DetailsRow>`
    select e.id, e.name, e.created_at,
      (select count(*)::int from groups where embed_tenant_id = e.id) as group_count,
      (select count(*)::int from user_attributes where embed_tenant_id = e.id) as attribute_count,
      (select count(*)::int from threads where embed_tenant_id = e.id) as thread_count,
      (select count(*)::int from sessions
        where account_id = e.account_id and embed_tenant_id = e.id and revoked_at is null and ends_at > ${now})
        as session_count
    from embed_tenants e where e.account_id = ${accountId} and e.name = ${name}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return {
    ...toEmbedTenant(row),
    groupCount: row.group_count,
    userAttributeCount: row.attribute_count,
    threadCount: row.thread_count,
    sessionCount: row.session_count,
  };
}

/**
 * Deletes an embed tenant with its groups, attributes, memberships, values and threads, and revokes every session that names
 * it. The next creator-mode call that names it begins an empty one.
 * @throws InlayError NOT_FOUND
 */
export function deleteEmbedTenant(call: AdminCall, name: string): Promise<void> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const deleted = await tx
      .deleteFrom('embed_tenants')
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .returning('id')
      .executeTakeFirst();
    if (deleted === undefined) throw notFound();
    const revokedSessions = await endSessions(tx, { accountId, now }, { column: 'embed_tenant_id', id: deleted.id });
    const object = { kind: 'embed-tenant', id: deleted.id, name };
    await audit('embed-tenant.delete', object, { revokedSessions });
    await publish(tx, { kind: 'embed-tenant', id: deleted.id });
  });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Embed tenant not found');
