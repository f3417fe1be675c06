/** The agents of this installation: for each run, the language model, tools, limits and words that its configuration asks for. */
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { QueryDependencies } from '../query/run-query.ts';
import type { Schema } from '../store/schema.ts';
import { noTelemetry } from '../telemetry/telemetry.ts';
import { settleUntil } from '../waiting.ts';
import type { AgentDependencies, AgentLimits } from './agent-dependencies.ts';
import { runAgent } from './agent-loop.ts';
import { certifiedLine } from './certified-line.ts';
import type { ConfiguredLimits } from './configuration/agent-configuration.ts';
import { keepFingerprints, keepKeys } from './configuration/certified-queries.ts';
import { createLoadConfiguration } from './configuration/load-configuration.ts';
import { ground } from './ground.ts';
import { createBuiltinAnalyst } from './language-models/builtin-analyst.ts';
import type { LanguageModel } from './language-models/language-model.ts';
import type { AgentInput, RunAgent } from './run-agent.ts';
import { createMetaTool } from './tools/meta-tool.ts';
import { createRuleTool } from './tools/rule-tool.ts';
import { createSqlTool } from './tools/sql-tool.ts';
import { whileStoreAway } from './while-store-away.ts';

/** Settings of the agents; `brand` stands for `platform` in their names (settings.md). */
export interface AgentSettings extends AgentLimits {
  readonly brand: string;
  /** Rows in the `data` of a tool result. */
  readonly toolRowsMax: number;
}

/** The language models of this installation by the names that its operator gave them. */
export interface LanguageModels {
  get(name: string): LanguageModel | undefined;
}

/** What the agents are built on. `languageModels` has the built-in analyst as `builtin`. */
export interface CreateAgentDependencies {
  readonly db: Kysely<Schema>;
  readonly query: QueryDependencies;
  readonly languageModels: LanguageModels;
  readonly log: Log;
}

/** Builds the agents over the one door to data. */
export function createAgent(
  { db, query, languageModels, log }: CreateAgentDependencies,
  settings: AgentSettings,
): RunAgent {
  const { brand, toolRowsMax, modelRowsMax } = settings;
  const toolNames = { meta: `${brand}Meta`, sql: `${brand}SqlApi`, rule: `${brand}Rule` };
  const { traces } = query.telemetry ?? noTelemetry;
  const { deployments, clock } = query;
  const sendsRows = (name: string): boolean => {
    const languageModel = languageModels.get(name);
    return languageModel?.kind === 'network' && !languageModel.isPrivate;
  };
  const loadConfiguration = createLoadConfiguration({ db, deployments, log, sendsRows });
  const keysOf = keepKeys();
  const fingerprintOf = keepFingerprints();
  const dataTools = [createMetaTool(query, toolNames.meta), createSqlTool(query, toolNames.sql, toolRowsMax)];
  const common = { log, traces, clock };

  const prepare = async ({ agent, principal, branch }: AgentInput): Promise<AgentDependencies> => {
    const { name, deploymentId } = agent;
    const configuration = await loadConfiguration({ accountId: principal.accountId, deploymentId, name, branch });
    const languageModel = languageModels.get(configuration.languageModel);
    if (languageModel === undefined) {
      const named = { agent: name, languageModel: configuration.languageModel };
      log.error({ ...named, deploymentId, branch }, 'config.yml names a language model that this installation lacks');
      throw new InlayError('LANGUAGE_MODEL_UNKNOWN', 'The language model of this agent is not set up here.', {
        cause: new Error(`config.yml names ${configuration.languageModel}`),
      });
    }
    const isPrivate = languageModel.kind === 'network' && (configuration.isPrivate || languageModel.isPrivate);
    const onRequest = configuration.rules.filter(({ type }) => type === 'on-request');
    const ruleToolName = onRequest.length === 0 ? null : toolNames.rule;
    const grounding = {
      agentName: name,
      languageModel,
      configuration,
      isPrivate,
      keysOf,
      toolNames,
      ruleToolName,
      modelRowsMax,
    };
    return {
      ...common,
      languageModel,
      tools: ruleToolName === null ? dataTools : [...dataTools, createRuleTool(ruleToolName, onRequest)],
      ground: (question) => whileStoreAway(() => ground(query, grounding, question), question.signal),
      limits: limitsBelow(settings, configuration.limits),
      isPrivate,
      showsThinking: branch !== null || configuration.isDevelopment,
      closingLine: (calls) => certifiedLine(configuration.certifiedQueries, toolNames.sql, calls, fingerprintOf),
    };
  };

  /** A run of an agent that cannot be made fails as any other does: by the loop, which closes what is open. */
  const failing = (error: unknown): AgentDependencies => ({
    ...common,
    // It is never asked; the log must not say that it failed.
    languageModel: { ...createBuiltinAnalyst(), name: 'none' },
    tools: [],
    ground: () => Promise.reject(error),
    limits: settings,
    isPrivate: true,
    showsThinking: false,
  });

  return async function* run(input) {
    const dependencies = await settleUntil(
      whileStoreAway(() => prepare(input), input.signal),
      input.signal,
    ).catch(failing);
    const attributes = { 'gen_ai.request.model': dependencies.languageModel.name };
    yield* traces.stream('agent run', attributes, () => runAgent(dependencies, input));
  };
}

/** The operator's limits, where the configuration does not ask for less. */
function limitsBelow(settings: AgentSettings, wanted: ConfiguredLimits): AgentLimits {
  const below = (limit: number, own: number | undefined): number => Math.min(limit, own ?? limit);
  return {
    agentTurnsMax: below(settings.agentTurnsMax, wanted.turns),
    agentToolCallsMax: below(settings.agentToolCallsMax, wanted.toolCalls),
    runTokensMax: below(settings.runTokensMax, wanted.tokens),
    runMs: below(settings.runMs, wanted.runSeconds === undefined ? undefined : wanted.runSeconds * 1000),
    languageModelSilenceMs: settings.languageModelSilenceMs,
    textCharactersMax: below(settings.textCharactersMax, wanted.textCharacters),
    runResultBytesMax: settings.runResultBytesMax,
    modelRowsMax: settings.modelRowsMax,
  };
}
