/** Runs in the store: how they begin, which one a message has begun, and how one is asked to stop. */
import { randomUUID } from 'node:crypto';
import type { Limits } from '@inlay/contract/limits.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { codeOf } from '../errors.ts';
import { changesChannel } from '../store/changes.ts';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import type { Message } from './frames.ts';
import { latestOf, type MessageRow } from './thread-history.ts';
import { orGone, storedBytes, type ThreadOwner, toMessage } from './thread-store.ts';

type Db = Kysely<Schema>;

/** How often a run is tried to be begun whose thread has grown in the same moment. */
const beginAttemptsMax = 5;

/** A run that a user message began. */
export interface StoredRun {
  readonly id: string;
  readonly threadId: string;
  /** The scope of the thread. */
  readonly scopeId: number | null;
  /** The user's message. */
  readonly input: string;
}

/** The run that this message id began for the user and agent, in whatever scope. */
export async function findRun(
  db: Db,
  { userId, agentId }: Pick<ThreadOwner, 'userId' | 'agentId'>,
  messageId: string,
): Promise<StoredRun | undefined> {
  return db
    .selectFrom('runs')
    .innerJoin('threads', 'threads.id', 'runs.thread_id')
    .innerJoin('messages', (join) =>
      join.onRef('messages.run_id', '=', 'runs.id').onRef('messages.id', '=', 'runs.message_id'),
    )
    .select(['runs.id', 'runs.thread_id as threadId', 'embed_tenant_id as scopeId', 'messages.content as input'])
    .where('runs.user_id', '=', userId)
    .where('runs.agent_id', '=', agentId)
    .where('runs.message_id', '=', messageId)
    .executeTakeFirst();
}

/** Whether some node writes a run of the thread at this moment, or is to carry one on. */
export async function isRunning(db: Db, threadId: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('state', '=', 'running')
    .executeTakeFirst();
  return run !== undefined;
}

/**
 * Asks whichever node writes the run of the thread to stop it: it is told so, and finds it written down when it was not listening.
 * @returns whether there is one.
 */
export async function askAbort(db: Db, threadId: string, now: Date): Promise<boolean> {
  const change = JSON.stringify({ kind: 'run-abort', id: threadId });
  const { rows } = await sql`
    with asked as (
      update runs set abort_asked_at = coalesce(abort_asked_at, ${now}::timestamptz)
      where thread_id = ${threadId}::uuid and state = 'running'
      returning id
    )
    select pg_notify(${changesChannel}, ${change}) from asked`.execute(db);
  return rows.length > 0;
}

/** A user message that is to begin a run. Without `threadId` a new thread comes into being with it. */
export interface NewRun {
  /** The node that is going to write the run. */
  readonly nodeId: string;
  readonly runId: string;
  readonly principal: Principal;
  readonly agent: { readonly id: number; readonly deploymentId: number };
  readonly branch: string | null;
  readonly threadId: string | null;
  readonly messageId: string;
  readonly input: string;
  readonly title: string;
  readonly requestId: string;
}

/**
 * Caps on the runs that go on at a time, on all nodes: what begins in the same instant on several nodes may pass them. And the size
 * from which on a thread takes no new message.
 */
export type RunCaps = Pick<Limits, 'runsPerUserMax' | 'runsPerAccountMax' | 'threadMessagesMax' | 'threadBytesMax'>;

/** What came of it. */
export type RunInsertion =
  | {
      readonly kind: 'inserted';
      readonly threadId: string;
      readonly message: Message;
      /** The thread before the message, in order; of a long one what the agent is told of (chat/conversation.ts). */
      readonly history: readonly Message[];
    }
  /** The thread has a run in progress, or the message id was used before. */
  | { readonly kind: 'refused' }
  /** A cap is reached, on runs or on the thread. Whether it would have been refused otherwise is not known. */
  | { readonly kind: 'full' | 'too long' };

interface InsertedRow {
  readonly sort: number | null;
  readonly history: readonly MessageRow[] | null;
  readonly is_full: boolean;
  readonly is_too_long: boolean;
}

/**
 * Keeps thread, run and user message, and reads what the agent is told of what was said before, all in one statement.
 * @throws InlayError NOT_FOUND when what they belong to has been deleted since it was looked up.
 */
