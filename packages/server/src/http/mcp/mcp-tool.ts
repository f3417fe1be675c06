/** A tool as MCP clients see it: those of the agent, and what their failures say. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type Tool, toToolError } from '../../agent/tools/tool.ts';
import type { Principal } from '../../users/principal.ts';
import { failureOf } from '../error-response.ts';

/** For whom, of which branch, and until when a tool is called. */
export interface McpCall {
  readonly principal: Principal;
  readonly deploymentId: number;
  /** The branch of the data model; null: the default one. */
  readonly branch: string | null;
  readonly requestId: string;
  /** Aborts with an InlayError when the client is gone. */
  readonly gone: AbortSignal;
  /** Aborts with an InlayError when the client has cancelled the call. */
  readonly cancelled: AbortSignal;
  /** Aborts with an InlayError when the user may ask no more. */
  readonly ended: AbortSignal;
  /** Tells the client how it goes; nothing happens where it did not ask to be told, or is gone. */
  progress(message: string): void;
  /** The result that says why the call failed; what is for the log is logged. What the tool throws becomes the same. */
  fail(error: unknown): CallToolResult;
}

/** A tool that MCP clients may call. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly isListed: boolean;
  /** @throws InlayError, SemanticError, or a defect: {@link toFailure} says what of it may be told */
  call(input: Readonly<Record<string, unknown>>, call: McpCall): Promise<CallToolResult>;
}

/**
 * A tool of the agent. Its results are the data of the caller's user, for the caller's own language model.
 * @param enter waits for a place to work in, and takes it
 */
export function toMcpTool(tool: Tool, enter: (userId: number, signal: AbortSignal) => Promise<Disposable>): McpTool {
  const { name, description, inputSchema } = tool;
  return {
    name,
    description,
    inputSchema,
    isListed: true,
    async call(input, { principal, deploymentId, branch, gone, cancelled, ended }) {
      const signal = AbortSignal.any([gone, cancelled, ended]);
      using _place = await enter(principal.userId, signal);
      const context = { principal, deploymentId, branch, signal, resultIds: new Set<string>() };
      const { result } = await tool.prepare(JSON.stringify(input), context).run();
      return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: { ...result } };
    },
  };
}

/** What a client is told of a call that failed: as the agent's language model is (chat-stream.md), never of the inside. */
export function toFailure(
  error: unknown,
  { requestId, log }: { readonly requestId: string; readonly log: { error(fields: object, message: string): void } },
): CallToolResult {
  if (failureOf(error).isLogged) log.error({ err: error, requestId }, 'an MCP tool failed');
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(toToolError(error, requestId)) }] };
}
