/** The agent in a chat path, checked before the body is read (http-api.md, order of checks). */
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { type Agent, findAgent } from '../chat/find-agent.ts';
import type { Schema } from '../store/schema.ts';
import { type Caller, requireCaller, requireDeploymentAccess } from './authenticate.ts';

const paramsSchema = z.object({ accountName: z.string(), agentId: z.string() });
const regionalParamsSchema = paramsSchema.extend({ cloudRegion: z.string() });
const anyParamsSchema = paramsSchema.extend({ cloudRegion: z.string().optional() });

/** One of the forms of a chat path, and what its description begins with. */
export interface ChatForm {
  readonly path: string;
  /** The parameters of every chat path; a route may add its own. */
  readonly params: typeof paramsSchema;
  readonly described: { readonly hide: boolean; readonly operationId: string; readonly tags: string[] };
}

/**
 * Registers a route of an agent under both forms of its path: the second one has a region in front (chat-stream.md), and is not in
 * the description.
 * @param end what stands after `…/chat/`. @param register is called for each form.
 */
export function chatRoute(end: string, operationId: string, register: (form: ChatForm) => void): void {
  const path = `/api/v1/public/:accountName/agents/:agentId/chat/${end}`;
  const tags = ['chat'];
  register({ path, params: paramsSchema, described: { hide: false, operationId, tags } });
  register({
    path: `/:cloudRegion${path}`,
    params: regionalParamsSchema,
    described: { hide: true, operationId: `${operationId}InRegion`, tags },
  });
}

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
