/** An MCP server for one request: it lists the tools and calls them. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import manifest from '../../../package.json' with { type: 'json' };
import { type McpCall, type McpTool, toFailure } from './mcp-tool.ts';

/** A call that goes on. */
export type OpenCall = Omit<McpCall, 'progress' | 'fail'> & Disposable;

/** What the server offers, and what it needs. */
export interface McpServerSettings {
  readonly tools: readonly McpTool[];
  /** Begins the call with this id, until it is disposed; null for a message that calls no tool. */
  readonly openCall: ((callId: string | number) => OpenCall) | null;
  readonly log: { error(fields: object, message: string): void };
}

const instructions =
  'The views and cubes of one deployment, as one user may see them. Search them with the Meta tool before writing SQL for the ' +
  'SqlApi tool, or ask the analyst with the chat tool where there is one.';

/** Makes the server; it is not connected yet. No error that it answers with tells of the inside. */
export function createMcpServer({ tools, openCall, log }: McpServerSettings): Server {
  const server = new Server(
    { name: 'inlay', version: manifest.version },
    { capabilities: { tools: {} }, instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools
      .filter(({ isListed }) => isListed)
      .map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema: { ...inputSchema, type: 'object' as const },
      })),
  }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { requestId, _meta, sendNotification }): Promise<CallToolResult> => {
      const tool = tools.find(({ name }) => name === params.name);
      if (tool === undefined || openCall === null) {
        // Not the library's own error: clients put its prefix before the message, and so does that error.
        throw Object.assign(new Error('There is no such tool.'), { code: ErrorCode.InvalidParams });
      }
      using call = openCall(requestId);
      let done = 0;
      const progress = (message: string): void => {
        const progressToken = _meta?.progressToken;
        if (progressToken === undefined) return;
        done += 1;
        // A client that is gone is told nothing.
        sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: done, message },
        }).catch(() => undefined);
      };
      const fail = (error: unknown): CallToolResult => toFailure(error, { requestId: call.requestId, log });
      try {
        return await tool.call(params.arguments ?? {}, { ...call, progress, fail });
      } catch (error) {
        return fail(error);
      }
    },
  );
  return server;
}
