import { metaQuerySchema, metaReplySchema, metaRequestSchema } from '@inlay/contract/data.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { readMetadata } from '../../../query/read-metadata.ts';
import { requireCaller } from '../../authenticate.ts';
import { cubeOf } from '../../cube-metadata.ts';
import { deploymentAccessHook } from '../../deployment-access.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

const path = '/api/v1/deployments/:deploymentId/meta';
const params = z.object({ deploymentId: z.coerce.number().int() });

/** What a call of /meta says, whichever way it says it. */
interface MetaCall {
  readonly deploymentId: number;
  readonly branch: string | undefined;
  readonly onlyViews: boolean;
  readonly sessionSettings: unknown;
}

/** GET and POST /api/v1/deployments/{deploymentId}/meta: the views, cubes and members that the caller's user sees (http-api.md). */
export function metaRoutes(app: App, context: Context): void {
  const { query: dependencies } = context;
  const answer = async (request: FastifyRequest, { deploymentId, branch, onlyViews, sessionSettings }: MetaCall) => {
    const scope = await resolveScope(context, requireCaller(request), {
      deploymentId,
      branch: { activeBranchName: branch },
      sessionSettings: sessionSettingsOf(request, sessionSettings),
    });
    const relations = await readMetadata(dependencies, { ...scope, deploymentId });
    return { cubes: relations.filter(({ type }) => !onlyViews || type === 'view').map(cubeOf) };
  };
  const route = {
    config: { credential: 'api-key or embed-token', errorHoldsMessage: true },
    onRequest: deploymentAccessHook(context),
  } as const;
  const described = {
    tags: ['data'],
    summary: 'Views and cubes, with the members that the user sees',
    description: 'In the form that `@cubejs-client/core` reads.',
    params,
    response: { 200: metaReplySchema, ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500, 503) },
  };
  app.get(
    path,
    {
      ...route,
      exposeHeadRoute: false,
      schema: { ...described, operationId: 'getMeta', querystring: metaQuerySchema },
    },
    async (request) => {
      const { branch, onlyViews } = request.query;
      const { deploymentId } = request.params;
      return answer(request, { deploymentId, branch, onlyViews: onlyViews === 'true', sessionSettings: undefined });
    },
  );
  app.post(
    path,
    { ...route, schema: { ...described, operationId: 'postMeta', body: metaRequestSchema } },
    async (request) => {
      const { branch, onlyViews = false, sessionSettings } = request.body ?? {};
      return answer(request, { deploymentId: request.params.deploymentId, branch, onlyViews, sessionSettings });
    },
  );
}
