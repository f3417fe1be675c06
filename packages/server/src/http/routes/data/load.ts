import { loadQuerySchema, loadReplySchema, loadRequestSchema } from '@inlay/contract/data.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { type LoadedResult, openLoad } from '../../../query/load-data.ts';
import { createSlowAnswers } from '../../../query/slow-answers.ts';
import { requireCaller } from '../../authenticate.ts';
import { deploymentAccessHook } from '../../deployment-access.ts';
import { jsonOf, queriesOf } from '../../json-queries.ts';
import { loadReply, queryTypeOf } from '../../load-reply.ts';
import { disconnectSignal, sendJson } from '../../ndjson.ts';
import type { Places } from '../../places.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

const path = '/api/v1/deployments/:deploymentId/load';
const params = z.object({ deploymentId: z.coerce.number().int() });

/** What a call of /load says, whichever way it says it. */
interface LoadCall {
  readonly deploymentId: number;
  /** As it was parsed from JSON. */
  readonly query: unknown;
  readonly isMulti: boolean;
  readonly branch: string | undefined;
  readonly sessionSettings: unknown;
}

/**
 * GET and POST /api/v1/deployments/{deploymentId}/load: the rows of JSON queries, as the caller's user (http-api.md).
 * @param places of the data API, shared by its routes
 */
export function loadRoutes(app: App, context: Context, places: Places): void {
  const { config } = context;
  const answer = createLoad(context, places, app);
  const route = {
    config: { credential: 'api-key or embed-token', errorHoldsMessage: true },
    onRequest: deploymentAccessHook(context),
  } as const;
  const described = {
    tags: ['data'],
    description: `The form of Cube's REST API, as \`@cubejs-client/core\` sends it. A query that takes longer than ${config.continueWaitMs} ms is answered \`{"error":"Continue wait"}\`: ask again.`,
    params,
    response: {
      200: {
        description: 'The rows, or that they are still on their way.',
        content: { 'application/json': { schema: loadReplySchema } },
      },
      ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500, 503),
    },
  };
  app.get(
    path,
    {
      ...route,
      exposeHeadRoute: false,
      schema: {
        ...described,
        operationId: 'loadByUrl',
        summary: 'Run JSON queries that stand in the URL',
        querystring: loadQuerySchema,
      },
    },
    async (request, reply) => {
      const { query, queryType, branch } = request.query;
      const call = { query: jsonOf(query), isMulti: queryType === 'multi', branch, sessionSettings: undefined };
      return answer(request, reply, { ...call, deploymentId: request.params.deploymentId });
    },
  );
  app.post(
    path,
    {
      ...route,
      schema: { ...described, operationId: 'load', summary: 'Run JSON queries', body: loadRequestSchema },
    },
    async (request, reply) => {
      const { query, queryType, branch, sessionSettings } = request.body;
      const call = { query, isMulti: queryType === 'multi', branch, sessionSettings };
      return answer(request, reply, { ...call, deploymentId: request.params.deploymentId });
    },
  );
}

function createLoad(context: Context, places: Places, app: App) {
  const { clock, config, query: dependencies, watches } = context;
  const { queryTimeoutMs: timeoutMs, continueWaitMs: waitMs, dataRepliesPerUserMax: perUserMax } = config;
  const slow = createSlowAnswers<readonly LoadedResult[]>({ waitMs, perUserMax });
  app.addHook('preClose', async () => slow[Symbol.dispose]());

  return async (request: FastifyRequest, reply: FastifyReply, call: LoadCall): Promise<FastifyReply> => {
    const { deploymentId } = call;
    const scope = await resolveScope(context, requireCaller(request), {
      deploymentId,
      branch: { activeBranchName: call.branch },
      sessionSettings: sessionSettingsOf(request, call.sessionSettings),
    });
    const { principal } = scope;
    const queries = queriesOf(call.query);
    const key = JSON.stringify([principal, deploymentId, scope.branch, queries]);
    // Asked again, a query is that of its first call: `last 10 seconds` would be another one each time.
    const now = slow.begunAt(key) ?? clock();
    const load = await openLoad(dependencies, { ...scope, deploymentId }, { queries, now, limits: config });
    const type = queryTypeOf(load, queries.length);

    using watch = watches.watch(principal);
    const signal = AbortSignal.any([disconnectSignal(reply), watch.signal]);
    const work = async (stop: AbortSignal): Promise<readonly LoadedResult[]> => {
      // It may outlive this call, and its watch.
      using ownWatch = watches.watch(principal);
      const stopped = AbortSignal.any([stop, ownWatch.signal]);
      using _place = await places.enter(principal.userId, { signal: stopped, timeoutMs });
      return await load.run(stopped);
    };
    const { userId } = principal;
    const waited = await slow.ask({ key, userId, identity: load.identity, now, signal, work });
    if (!waited.isReady) return reply.send({ error: 'Continue wait' });

    using _place = await places.enter(userId, { signal, timeoutMs });
    const isMulti = call.isMulti || type !== 'regularQuery';
    const { signal: ended } = watch;
    await sendJson(reply, until(loadReply(load, waited.answer, { type, isMulti }), ended), { ended });
    return reply;
  };
}

/** The pieces, for as long as the caller may read on. @throws the signal's reason */
async function* until(pieces: AsyncGenerator<string>, ended: AbortSignal): AsyncGenerator<string> {
  for await (const piece of pieces) {
    ended.throwIfAborted();
    yield piece;
  }
}
