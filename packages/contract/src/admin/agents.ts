/** Agents: who answers questions, over which deployment, and at which address. */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import { idParamsSchema, idSchema, jsonIdSchema, noParametersSchema, pageOf } from '../page.ts';
import type { UserShapes } from '../user.ts';
import { filterSchema, numberedListQuerySchema } from './fields.ts';

/** An agent. `chatApiUrl`: where to chat with it (service.md 4.3). */
export const agentSchema = z.object({
  id: z.int(),
  name: z.string(),
  deploymentId: z.int(),
  chatApiUrl: z.string(),
});
export type AgentReply = z.infer<typeof agentSchema>;

const querySchema = numberedListQuerySchema.extend({
  name: filterSchema.describe('Exactly this name.'),
  deploymentId: idSchema.optional().describe('Only agents of this deployment.'),
});

/** Agents, under the limits of `user`. */
export function agentOperations({ name }: UserShapes) {
  return {
    list: operation({
      id: 'listAgents',
      command: 'agents list',
      tag: 'agents',
      summary: 'List the agents with their Chat API URLs',
      method: 'GET',
      path: '/api/v1/agents',
      params: noParametersSchema,
      query: querySchema,
      status: 200,
      reply: pageOf(agentSchema),
    }),
    create: operation({
      id: 'createAgent',
      command: 'agents create',
      tag: 'agents',
      summary: 'Make an agent over a deployment',
      method: 'POST',
      path: '/api/v1/agents',
      params: noParametersSchema,
      query: noParametersSchema,
      body: z.object({ deploymentId: jsonIdSchema, name }),
      status: 201,
      reply: agentSchema,
      audit: 'agent.create',
    }),
    get: operation({
      id: 'getAgent',
      command: 'agents get',
      tag: 'agents',
      summary: 'Read an agent with its Chat API URL',
      method: 'GET',
      path: '/api/v1/agents/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: agentSchema,
    }),
    update: operation({
      id: 'updateAgent',
      command: 'agents update',
      tag: 'agents',
      summary: 'Rename an agent',
      method: 'PATCH',
      path: '/api/v1/agents/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: z.object({ name: name.optional() }),
      status: 200,
      reply: agentSchema,
      audit: 'agent.update',
    }),
    delete: operation({
      id: 'deleteAgent',
      command: 'agents delete',
      tag: 'agents',
      summary: 'Delete an agent with its threads',
      method: 'DELETE',
      path: '/api/v1/agents/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'agent.delete',
    }),
  };
}
type AgentOperations = ReturnType<typeof agentOperations>;
/** What the list can be asked for. */
export type AgentQuery = QueryOf<AgentOperations['list']>;
/** An agent to make. */
export type AgentBody = BodyOf<AgentOperations['create']>;
/** What is left out stays. An agent stays with its deployment, since its threads are about that data. */
export type AgentChanges = BodyOf<AgentOperations['update']>;
