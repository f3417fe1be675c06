/** What a call of generate-session has made or changed of an embed tenant, as the audit log keeps it. */
import type { Kysely } from 'kysely';
import { type Actor, appendAuditEntry } from '../store/audit-log.ts';
import type { Schema } from '../store/schema.ts';
import type { FlightCall } from '../users/flight-state.ts';
import type { WrittenCall } from '../users/resolve-users.ts';

/**
 * Keeps an entry `embed-tenant.define`, in the transaction of the call, when the call made the embed tenant or changed a
 * definition of it: with names, not with values. Minting alone is told by the list of sessions.
 */
export async function auditDefinitions(
  db: Kysely<Schema>,
  { call, changes, embedTenantId }: WrittenCall<FlightCall>,
  actor: Actor,
  now: Date,
): Promise<void> {
  if (changes === null || embedTenantId === null) return;
  const { makesEmbedTenant, groups, attributes } = changes;
  if (!makesEmbedTenant && groups.length === 0 && attributes.length === 0) return;
  await appendAuditEntry(
    db,
    {
      accountId: call.accountId,
      actor,
      action: 'embed-tenant.define',
      object: { kind: 'embed-tenant', id: String(embedTenantId), name: call.scope.embedTenantName },
      result: 'OK',
      details: {
        isNew: makesEmbedTenant,
        groups: groups.map(({ name }) => name),
        userAttributes: attributes.map(({ name }) => name),
      },
    },
    now,
  );
}
