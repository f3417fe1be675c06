/** An MCP server for one request: it lists the tools and calls them. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { type McpCall, type McpTool, toFailure } from './mcp-tool.ts';

/** A call that goes on. */
export type OpenCall = Omit<McpCall, 'progress'> & Disposable;

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
  const server = new Server({ name: 'inlay', version: '0.1.0' }, { capabilities: { tools: {} }, instructions });
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
      if (tool === undefined || openCall === null)
        throw new McpError(ErrorCode.InvalidParams, 'There is no such tool.');
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
      try {
        return await tool.call(params.arguments ?? {}, { ...call, progress });
      } catch (error) {
        return toFailure(error, { requestId: call.requestId, log });
      }
    },
  );
  return server;
}
