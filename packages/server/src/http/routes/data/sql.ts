import { compiledSqlSchema, loadQuerySchema, sqlRequestSchema } from '@inlay/contract/data.ts';
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { openLoad } from '../../../query/load-data.ts';
import { openDoor } from '../../../query/run-query.ts';
import { requireCaller } from '../../authenticate.ts';
import { deploymentAccessHook } from '../../deployment-access.ts';
import { jsonOf, queriesOf } from '../../json-queries.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

const path = '/api/v1/deployments/:deploymentId/sql';
const params = z.object({ deploymentId: z.coerce.number().int() });

/** What a call of /sql says, whichever way it says it. */
interface SqlCall {
  readonly deploymentId: number;
  /** A text is semantic SQL, anything else JSON queries. */
  readonly query: unknown;
  readonly branch?: string | undefined;
  readonly sessionSettings?: unknown;
}

/**
 * GET and POST /api/v1/deployments/{deploymentId}/sql: the SQL that queries become for a user, with the policies in it (http-api.md).
 * It tells how the model is made, so that it is for admin keys.
 */
export function sqlRoutes(app: App, context: Context): void {
  const { clock, config, query: dependencies } = context;
  const answer = async (request: FastifyRequest, { deploymentId, query, branch, sessionSettings }: SqlCall) => {
    const scope = await resolveScope(context, requireCaller(request), {
      deploymentId,
      branch: { activeBranchName: branch },
      sessionSettings: sessionSettingsOf(request, sessionSettings),
    });
    const asked = { ...scope, deploymentId };
    if (typeof query === 'string') return replyOf((await openDoor(dependencies, asked)).compile(query));
    const queries = queriesOf(query);
    const load = await openLoad(dependencies, asked, { queries, now: clock(), limits: config });
    const [first, ...others] = load.queries.map(({ compiled }) => replyOf(compiled));
    return first === undefined || others.length > 0 || Array.isArray(query)
      ? [...(first === undefined ? [] : [first]), ...others]
      : first;
  };
  const route = {
    config: { credential: 'admin-role key', errorHoldsMessage: true },
    onRequest: deploymentAccessHook(context),
  } as const;
  const described = {
    tags: ['data'],
    summary: 'The SQL that queries become',
    description: 'Admin API keys only. `X-Inlay-Session-Settings` or `sessionSettings` say for whom.',
    params,
    response: {
      200: z.union([compiledSqlSchema, z.array(compiledSqlSchema)]),
      ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500, 503),
    },
  };
  app.get(
    path,
    {
      ...route,
      exposeHeadRoute: false,
      schema: { ...described, operationId: 'compileByUrl', querystring: loadQuerySchema },
    },
    async (request) => {
      const { query: text, branch } = request.query;
      const query = /^\s*[[{]/.test(text) ? jsonOf(text) : text;
      return answer(request, { deploymentId: request.params.deploymentId, query, branch });
    },
  );
  app.post(
    path,
    { ...route, schema: { ...described, operationId: 'compile', body: sqlRequestSchema } },
    async (request) => answer(request, { ...request.body, deploymentId: request.params.deploymentId }),
  );
}

/** Parameters as JSON: whole numbers that no double holds as texts. */
function replyOf({ sql, parameters }: CompiledQuery) {
  const values = parameters.map((it) => {
    if (typeof it !== 'bigint') return it;
    const number = Number(it);
    return Number.isSafeInteger(number) ? number : String(it);
  });
  return { sql: { sql: [sql, values] satisfies [string, unknown[]] } };
}
