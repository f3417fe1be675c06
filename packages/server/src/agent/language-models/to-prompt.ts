/** A conversation in the form in which providers take it. Pure. */
import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isDeeperThan, jsonDepthMax } from '../../json-depth.ts';
import type { ConversationMessage, ModelToolCall } from './language-model.ts';
import { storable } from './storable.ts';
import { partsOf } from './turn-data.ts';

type Assistant = Extract<ConversationMessage, { role: 'assistant' }>;
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];
type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'];

/** The result of a call that has none: a run that ended in between. Providers refuse a call without a result. */
const noResult = JSON.stringify({ error: { code: 'ABORTED', message: 'The call was stopped.', hint: '' } });

/** A conversation for one model. */
export interface PromptOf {
  readonly prompt: LanguageModelV4Prompt;
  /** False: tool calls of the run that goes on are in it without the thoughts that led to them. */
  readonly hasAllThoughts: boolean;
}

/**
 * The prompt of a turn, of messages that were made ready: `content` is what the model is to read. Whatever the conversation holds,
 * providers take it: every call has one result, names and ids have the characters that they allow, inputs are JSON objects, nobody
 * speaks twice in a row or says nothing.
 * @param by the model that gets it: only its own thoughts go back to it.
 * @param systemOptions what is said with the instructions.
 */
export function toPrompt(
  { system, messages }: { readonly system: string; readonly messages: readonly ConversationMessage[] },
  by: string,
  systemOptions: SharedV4ProviderOptions | null,
): PromptOf {
  const prompt: LanguageModelV4Message[] = [];
  if (system !== '') {
    prompt.push({
      role: 'system',
      content: storable(system),
      ...(systemOptions === null ? {} : { providerOptions: systemOptions }),
    });
  }
  const used = new Set<string>();
  const lastQuestion = messages.findLastIndex(({ role }) => role === 'user');
  let hasAllThoughts = true;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'user') addQuestion(prompt, storable(message.content));
    if (message.role !== 'assistant') continue;
    const isGoingOn = index > lastQuestion;
    const idOf = createIds(used);
    const { content, hasThoughts } = toContent(message, by, idOf);
    if (isGoingOn && message.toolCalls.length > 0 && !hasThoughts) hasAllThoughts = false;
    if (content.length === 0) continue;
    const last = prompt.at(-1);
    if (last?.role === 'assistant') last.content.push(...content);
    else prompt.push({ role: 'assistant', content });
    if (message.toolCalls.length === 0) continue;
    const results = resultsAfter(messages, index);
    prompt.push({ role: 'tool', content: message.toolCalls.map((call) => toResult(call, results, idOf)) });
  }
  return { prompt, hasAllThoughts };
}

/** Two questions in a row, the first without an answer, are one: many servers insist on turns that alternate. */
function addQuestion(prompt: LanguageModelV4Message[], text: string): void {
  const last = prompt.at(-1);
  const [part] = last?.role === 'user' ? last.content : [];
  if (part?.type === 'text') part.text = `${part.text}\n\n${text}`;
  else prompt.push({ role: 'user', content: [{ type: 'text', text }] });
}

/** What the model wrote, in its own order where that is known. */
function toContent(
  message: Assistant,
  by: string,
  idOf: (id: string) => string,
): { readonly content: AssistantContent; readonly hasThoughts: boolean } {
  const text = storable(message.content);
  const calls = new Map(message.toolCalls.map((call) => [call.id, call]));
  const content: AssistantContent = [];
  const own = partsOf(message.turnData, by);
  const parts = own ?? [];
  // Somebody else may have cut or changed the text since: then that holds.
  const written = parts.reduce((all, part) => (part.kind === 'text' ? all + part.text : all), '');
  const isSame = written.trim() === text.trim();
  for (const part of parts) {
    if (part.kind === 'thought') {
      const options = part.metadata === undefined ? {} : { providerOptions: part.metadata };
      content.push({ type: 'reasoning', text: part.text, ...options });
    } else if (part.kind === 'text') {
      if (isSame && part.text !== '') content.push({ type: 'text', text: part.text });
    } else if (isSame) {
      const call = calls.get(part.id);
      if (call === undefined) continue;
      calls.delete(part.id);
      const options = part.metadata === undefined ? {} : { providerOptions: part.metadata };
      content.push({ ...toCall(call, idOf), ...options });
    }
  }
  if (!isSame && text !== '') content.push({ type: 'text', text });
  for (const call of calls.values()) content.push(toCall(call, idOf));
  // Its own turn may have had none.
  return { content, hasThoughts: own !== null };
}

function toCall(call: ModelToolCall, idOf: (id: string) => string) {
  return {
    type: 'tool-call',
    toolCallId: idOf(call.id),
    toolName: toToolName(call.name),
    input: toInput(call.input),
  } as const;
}

function toResult(
  call: ModelToolCall,
  results: ReadonlyMap<string, string>,
  idOf: (id: string) => string,
): ToolContent[number] {
  const value = storable(results.get(call.id) ?? noResult);
  return {
    type: 'tool-result',
    toolCallId: idOf(call.id),
    toolName: toToolName(call.name),
    output: { type: 'text', value },
  };
}

/** The results that stand right behind a turn, by the id of the call. */
function resultsAfter(messages: readonly ConversationMessage[], index: number): ReadonlyMap<string, string> {
  const results = new Map<string, string>();
  for (const message of messages.slice(index + 1)) {
    if (message.role !== 'tool') break;
    results.set(message.toolCallId, message.result);
  }
  return results;
}

/** A name that providers take, also where the model has made one up. */
function toToolName(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'unknown';
}

/** An input that providers take: an object, which holds as text what the model took for JSON, and what is too deep to be written again. */
function toInput(input: string): unknown {
  try {
    const value: unknown = JSON.parse(input);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isObject && !isDeeperThan(jsonDepthMax, value)) return value;
  } catch {
    // It is told as text.
  }
  return { input: storable(input) };
}

/**
 * Ids of the calls of one turn that providers take, the same one for the same id.
 * @param used those of the turns before: some servers count from nought in every turn, and others insist on ids that differ.
 */
function createIds(used: Set<string>): (id: string) => string {
  const made = new Map<string, string>();
  return (id) => {
    const known = made.get(id);
    if (known !== undefined) return known;
    const plain = id.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'call';
    let fresh = plain;
    for (let number = 2; used.has(fresh); number++) fresh = `${plain.slice(0, 56)}_${number}`;
    used.add(fresh);
    made.set(id, fresh);
    return fresh;
  };
}
