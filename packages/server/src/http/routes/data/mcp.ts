import { type McpMessage, mcpMessageSchema, mcpQuerySchema } from '@inlay/contract/mcp.ts';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createMetaTool } from '../../../agent/tools/meta-tool.ts';
import { createSqlTool } from '../../../agent/tools/sql-tool.ts';
import { listAgents, requireChatPlan } from '../../../chat/find-agent.ts';
import type { Context } from '../../../context.ts';
import { InlayError } from '../../../errors.ts';
import type { Principal } from '../../../users/principal.ts';
import { type Caller, requireAiAllowed, requireCaller } from '../../authenticate.ts';
import { deploymentAccessHook } from '../../deployment-access.ts';
import { createCancellations } from '../../mcp/cancellations.ts';
import { createChatTool } from '../../mcp/chat-tool.ts';
import { createMcpServer, type McpServerSettings, type OpenCall } from '../../mcp/mcp-server.ts';
import { type McpTool, toMcpTool } from '../../mcp/mcp-tool.ts';
import { disconnectSignal } from '../../ndjson.ts';
import { createPlaces } from '../../places.ts';
import { resolveScope } from '../../resolve-branch.ts';
import { identifyPrincipal, requireSessionSettings, sessionSettingsOf } from '../../resolve-principal.ts';
import { type App, errorReplies } from '../../route.ts';

const path = '/api/v1/deployments/:deploymentId/mcp';
const params = z.object({ deploymentId: z.coerce.number().int() });
const cancelledParamsSchema = z.object({ requestId: z.union([z.string().max(255), z.number()]) });

/**
 * POST /api/v1/deployments/{deploymentId}/mcp: the Model Context Protocol over streamable HTTP (docs/guides/mcp.md). Each request is
 * served by itself, so that any node may serve it; there are no sessions of the protocol, and hence nothing to GET or DELETE.
 */
