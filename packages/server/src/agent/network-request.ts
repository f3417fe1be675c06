/** What a language model over the network is sent: text only, made ready for it and cut to what it takes. Pure. */

import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { createWordMatcher } from '@inlay/semantic/search/match-words.ts';
import type { AgentDependencies, FinishedCall } from './agent-dependencies.ts';
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
  readonly showResult: ShowResult;
  /** True: no value of a row. */
  readonly isPrivate: boolean;
}

/** The result of a tool, by the tool's name and as it is kept, in the form that the model reads. */
export type ShowResult = (name: string, result: string) => string;

/**
 * Makes the forms of results for one run: each is worked out once, however many turns tell it.
 * @param view `relations`: what this user may see now; `rowsMax`: rows of a result at most
 */
export function keepShown({
  relations,
  ...view
}: Omit<ModelView, 'matchWords'> & { readonly relations: readonly RelationMetadata[] }): ShowResult {
  const matchWords = createWordMatcher(relations);
  const known = new Map<string, Map<string, string>>();
  return (name, result) => {
    const ofTool = known.get(name) ?? new Map<string, string>();
    known.set(name, ofTool);
    const shown = ofTool.get(result) ?? toModelResult(name, result, { ...view, matchWords });
    ofTool.set(result, shown);
    return shown;
  };
}

/**
 * The request for a turn: results in the model's form, answers as the model wrote them (in private mode an answer of unknown
 * origin is left out with its calls), cut by tokens.
 */
export function toNetworkRequest(
  { inputTokensMax }: Pick<NetworkModel, 'inputTokensMax'>,
  { system, messages, tools, showResult, isPrivate }: NetworkTurn,
): Parameters<NetworkModel['stream']>[0] {
  const allowed = isPrivate ? toPrivateHistory(messages) : messages;
  const tokensMax = inputTokensMax - estimateFrame(system, tools);
  const ready = (message: ConversationMessage) => toReady(message, { showResult, isPrivate });
  return { system, tools, messages: cutConversation(allowed, tokensMax, ready) };
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
      // Only what may be a failure is read: results can be long, and there may be many.
      const hasFailed = result.includes('"error"') && readStoredResult(result).kind === 'failure';
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

function toReady(
  message: ConversationMessage,
  { showResult, isPrivate }: Pick<NetworkTurn, 'showResult' | 'isPrivate'>,
): ConversationMessage[] {
  if (message.role === 'user') return [message];
  if (message.role === 'tool') return [{ ...message, result: showResult(message.name, message.result) }];
  // Without the model's own words nothing of it is known to be free of values.
  const content = (message.modelText ?? (isPrivate ? '' : message.content)).trim();
  // Providers refuse a message without anything in it.
  return content === '' && message.toolCalls.length === 0 ? [] : [{ ...message, content }];
}
