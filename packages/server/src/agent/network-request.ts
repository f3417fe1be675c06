/** What a language model over the network is sent: text only, made ready for it and cut to what it takes. Pure. */
import type { RelationMetadata } from '@inlay/semantic/metadata.ts';
import type { AgentDependencies, FinishedCall } from './agent-loop.ts';
import { cutConversation, estimateFrame } from './cut-conversation.ts';
import type { ConversationMessage, NetworkModel, ToolDescription } from './language-models/language-model.ts';
import { type ModelView, toModelResult, toPrivateHistory } from './model-view.ts';
import { readStoredResult } from './stored-result.ts';

/** A turn that is asked for. */
export interface NetworkTurn {
  readonly system: string;
  /** The conversation as it is kept: results whole, answers as they were said. */
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly ToolDescription[];
  /** What this user may see now. */
  readonly relations: readonly RelationMetadata[];
  /** Rows of a result at most. */
  readonly rowsMax: number;
  /** True: no value of a row. */
  readonly isPrivate: boolean;
}

/**
 * The request for a turn: results in the model's form, answers as the model wrote them (in private mode an answer of unknown
 * origin is left out with its calls), cut by tokens.
 */
export function toNetworkRequest(
  { inputTokensMax }: Pick<NetworkModel, 'inputTokensMax'>,
  { system, messages, tools, relations, rowsMax, isPrivate }: NetworkTurn,
): Parameters<NetworkModel['stream']>[0] {
  const view: ModelView = { rowsMax, isPrivate, relations };
  const allowed = isPrivate ? toPrivateHistory(messages) : messages;
  const ready = allowed.flatMap((message) => toReady(message, view));
  return { system, tools, messages: cutConversation(ready, inputTokensMax - estimateFrame(system, tools)) };
}

/**
 * Earlier answers without the last line that was added to them ({@link AgentDependencies.closingLine}): a language model that reads
 * it writes it itself, where it is not true. A line that would not be added today is not known, and stays.
 */
export function withoutClosingLines(
  messages: readonly ConversationMessage[],
  closingLine: NonNullable<AgentDependencies['closingLine']>,
): readonly ConversationMessage[] {
  let inputs = new Map<string, string>();
  let calls: FinishedCall[] = [];
  return messages.map((message) => {
    if (message.role === 'user') {
      inputs = new Map();
      calls = [];
    } else if (message.role === 'tool') {
      const { toolCallId, name, result } = message;
      const hasFailed = readStoredResult(result).kind === 'failure';
      calls.push({ name, input: inputs.get(toolCallId) ?? '', result, hasFailed });
    } else {
      for (const { id, input } of message.toolCalls) inputs.set(id, input);
      if (calls.length > 0 && message.content.includes('\n\n')) {
        const ending = `\n\n${closingLine(calls)}`;
        if (message.content.endsWith(ending)) return { ...message, content: message.content.slice(0, -ending.length) };
      }
    }
    return message;
  });
}

function toReady(message: ConversationMessage, view: ModelView): ConversationMessage[] {
  if (message.role === 'user') return [message];
  if (message.role === 'tool') return [{ ...message, result: toModelResult(message.name, message.result, view) }];
  // Without the model's own words nothing of it is known to be free of values.
  const content = (message.modelText ?? (view.isPrivate ? '' : message.content)).trim();
  // Providers refuse a message without anything in it.
  return content === '' && message.toolCalls.length === 0 ? [] : [{ ...message, content }];
}
