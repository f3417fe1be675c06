/** The hooks that hold the limits on how often (http/rate-limits.ts) in the order of checks (http-api.md). */
import type { FastifyRequest } from 'fastify';
import type { InlayError } from '../errors.ts';
import type { Caller } from './authenticate.ts';
import type { RateLimits } from './rate-limits.ts';
import type { App } from './route.ts';

/** Before authentication: an address from which many credentials did not open has to wait. */
export function limitFailures(app: App, rateLimits: RateLimits): void {
  app.addHook('onRequest', async (request) => {
    const { credential, isForPages } = request.routeOptions.config;
    if (credential === 'none' && isForPages !== true) return;
    const address = addressOf(request);
    if (address !== null) rateLimits.requireFewFailures(address);
  });
}

/** Counts a credential that did not open, whether it stood in the header or in the body. */
export function countFailure(request: FastifyRequest, rateLimits: RateLimits): void {
  const address = addressOf(request);
  if (address !== null) rateLimits.countFailure(address);
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

const countedOf = (caller: Caller) =>
  caller.kind === 'api-key'
    ? ({ kind: 'key', keyId: caller.keyId } as const)
    : ({ kind: 'user', userId: caller.principal.userId } as const);

/**
 * The address of whoever asks; null where it is that of a proxy which the settings do not trust (INLAY_TRUST_PROXY): everybody
 * behind it would be counted as one, and one could lock out all.
 */
function addressOf(request: FastifyRequest): string | null {
  const { headers, ip, ips } = request;
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined;
  return isForwarded && ips === undefined ? null : ip;
}
