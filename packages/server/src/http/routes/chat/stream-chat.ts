import { frameSchema } from '@inlay/contract/chat.ts';
import { requireChatPlan } from '../../../chat/find-agent.ts';
import { openChatStream } from '../../../chat/stream-chat.ts';
import { requireOwnThread } from '../../../chat/thread-store.ts';
import type { Context } from '../../../context.ts';
import { chatRoute, createAgentAccess } from '../../agent-access.ts';
import { requireAiAllowed, requireCaller } from '../../authenticate.ts';
import { disconnectSignal, sendNdjson } from '../../ndjson.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST …/agents/{agentId}/chat/stream-chat-state: a message or a look at the thread in, its frames out (service.md 4.3). */
export function streamChatRoute(app: App, context: Context): void {
  const { db, clock, config, deployments, runs, tails, shapes, watches, rateLimits } = context;
  const access = createAgentAccess(context, (agent, caller) => {
    requireChatPlan(agent);
    requireAiAllowed(caller);
  });
  chatRoute('stream-chat-state', 'streamChat', ({ path, params, described }) => {
    app.post(
      path,
      {
        config: { credential: 'api-key or embed-token' },
        onRequest: access.hook,
        schema: {
          ...described,
          summary: 'Send a message to an agent, or read a thread, as a stream of frames',
          params,
          body: shapes.chat.chatRequest,
          response: {
            200: {
              description: 'One frame per line. The run goes on when the client hangs up.',
              content: { 'application/x-ndjson': { schema: frameSchema } },
            },
            ...errorReplies(400, 401, 403, 404, 409, 413, 415, 429, 500, 503),
          },
        },
      },
      async (request, reply) => {
        const caller = requireCaller(request);
        const agent = access.agentOf(request);
        const { chatId } = request.body;
        // Asked for an API key only, which always asks tenant-wide.
        const requireThread =
          chatId === undefined
            ? undefined
            : async (findUserId: () => Promise<number | null>) => {
                const userId = await findUserId();
                await requireOwnThread(db, agent, userId === null ? null : { userId, scopeId: null }, chatId);
              };
        const { principal, branch } = await resolveScope(
          { db, clock, config, deployments, shapes, rateLimits },
          caller,
          {
            deploymentId: agent.deploymentId,
            branch: request.body,
            sessionSettings: sessionSettingsOf(request, request.body.sessionSettings),
            beforeWriting: requireThread,
          },
        );
        using watch = watches.watch(principal);
        const lines = await openChatStream(
          { db, clock, runs, tails },
          {
            principal,
            agent,
            branch,
            request: request.body,
            requestId: request.id,
            reader: { gone: disconnectSignal(reply), ended: watch.signal, requestId: request.id },
          },
        );
        await sendNdjson(reply, lines, { ended: watch.signal });
        return reply;
      },
    );
  });
}
