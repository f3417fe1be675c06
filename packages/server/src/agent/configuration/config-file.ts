/** The shape of `config.yml`: defaults for all agents, and what differs for some (agent-configuration.md). */
import { z } from 'zod';
import type { SourceFile } from '../../query/model-files.ts';
import { type ConfigurationIssue, readYaml } from '../../yaml-source.ts';
import { type AgentSettingsEntry, agentKey } from './agent-configuration.ts';

/** Characters in a name. */
export const nameCharactersMax = 128;
const agentsMax = 200;
const viewsMax = 500;

/** A name as people write it: one line, not blank. */
export const nameSchema = z
  .string()
  .trim()
  .min(1, 'must not be blank')
  .max(nameCharactersMax)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line');

const cap = z.int().min(1);

const settings = {
  llm: nameSchema.optional(),
  private: z.boolean().optional(),
  development: z.boolean().optional(),
  accessible_views: z.array(nameSchema).max(viewsMax).optional(),
  limits: z
    .strictObject({ turns: cap, tool_calls: cap, tokens: cap, run_seconds: cap, text_characters: cap })
    .partial()
    .optional(),
};

const fileSchema = z.strictObject({
  ...settings,
  agents: z
    .array(z.strictObject({ name: nameSchema, ...settings }))
    .max(agentsMax)
    .optional(),
});
type SettingsFile = Omit<z.infer<typeof fileSchema>, 'agents'>;

/** What `config.yml` says; null when there are issues, which are pushed. */
export function readConfigFile(
  file: SourceFile,
  issues: ConfigurationIssue[],
): { readonly defaults: AgentSettingsEntry; readonly agents: ReadonlyMap<string, AgentSettingsEntry> } | null {
  const read = readYaml(file, fileSchema, issues);
  if (read === null) return null;
  const { agents = [], ...defaults } = read.value;
  const entries = new Map<string, AgentSettingsEntry>();
  for (const [index, { name, ...own }] of agents.entries()) {
    const key = agentKey(name);
    if (entries.has(key)) read.report(['agents', index, 'name'], `the agent ${name} has an entry already`);
    else entries.set(key, toEntry(own));
  }
  return { defaults: toEntry(defaults), agents: entries };
}

function toEntry({ llm, limits, accessible_views, ...flags }: SettingsFile): AgentSettingsEntry {
  return {
    languageModel: llm,
    isPrivate: flags.private,
    isDevelopment: flags.development,
    accessibleViews: accessible_views,
    limits: {
      turns: limits?.turns,
      toolCalls: limits?.tool_calls,
      tokens: limits?.tokens,
      runSeconds: limits?.run_seconds,
      textCharacters: limits?.text_characters,
    },
  };
}
