import { sessionTokenReplySchema, sessionTokenRequestSchema } from '@inlay/contract/embed.ts';
import type { Context } from '../../../context.ts';
import { redeemSession, renewToken } from '../../../embed/redeem-session.ts';
import { InlayError } from '../../../errors.ts';
import { authenticate } from '../../authenticate.ts';
import { requireOriginOf } from '../../cors.ts';
import { countedOf } from '../../limit-requests.ts';
import { type App, errorReplies, securityOf } from '../../route.ts';

/**
 * POST /api/v1/embed/session/token: a sessionId for its first token, or without a body a token for the next one of its
 * session (http-api.md). The credential is in the body or the header, so that the route itself looks at it.
 */
export function sessionTokenRoute(app: App, context: Context): void {
  const { db, clock, config, tokenKeys, rateLimits } = context;
  const tokens = { db, clock, tokenKeys, tokenLifetimeMs: config.tokenLifetimeMs };
  app.post(
    '/api/v1/embed/session/token',
    {
      config: { credential: 'none', isForPages: true },
      schema: {
        operationId: 'exchangeSession',
        tags: ['embed'],
        summary: 'Exchange a sessionId, once, for a token; or without a body a valid token for the next one',
        security: [{}, ...securityOf('embed-token')],
        body: sessionTokenRequestSchema.nullish(),
        response: { 200: sessionTokenReplySchema, ...errorReplies(400, 401, 413, 415, 429, 500) },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (request.body) {
        const { issued, account } = await redeemSession(tokens, request.body.sessionId);
        requireOriginOf(account, request, reply);
        return issued;
      }
      const caller = await authenticate(context, request.headers.authorization);
      if (caller.kind !== 'embed-token') {
        throw new InlayError('UNAUTHENTICATED', 'A sessionId in the body or an embed token is required');
      }
      requireOriginOf(caller.account, request, reply);
      // The hook that counts has not seen the credential.
      const refusal = rateLimits.count(countedOf(caller), caller.account.limits);
      if (refusal !== null) throw refusal;
      return renewToken(tokens, caller);
    },
  );
}
