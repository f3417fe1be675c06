/** What the agent remembers of a thread: its messages as a language model reads them. Pure. */
import { z } from 'zod';
import type { ConversationMessage } from '../agent/language-models/language-model.ts';
import type { Message } from './frames.ts';

/**
 * The latest messages that a new run is told of: so many, and so many bytes; the latest question and its answer in any case, whose
 * size has limits of its own (settings.md).
 */
export const toldMessagesMax = 400;
export const toldBytesMax = 2_097_152;

const resultSchema = z.object({ uuid: z.uuid() });

/** A conversation, oldest first, and the ids of the results in it. */
export interface Conversation {
  readonly messages: readonly ConversationMessage[];
  readonly resultIds: readonly string[];
}

/**
 * Rebuilds the conversation of a thread. Final answers are left out, as they repeat the agent's last message, and so are thoughts.
 * It begins with a user's message, however much is cut off.
 */
export function toConversation(history: readonly Message[]): Conversation {
  const recent = history.slice(-toldMessagesMax);
  const begin = recent.findIndex(({ role }) => role === 'user');
  const messages = recent.slice(begin === -1 ? recent.length : begin).flatMap(toConversationMessages);
  const resultIds = history.flatMap(({ toolCall }) => resultIdOf(toolCall?.result));
  return { messages, resultIds };
}

function toConversationMessages({
  id,
  role,
  content,
  thinking,
  modelText,
  graphPath,
  toolCall,
}: Message): ConversationMessage[] {
  if (role === 'user') return [{ role, content }];
  if (graphPath?.[0] === 'final' || thinking !== null) return [];
  if (toolCall === null) return [{ role, content, modelText, toolCalls: [], turnData: null }];
  const { name, input, result = '{}' } = toolCall;
  return [
    { role, content: '', modelText: null, toolCalls: [{ id, name, input }], turnData: null },
    { role: 'tool', toolCallId: id, name, result },
  ];
}

/** The `uuid` in the result of a tool, if it has one. @param result JSON. */
export function resultIdOf(result: string | undefined): string[] {
  if (result === undefined) return [];
  const parsed = resultSchema.safeParse(JSON.parse(result));
  return parsed.success ? [parsed.data.uuid] : [];
}
