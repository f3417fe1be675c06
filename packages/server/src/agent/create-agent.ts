/** The agent of this installation: its language model, its tools under their branded names, its limits. */
import type { QueryDependencies } from '../query/run-query.ts';
import { type Metrics, noTelemetry } from '../telemetry/telemetry.ts';
import { type AgentDependencies, type AgentLimits, type RunAgent, runAgent } from './agent-loop.ts';
import type { AgentEvent } from './events.ts';
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
  const { metrics, traces } = query.telemetry ?? noTelemetry;
  const dependencies: AgentDependencies = {
    languageModel,
    log,
    traces,
    tools: [createMetaTool(query, toolNames.meta), createSqlTool(query, toolNames.sql, toolRowsMax)],
    ground: (question) => ground(query, toolNames, question),
    limits: settings,
  };
  const attributes = { 'gen_ai.request.model': languageModel.name };
  return (input) => traces.stream('agent run', attributes, () => counted(metrics, () => runAgent(dependencies, input)));
}

/** Counts the run when it begins, and when it ends, as what. */
async function* counted(metrics: Metrics, run: () => AsyncGenerator<AgentEvent>): AsyncGenerator<AgentEvent> {
  metrics.runStarted();
  let state: 'completed' | 'aborted' | 'failed' = 'failed';
  try {
    for await (const event of run()) {
      if (event.type === 'final') state = 'completed';
      else if (event.type === 'aborted') state = 'aborted';
      yield event;
    }
  } finally {
    metrics.runEnded(state);
  }
}
