import { revokeSessionRequestSchema } from '@inlay/contract/embed.ts';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { revokeSession } from '../../../embed/revoke-session.ts';
import { actorOf, requireApiKey } from '../../authenticate.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST /api/v1/embed/session/revoke: ends a session, its tokens and open streams (http-api.md). */
export function revokeSessionRoute(app: App, { db, clock }: Context): void {
  app.post(
    '/api/v1/embed/session/revoke',
    {
      config: { credential: 'api-key' },
      schema: {
        operationId: 'revokeEmbedSession',
        tags: ['embed'],
        summary: 'End a session: its tokens open nothing any more, its streams close',
        body: revokeSessionRequestSchema,
        response: {
          204: z.null().describe('It has ended, or there is no such session.'),
          ...errorReplies(400, 401, 403, 413, 415, 500),
        },
      },
    },
    async (request, reply) => {
      const { accountId, deploymentIds } = requireApiKey(request);
      const { sessionId } = request.body;
      await revokeSession({ db, clock }, { accountId, deploymentIds, actor: actorOf(request), sessionId });
      return reply.code(204).send(null);
    },
  );
}
