/** Threads, runs and messages in the store. Every function is one statement or one transaction. */
import { randomUUID } from 'node:crypto';
import type { Usage } from '@inlay/contract/chat.ts';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Message, RunFailure } from './frames.ts';

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

/** Whether the thread is that user's in that scope; nobody (null) has a thread. */
export function isThreadOf(asker: Pick<ThreadOwner, 'userId' | 'scopeId'> | null, thread: FoundThread): boolean {
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

/** Makes an empty thread; it gets its title with the first input. */
export async function insertThread(db: Db, owner: ThreadOwner, title: string, now: Date): Promise<string> {
  const id = randomUUID();
  await db
    .insertInto('threads')
    .values({
      id,
      account_id: owner.accountId,
      user_id: owner.userId,
      agent_id: owner.agentId,
      embed_tenant_id: owner.scopeId,
      title,
      created_at: now,
      updated_at: now,
    })
    .execute();
  return id;
}

/** All messages of a thread in order; with `before`, those of a lower sort number only; without those of `exceptRunId`. */
export async function readMessages(
  db: Db,
  threadId: string,
  { before, exceptRunId }: { readonly before?: number; readonly exceptRunId?: string } = {},
): Promise<Message[]> {
  let query = db.selectFrom('messages').select(messageColumns).where('thread_id', '=', threadId).orderBy('sort');
  if (before !== undefined) query = query.where('sort', '<', before);
  if (exceptRunId !== undefined) query = query.where('run_id', '!=', exceptRunId);
  return (await query.execute()).map(toMessage);
}

const messageColumns = ['id', 'role', 'content', 'sort', 'graph_path', 'tool_call', 'is_in_process'] as const;

function toMessage(row: Pick<Selectable<Schema['messages']>, (typeof messageColumns)[number]>): Message {
  const { id, role, content, sort } = row;
  return {
    id,
    role,
    content,
    graphPath: row.graph_path,
    toolCall: row.tool_call,
    isInProcess: row.is_in_process,
    sort,
  };
}

/** A run that a user message began, as it was kept. */
export interface StoredRun {
  readonly id: string;
  readonly threadId: string;
  /** The scope of the thread. */
  readonly scopeId: number | null;
  readonly messageId: string;
  readonly state: Selectable<Schema['runs']>['state'];
  readonly usage: Usage | null;
  readonly error: RunFailure | null;
  readonly messages: readonly Message[];
}

/** The run that this message id began for the user and agent, in whatever scope, with its messages. */
export async function findRun(
  db: Db,
  { userId, agentId }: Pick<ThreadOwner, 'userId' | 'agentId'>,
  messageId: string,
): Promise<StoredRun | undefined> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('threads', 'threads.id', 'runs.thread_id')
    .select(['runs.id', 'thread_id as threadId', 'embed_tenant_id as scopeId', 'message_id as messageId'])
    .select(['state', 'usage', 'error'])
    .where('runs.user_id', '=', userId)
    .where('runs.agent_id', '=', agentId)
    .where('message_id', '=', messageId)
    .executeTakeFirst();
  if (run === undefined) return undefined;
  const rows = await db
    .selectFrom('messages')
    .select(messageColumns)
    .where('run_id', '=', run.id)
    .orderBy('sort')
    .execute();
  return { ...run, messages: rows.map(toMessage) };
}

/** Whether some node writes a run of the thread at this moment. */
export async function isRunning(db: Db, threadId: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('state', '=', 'running')
    .executeTakeFirst();
  return run !== undefined;
}

/** A user message that is to begin a run. Without `threadId` a new thread comes into being with it. */
export interface NewRun {
  /** The node that is going to write the run. */
  readonly nodeId: string;
  readonly owner: ThreadOwner;
  readonly threadId: string | null;
  readonly messageId: string;
  readonly input: string;
  readonly title: string;
}

/** What came of it. `refused`: the thread has a run in progress, or the message id was used before. */
export type RunInsertion =
  | { readonly kind: 'inserted'; readonly runId: string; readonly threadId: string; readonly message: Message }
  | { readonly kind: 'refused' };

