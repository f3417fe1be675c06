/** What a language model is told of the data before it speaks: what this user may see, and nothing else. */
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import { visibleMetadata } from '@inlay/semantic/policy/visible-metadata.ts';
import { utcToLocal } from '@inlay/semantic/query/zoned-time.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { findValues } from '../query/find-values.ts';
import { type Door, openDoor, type QueryDependencies } from '../query/run-query.ts';
import type { Grounding, GroundQuestion } from './agent-dependencies.ts';
import type { AgentConfiguration, CertifiedQuery } from './configuration/agent-configuration.ts';
import { type KeysOf, matchExactly, nearest } from './configuration/certified-queries.ts';
import type { LanguageModel } from './language-models/language-model.ts';
import { writePrompt } from './prompt.ts';

/** What is searched for values, in characters: about one long message. */
const searchedCharactersMax = 32_000;
/** Certified queries that a prompt tells, and those that are tried for it. */
const certifiedToldMax = 10;
const certifiedTriedMax = 40;

/** Whom it is for, and what the data team has said about it. */
export interface GroundSettings {
  readonly agentName: string;
  readonly languageModel: LanguageModel;
  readonly configuration: Pick<AgentConfiguration, 'accessibleViews' | 'rules' | 'certifiedQueries'>;
  /** By what certified queries are found. */
  readonly keysOf: KeysOf;
  readonly isPrivate: boolean;
  readonly toolNames: AnalystContext['toolNames'];
  readonly ruleToolName: string | null;
  readonly modelRowsMax: number;
}

/**
 * Reads the visible metadata, the values that occur in what the user has said (the latest words first, up to a limit; none in
 * private mode), and the certified queries that this user may run. Today is the date in the time zone of the session, in which the
 * queries of the run are asked as well. @throws as the door to data does.
 */
export async function ground(
  query: QueryDependencies,
  settings: GroundSettings,
  { principal, deploymentId, branch, messages, signal }: GroundQuestion,
): Promise<Grounding> {
  const said = messages.flatMap((message) => (message.role === 'user' ? [message.content] : []));
  const text = said.toReversed().join('\n').slice(0, searchedCharactersMax);
  const door = await openDoor(query, { principal, deploymentId, branch });
  const valueMatches = settings.isPrivate ? [] : await findValues(door, { text, now: query.clock(), signal });
  const { languageModel, toolNames, configuration, keysOf } = settings;
  const relations = visibleMetadata(door.deployment.dataModel, door.subject);
  const question = said.at(-1) ?? '';
  const asked = firstCompiling(door, matchExactly(configuration.certifiedQueries, question, keysOf), 1)[0] ?? null;
  const context: AnalystContext = {
    today: dayIn(query.clock(), door.timezone),
    relations,
    valueMatches,
    toolNames,
    ...(asked === null ? {} : { certified: { name: asked.name, sql: asked.sql } }),
  };
  if (languageModel.kind === 'inside') return { context, system: '' };
  const near = nearest(configuration.certifiedQueries, question, certifiedTriedMax, keysOf);
  const system = writePrompt({
    ...settings,
    context,
    timeZone: door.timezone,
    inputTokensMax: languageModel.inputTokensMax,
    accessibleViews: configuration.accessibleViews,
    rules: configuration.rules,
    certified: firstCompiling(door, near, certifiedToldMax).filter((one) => one !== asked),
    asked,
  });
  return { context, system };
}

/** The date as `YYYY-MM-DD` that a wall clock in the zone shows at the instant. */
function dayIn(now: Date, timezone: string): string {
  return utcToLocal(`${now.toISOString().slice(0, 19).replace('T', ' ')}.000000`, timezone).slice(0, 10);
}

/** The first that this user may run: the others name members that do not exist for them, and are not even told. */
function firstCompiling(door: Door, queries: readonly CertifiedQuery[], countMax: number): readonly CertifiedQuery[] {
  const found: CertifiedQuery[] = [];
  for (const query of queries) {
    if (found.length === countMax) break;
    if (doesCompile(door, query.sql)) found.push(query);
  }
  return found;
}

function doesCompile(door: Door, sql: string): boolean {
  try {
    door.compile(sql);
    return true;
  } catch (error) {
    if (error instanceof SemanticError) return false;
    throw error;
  }
}
