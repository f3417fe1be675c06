import { deleteEmbedTenant, listEmbedTenants, readEmbedTenant } from '../../../admin/embed-tenants.ts';
import { listGroups } from '../../../admin/groups.ts';
import { deleteFromScope, scopeOfEmbedTenant } from '../../../admin/scope.ts';
import { listUserAttributes } from '../../../admin/user-attributes.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/embed-tenants, and what creator-mode calls have made in one of them (service.md 4.2). */
export function embedTenantRoutes(app: App, context: Context): void {
  const { db, clock } = context;
  const { embedTenants } = context.operations;
  const scopeOf = ({ accountId, params }: ManagePath<{ embedTenantName: string }>) =>
    scopeOfEmbedTenant(db, accountId, params.embedTenantName);

  manage(app, context, embedTenants.list, ({ accountId, query }) => listEmbedTenants(db, accountId, query));
  manage(app, context, embedTenants.get, ({ accountId, params }) =>
    readEmbedTenant(db, { accountId, name: params.embedTenantName, now: clock() }),
  );
  manage(app, context, embedTenants.delete, (call) => deleteEmbedTenant(call, call.params.embedTenantName));

  manage(app, context, embedTenants.listGroups, async (call) => listGroups(db, await scopeOf(call), call.query), {
    requirePath: scopeOf,
  });
  manage(app, context, embedTenants.deleteGroup, async (call) =>
    deleteFromScope(call, 'group', await scopeOf(call), call.params.id),
  );
  manage(
    app,
    context,
    embedTenants.listUserAttributes,
    async (call) => listUserAttributes(db, await scopeOf(call), call.query),
    { requirePath: scopeOf },
  );
  manage(app, context, embedTenants.deleteUserAttribute, async (call) =>
    deleteFromScope(call, 'user-attribute', await scopeOf(call), call.params.id),
  );
}
