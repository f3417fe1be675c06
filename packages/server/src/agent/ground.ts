/** What a language model is told of the data before it speaks: what this user may see, and nothing else. */
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import { findValues } from '../query/find-values.ts';
import { readMetadata } from '../query/read-metadata.ts';
import type { QueryDependencies } from '../query/run-query.ts';
import type { GroundQuestion } from './agent-loop.ts';

/** What is searched for values, in characters: about one long message. */
const searchedCharactersMax = 32_000;

/**
 * Reads the visible metadata, and the values that occur in what the user has said (the latest words first, up to a limit). `today` is the date in UTC. @throws as the door to data does.
 */
export async function ground(
  query: QueryDependencies,
  toolNames: AnalystContext['toolNames'],
  { principal, deploymentId, branch, messages, signal }: GroundQuestion,
): Promise<AnalystContext> {
  const text = messages
    .flatMap((message) => (message.role === 'user' ? [message.content] : []))
    .reverse()
    .join('\n')
    .slice(0, searchedCharactersMax);
  const [relations, valueMatches] = await Promise.all([
    readMetadata(query, { principal, deploymentId, branch }),
    findValues(query, { principal, deploymentId, branch, signal, text }),
  ]);
  return { today: query.clock().toISOString().slice(0, 10), relations, valueMatches, toolNames };
}
