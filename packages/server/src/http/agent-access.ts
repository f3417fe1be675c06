/** The agent in a chat path, checked before the body is read (http-api.md, order of checks). */
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { type Agent, findAgent } from '../chat/find-agent.ts';
import type { Schema } from '../store/schema.ts';
import { type Caller, requireCaller, requireDeploymentAccess } from './authenticate.ts';

/** The two forms of every chat path; a region stands before it (chat-stream.md). */
export const chatPaths = (end: string): readonly string[] => [
  `/api/v1/public/:accountName/agents/:agentId/chat/${end}`,
  `/:cloudRegion/api/v1/public/:accountName/agents/:agentId/chat/${end}`,
];

const paramsSchema = z.object({ accountName: z.string(), agentId: z.string() });
const regionalParamsSchema = paramsSchema.extend({ cloudRegion: z.string() });
const anyParamsSchema = paramsSchema.extend({ cloudRegion: z.string().optional() });

/** The parameters of one of {@link chatPaths}. */
export const chatParamsOf = (path: string): typeof paramsSchema =>
  path.startsWith('/:cloudRegion/') ? regionalParamsSchema : paramsSchema;

/** A route's look at the agent of its path: the hook finds it, the handler asks for it. */
export interface AgentAccess {
  /** @throws InlayError NOT_FOUND, FORBIDDEN (the API key may not use the agent's deployment), and what `check` throws. */
  hook(request: FastifyRequest): Promise<void>;
  agentOf(request: FastifyRequest): Agent;
}

/** @param check what else must hold of the agent and the caller before the body is read. */
export function createAgentAccess(
  { db }: { readonly db: Kysely<Schema> },
  check: (agent: Agent, caller: Caller) => void = () => undefined,
): AgentAccess {
  const agents = new WeakMap<FastifyRequest, Agent>();
  return {
    async hook(request) {
      const caller = requireCaller(request);
      const { cloudRegion, accountName, agentId } = anyParamsSchema.parse(request.params);
      const agent = await findAgent(db, { cloudRegion, accountName, agentId, accountId: caller.accountId });
      requireDeploymentAccess(caller, agent.deploymentId);
      check(agent, caller);
      agents.set(request, agent);
    },
    agentOf(request) {
      const agent = agents.get(request);
      if (agent === undefined) throw new Error('The hook that finds the agent has not run.');
      return agent;
    },
  };
}
