import {
  createApiKey,
  listApiKeys,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '../../../admin/api-keys.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/api-keys (management-api.md). */
export function apiKeyRoutes(app: App, context: Context): void {
  const { db, clock } = context;
  const { apiKeys } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) =>
    readApiKey(db, { accountId, now: clock(), id: params.id });
  manage(app, context, apiKeys.list, ({ accountId, query }) => listApiKeys(db, { accountId, now: clock() }, query));
  manage(app, context, apiKeys.create, (call) => createApiKey(call, call.body));
  manage(app, context, apiKeys.get, read);
  manage(app, context, apiKeys.update, (call) => updateApiKey(call, call.params.id, call.body), { requirePath: read });
  manage(app, context, apiKeys.rotate, (call) => rotateApiKey(call, call.params.id, call.body), { requirePath: read });
  manage(app, context, apiKeys.revoke, (call) => revokeApiKey(call, call.params.id));
}
