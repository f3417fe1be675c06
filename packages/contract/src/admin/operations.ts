/** Every operation of the management API. */
import { defaultLimits } from '../limits.ts';
import type { Operation } from '../operation.ts';
import { type UserShapes, userShapes } from '../user.ts';
import { accountOperations } from './account.ts';
import { agentOperations } from './agents.ts';
import { apiKeyOperations } from './api-keys.ts';
import { auditOperations } from './audit.ts';
import { deploymentOperations } from './deployments.ts';
import { embedTenantOperations } from './embed-tenants.ts';
import { externalUserOperations } from './external-users.ts';
import { groupOperations } from './groups.ts';
import { internalUserOperations } from './internal-users.ts';
import { sessionOperations } from './sessions.ts';
import { userAttributeOperations } from './user-attributes.ts';

/** The operations of each resource under the limits of `user`, in the order of their documentation (management-api.md). Build them once. */
export function createOperations(user: UserShapes) {
  return {
    account: accountOperations,
    apiKeys: apiKeyOperations(user),
    deployments: deploymentOperations(user),
    agents: agentOperations(user),
    groups: groupOperations(user),
    userAttributes: userAttributeOperations(user),
    internalUsers: internalUserOperations(user),
    externalUsers: externalUserOperations,
    embedTenants: embedTenantOperations,
    sessions: sessionOperations,
    audit: auditOperations,
  };
}
export type Operations = ReturnType<typeof createOperations>;

/**
 * All of them in one list, under the default limits: for whoever reads what is declared and leaves it to the server to check,
 * as the CLI does.
 */
export function listOperations(): readonly Operation[] {
  const resources = Object.values<Readonly<Record<string, Operation>>>(createOperations(userShapes(defaultLimits)));
  return resources.flatMap((resource) => Object.values(resource));
}
