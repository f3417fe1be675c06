import { generateSessionReplySchema } from '@inlay/contract/embed.ts';
import type { Context } from '../../../context.ts';
import { generateSession } from '../../../embed/generate-session.ts';
import { checkFields, sessionCallOf } from '../../../embed/session-rules.ts';
import { actorOf, requireApiKey } from '../../authenticate.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST /api/v1/embed/generate-session: a session for one user (service.md 4.1). */
export function generateSessionRoute(app: App, { minter, deployments, config, shapes }: Context): void {
  app.post(
    '/api/v1/embed/generate-session',
    {
      config: { credential: 'api-key' },
      schema: {
        operationId: 'generateSession',
        tags: ['embed'],
        summary: 'Mint a session for an external user, who is made or changed, or for an internal one',
        body: shapes.embed.generateSessionRequest,
        response: {
          200: generateSessionReplySchema,
          ...errorReplies(400, 401, 403, 404, 409, 413, 415, 429, 500, 503),
        },
      },
      // Before validation, which drops the fields that it does not know.
      preValidation: async (request) => checkFields('generate-session', request.body),
    },
    async (request) =>
      generateSession(
        { minter, deployments },
        requireApiKey(request),
        sessionCallOf(request.body, { shapes, ephemeralTtlSecondsDefault: config.ephemeralTtlSecondsDefault }),
        actorOf(request),
      ),
  );
}