/** Keeps thread, run and user message in one transaction: all or nothing. */
export async function insertRun(
  db: Db,
  { nodeId, owner, threadId, messageId, input, title }: NewRun,
  now: Date,
): Promise<RunInsertion> {
  const runId = randomUUID();
  try {
    return await db.transaction().execute(async (transaction) => {
      if (threadId !== null) {
        // Locks the thread, so that two inputs at once number their messages one after the other.
        await transaction
          .updateTable('threads')
          .set({ updated_at: now, title: sql<string>`case when title = '' then ${title} else title end` })
          .where('id', '=', threadId)
          .execute();
      }
      const id = threadId ?? (await insertThread(transaction, owner, title, now));
      const inserted = await transaction
        .insertInto('runs')
        .values({
          id: runId,
          thread_id: id,
          user_id: owner.userId,
          agent_id: owner.agentId,
          message_id: messageId,
          node_id: nodeId,
          state: 'running',
          usage: null,
          error: null,
          created_at: now,
          ended_at: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      // Undoes the new thread, too.
      if (inserted === undefined) throw new Refused();
      const { sort } = await transaction
        .insertInto('messages')
        .values({
          thread_id: id,
          run_id: runId,
          id: messageId,
          role: 'user',
          content: input,
          graph_path: null,
          tool_call: null,
          is_in_process: false,
          created_at: now,
          sort: sql<number>`(select coalesce(max(sort), 0) + 1 from messages where thread_id = ${id})`,
        })
        .returning('sort')
        .executeTakeFirstOrThrow();
      const message: Message = {
        id: messageId,
        role: 'user',
        content: input,
        graphPath: null,
        toolCall: null,
        isInProcess: false,
        sort,
      };
      return { kind: 'inserted', runId, threadId: id, message };
    });
  } catch (error) {
    if (error instanceof Refused) return { kind: 'refused' };
    throw error;
  }
}

class Refused extends Error {}

/** Whether something of a run was kept; else why not: others have closed the run, or it is deleted with its thread or user. */
export type Keeping = 'kept' | 'closed' | 'gone';

/**
 * Keeps a message of a run: it began, or it closed. Only as long as the run goes on for the store: a node that was taken for
 * gone must not write into a thread that goes on without it.
 */
export async function writeMessage(
  db: Db,
  run: { readonly id: string; readonly threadId: string },
  message: Message,
  now: Date,
): Promise<Keeping> {
  const { id, role, content, graphPath, toolCall, isInProcess, sort } = message;
  const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
  const { rows } = await sql`
    insert into messages
      (thread_id, run_id, id, role, sort, graph_path, created_at, content, tool_call, is_in_process)
    select r.thread_id, r.id, ${id}::text, ${role}::text, ${sort}::integer, ${json(graphPath)}::text::jsonb,
      ${now}::timestamptz, ${content}::text, ${json(toolCall)}::text::jsonb, ${isInProcess}::boolean
    from runs r where r.id = ${run.id}::uuid and r.state = 'running' for share
    on conflict (thread_id, sort) do update
      set content = excluded.content, tool_call = excluded.tool_call, is_in_process = excluded.is_in_process
      where messages.run_id = excluded.run_id
    returning sort`.execute(db);
  if (rows.length > 0) return 'kept';
  const stored = await db.selectFrom('runs').select('id').where('id', '=', run.id).executeTakeFirst();
  return stored === undefined ? 'gone' : 'closed';
}

/** How a run ended. */
export interface RunEnd {
  readonly state: 'completed' | 'aborted' | 'failed';
  readonly usage: Usage | null;
  readonly error: RunFailure | null;
}

/** Keeps the end of a run, unless others have closed it; from here on the thread takes a new input. */
export async function endRun(db: Db, runId: string, { state, usage, error }: RunEnd, now: Date): Promise<void> {
  await db
    .updateTable('runs')
    .set({
      state,
      usage: usage === null ? null : JSON.stringify(usage),
      error: error === null ? null : JSON.stringify(error),
      ended_at: now,
    })
    .where('id', '=', runId)
    .where('state', '=', 'running')
    .execute();
}
