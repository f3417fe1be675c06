/** The audit log, read (management-api.md). */
import type { AuditEntryJson, AuditQuery } from '@inlay/contract/admin/audit.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';

interface Row {
  readonly id: string;
  readonly at: Date;
  readonly actor_kind: AuditEntryJson['actor']['kind'];
  readonly actor_id: string | null;
  readonly actor_name: string | null;
  readonly action: string;
  readonly object_kind: string | null;
  readonly object_id: string | null;
  readonly object_name: string | null;
  readonly result: string;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly details: Record<string, unknown>;
}

const columns = sql`l.id::text as id, l.at, l.actor_kind, l.actor_id, l.actor_name, l.action, l.object_kind, l.object_id,
  l.object_name, l.result, l.address, l.request_id, l.details`;

const toEntry = (row: Row): AuditEntryJson => ({
  id: row.id,
  at: row.at.toISOString(),
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name, address: row.address },
  action: row.action,
  object: row.object_kind === null ? null : { kind: row.object_kind, id: row.object_id, name: row.object_name },
  result: row.result,
  requestId: row.request_id,
  details: row.details,
});

/** A page of the audit log of an account, the latest first unless it is asked for otherwise. @throws InlayError INVALID_CURSOR */
export function listAuditLog(db: Kysely<Schema>, accountId: number, query: AuditQuery): Promise<Page<AuditEntryJson>> {
  const { from, to, actorKind, actorId, objectKind, objectId, action, result } = query;
  return keysetPage<Row, AuditEntryJson, 'at'>(
    db,
    {
      columns,
      from: sql`audit_log l`,
      where: [
        sql`l.account_id = ${accountId}`,
        ...filters(
          from === undefined ? undefined : sql`l.at >= ${new Date(from)}`,
          to === undefined ? undefined : sql`l.at < ${new Date(to)}`,
          equals(sql`l.actor_kind`, actorKind),
          equals(sql`l.actor_id`, actorId),
          equals(sql`l.object_kind`, objectKind),
          equals(sql`l.object_id`, objectId),
          equals(sql`l.action`, action),
          equals(sql`l.result`, result),
        ),
      ],
      sorts: { at: { expression: sql`l.at`, type: 'timestamp' } },
      id: { expression: sql`l.id`, type: 'bigint' },
    },
    query,
    toEntry,
  );
}
