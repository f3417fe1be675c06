/**
 * Deployments. Where a data model lies and how its warehouse is reached stands in the installation file alone, and no reply
 * shows it: over HTTP nobody names a file, a driver or a connection.
 */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import { idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import type { UserShapes } from '../user.ts';
import { filterSchema, numberedListQuerySchema } from './fields.ts';

/** A deployment: a data model over a warehouse. */
export const deploymentSchema = z.object({
  id: z.int(),
  name: z.string(),
  warehouseType: z.string(),
  agentCount: z.int(),
});
export type DeploymentReply = z.infer<typeof deploymentSchema>;

const querySchema = numberedListQuerySchema.extend({ name: filterSchema.describe('Exactly this name.') });

/** Deployments, under the limits of `user`. */
export function deploymentOperations({ name }: UserShapes) {
  return {
    list: operation({
      id: 'listDeployments',
      command: 'deployments list',
      tag: 'deployments',
      summary: 'List the deployments',
      method: 'GET',
      path: '/api/v1/deployments',
      params: noParametersSchema,
      query: querySchema,
      status: 200,
      reply: pageOf(deploymentSchema),
    }),
    get: operation({
      id: 'getDeployment',
      command: 'deployments get',
      tag: 'deployments',
      summary: 'Read a deployment',
      method: 'GET',
      path: '/api/v1/deployments/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: deploymentSchema,
    }),
    update: operation({
      id: 'updateDeployment',
      command: 'deployments update',
      tag: 'deployments',
      summary: 'Rename a deployment',
      method: 'PATCH',
      path: '/api/v1/deployments/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: z.object({ name: name.optional() }),
      status: 200,
      reply: deploymentSchema,
      audit: 'deployment.update',
    }),
    delete: operation({
      id: 'deleteDeployment',
      command: 'deployments delete',
      tag: 'deployments',
      summary: 'Delete a deployment with its agents and their threads, and revoke its sessions',
      method: 'DELETE',
      path: '/api/v1/deployments/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'deployment.delete',
    }),
  };
}
type DeploymentOperations = ReturnType<typeof deploymentOperations>;
/** What the list can be asked for. */
export type DeploymentQuery = QueryOf<DeploymentOperations['list']>;
/** What is left out stays. */
export type DeploymentChanges = BodyOf<DeploymentOperations['update']>;
