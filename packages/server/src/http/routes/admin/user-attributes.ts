import { deleteFromScope, tenantWideOf } from '../../../admin/scope.ts';
import {
  createUserAttribute,
  listUserAttributes,
  readUserAttribute,
  updateUserAttribute,
} from '../../../admin/user-attributes.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/user-attributes: the tenant-wide user attributes (management-api.md). */
export function userAttributeRoutes(app: App, context: Context): void {
  const { db } = context;
  const { userAttributes } = context.operations;
  const valueShape = context.shapes.user.attributeValue;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) =>
    readUserAttribute(db, tenantWideOf(accountId), params.id);
  manage(app, context, userAttributes.list, ({ accountId, query }) =>
    listUserAttributes(db, tenantWideOf(accountId), query),
  );
  manage(app, context, userAttributes.create, (call) => createUserAttribute(call, valueShape, call.body));
  manage(app, context, userAttributes.get, read);
  manage(
    app,
    context,
    userAttributes.update,
    (call) => updateUserAttribute(call, valueShape, call.params.id, call.body),
    { requirePath: read },
  );
  manage(app, context, userAttributes.delete, (call) =>
    deleteFromScope(call, 'user-attribute', tenantWideOf(call.accountId), call.params.id),
  );
}
