import { createAgent, deleteAgent, listAgents, readAgent, updateAgent } from '../../../admin/agents.ts';
import type { Context } from '../../../context.ts';
import { type ManagePath, manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/agents (management-api.md). */
export function agentRoutes(app: App, context: Context): void {
  const { db } = context;
  const { agents } = context.operations;
  const read = ({ accountId, params }: ManagePath<{ id: number }>) =>
    readAgent(db, { accountId, baseUrl: '' }, params.id);
  manage(app, context, agents.list, (call) => listAgents(db, call, call.query));
  manage(app, context, agents.create, (call) => createAgent(call, call.baseUrl, call.body));
  manage(app, context, agents.get, (call) => readAgent(db, call, call.params.id));
  manage(app, context, agents.update, (call) => updateAgent(call, call.baseUrl, call.params.id, call.body), {
    requirePath: read,
  });
  manage(app, context, agents.delete, (call) => deleteAgent(call, call.params.id));
}
