import { threadPageSchema } from '@inlay/contract/chat.ts';
import { pageQuerySchema } from '@inlay/contract/page.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireChatPlan } from '../../../chat/find-agent.ts';
import { deleteThread, listThreads } from '../../../chat/threads.ts';
import type { Context } from '../../../context.ts';
import type { Principal } from '../../../users/principal.ts';
import { chatRoute, createAgentAccess } from '../../agent-access.ts';
import { requireCaller } from '../../authenticate.ts';
import { identifyPrincipal, requireSessionSettings, sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

const description =
  'With an API key the header `X-Inlay-Session-Settings` names the user, as base64url JSON; none is made or changed.';

/**
 * GET …/agents/{agentId}/chat/threads and DELETE …/chat/threads/{chatId}: the threads of the caller's user (http-api.md). Neither
 * asks the agent anything, so that a session whose settings do not allow the agent may do both.
 */
export function threadRoutes(app: App, context: Context): void {
  const { db, runs } = context;
  const listing = createAgentAccess(context, requireChatPlan);
  chatRoute('threads', 'listThreads', ({ path, params, described }) => {
    app.get(
      path,
      {
        config: { credential: 'api-key or embed-token' },
        exposeHeadRoute: false,
        onRequest: listing.hook,
        schema: {
          ...described,
          summary: 'List the threads of a user with an agent, those written in last first',
          description,
          params,
          querystring: pageQuerySchema,
          response: { 200: threadPageSchema, ...errorReplies(400, 401, 403, 404, 500) },
        },
      },
      async (request) =>
        listThreads(
          { db },
          { agent: listing.agentOf(request), asker: await askerOf(context, request), page: request.query },
        ),
    );
  });

  // Of any plan: what one may not go on with, one may still delete.
  const deleting = createAgentAccess(context);
  chatRoute('threads/:chatId', 'deleteThread', ({ path, params, described }) => {
    app.delete(
      path,
      {
        config: { credential: 'api-key or embed-token' },
        onRequest: deleting.hook,
        schema: {
          ...described,
          summary: 'Delete a thread; a run in it is stopped first',
          description,
          params: params.extend({ chatId: z.string() }),
          response: { 204: z.null().describe('Deleted.'), ...errorReplies(400, 401, 403, 404, 500) },
        },
      },
      async (request, reply) => {
        const asker = await askerOf(context, request);
        await deleteThread({ db, runs }, { agent: deleting.agentOf(request), asker, chatId: request.params.chatId });
        return reply.code(204).send(null);
      },
    );
  });
}

/**
 * Whose threads are meant; null for a user who does not exist.
 * @throws InlayError what {@link requireSessionSettings} and {@link identifyPrincipal} throw.
 */
async function askerOf({ db, clock, config, shapes }: Context, request: FastifyRequest): Promise<Principal | null> {
  const caller = requireCaller(request);
  const settings = sessionSettingsOf(request, undefined);
  requireSessionSettings(caller, settings);
  return identifyPrincipal({ db, clock, config, shapes }, caller, settings);
}
