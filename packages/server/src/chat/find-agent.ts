/** The agent that a chat path names, and whether its account may chat. */
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import { parseId } from '../store/id.ts';
import type { Schema } from '../store/schema.ts';

/** An agent that the caller may talk to. */
export interface Agent {
  readonly id: number;
  /** Names its part of the configuration files. */
  readonly name: string;
  readonly deploymentId: number;
  readonly accountId: number;
  /** The plan of its account, as it is written there. */
  readonly plan: string;
}

/** What the path says, and what the caller's credential opens. */
export interface AgentPath {
  /** Undefined in the path without a region, the only one that this server has. */
  readonly cloudRegion: string | undefined;
  readonly accountName: string;
  readonly agentId: string;
  /** The credential's account. */
  readonly accountId: number;
}

const agentColumns = [
  'agents.id as id',
  'agents.name as name',
  'agents.deployment_id as deploymentId',
  'accounts.id as accountId',
  'accounts.plan as plan',
] as const;

/** @throws InlayError NOT_FOUND when the path names nothing that this credential opens: it says no more than that. */
export async function findAgent(db: Kysely<Schema>, path: AgentPath): Promise<Agent> {
  const id = parseId(path.agentId);
  const agent =
    id === null || path.cloudRegion !== undefined
      ? undefined
      : await db
          .selectFrom('agents')
          .innerJoin('accounts', 'accounts.id', 'agents.account_id')
          .select(agentColumns)
          .where('agents.id', '=', id)
          .where('accounts.id', '=', path.accountId)
          .where('accounts.name', '=', path.accountName)
          .executeTakeFirst();
  if (agent === undefined) throw new InlayError('NOT_FOUND', 'Agent not found.');
  return agent;
}

/** Agents of a deployment that are told to whoever may choose among them. */
const listedMax = 100;

/** The agents of a deployment of the account, by id; the first hundred. */
export function listAgents(
  db: Kysely<Schema>,
  { accountId, deploymentId }: { readonly accountId: number; readonly deploymentId: number },
): Promise<readonly Agent[]> {
  return db
    .selectFrom('agents')
    .innerJoin('accounts', 'accounts.id', 'agents.account_id')
    .select(agentColumns)
    .where('agents.deployment_id', '=', deploymentId)
    .where('accounts.id', '=', accountId)
    .orderBy('agents.id')
    .limit(listedMax)
    .execute();
}

/** @throws InlayError PLAN_REQUIRED unless the plan includes chat (service.md 1.5), whatever its case. */
export function requireChatPlan({ plan }: Agent): void {
  if (!['premium', 'enterprise'].includes(plan.toLowerCase())) {
    throw new InlayError('PLAN_REQUIRED', 'The Chat API is available on Premium and Enterprise plans.');
  }
}
