/** The hooks that hold the limits on how often (http/rate-limits.ts) in the order of checks (http-api.md). */
import type { FastifyRequest } from 'fastify';
import type { InlayError } from '../errors.ts';
import type { Caller } from './authenticate.ts';
import type { Counted, RateLimits } from './rate-limits.ts';
import type { App } from './route.ts';

/**
 * Counts a credential that did not open, whether it stood in the header or in the body. One that opens is never refused for what
 * others show from its address: behind one address may be a whole company, or all servers of a host, one of which still has
 * yesterday's key.
 * @returns null, or what to answer with instead, when too many did not
 */
export function countFailure(request: FastifyRequest, rateLimits: RateLimits): InlayError | null {
  const address = addressOf(request);
  return address === null ? null : rateLimits.countFailure(address);
}

/**
 * After authentication: every request counts, and one too many is refused once its path and shape are right, since 429 comes last
 * in the order of checks.
 */
export function limitRequests(app: App, rateLimits: RateLimits): void {
  const refusals = new WeakMap<FastifyRequest, InlayError>();
  app.addHook('onRequest', async (request) => {
    const { caller } = request;
    if (caller === null) return;
    const refusal = rateLimits.count(countedOf(caller), caller.account.limits);
    if (refusal !== null) refusals.set(request, refusal);
  });
  app.addHook('preHandler', async (request) => {
    const refusal = refusals.get(request);
    if (refusal !== undefined) throw refusal;
  });
}

/** As whom a caller is counted. */
export const countedOf = (caller: Caller): Counted =>
  caller.kind === 'api-key' ? { kind: 'key', keyId: caller.keyId } : { kind: 'user', userId: caller.principal.userId };

/**
 * The address of whoever asks; null where it is that of a proxy which the settings do not trust (INLAY_TRUST_PROXY): everybody
 * behind it would be counted as one, and one could lock out all.
 */
function addressOf(request: FastifyRequest): string | null {
  const { headers, ip, ips } = request;
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined;
  return isForwarded && ips === undefined ? null : ip;
}
