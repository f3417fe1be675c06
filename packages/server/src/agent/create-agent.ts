/** The agent of this installation: its language model, its tools under their branded names, its limits. */
import type { QueryDependencies } from '../query/run-query.ts';
import { type AgentDependencies, type AgentLimits, type RunAgent, runAgent } from './agent-loop.ts';
import { ground } from './ground.ts';
import { createMetaTool } from './tools/meta-tool.ts';
import { createSqlTool } from './tools/sql-tool.ts';

/** Settings of the agent; `brand` stands for `platform` in its names (settings.md). */
export interface AgentSettings extends AgentLimits {
  readonly brand: string;
  /** Rows in the `data` of a tool result. */
  readonly toolRowsMax: number;
}

/** Builds the agent over the one door to data. */
export function createAgent(
  {
    query,
    languageModel,
    log,
  }: Pick<AgentDependencies, 'languageModel' | 'log'> & { readonly query: QueryDependencies },
  settings: AgentSettings,
): RunAgent {
  const { brand, toolRowsMax } = settings;
  const toolNames = { meta: `${brand}Meta`, sql: `${brand}SqlApi` };
  const dependencies: AgentDependencies = {
    languageModel,
    log,
    tools: [createMetaTool(query, toolNames.meta), createSqlTool(query, toolNames.sql, toolRowsMax)],
    ground: (question) => ground(query, toolNames, question),
    limits: settings,
  };
  return (input) => runAgent(dependencies, input);
}
