import { z } from 'zod';
import { cellSchema, columnSchema } from './chat.ts';
import { limits } from './limits.ts';
import { textSchema } from './text.ts';

/** The body of POST /api/v1/deployments/{deploymentId}/cubesql. */
export const cubeSqlRequestSchema = z.object({
  query: textSchema.min(1).max(limits.sqlCharactersMax).describe('Semantic SQL.'),
  timezone: z.string().max(64).optional().describe('This version has UTC only, and refuses another.'),
  branch: z.string().max(255).optional().describe('This version has the branch `main` only.'),
  sessionSettings: z
    .unknown()
    .optional()
    .describe('SessionSettings; required with an API key, ignored with an embed token.'),
});

/** A line of the reply: first the schema, then chunks of rows, or an error if the query fails after the reply began. */
export const cubeSqlLineSchema = z.union([
  z.object({ schema: z.array(columnSchema) }),
  z.object({ data: z.array(z.array(cellSchema)) }),
  z.object({ error: z.string() }),
]);
export type CubeSqlLine = z.infer<typeof cubeSqlLineSchema>;
