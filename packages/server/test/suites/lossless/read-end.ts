/** What the store and the nodes hold of the threads of the losslessness suite when all is over. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import type { Query } from '../raw-store.ts';
import { readChat, type Speaker } from './chat-call.ts';
import type { SeenMessage } from './fold.ts';
import { type StoredRun, seenOf } from './judge.ts';

const messagesSchema = z.array(z.object({ threadId: z.string(), frame: z.unknown() }));
const runsSchema = z.array(
  z.object({
    threadId: z.string(),
    messageId: z.string(),
    state: z.string(),
    error: z.object({ code: z.string() }).nullable(),
    attempts: z.number(),
    usage: z.unknown(),
  }),
);

/** The threads of a store by their ids. */
export interface StoredThreads {
  readonly messages: ReadonlyMap<string, readonly SeenMessage[]>;
  readonly runs: ReadonlyMap<string, readonly StoredRun[]>;
}

/** Reads all threads as the tables hold them. */
export async function readStoredThreads(query: Query): Promise<StoredThreads> {
  const messages = messagesSchema.parse(
    await query(`select thread_id::text as "threadId", jsonb_strip_nulls(jsonb_build_object('id', id, 'role', role,
      'content', content, 'thinking', thinking, 'graphPath', graph_path, 'toolCall', tool_call, 'isInProcess', is_in_process,
      'sort', sort)) as frame from messages order by thread_id, sort`),
  );
  const runs = runsSchema.parse(
    await query(
      `select thread_id::text as "threadId", message_id as "messageId", state, error, attempts, usage from runs`,
    ),
  );
  const seen = messages.map(({ threadId, frame }) => ({ threadId, message: seenOf(frameSchema.parse(frame)) }));
  return {
    messages: new Map(
      [...Map.groupBy(seen, ({ threadId }) => threadId)].map(([id, own]) => [id, own.map(({ message }) => message)]),
    ),
    runs: Map.groupBy(runs, ({ threadId }) => threadId),
  };
}

/** The thread as a node gives it to whoever reads it now. @throws Error when it does not */
export async function readServed(url: string, speaker: Speaker, chatId: string): Promise<readonly SeenMessage[]> {
  const frames: Frame[] = [];
  const ending = await readChat({
    url,
    speaker,
    words: { chatId },
    cutAt: null,
    rests: { count: 0, ms: 0 },
    onFrame: (frame) => void frames.push(frame),
  });
  if (ending.kind !== 'ended') throw new Error(`${chatId} cannot be read: ${JSON.stringify(ending)}`);
  return frames.filter(({ id }) => !id.startsWith('__')).map(seenOf);
}
