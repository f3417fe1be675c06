/** The tool `<brand>Meta`: searches what of the data model the user may see (service.md 2.7, chat-stream.md). */
import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { z } from 'zod';
import { searchMetadata } from '../../query/read-metadata.ts';
import type { QueryDependencies } from '../../query/run-query.ts';
import { defineTool, type Tool } from './tool.ts';

const inputSchema = z.object({
  searchQuery: z
    .string()
    .max(2000)
    .describe('What to look for: words of the question, names of measures or dimensions.'),
});

/** Makes the metadata tool under its branded name. */
export function createMetaTool(query: QueryDependencies, name: string): Tool {
  return defineTool({
    name,
    description: 'Searches the views, cubes and their members that this user may query. Call it before writing SQL.',
    schema: inputSchema,
    shown: (input) => input,
    async run({ searchQuery }, { principal, deploymentId, branch }) {
      const relations = await searchMetadata(query, { principal, deploymentId, branch, searchQuery });
      return { result: { searchQuery, cubes: relations.map(toCube) }, queries: 0, rows: 0 };
    },
  });
}

function toCube(relation: RelationMetadata): object {
  const { name, type, title, description, members } = relation;
  return { name, type, title, description, members: members.map(toMember) };
}

function toMember({ name, title, description, type, kind, aggType }: MemberMetadata): object {
  return { name, title, description, type, kind, ...(aggType === undefined ? {} : { aggType }) };
}
