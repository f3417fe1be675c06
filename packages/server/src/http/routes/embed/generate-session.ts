import { generateSessionReplySchema, generateSessionRequestSchema } from '@inlay/contract/embed.ts';
import type { Context } from '../../../context.ts';
import { generateSession } from '../../../embed/generate-session.ts';
import { checkFields } from '../../../embed/session-rules.ts';
import { requireApiKey } from '../../authenticate.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST /api/v1/embed/generate-session: a session for one user (service.md 4.1). */
export function generateSessionRoute(app: App, { db, clock, config }: Context): void {
  app.post(
    '/api/v1/embed/generate-session',
    {
      config: { credential: 'api-key' },
      schema: {
        operationId: 'generateSession',
        tags: ['embed'],
        summary: 'Mint a session for an external user, who is made or changed, or for an internal one',
        body: generateSessionRequestSchema,
        response: { 200: generateSessionReplySchema, ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500) },
      },
      // Before validation, which drops the fields that it does not know.
      preValidation: async (request) => checkFields('generate-session', request.body),
    },
    async (request) =>
      generateSession(
        {
          db,
          clock,
          limits: config,
          sessionExchangeMs: config.sessionExchangeMs,
          sessionLifetimeMs: config.sessionLifetimeMs,
        },
        requireApiKey(request),
        request.body,
      ),
  );
}
