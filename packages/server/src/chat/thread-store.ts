/** Threads, runs and messages in the store. Every function is one statement or one transaction. */
import { randomUUID } from 'node:crypto';
import type { Usage } from '@inlay/contract/chat.ts';
import type { ErrorCode } from '@inlay/contract/error.ts';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Message, RunFailure } from './frames.ts';

type Db = Kysely<Schema>;

/** Whose thread it is. Ids of agents are unique in an installation. */
export interface ThreadOwner {
  readonly accountId: number;
  readonly userId: number;
  readonly agentId: number;
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
): Promise<{ readonly id: string; readonly userId: number } | undefined> {
  if (!threadIdPattern.test(chatId)) return undefined;
  return db
    .selectFrom('threads')
    .select(['id', 'user_id as userId'])
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
  let query = db.selectFrom('messages').selectAll().where('thread_id', '=', threadId).orderBy('sort');
  if (before !== undefined) query = query.where('sort', '<', before);
  if (exceptRunId !== undefined) query = query.where('run_id', '!=', exceptRunId);
  return (await query.execute()).map(toMessage);
}

function toMessage(row: Selectable<Schema['messages']>): Message {
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
  readonly messageId: string;
  readonly state: Selectable<Schema['runs']>['state'];
  readonly usage: Usage | null;
  readonly error: RunFailure | null;
  readonly messages: readonly Message[];
}

/** The run that this message id began for the user and agent, with its messages. */
export async function findRun(
  db: Db,
  { userId, agentId }: ThreadOwner,
  messageId: string,
): Promise<StoredRun | undefined> {
  const run = await db
    .selectFrom('runs')
    .select(['id', 'thread_id as threadId', 'message_id as messageId', 'state', 'usage', 'error'])
    .where('user_id', '=', userId)
    .where('agent_id', '=', agentId)
    .where('message_id', '=', messageId)
    .executeTakeFirst();
  if (run === undefined) return undefined;
  const rows = await db.selectFrom('messages').selectAll().where('run_id', '=', run.id).orderBy('sort').execute();
  return { ...run, messages: rows.map(toMessage) };
}

/** A user message that is to begin a run. Without `threadId` a new thread comes into being with it. */
export interface NewRun {
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
  { owner, threadId, messageId, input, title }: NewRun,
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

/** Keeps a message of a run: it began, or it closed. */
export async function writeMessage(
  db: Db,
  run: { readonly id: string; readonly threadId: string },
  message: Message,
  now: Date,
): Promise<void> {
  const { id, role, content, graphPath, toolCall, isInProcess, sort } = message;
  const written = {
    content,
    tool_call: toolCall === null ? null : JSON.stringify(toolCall),
    is_in_process: isInProcess,
  };
  await db
    .insertInto('messages')
    .values({
      thread_id: run.threadId,
      run_id: run.id,
      id,
      role,
      sort,
      graph_path: graphPath === null ? null : JSON.stringify(graphPath),
      created_at: now,
      ...written,
    })
    .onConflict((conflict) => conflict.columns(['thread_id', 'sort']).doUpdateSet(written))
    .execute();
}

/** How a run ended. */
export interface RunEnd {
  readonly state: 'completed' | 'aborted' | 'failed';
  readonly usage: Usage | null;
  readonly error: RunFailure | null;
}

/** Keeps the end of a run; from here on the thread takes a new input. */
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
    .execute();
}

/** What a run that the process did not survive says. */
export const interrupted = {
  code: 'RUN_INTERRUPTED' satisfies ErrorCode,
  message: 'The server stopped before the answer was complete.',
} as const;

/**
 * Closes what a process that is gone has left: open messages keep what they have, open tool calls get an error, runs are
 * failed. To be called at start, before the first request; there must be no other process on the store.
 * @returns how many runs were closed.
 */
export async function closeInterruptedRuns(db: Db, now: Date): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const requestId = `req_${randomUUID()}`;
    const result = JSON.stringify({ error: { ...interrupted, hint: '' } });
    const running = transaction.selectFrom('runs').select('id').where('state', '=', 'running');
    await transaction
      .updateTable('messages')
      .set({
        is_in_process: false,
        // Null on texts, and stays so.
        tool_call: sql<string>`tool_call || jsonb_build_object('result', ${result}::text)`,
      })
      .where('is_in_process', '=', true)
      .where('run_id', 'in', running)
      .execute();
    const error = JSON.stringify({ ...interrupted, requestId } satisfies RunFailure);
    const { numUpdatedRows } = await transaction
      .updateTable('runs')
      .set({ state: 'failed', error, ended_at: now })
      .where('state', '=', 'running')
      .executeTakeFirst();
    return Number(numUpdatedRows);
  });
}
