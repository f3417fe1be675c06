import { deleteUser } from '../../../admin/delete-user.ts';
import {
  createInternalUser,
  listInternalUsers,
  readInternalUser,
  updateInternalUser,
} from '../../../admin/internal-users.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/internal-users (management-api.md). */
export function internalUserRoutes(app: App, context: Context): void {
  const { db } = context;
  const { internalUsers } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) => readInternalUser(db, accountId, params.id);
  manage(app, context, internalUsers.list, ({ accountId, query }) => listInternalUsers(db, accountId, query));
  manage(app, context, internalUsers.create, (call) => createInternalUser(call, call.body));
  manage(app, context, internalUsers.get, read);
  manage(app, context, internalUsers.update, (call) => updateInternalUser(call, call.params.id, call.body), {
    requirePath: read,
  });
  manage(app, context, internalUsers.delete, (call) => deleteUser(call, 'internal', call.params.id));
}
