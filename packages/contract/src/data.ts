/** The data API on the wire. */
import { z } from 'zod';
import { cellSchema, columnSchema } from './chat.ts';
import { limitedBytes } from './limited.ts';
import type { Limits } from './limits.ts';

/** Queries that one call may send together. */
export const queriesMax = 10;

const branch = z
  .string()
  .regex(/\S/, 'must not be blank')
  .max(255)
  .optional()
  .describe('A branch of the data model; left out: the default one, with a token that of its session.');
const sessionSettings = z
  .unknown()
  .optional()
  .describe('SessionSettings; required with an API key, ignored with an embed token.');
const queryType = z
  .string()
  .max(64)
  .optional()
  .describe('`multi`: the reply is one of several queries, also for one, as `@cubejs-client/core` reads it.');

/** The shapes under these limits. Build them once. */
export function dataShapes(limits: Limits) {
  /** The body of POST /api/v1/deployments/{deploymentId}/cubesql. */
  const cubeSqlRequest = z.object({
    query: limitedBytes(limits, 'sqlBytesMax', 1).describe('Semantic SQL.'),
    timezone: z
      .string()
      .max(64)
      .optional()
      .describe('In which days begin and end, such as Europe/Berlin; left out: that of the session, else UTC.'),
    branch,
    sessionSettings,
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

/** The query string of GET /api/v1/deployments/{deploymentId}/meta. What clients send besides changes nothing. */
export const metaQuerySchema = z.object({
  onlyViews: z.enum(['true', 'false']).optional().describe('`true`: views only.'),
  branch,
});

/** The body of POST …/meta; none is needed with an embed token. */
export const metaRequestSchema = z.object({ onlyViews: z.boolean().optional(), branch, sessionSettings }).nullish();

/** The query string of GET …/load and …/sql. */
export const loadQuerySchema = z.object({
  query: z.string().min(1).describe('The JSON query, or a list of them, as JSON.'),
  queryType,
  branch,
});

/** The body of POST …/load. */
export const loadRequestSchema = z.object({
  query: z.unknown().describe('A JSON query, or a list of them.'),
  queryType,
  branch,
  sessionSettings,
});

/** The body of POST …/sql. */
export const sqlRequestSchema = z.object({
  query: z.unknown().describe('A JSON query, a list of them, or semantic SQL.'),
  branch,
  sessionSettings,
});

/** What describes a member in a result, as `@cubejs-client/core` reads it. */
const annotationSchema = z.looseObject({ title: z.string(), shortTitle: z.string(), type: z.string() });

/** The result of one JSON query. */
export const loadResultSchema = z.object({
  query: z.record(z.string(), z.unknown()).describe('The query, with what it left out filled in.'),
  annotation: z.object({
    measures: z.record(z.string(), annotationSchema),
    dimensions: z.record(z.string(), annotationSchema),
    segments: z.record(z.string(), annotationSchema),
    timeDimensions: z.record(z.string(), annotationSchema),
  }),
  total: z.number().optional().describe('Rows without `limit` and `offset`; with `total: true`.'),
  data: z.unknown().describe('A list of rows, each by names of members; with `responseFormat` in another form.'),
});

/** What /load answers with. */
export const loadReplySchema = z.union([
  loadResultSchema,
  z.object({
    queryType: z.enum(['regularQuery', 'compareDateRangeQuery', 'blendingQuery']),
    results: z.array(loadResultSchema),
    pivotQuery: z.record(z.string(), z.unknown()),
  }),
  z.object({ error: z.literal('Continue wait') }),
]);

/** The SQL of one query, and its parameters in the order of their numbers. */
export const compiledSqlSchema = z.object({
  sql: z.object({ sql: z.tuple([z.string(), z.array(z.unknown())]) }),
});

/** What /meta answers with. */
export const metaReplySchema = z.object({
  cubes: z.array(
    z.looseObject({
      name: z.string(),
      type: z.enum(['view', 'cube']),
      title: z.string(),
      description: z.string().optional(),
      public: z.literal(true),
      measures: z.array(z.looseObject({ name: z.string() })),
      dimensions: z.array(z.looseObject({ name: z.string() })),
      segments: z.array(z.looseObject({ name: z.string() })),
    }),
  ),
});
