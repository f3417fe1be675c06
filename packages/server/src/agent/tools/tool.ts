/** What a tool of the agent is, and the one place where its inputs are parsed and its failures become results. */
import type { ErrorCode } from '@inlay/contract/error.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { z } from 'zod';
import { InlayError } from '../../errors.ts';
import type { Principal } from '../../users/principal.ts';
import type { ToolDescription } from '../language-models/language-model.ts';

/** Longest tool input in characters: the longest SQL with a chart and words beside it. */
const inputCharactersMax = 131_072;

/** For whom and under what a tool runs. */
export interface ToolContext {
  readonly principal: Principal;
  readonly deploymentId: number;
  /** The branch of the data model; null: the default one. */
  readonly branch: string | null;
  readonly signal: AbortSignal;
  /** The `uuid`s of the results that this thread already has; a tool may refer to these only. */
  readonly resultIds: ReadonlySet<string>;
}

/** What a tool call came to. `result` goes to the stream and the language model; the counts go into the usage. */
export interface ToolOutcome {
  readonly result: Readonly<Record<string, unknown>>;
  /** Warehouse queries that ran to their end. */
  readonly queries: number;
  /** Rows that these queries gave. */
  readonly rows: number;
  /** The `uuid` of the result, when a later call may refer to it. */
  readonly resultId?: string;
}

/** A call that is ready to run: `input` is the JSON text to show and to remember. */
export interface PreparedCall {
  readonly input: string;
  /** @throws what the tool throws; {@link toToolError} says what of it may be told. */
  run(): Promise<ToolOutcome>;
}

/** A tool of the agent. */
export interface Tool extends ToolDescription {
  /** Never throws: an input that does not fit makes a call whose `run` throws TOOL_INPUT_INVALID. */
  prepare(input: string, context: ToolContext): PreparedCall;
}

/** A tool as its author writes it: a schema, what to show of an input, and what to do. */
interface ToolDefinition<Input> {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType<Input>;
  /** The input as the thread keeps it: what may not stand in a thread is left out. */
  shown(input: Input, context: ToolContext): Input;
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/** Makes a tool of its definition; the schema is told to the language model as JSON Schema. */
export function defineTool<Input>(definition: ToolDefinition<Input>): Tool {
  return {
    name: definition.name,
    description: definition.description,
    inputSchema: z.toJSONSchema(definition.schema),
    prepare(text, context) {
      const parsed = definition.schema.safeParse(parseJson(text));
      if (!parsed.success) {
        const issue = parsed.error.issues[0];
        const message = `The input of ${definition.name} does not fit: ${issue?.path.join('.') || 'it'}: ${issue?.message}.`;
        return refusedCall(text, new InlayError('TOOL_INPUT_INVALID', message));
      }
      const shown = definition.shown(parsed.data, context);
      return { input: JSON.stringify(shown), run: () => definition.run(parsed.data, context) };
    },
  };
}

/** A call that only fails. Its input is shown as one JSON string, so that no client takes it for a real one. */
export function refusedCall(input: string, error: InlayError): PreparedCall {
  return { input: JSON.stringify(input.slice(0, inputCharactersMax)), run: () => Promise.reject(error) };
}

/** What a failed tool says to the stream and the language model (chat-stream.md). */
export interface ToolError {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint: string };
}

/** The result of a failed call: expected failures as they are, anything else as INTERNAL; never database text. */
export function toToolError(error: unknown, requestId: string): ToolError {
  if (error instanceof InlayError || error instanceof SemanticError) {
    return { error: { code: error.code, message: error.message, hint: error.hint } };
  }
  return { error: { code: 'INTERNAL', message: `The tool failed inside (request ${requestId}).`, hint: '' } };
}

function parseJson(text: string): unknown {
  if (text.length > inputCharactersMax) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
