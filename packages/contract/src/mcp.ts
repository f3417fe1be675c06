/** The MCP route on the wire: what of a JSON-RPC message is looked at before the protocol's own library reads it. */
import { z } from 'zod';
import type { ChatShapes } from './chat.ts';

/** Longest name of a branch in a query, in characters. */
const branchCharactersMax = 255;
/** Longest id of a message, or token of a client's own, in characters. */
const idCharactersMax = 255;

/** The body of POST /api/v1/deployments/{deploymentId}/mcp: one message. A batch of several is refused. */
export const mcpMessageSchema = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string().max(idCharactersMax), z.number()]).optional(),
    method: z.string().max(255).optional(),
    // A token comes back with every word of progress.
    params: z
      .looseObject({
        _meta: z
          .looseObject({ progressToken: z.union([z.string().max(idCharactersMax), z.number()]).optional() })
          .optional(),
      })
      .optional(),
  })
  .describe('A message of the Model Context Protocol (JSON-RPC 2.0).');
export type McpMessage = z.infer<typeof mcpMessageSchema>;

/** The query of that route. */
export const mcpQuerySchema = z.object({
  branch: z
    .string()
    .regex(/\S/, 'must not be blank')
    .max(branchCharactersMax)
    .optional()
    .describe('A branch of the data model; left out: the default one, with a token that of its session.'),
});

/** What the tool `chat` takes, under the limits of the chat. */
export function mcpChatInput({ chatRequest }: Pick<ChatShapes, 'chatRequest'>) {
  const { input, chatId } = chatRequest.shape;
  return z.object({
    input: input.unwrap().describe('The question, in plain words.'),
    chatId: chatId.describe('Goes on with an earlier conversation: the chatId of an earlier answer.'),
    agentId: z.int().positive().optional().describe('Which agent answers; needed where there are several.'),
  });
}
export type McpChatInput = z.infer<ReturnType<typeof mcpChatInput>>;
