/** What data teams say about their agents, after parsing; and what of it concerns one agent (agent-configuration.md). */
import { builtinName } from '../language-models/registry.ts';

/** Caps on one run as an agent's configuration asks for them; they hold only where they are below the operator's. */
export interface ConfiguredLimits {
  readonly turns?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly tokens?: number | undefined;
  readonly runSeconds?: number | undefined;
  readonly textCharacters?: number | undefined;
}

/** Settings as they stand at the top level of `config.yml`, or in the entry of one agent: undefined is not said. */
export interface AgentSettingsEntry {
  /** A language model by its name in this installation. */
  readonly languageModel?: string | undefined;
  readonly isPrivate?: boolean | undefined;
  readonly isDevelopment?: boolean | undefined;
  readonly accessibleViews?: readonly string[] | undefined;
  readonly limits: ConfiguredLimits;
}

/** For which agents something is, by {@link agentKey}; null: for all. */
export type ForAgents = ReadonlySet<string> | null;

/** What a language model is to keep to, in the words of the data team. */
export interface Rule {
  readonly name: string;
  /** `always`: told with every question. `on-request`: only its description is; the language model reads it when it needs it. */
  readonly type: 'always' | 'on-request';
  /** When it is to be read; may be empty for `always`. */
  readonly description: string;
  readonly text: string;
  readonly agents: ForAgents;
}

/** A question, or several that mean the same, with the semantic SQL that a person has found right for it. */
export interface CertifiedQuery {
  readonly name: string;
  /** At least one. */
  readonly userRequests: readonly string[];
  /** It parses; whether a user may run it is decided anew each time. */
  readonly sql: string;
  /** The query without its layout and aliases of relations: equal for queries that are the same (certified-queries.ts). */
  readonly fingerprint: string;
  readonly agents: ForAgents;
}

/** The configuration of all agents of a deployment, in the order of the files' paths. */
export interface AgentsConfiguration {
  readonly defaults: AgentSettingsEntry;
  /** By {@link agentKey}. */
  readonly agents: ReadonlyMap<string, AgentSettingsEntry>;
  readonly rules: readonly Rule[];
  readonly certifiedQueries: readonly CertifiedQuery[];
}

/** What of it is for one agent. */
export interface AgentConfiguration {
  /** `builtin` where nothing is said. */
  readonly languageModel: string;
  readonly isPrivate: boolean;
  readonly isDevelopment: boolean;
  /** Which views to prefer; null: nothing is said. Guidance only: access policies decide what a user may see. */
  readonly accessibleViews: readonly string[] | null;
  readonly limits: ConfiguredLimits;
  readonly rules: readonly Rule[];
  readonly certifiedQueries: readonly CertifiedQuery[];
}

/** Under what a name of an agent is looked up: without regard to case and to white space around it. */
export function agentKey(name: string): string {
  return name.normalize('NFC').trim().toLowerCase();
}

/** What the configuration says about one agent: its own entry over the defaults, setting by setting. */
export function configurationOf(all: AgentsConfiguration, agentName: string): AgentConfiguration {
  const key = agentKey(agentName);
  const own = all.agents.get(key);
  const { defaults } = all;
  const isMeant = ({ agents }: { readonly agents: ForAgents }): boolean => agents === null || agents.has(key);
  return {
    languageModel: own?.languageModel ?? defaults.languageModel ?? builtinName,
    isPrivate: own?.isPrivate ?? defaults.isPrivate ?? false,
    isDevelopment: own?.isDevelopment ?? defaults.isDevelopment ?? false,
    accessibleViews: own?.accessibleViews ?? defaults.accessibleViews ?? null,
    limits: {
      turns: own?.limits.turns ?? defaults.limits.turns,
      toolCalls: own?.limits.toolCalls ?? defaults.limits.toolCalls,
      tokens: own?.limits.tokens ?? defaults.limits.tokens,
      runSeconds: own?.limits.runSeconds ?? defaults.limits.runSeconds,
      textCharacters: own?.limits.textCharacters ?? defaults.limits.textCharacters,
    },
    rules: all.rules.filter(isMeant),
    certifiedQueries: all.certifiedQueries.filter(isMeant),
  };
}

/** The keys of all agents that the configuration names, each once. */
export function namedAgents({ agents, rules, certifiedQueries }: AgentsConfiguration): readonly string[] {
  const ofItems = [...rules, ...certifiedQueries].flatMap((item) => [...(item.agents ?? [])]);
  return [...new Set([...agents.keys(), ...ofItems])];
}
