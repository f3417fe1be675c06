/** The conversation as the analyst reads it, and its tool results. */

/** One message, oldest first; the same shape as the server's conversation. Tool inputs and results are JSON strings. */
export type AnalystMessage =
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly name: string; readonly result: string };

/** The result of a tool: what it returned, or the safe message of its failure. */
export type ToolOutcome =
  | { readonly kind: 'result'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: 'error'; readonly message: string; readonly hint: string };

/** Parses a tool's result. What is not a JSON object counts as an error. */
export function readToolResult(json: string): ToolOutcome {
  const result = parseObject(json);
  if (result === undefined) return { kind: 'error', message: 'The result could not be read.', hint: '' };
  const { error } = result;
  if (error === undefined) return { kind: 'result', result };
  const { message, hint } = isRecord(error) ? error : {};
  return {
    kind: 'error',
    message: typeof message === 'string' && message !== '' ? message : 'The tool failed.',
    hint: typeof hint === 'string' ? hint : '',
  };
}

/** A JSON object, or undefined for anything else. */
export function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The `uuid` of the latest SQL result after message `from`, on which a follow-up builds; undefined without one. */
export function latestResultId(
  messages: readonly AnalystMessage[],
  from: number,
  sqlToolName: string,
): string | undefined {
  for (let place = messages.length - 1; place > from; place -= 1) {
    const message = messages[place];
    if (message?.role !== 'tool' || message.name !== sqlToolName) continue;
    const outcome = readToolResult(message.result);
    if (outcome.kind === 'result' && typeof outcome.result['uuid'] === 'string') return outcome.result['uuid'];
  }
  return undefined;
}