export async function insertRun(db: Db, run: NewRun, caps: RunCaps, now: Date): Promise<RunInsertion> {
  const threadId = run.threadId ?? randomUUID();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { rows } = await orGone(() =>
        insertion({ ...run, threadId }, run.threadId === null, caps, now).execute(db),
      );
      const [row] = rows;
      if (row === undefined) throw new Error('the insertion says nothing');
      if (row.is_too_long) return { kind: 'too long' };
      if (row.is_full) return { kind: 'full' };
      if (row.sort === null) return { kind: 'refused' };
      const message: Message = {
        id: run.messageId,
        role: 'user',
        content: run.input,
        graphPath: null,
        toolCall: null,
        thinking: null,
        modelText: null,
        isInProcess: false,
        sort: row.sort,
      };
      return { kind: 'inserted', threadId, message, history: (row.history ?? []).map(toMessage) };
    } catch (error) {
      // unique_violation: the run before has ended while this statement began, which does not see its last messages.
      if (codeOf(error) !== '23505' || attempt === beginAttemptsMax) throw error;
    }
  }
}

/**
 * The thread comes last where it is new, since nothing of it is to be left when the run is refused; foreign keys are checked when
 * the statement is over. That the message gets the next free number proves that the latest before it have been read: sort numbers have
 * no gaps, so a message that this statement does not see would stand there.
 */
function insertion(
  run: NewRun & { readonly threadId: string },
  isNew: boolean,
  { runsPerUserMax, runsPerAccountMax, threadMessagesMax, threadBytesMax }: RunCaps,
  now: Date,
): RawBuilder<InsertedRow> {
  const { principal, agent, threadId, messageId, title } = run;
  const { accountId, userId, scopeId } = principal;
  const thread = isNew
    ? sql`insert into threads (id, account_id, user_id, agent_id, embed_tenant_id, title, created_at, updated_at)
        select ${threadId}::uuid, ${accountId}::integer, ${userId}::integer, ${agent.id}::integer, ${scopeId}::integer,
          ${title}::text, ${now}::timestamptz, ${now}::timestamptz from begun`
    : sql`update threads t set updated_at = ${now}::timestamptz,
          title = case when t.title = '' then ${title}::text else t.title end
        from begun where t.id = ${threadId}::uuid`;
  const isTooLong = isNew
    ? sql`false`
    : sql`coalesce(max(sort), 0) >= ${threadMessagesMax}::integer or coalesce(sum(${storedBytes}), 0) >= ${threadBytesMax}::integer`;
  const isBegun = sql`exists (select from begun)`;
  return sql<InsertedRow>`
    with length as (
      select ${isTooLong} as is_too_long ${isNew ? sql`` : sql`from messages where thread_id = ${threadId}::uuid`}
    ),
    going_on as (
      select count(*) filter (where user_id = ${userId}::integer) >= ${runsPerUserMax}::integer
        or count(*) >= ${runsPerAccountMax}::integer as is_full
      from runs where state = 'running' and account_id = ${accountId}::integer
    ),
    begun as (
      insert into runs (id, thread_id, user_id, agent_id, message_id, node_id, state, created_at, account_id, deployment_id,
        branch, session_id, api_key_id, scope_id, security_context, request_id)
      select ${run.runId}::uuid, ${threadId}::uuid, ${userId}::integer, ${agent.id}::integer, ${messageId}::text,
        ${run.nodeId}::uuid, 'running', ${now}::timestamptz, ${accountId}::integer, ${agent.deploymentId}::integer,
        ${run.branch}::text, ${principal.sessionId}::uuid, ${principal.apiKeyId}::integer, ${scopeId}::integer,
        ${json(principal.securityContext)}, ${run.requestId}::text
      from going_on, length where not is_full and not is_too_long
      on conflict do nothing
      returning id
    ),
    thread as (${thread}),
    said as (
      insert into messages (thread_id, run_id, id, role, content, is_in_process, bytes, created_at, sort)
      select ${threadId}::uuid, b.id, ${messageId}::text, 'user', ${run.input}::text, false, ${Buffer.byteLength(run.input)}::integer, ${now}::timestamptz,
        (select coalesce(max(m.sort), 0) + 1 from messages m where m.thread_id = ${threadId}::uuid)
      from begun b
      returning sort
    )
    select g.is_full, l.is_too_long, (select s.sort from said s) as sort,
      ${isNew ? sql`null` : latestOf(threadId, null, isBegun)} as history
    from going_on g, length l`;
}
