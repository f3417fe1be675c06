/** Chat on the wire: what is sent to an agent, and the frames that come back. */
import { z } from 'zod';
import { limitedText } from './limited.ts';
import type { Limits } from './limits.ts';
import { pageOf } from './page.ts';
import type { UserShapes } from './user.ts';

/**
 * The id of a thread, as text: one that no thread has, in whatever form, is 404 like any other (service.md 4.3, 4.4).
 * White space alone, or nothing, is no id.
 */
const chatIdSchema = z.string().regex(/\S/, 'must not be blank').max(255);

/** The body of an abort call (service.md 4.4). */
export const abortRequestSchema = z.object({ chatId: chatIdSchema, sessionSettings: z.unknown().optional() });

/** A thread in a list. The instants are ISO 8601 in UTC. */
export const threadSchema = z.object({
  chatId: z.string(),
  title: z.string().describe('The beginning of its first message; empty before there is one.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime().describe('When its last message was sent.'),
});
export type Thread = z.infer<typeof threadSchema>;

/** The reply of the list of threads. */
export const threadPageSchema = pageOf(threadSchema);
export type ThreadPage = z.infer<typeof threadPageSchema>;

/** The shapes under these limits. Build them once. */
export function chatShapes(limits: Limits, user: UserShapes) {
  /** Whom an API key acts for in chat and data calls (service.md 4.3). */
  const sessionSettings = z.object({
    externalId: user.externalId.optional(),
    internalId: user.internalId.optional(),
    email: user.email.optional(),
    userAttributes: user.userAttributes.optional(),
    groups: user.groups.optional(),
    securityContext: user.securityContext.optional(),
    ephemeralTtlSeconds: user.ephemeralTtlSeconds.optional(),
    isEphemeral: z.boolean().optional(),
  });

  /** The body of a chat call. With an embed token `sessionSettings` is ignored; with an API key it is required. */
  const chatRequest = z.object({
    input: limitedText(limits, 'inputCharactersMax')
      .refine((text) => text.trim() !== '', 'must not be blank')
      .optional(),
    chatId: chatIdSchema.optional(),
    messageId: z
      .string()
      .regex(/^\d{13,20}-message$/)
      .optional()
      .describe('Makes the call idempotent: the same id again joins or replays the run that it began.'),
    sessionSettings: z
      .unknown()
      .optional()
      .describe('SessionSettings; required with an API key, ignored with an embed token.'),
    activeBranchName: z
      .string()
      .regex(/\S/, 'must not be blank')
      .max(255)
      .optional()
      .describe('A branch of the data model; left out: the default one.'),
    isDefaultBranch: z.boolean().optional().describe('Refused when the repository says otherwise.'),
  });
  return { sessionSettings, chatRequest };
}
/** The shapes of {@link chatShapes}. */
export type ChatShapes = ReturnType<typeof chatShapes>;
export type SessionSettings = z.infer<ChatShapes['sessionSettings']>;
export type ChatRequest = z.infer<ChatShapes['chatRequest']>;

/** What a run used: one per run, in its last frame. */
export const usageSchema = z.object({
  models: z.array(z.string()),
  llmCalls: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  totalTokens: z.int(),
  queries: z.int(),
  rows: z.int(),
});
export type Usage = z.infer<typeof usageSchema>;

/** A tool call as it stands in a frame: `input` and `result` are JSON strings; `result` is there once it is complete. */
export const toolCallSchema = z.object({ name: z.string(), input: z.string(), result: z.string().optional() });
export type ToolCall = z.infer<typeof toolCallSchema>;

/**
 * One line of a chat stream (service.md 2.6). Which members a line has depends on what it is: a message of the thread,
 * or one of the control frames `__cutoff__`, `__usage__`, `__aborted__`, `__error__`, which are never history.
 * A client upserts by `id`, appends `content` where `isDelta`, replaces where not, and sorts by `sort`.
 */
export const frameSchema = z.object({
  id: z.string(),
  type: z.enum(['usage', 'abort']).optional(),
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  thinking: z.string().optional(),
  graphPath: z.array(z.string()).optional(),
  isDelta: z.boolean().optional(),
  isInProcess: z.boolean().optional(),
  sort: z.int(),
  toolCall: toolCallSchema.optional(),
  state: z.object({ chatId: z.string(), isStreaming: z.boolean() }).optional(),
  usage: usageSchema.optional(),
  error: z.string().optional(),
  code: z.string().optional(),
  requestId: z.string().optional(),
});
export type Frame = z.infer<typeof frameSchema>;

/** The type of a result column on the wire. */
export const columnTypeSchema = z.enum(['String', 'Int64', 'Double', 'Decimal', 'Boolean', 'Date', 'Timestamp']);
export type ColumnType = z.infer<typeof columnTypeSchema>;

/** A column of a result. */
export const columnSchema = z.object({ name: z.string(), column_type: columnTypeSchema });
export type Column = z.infer<typeof columnSchema>;

/** A cell: numbers where a double holds them exactly, else strings; times as ISO 8601. */
export const cellSchema = z.union([z.string(), z.number(), z.boolean(), z.null()]);
export type Cell = z.infer<typeof cellSchema>;
