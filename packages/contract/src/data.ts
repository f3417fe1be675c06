/** The data API on the wire. */
import { z } from 'zod';
import { cellSchema, columnSchema } from './chat.ts';
import { limitedBytes } from './limited.ts';
import type { Limits } from './limits.ts';

/** The shapes under these limits. Build them once. */
export function dataShapes(limits: Limits) {
  /** The body of POST /api/v1/deployments/{deploymentId}/cubesql. */
  const cubeSqlRequest = z.object({
    query: limitedBytes(limits, 'sqlBytesMax', 1).describe('Semantic SQL.'),
    timezone: z.string().max(64).optional().describe('This version has UTC only, and refuses another.'),
    branch: z
      .string()
      .regex(/\S/, 'must not be blank')
      .max(255)
      .optional()
      .describe('A branch of the data model; left out: the default one, with a token that of its session.'),
    sessionSettings: z
      .unknown()
      .optional()
      .describe('SessionSettings; required with an API key, ignored with an embed token.'),
  });
  return { cubeSqlRequest };
}

/** A line of the reply: first the schema, then chunks of rows, or an error if the query fails after the reply began. */
export const cubeSqlLineSchema = z.union([
  z.object({ schema: z.array(columnSchema) }),
  z.object({ data: z.array(z.array(cellSchema)) }),
  z.object({ error: z.string() }),
]);
export type CubeSqlLine = z.infer<typeof cubeSqlLineSchema>;
