import { frameSchema } from '@inlay/contract/chat.ts';
import { requireChatPlan } from '../../../chat/find-agent.ts';
import { openChatStream, requireOwnThread } from '../../../chat/stream-chat.ts';
import type { Context } from '../../../context.ts';
import { InlayError } from '../../../errors.ts';
import { chatParamsOf, chatPaths, createAgentAccess } from '../../agent-access.ts';
import { type Caller, requireCaller } from '../../authenticate.ts';
import { disconnectSignal, sendNdjson } from '../../ndjson.ts';
import { requireDefaultBranch } from '../../require-default-branch.ts';
import { resolvePrincipal, sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST …/agents/{agentId}/chat/stream-chat-state: a message or a look at the thread in, its frames out (service.md 4.3). */
export function streamChatRoute(app: App, context: Context): void {
  const { db, clock, config, runs, shapes, watches, rateLimits } = context;
  const access = createAgentAccess(context, (agent, caller) => {
    requireChatPlan(agent);
    requireAiAllowed(caller);
  });
  for (const [index, path] of chatPaths('stream-chat-state').entries()) {
    app.post(
      path,
      {
        config: { credential: 'api-key or embed-token' },
        onRequest: access.hook,
        schema: {
          hide: index > 0,
          operationId: `streamChat${index || ''}`,
          tags: ['chat'],
          summary: 'Send a message to an agent, or read a thread, as a stream of frames',
          params: chatParamsOf(path),
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
        // Before the user is written: a call that is refused changes nothing.
        requireDefaultBranch(request.body, caller);
        const settings = sessionSettingsOf(request, request.body.sessionSettings);
        const agent = access.agentOf(request);
        const { chatId } = request.body;
        // Asked for an API key only, which always asks tenant-wide.
        const requireThread =
          chatId === undefined
            ? undefined
            : (userId: number | null) =>
                requireOwnThread(db, agent, userId === null ? null : { userId, scopeId: null }, chatId);
        const principal = await resolvePrincipal(
          { db, clock, config, shapes, rateLimits },
          caller,
          settings,
          requireThread,
        );
        using watch = watches.watch(principal);
        const frames = await openChatStream(
          { db, clock, runs },
          {
            principal,
            agent,
            request: request.body,
            requestId: request.id,
            reader: { gone: disconnectSignal(reply), ended: watch.signal, requestId: request.id },
          },
        );
        await sendNdjson(reply, frames, { ended: watch.signal });
        return reply;
      },
    );
  }
}

/** @throws InlayError AI_NOT_ALLOWED for the token of a session whose settings do not allow the agent (http-api.md). */
function requireAiAllowed(caller: Caller): void {
  if (caller.kind === 'embed-token' && caller.settings.allowAi === false) {
    throw new InlayError('AI_NOT_ALLOWED', 'The settings of the session do not allow the agent.');
  }
}
