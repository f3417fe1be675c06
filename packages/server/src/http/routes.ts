/** Every route of the server, in one place. */
import type { Context } from '../context.ts';
import type { App } from './route.ts';
import { accountRoutes } from './routes/admin/account.ts';
import { agentRoutes } from './routes/admin/agents.ts';
import { apiKeyRoutes } from './routes/admin/api-keys.ts';
import { auditRoutes } from './routes/admin/audit.ts';
import { deploymentRoutes } from './routes/admin/deployments.ts';
import { embedTenantRoutes } from './routes/admin/embed-tenants.ts';
import { externalUserRoutes } from './routes/admin/external-users.ts';
import { groupRoutes } from './routes/admin/groups.ts';
import { internalUserRoutes } from './routes/admin/internal-users.ts';
import { sessionRoutes } from './routes/admin/sessions.ts';
import { userAttributeRoutes } from './routes/admin/user-attributes.ts';
import { abortChatRoute } from './routes/chat/abort-chat.ts';
import { streamChatRoute } from './routes/chat/stream-chat.ts';
import { threadRoutes } from './routes/chat/threads.ts';
import { dataRoutes } from './routes/data/data-routes.ts';
import { mcpRoute } from './routes/data/mcp.ts';
import { generateSessionRoute } from './routes/embed/generate-session.ts';
import { revokeSessionRoute } from './routes/embed/revoke-session.ts';
import { sessionTokenRoute } from './routes/embed/session-token.ts';
import { liveRoute } from './routes/service/live.ts';
import { openApiRoute } from './routes/service/open-api.ts';
import { readyRoute } from './routes/service/ready.ts';

const routes: readonly ((app: App, context: Context) => void)[] = [
  generateSessionRoute,
  sessionTokenRoute,
  revokeSessionRoute,
  streamChatRoute,
  abortChatRoute,
  threadRoutes,
  dataRoutes,
  mcpRoute,
  accountRoutes,
  apiKeyRoutes,
  deploymentRoutes,
  agentRoutes,
  groupRoutes,
  userAttributeRoutes,
  internalUserRoutes,
  externalUserRoutes,
  embedTenantRoutes,
  sessionRoutes,
  auditRoutes,
  liveRoute,
  readyRoute,
  openApiRoute,
];

/** Registers every route. */
export function registerRoutes(app: App, context: Context): void {
  for (const register of routes) register(app, context);
}
