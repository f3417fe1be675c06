/** The configuration of a deployment's agents, parsed once for each version of it; what is wrong with it goes to the log. */
import type { Kysely } from 'kysely';
import { InlayError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Deployment, Deployments } from '../../query/deployments.ts';
import type { Schema } from '../../store/schema.ts';
import { issueText } from '../../yaml-source.ts';
import {
  type AgentConfiguration,
  type AgentsConfiguration,
  agentKey,
  configurationOf,
  namedAgents,
} from './agent-configuration.ts';
import { parseAgentFiles } from './parse-agent-files.ts';

/** Issues that one line of the log names. */
const issuesLoggedMax = 20;

/** What loading needs. */
export interface ConfigurationDependencies {
  readonly db: Kysely<Schema>;
  readonly deployments: Pick<Deployments, 'get'>;
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Whether an agent on the language model of this name sends row values out, unless its configuration is private. */
  readonly sendsRows: (languageModel: string) => boolean;
}

/** Which agent, on which branch of its deployment's data model (null: the default one). */
export interface ConfiguredAgent {
  readonly accountId: number;
  readonly deploymentId: number;
  readonly name: string;
  readonly branch: string | null;
}

/** Finds the configuration of one agent; see {@link createLoadConfiguration}. */
export type LoadConfiguration = (agent: ConfiguredAgent) => Promise<AgentConfiguration>;

/**
 * Makes the loader; it keeps what it has parsed for as long as the deployment is kept. Private mode holds where anything says so,
 * or where nobody can tell that nothing does:
 * - on a branch, when the branch **or** the default branch says so: whoever may write to a branch cannot make rows visible to a
 *   language model. So, too, when the agent's language model on the default branch sends no rows out (one inside this process, one
 *   that the operator made private, or none that there is), and when the default branch does not load;
 * - for an agent without an entry of its own, when an entry that says so matches no agent: it may be the one that was meant,
 *   misspelt or renamed.
 * Calls throw InlayError AGENT_CONFIGURATION_INVALID, with nothing of the files in it, or what opening the deployment throws.
 */
export function createLoadConfiguration({
  db,
  deployments,
  log,
  sendsRows,
}: ConfigurationDependencies): LoadConfiguration {
  const known = new WeakMap<Deployment, Promise<AgentsConfiguration>>();

  const load = (deployment: Deployment): Promise<AgentsConfiguration> => {
    const kept = known.get(deployment);
    if (kept !== undefined) return kept;
    const loaded = parse(deployment, { db, log });
    known.set(deployment, loaded);
    loaded.catch((error: unknown) => {
      // Broken files stay broken; a store that does not answer is asked again.
      if (!(error instanceof InlayError)) known.delete(deployment);
    });
    return loaded;
  };

  const loadOn = async (
    { accountId, deploymentId, name }: ConfiguredAgent,
    branch: string | null,
  ): Promise<AgentConfiguration> => {
    const all = await load(await deployments.get(accountId, deploymentId, branch));
    const own = configurationOf(all, name);
    if (own.isPrivate || all.agents.has(agentKey(name))) return own;
    const privateKeys = [...all.agents].filter(([, entry]) => entry.isPrivate === true).map(([key]) => key);
    const unmatched = await unknownAgents(db, deploymentId, privateKeys);
    return { ...own, isPrivate: unmatched.length > 0 };
  };

  const isPrivateOnDefault = async (agent: ConfiguredAgent): Promise<boolean> => {
    try {
      const { isPrivate, languageModel } = await loadOn(agent, null);
      return isPrivate || !sendsRows(languageModel);
    } catch (error) {
      const isBroken =
        error instanceof InlayError &&
        (error.code === 'DATA_MODEL_INVALID' || error.code === 'AGENT_CONFIGURATION_INVALID');
      if (isBroken) return true;
      throw error;
    }
  };

  return async (agent) => {
    const own = await loadOn(agent, agent.branch);
    if (agent.branch === null || own.isPrivate) return own;
    return { ...own, isPrivate: await isPrivateOnDefault(agent) };
  };
}

/** Those of the keys that no agent of the deployment has now. Without keys nothing is asked. */
async function unknownAgents(
  db: Kysely<Schema>,
  deploymentId: number,
  keys: readonly string[],
): Promise<readonly string[]> {
  if (keys.length === 0) return [];
  const rows = await db.selectFrom('agents').select('name').where('deployment_id', '=', deploymentId).execute();
  const existing = new Set(rows.map(({ name }) => agentKey(name)));
  return keys.filter((key) => !existing.has(key));
}

async function parse(
  { id, branch, agentFiles, dataModel }: Deployment,
  { db, log }: Pick<ConfigurationDependencies, 'db' | 'log'>,
): Promise<AgentsConfiguration> {
  const where = { deploymentId: id, branch };
  const parsed = parseAgentFiles(agentFiles);
  if ('issues' in parsed) {
    const issues = parsed.issues.slice(0, issuesLoggedMax).map(issueText);
    log.error({ ...where, issues, count: parsed.issues.length }, 'the configuration of the agents does not load');
    throw new InlayError(
      'AGENT_CONFIGURATION_INVALID',
      'The configuration of this agent does not load; the log says why.',
    );
  }
  const entries = [parsed.defaults, ...parsed.agents.values()];
  const views = new Set(entries.flatMap(({ accessibleViews = [] }) => accessibleViews));
  const unknownViews = [...views].filter((name) => !dataModel.relations.has(name));
  if (unknownViews.length > 0) {
    log.warn({ ...where, views: unknownViews }, 'the configuration of the agents names views that do not exist');
  }
  const agents = await unknownAgents(db, id, namedAgents(parsed));
  if (agents.length > 0) log.warn({ ...where, agents }, 'the configuration names agents that do not exist');
  return parsed;
}
