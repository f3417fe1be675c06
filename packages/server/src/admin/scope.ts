/** The scope of groups and user attributes: tenant-wide, or one embed tenant. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, change } from './change.ts';

/** Where things of the catalogue are looked for: in an account, tenant-wide (null) or in one of its embed tenants. */
export interface CatalogueScope {
  readonly accountId: number;
  readonly embedTenant: { readonly id: number; readonly name: string } | null;
}

/** The tenant-wide scope of an account. */
export const tenantWideOf = (accountId: number): CatalogueScope => ({ accountId, embedTenant: null });

/** The conditions that a row of groups or attributes, called `row`, is in the scope; written as the index is that serves them. */
export function inScope(row: string, { accountId, embedTenant }: CatalogueScope): readonly RawBuilder<unknown>[] {
  return [
    sql`${sql.ref(`${row}.account_id`)} = ${accountId}`,
    sql`coalesce(${sql.ref(`${row}.embed_tenant_id`)}, 0) = ${embedTenant?.id ?? 0}`,
  ];
}

/**
 * The scope of an embed tenant.
 * @throws InlayError NOT_FOUND when the account has none of that name.
 */
export async function scopeOfEmbedTenant(db: Kysely<Schema>, accountId: number, name: string): Promise<CatalogueScope> {
  const embedTenant = await db
    .selectFrom('embed_tenants')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .executeTakeFirst();
  if (embedTenant === undefined) throw new InlayError('NOT_FOUND', 'Embed tenant not found');
  return { accountId, embedTenant };
}

/**
 * Deletes a group with its memberships, or a user attribute with its values, and audits that.
 * @throws InlayError NOT_FOUND when the scope has none with this id.
 */
export function deleteFromScope(
  call: AdminCall,
  kind: 'group' | 'user-attribute',
  scope: CatalogueScope,
  id: number,
): Promise<void> {
  const table = kind === 'group' ? 'groups' : 'user_attributes';
  return change(call, async ({ tx, audit }) => {
    const { rows } = await sql<{ name: string }>`
      delete from ${sql.table(table)} as one where one.id = ${id} and ${sql.join(inScope('one', scope), sql` and `)}
      returning name`.execute(tx);
    const [deleted] = rows;
    if (deleted === undefined) {
      throw new InlayError('NOT_FOUND', kind === 'group' ? 'Group not found' : 'User attribute not found');
    }
    const { embedTenant } = scope;
    const details = embedTenant === null ? {} : { embedTenantId: embedTenant.id, embedTenantName: embedTenant.name };
    await audit(`${kind}.delete`, { kind, id, name: deleted.name }, details);
  });
}
