import { abortRequestSchema } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import { abortChat } from '../../../chat/abort-chat.ts';
import type { Context } from '../../../context.ts';
import { chatRoute, createAgentAccess } from '../../agent-access.ts';
import { requireCaller } from '../../authenticate.ts';
import { identifyPrincipal, sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

/** POST …/chat/stream-chat-state/abort (service.md 4.4) and …/chat/abort (chat-stream.md): stops what the agent does. */
export function abortChatRoute(app: App, context: Context): void {
  registerAbort(app, context, 'stream-chat-state/abort', 'abortChat');
  registerAbort(app, context, 'abort', 'abortChatShort');
}

function registerAbort(app: App, context: Context, end: string, operationId: string): void {
  const { db, clock, config, runs, shapes } = context;
  const access = createAgentAccess(context);
  chatRoute(end, operationId, ({ path, params, described }) => {
    app.post(
      path,
      {
        config: { credential: 'api-key or embed-token' },
        onRequest: access.hook,
        schema: {
          ...described,
          hide: described.hide || end === 'abort',
          summary: 'Stop the run of a thread',
          params,
          body: abortRequestSchema,
          response: {
            204: z.null().describe('Stopped, or nothing was running.'),
            ...errorReplies(400, 401, 403, 404, 413, 415, 500),
          },
        },
      },
      async (request, reply) => {
        const settings = sessionSettingsOf(request, request.body.sessionSettings);
        const principal = await identifyPrincipal({ db, clock, config, shapes }, requireCaller(request), settings);
        const agent = access.agentOf(request);
        await abortChat({ db, runs }, { agent, asker: principal, chatId: request.body.chatId });
        return reply.code(204).send(null);
      },
    );
  });
}
