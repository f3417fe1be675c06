import { createGroup, listGroups, readGroup, updateGroup } from '../../../admin/groups.ts';
import { deleteFromScope, tenantWideOf } from '../../../admin/scope.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/groups: the tenant-wide groups (management-api.md). */
export function groupRoutes(app: App, context: Context): void {
  const { db } = context;
  const { groups } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) => readGroup(db, tenantWideOf(accountId), params.id);
  manage(app, context, groups.list, ({ accountId, query }) => listGroups(db, tenantWideOf(accountId), query));
  manage(app, context, groups.create, (call) => createGroup(call, call.body));
  manage(app, context, groups.get, read);
  manage(app, context, groups.update, (call) => updateGroup(call, call.params.id, call.body), { requirePath: read });
  manage(app, context, groups.delete, (call) =>
    deleteFromScope(call, 'group', tenantWideOf(call.accountId), call.params.id),
  );
}
