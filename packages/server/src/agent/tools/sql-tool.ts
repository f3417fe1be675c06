/** The tool `<brand>SqlApi`: runs semantic SQL as the user and keeps the chart that goes with it (service.md 2.7). */
import { randomUUID } from 'node:crypto';
import type { Cell } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import { InlayError } from '../../errors.ts';
import { type QueryDependencies, runQuery } from '../../query/run-query.ts';
import type { WarehouseResult } from '../../warehouse/warehouse.ts';
import { parseChartSpec } from './chart-spec.ts';
import { defineTool, type Tool } from './tool.ts';

/** `data` as JSON, in UTF-16 code units: it stays in the thread and in memory while the run goes on. */
const dataCharactersMax = 1_048_576;

/** Words of the language model beside the SQL; what they are about is at most one longest message. */
const words = z.string().max(32_000);

const inputSchema = z.object({
  sqlQuery: z.string().min(1).describe('Semantic SQL: SELECT dim, MEASURE(m) FROM view …'),
  queryTitle: words.describe('A short title for people.'),
  description: words.describe('What the query does, in a sentence.'),
  userRequest: words.describe('What the user asked for.'),
  memoryId: z.string().max(100).optional().describe('The uuid of the earlier result that this query builds upon.'),
  vegaSpec: z
    .string()
    .optional()
    .describe('A Vega-Lite v5 spec as JSON text, without data; fields are result columns.'),
});
type SqlToolInput = z.infer<typeof inputSchema>;

/**
 * Makes the SQL tool under its branded name.
 * @param rowsMax rows in `data` at most (fewer when they are very large); `totalRows` always is the query's own count.
 */
export function createSqlTool(query: QueryDependencies, name: string, rowsMax: number): Tool {
  return defineTool({
    name,
    description: 'Runs semantic SQL over the views and cubes that this user may query, and returns the first rows.',
    schema: inputSchema,
    shown: (input, { resultIds }) => showInput(input, resultIds),
    async run(input, { principal, deploymentId, branch, signal }) {
      // The chart first: a query whose chart is refused need not run.
      const vegaSpec = input.vegaSpec === undefined ? undefined : parseChartSpec(input.vegaSpec);
      const answer = await runQuery(query, { principal, deploymentId, branch, sql: input.sqlQuery, signal });
      const uuid = randomUUID();
      const result = {
        sqlQuery: input.sqlQuery,
        queryTitle: input.queryTitle,
        description: input.description,
        userRequest: input.userRequest,
        schema: answer.columns,
        data: await firstRows(answer, rowsMax),
        totalRows: answer.rowCount,
        uuid,
        ...(vegaSpec === undefined ? {} : { vegaSpec }),
      };
      return { result, queries: 1, rows: answer.rowCount, resultId: uuid };
    },
  });
}

/** The input in its documented order, without a reference to a result that is not the thread's, or a refused chart. */
function showInput(input: SqlToolInput, resultIds: ReadonlySet<string>): SqlToolInput {
  const { sqlQuery, queryTitle, description, userRequest, memoryId } = input;
  const vegaSpec = input.vegaSpec === undefined ? undefined : chartSpecOrUndefined(input.vegaSpec);
  return {
    sqlQuery,
    queryTitle,
    description,
    userRequest,
    ...(memoryId !== undefined && resultIds.has(memoryId) ? { memoryId } : {}),
    ...(vegaSpec === undefined ? {} : { vegaSpec }),
  };
}

function chartSpecOrUndefined(text: string): string | undefined {
  try {
    return parseChartSpec(text);
  } catch {
    return undefined;
  }
}

/** The first rows, as many as may be and as fit. @throws InlayError RESULT_TOO_LARGE when not even one fits. */
async function firstRows(answer: WarehouseResult, rowsMax: number): Promise<Cell[][]> {
  const rows: Cell[][] = [];
  let characters = 0;
  for await (const chunk of answer.rows()) {
    for (const row of chunk) {
      characters += JSON.stringify(row).length;
      if (rows.length === 0 && characters > dataCharactersMax) {
        throw new InlayError('RESULT_TOO_LARGE', 'A row of the result is too large to be shown.');
      }
      if (rows.length === rowsMax || characters > dataCharactersMax) return rows;
      rows.push(row);
    }
  }
  return rows;
}
