/** The deployment in a path, checked before the body is read (decisions 2, order of checks). */
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { requireCaller, requireDeploymentAccess } from './authenticate.ts';

/**
 * A hook for routes whose path holds `:deploymentId`.
 * @throws InlayError NOT_FOUND when the caller's account has no such deployment, or the embed token is for another;
 * FORBIDDEN when the API key may not use it.
 */
export function deploymentAccessHook({ db }: { readonly db: Kysely<Schema> }) {
  return async (request: FastifyRequest): Promise<void> => {
    const caller = requireCaller(request);
    const id = deploymentIdIn(request.params);
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

/** The id in the path, or null when it is not one that PostgreSQL's integer could hold. */
function deploymentIdIn(params: unknown): number | null {
  const text =
    typeof params === 'object' && params !== null && 'deploymentId' in params ? String(params.deploymentId) : '';
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  return id <= 2_147_483_647 ? id : null;
}
