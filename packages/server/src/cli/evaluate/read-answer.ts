/** What an agent's answer comes to, from the frames of its stream. Pure. */
import type { Frame, Usage } from '@inlay/contract/chat.ts';
import { z } from 'zod';

/** An answer that has ended. */
export interface Answer {
  /** The final answer; null where there is none. */
  readonly text: string | null;
  /** The queries that the agent ran, in order; `problem`: why one failed. */
  readonly queries: readonly { readonly sql: string; readonly problem: string | null }[];
  /** Why the run failed; null when it did not. */
  readonly failure: string | null;
  readonly usage: Usage | null;
}

const callSchema = z.object({ sqlQuery: z.string() });
const problemSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().default('') }),
});

/** Reads the frames of a thread with one question. The brand in front of a tool's name makes no difference. */
export function readAnswer(frames: readonly Frame[]): Answer {
  // A message comes several times; each time it is the whole of it.
  const calls = new Map(
    frames.flatMap(({ id, toolCall }) =>
      toolCall?.result !== undefined && toolCall.name.endsWith('SqlApi') ? [[id, toolCall] as const] : [],
    ),
  );
  const queries = [...calls.values()].map(({ input, result }) => {
    const error = problemSchema.safeParse(parseJson(result)).data?.error;
    const sql = callSchema.safeParse(parseJson(input)).data?.sqlQuery ?? '';
    return { sql, problem: error === undefined ? null : `${error.code}: ${error.message} ${error.hint}`.trim() };
  });
  const failed = frames.findLast(({ id }) => id === '__error__');
  const isAborted = frames.some(({ id }) => id === '__aborted__');
  const final = frames.findLast(({ role, graphPath }) => role === 'assistant' && graphPath?.[0] === 'final');
  return {
    text: final?.content ?? null,
    queries,
    failure:
      failed === undefined
        ? isAborted
          ? 'The run was aborted.'
          : null
        : `${failed.code}: ${failed.error} (request id ${failed.requestId})`,
    usage: frames.findLast(({ id }) => id === '__usage__')?.usage ?? null,
  };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