export function mcpRoute(app: App, context: Context): void {
  const { log, watches } = context;
  const cancellations = createCancellations();
  const dataTools = dataToolsOf(context);
  const onRequest = deploymentAccessHook(context);
  app.post(
    path,
    {
      config: { credential: 'api-key or embed-token', pageHeaders: ['mcp-protocol-version'] },
      onRequest,
      schema: {
        operationId: 'mcp',
        tags: ['data'],
        summary: 'Model Context Protocol: tools for metadata, data and chat',
        description:
          'Streamable HTTP without sessions. With an API key the header `X-Inlay-Session-Settings` names the user, as base64url JSON.',
        params,
        querystring: mcpQuerySchema,
        body: mcpMessageSchema,
        response: {
          200: {
            description: 'A JSON-RPC message; of a tool call, a stream of events that ends with one.',
            content: {
              'application/json': { schema: mcpMessageSchema },
              'text/event-stream': { schema: z.string() },
            },
          },
          202: z.null().describe('A notification was taken.'),
          ...errorReplies(400, 401, 403, 404, 413, 415, 429, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { deploymentId } = request.params;
      const caller = requireCaller(request);
      const sessionSettings = sessionSettingsOf(request, undefined);
      requireSessionSettings(caller, sessionSettings);
      const { method } = request.body;
      if (method === 'notifications/cancelled') {
        const asker = await identifyPrincipal(context, caller, sessionSettings);
        const named = cancelledParamsSchema.safeParse(request.body.params);
        if (asker !== null && named.success) {
          cancellations.cancel(userOf(asker, deploymentId), named.data.requestId);
        }
        return reply.code(202).send(null);
      }
      const tools =
        method === 'tools/list' || method === 'tools/call'
          ? [...dataTools, ...(await chatToolsOf(context, caller, deploymentId))]
          : [];
      if (method !== 'tools/call') return serve(request, reply, { tools, openCall: null, log });

      const named = { deploymentId, branch: { activeBranchName: request.query.branch }, sessionSettings };
      const { principal, branch } = await resolveScope(context, caller, named);
      const gone = disconnectSignal(reply);
      const openCall = (callId: string | number): OpenCall => {
        const watch = watches.watch(principal);
        const entered = cancellations.enter(userOf(principal, deploymentId), callId);
        return {
          principal,
          deploymentId,
          branch,
          requestId: request.id,
          gone,
          cancelled: entered.signal,
          ended: watch.signal,
          [Symbol.dispose]() {
            watch[Symbol.dispose]();
            entered[Symbol.dispose]();
          },
        };
      };
      return serve(request, reply, { tools, openCall, log });
    },
  );

  for (const method of ['GET', 'DELETE'] as const) {
    app.route({
      method,
      url: path,
      exposeHeadRoute: false,
      config: { credential: 'api-key or embed-token' },
      onRequest,
      schema: {
        operationId: `mcp${method === 'GET' ? 'Listen' : 'End'}`,
        tags: ['data'],
        summary: 'Always 405: there are no sessions of the protocol to listen to or to end',
        params,
        response: errorReplies(401, 403, 404, 405, 500),
      },
      handler: async (_request, reply) => {
        reply.header('allow', 'POST');
        throw new InlayError('METHOD_NOT_ALLOWED', 'There are no sessions of the protocol here: only POST');
      },
    });
  }
}

/** As whom a call can be cancelled. */
const userOf = ({ userId, scopeId }: Principal, deploymentId: number): string =>
  JSON.stringify([deploymentId, userId, scopeId]);

/** The tools of the agent that ask data, in places of their own. */
function dataToolsOf({ config, query }: Context): readonly McpTool[] {
  const { brand, dataRepliesPerUserMax, queryTimeoutMs: timeoutMs, toolRowsMax } = config;
  const places = createPlaces(dataRepliesPerUserMax);
  return [createMetaTool(query, `${brand}Meta`), createSqlTool(query, `${brand}SqlApi`, toolRowsMax)].map((tool) =>
    toMcpTool(tool, (userId, signal) => places.enter(userId, { signal, timeoutMs })),
  );
}

/** The tool `chat`, where the deployment has an agent. */
async function chatToolsOf(
  { db, clock, runs, tails, shapes }: Context,
  caller: Caller,
  deploymentId: number,
): Promise<readonly McpTool[]> {
  const agents = await listAgents(db, { accountId: caller.accountId, deploymentId });
  const [agent] = agents;
  if (agent === undefined) return [];
  const refusal = refusalOf(() => {
    // The plan is the account's: all agents have the same.
    requireChatPlan(agent);
    requireAiAllowed(caller);
  });
  return [createChatTool({ db, clock, runs, tails, shapes }, agents, refusal)];
}

function refusalOf(check: () => void): InlayError | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof InlayError) return error;
    throw error;
  }
}

/**
 * Answers one message; a tool call with a stream of events, so that its client hears of it while it goes on, unless it takes JSON only.
 * @throws InlayError INVALID_REQUEST for what is no message of the protocol, or of no version that is known
 */
async function serve(
  request: FastifyRequest<{ Body: McpMessage }>,
  reply: FastifyReply,
  settings: McpServerSettings,
): Promise<FastifyReply> {
  const takesEvents = request.headers.accept?.includes('text/event-stream') === true;
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: settings.openCall === null || !takesEvents,
  });
  const server = createMcpServer(settings);
  await server.connect(transport);
  const close = (): void => {
    server.close().catch((err: unknown) => settings.log.error({ err, requestId: request.id }, 'MCP did not close'));
  };
  if (reply.raw.destroyed) close();
  else reply.raw.once('close', close);
  const response = await transport.handleRequest(toWebRequest(request), { parsedBody: request.body });
  if (response.status < 400) return reply.send(response);
  // One shape for every error body (http-api.md).
  const refused = refusedSchema.safeParse(await response.json());
  throw new InlayError('INVALID_REQUEST', refused.data?.error.message ?? 'Not a message of the protocol');
}

const refusedSchema = z.object({ error: z.object({ message: z.string() }) });

/** What the protocol's library looks at of a request: the credential is none of its business. */
function toWebRequest({ headers }: FastifyRequest): Request {
  const version = headers['mcp-protocol-version'];
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}),
    },
  });
}
