/** The deployment in a path, checked before the body is read (http-api.md, order of checks). */
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { InlayError } from '../errors.ts';
import { parseId } from '../store/id.ts';
import type { Schema } from '../store/schema.ts';
import { requireCaller, requireDeploymentAccess } from './authenticate.ts';

const paramsSchema = z.object({ deploymentId: z.string() });

/**
 * A hook for routes whose path holds `:deploymentId`.
 * @throws InlayError NOT_FOUND when the caller's account has no such deployment, or the embed token is for another;
 * FORBIDDEN when the API key may not use it.
 */
export function deploymentAccessHook({ db }: { readonly db: Kysely<Schema> }) {
  return async (request: FastifyRequest): Promise<void> => {
    const caller = requireCaller(request);
    const id = parseId(paramsSchema.parse(request.params).deploymentId);
    const deployment =
      id === null
        ? undefined
        : await db
            .selectFrom('deployments')
            .select('id')
            .where('id', '=', id)
            .where('account_id', '=', caller.accountId)
            .executeTakeFirst();
    if (deployment === undefined) throw new InlayError('NOT_FOUND', 'Deployment not found');
    requireDeploymentAccess(caller, deployment.id);
  };
}
