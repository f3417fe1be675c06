import { deleteDeployment, listDeployments, readDeployment, updateDeployment } from '../../../admin/deployments.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/deployments (management-api.md). */
export function deploymentRoutes(app: App, context: Context): void {
  const { db } = context;
  const { deployments } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) => readDeployment(db, accountId, params.id);
  manage(app, context, deployments.list, ({ accountId, query }) => listDeployments(db, accountId, query));
  manage(app, context, deployments.get, read);
  manage(app, context, deployments.update, (call) => updateDeployment(call, call.params.id, call.body), {
    requirePath: read,
  });
  manage(app, context, deployments.delete, (call) => deleteDeployment(call, call.params.id));
}
