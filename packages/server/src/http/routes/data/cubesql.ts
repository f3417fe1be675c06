import { cubeSqlLineSchema } from '@inlay/contract/data.ts';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { streamQuery } from '../../../query/run-query.ts';
import type { WarehouseStream } from '../../../warehouse/warehouse.ts';
import { requireCaller } from '../../authenticate.ts';
import { deploymentAccessHook } from '../../deployment-access.ts';
import { failureOf } from '../../error-response.ts';
import { disconnectSignal, sendNdjson } from '../../ndjson.ts';
import type { Places } from '../../places.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

/**
 * POST /api/v1/deployments/{deploymentId}/cubesql: the rows of a semantic query, as the caller's user (http-api.md).
 * @param places of the data API, shared by its routes
 */
export function cubeSqlRoute(app: App, context: Context, places: Places): void {
  const { db, clock, config, deployments, log, query, shapes, rateLimits, watches } = context;
  const { queryTimeoutMs } = config;
  app.post(
    '/api/v1/deployments/:deploymentId/cubesql',
    {
      config: { credential: 'api-key or embed-token', errorHoldsMessage: true },
      onRequest: deploymentAccessHook(context),
      schema: {
        operationId: 'cubeSql',
        tags: ['data'],
        summary: 'Run semantic SQL: one line with the schema, then chunks of rows',
        description:
          'With an API key, `sessionSettings` in the body or base64url JSON in the header `X-Inlay-Session-Settings` name the user.',
        params: z.object({ deploymentId: z.coerce.number().int() }),
        body: shapes.data.cubeSqlRequest,
        response: {
          200: {
            description: 'Lines of JSON. A failure after the first one is a line with `error`.',
            content: { 'application/x-ndjson': { schema: cubeSqlLineSchema } },
          },
          ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const caller = requireCaller(request);
      const { deploymentId } = request.params;
      const { principal, branch } = await resolveScope({ db, clock, config, shapes, rateLimits, deployments }, caller, {
        deploymentId,
        branch: { activeBranchName: request.body.branch },
        sessionSettings: sessionSettingsOf(request, request.body.sessionSettings),
      });
      using watch = watches.watch(principal);
      const { signal: ended } = watch;
      const signal = AbortSignal.any([disconnectSignal(reply), ended]);
      using _place = await places.enter(principal.userId, { signal, timeoutMs: queryTimeoutMs });
      const { query: sql, timezone } = request.body;
      const result = await streamQuery(query, { principal, deploymentId, branch, sql, timezone, signal });
      const errorLine = (error: unknown) => {
        const failure = failureOf(error);
        if (failure.isLogged) log.error({ err: error, requestId: request.id }, 'result broke off');
        return { error: failure.message };
      };
      await sendNdjson(reply, linesOf(result, ended), { errorLine, ended });
      return reply;
    },
  );
}

/** The schema, then at least one chunk of rows. @throws the reason of `ended` as soon as the user may not read on. */
async function* linesOf(
  result: WarehouseStream,
  ended: AbortSignal,
): AsyncGenerator<z.infer<typeof cubeSqlLineSchema>> {
  yield { schema: [...result.columns] };
  let hasRows = false;
  for await (const data of result.rows()) {
    ended.throwIfAborted();
    hasRows = true;
    yield { data };
  }
  if (!hasRows) yield { data: [] };
}
