/** Runs in the store, with the messages that they write. Every function is one statement or one transaction, but {@link findRun}. */
import { randomUUID } from 'node:crypto';
import type { Usage } from '@inlay/contract/chat.ts';
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import type { Message, RunFailure } from './frames.ts';
import { insertThread, messageColumns, orGone, type ThreadOwner, toMessage } from './thread-store.ts';

type Db = Kysely<Schema>;

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

/**
 * Keeps thread, run and user message in one transaction: all or nothing.
 * @throws InlayError NOT_FOUND when what they belong to has been deleted since it was looked up.
 */
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
      const run = transaction
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
        .returning('id');
      const inserted = await orGone(() => run.executeTakeFirst());
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
  const { rows } = await sql`
    insert into messages
      (thread_id, run_id, id, role, sort, graph_path, created_at, content, tool_call, is_in_process)
    select r.thread_id, r.id, ${id}::text, ${role}::text, ${sort}::integer, ${jsonOrNull(graphPath)},
      ${now}::timestamptz, ${content}::text, ${jsonOrNull(toolCall)}, ${isInProcess}::boolean
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

/** Null of SQL, which is not that of JSON. */
const jsonOrNull = (value: unknown): RawBuilder<unknown> => (value === null ? sql`null::jsonb` : json(value));
