import { listAuditLog } from '../../../admin/audit.ts';
import type { Context } from '../../../context.ts';
import { manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/audit-log (management-api.md). */
export function auditRoutes(app: App, context: Context): void {
  const { audit } = context.operations;
  manage(app, context, audit.list, ({ accountId, query }) => listAuditLog(context.db, accountId, query));
}
