import { deleteUser } from '../../../admin/delete-user.ts';
import {
  listExternalUsers,
  persistExternalUser,
  readExternalUser,
  updateExternalUser,
} from '../../../admin/external-users.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/external-users (management-api.md). */
export function externalUserRoutes(app: App, context: Context): void {
  const { db, clock, config } = context;
  const { externalUsers } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) =>
    readExternalUser(db, { accountId, now: clock() }, params.id);
  manage(app, context, externalUsers.list, ({ accountId, query }) =>
    listExternalUsers(db, { accountId, now: clock() }, query),
  );
  manage(app, context, externalUsers.get, read);
  manage(app, context, externalUsers.update, (call) => updateExternalUser(call, call.params.id, call.body), {
    requirePath: read,
  });
  manage(app, context, externalUsers.persist, (call) =>
    persistExternalUser(call, config.externalUsersMax, call.params.id),
  );
  manage(app, context, externalUsers.delete, (call) => deleteUser(call, 'external', call.params.id));
}
