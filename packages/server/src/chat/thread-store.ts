/** Threads and their messages in the store. Every function is one statement. */
import { randomUUID } from 'node:crypto';
import { type Kysely, type Selectable, sql } from 'kysely';
import { codeOf, InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Message } from './frames.ts';

type Db = Kysely<Schema>;

/** Whose thread it is: a user's, in one scope, with one agent (http-api.md). Ids of agents are unique in an installation. */
export interface ThreadOwner {
  readonly accountId: number;
  readonly userId: number;
  readonly agentId: number;
  /** The embed tenant that is the scope; null: tenant-wide. */
  readonly scopeId: number | null;
}

/** A thread, and to whom in which scope it belongs. */
export interface FoundThread {
  readonly id: string;
  readonly userId: number;
  readonly scopeId: number | null;
}

/** Who asks for threads, in which scope; null: someone who does not exist, or is not named, and has none. */
export type Asker = Pick<ThreadOwner, 'userId' | 'scopeId'> | null;

/** Whether the thread is the asker's, in their scope. */
export function isThreadOf(asker: Asker, thread: FoundThread): boolean {
  return asker !== null && thread.userId === asker.userId && thread.scopeId === asker.scopeId;
}

/** What the store takes for a thread's id; other text names no thread. */
const threadIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The thread that a client calls `chatId`, whoever owns it in the account; undefined when there is none for the agent. Go on
 * with its `id`: the client's text may differ from it in case.
 */
export async function findThread(
  db: Db,
  { accountId, agentId, chatId }: Pick<ThreadOwner, 'accountId' | 'agentId'> & { readonly chatId: string },
): Promise<FoundThread | undefined> {
  if (!threadIdPattern.test(chatId)) return undefined;
  return db
    .selectFrom('threads')
    .select(['id', 'user_id as userId', 'embed_tenant_id as scopeId'])
    .where('id', '=', chatId)
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .executeTakeFirst();
}

/**
 * The id of the thread that a client calls `chatId`.
 * @throws InlayError NOT_FOUND unless it is a thread of the asker, in their scope, with this agent.
 */
export async function requireOwnThread(
  db: Db,
  agent: { readonly id: number; readonly accountId: number },
  asker: Asker,
  chatId: string,
): Promise<string> {
  const thread = await findThread(db, { accountId: agent.accountId, agentId: agent.id, chatId });
  if (thread === undefined || !isThreadOf(asker, thread)) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  return thread.id;
}

/**
 * Makes an empty thread; it gets its title with the first input.
 * @throws InlayError NOT_FOUND when its user, agent or embed tenant has been deleted since it was looked up.
 */
export async function insertThread(db: Db, owner: ThreadOwner, title: string, now: Date): Promise<string> {
  const id = randomUUID();
  const thread = {
    id,
    account_id: owner.accountId,
    user_id: owner.userId,
    agent_id: owner.agentId,
    embed_tenant_id: owner.scopeId,
    title,
    created_at: now,
    updated_at: now,
  };
  await orGone(() => db.insertInto('threads').values(thread).execute());
  return id;
}

/** @throws InlayError NOT_FOUND when what the new row refers to is not there any more; the transaction is over then. */
export async function orGone<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (cause) {
    // foreign_key_violation
    if (codeOf(cause) === '23503') throw new InlayError('NOT_FOUND', 'What the chat belongs to has been deleted.');
    throw cause;
  }
}

/** The size of a message, as it is kept beside it: the bytes of its texts in UTF-8. */
export function bytesOf({ content, thinking, modelText, toolCall }: Message): number {
  const texts = [content, thinking, modelText, toolCall?.name, toolCall?.input, toolCall?.result];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
}

/** The same of a row of `messages`; of one of version 0.1, which keeps no size, about the same. */
export const storedBytes = sql<number>`coalesce(bytes, octet_length(content) + coalesce(octet_length(tool_call::text), 0))`;

/** What {@link toMessage} reads of a row. */
export const messageColumns = [
  'id',
  'role',
  'content',
  'sort',
  'graph_path',
  'tool_call',
  'thinking',
  'model_text',
  'is_in_process',
] as const;

/** The message that a row holds. */
export function toMessage(row: Pick<Selectable<Schema['messages']>, (typeof messageColumns)[number]>): Message {
  const { id, role, content, sort } = row;
  return {
    id,
    role,
    content,
    graphPath: row.graph_path,
    toolCall: row.tool_call,
    thinking: row.thinking,
    modelText: row.model_text,
    isInProcess: row.is_in_process,
    sort,
  };
}
