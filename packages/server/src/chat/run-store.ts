/** Runs in the store: how they begin, and what was kept of them. */
import { randomUUID } from 'node:crypto';
import type { Usage } from '@inlay/contract/chat.ts';
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import { codeOf } from '../errors.ts';
import { changesChannel } from '../store/changes.ts';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import type { Message, RunFailure } from './frames.ts';
import { messageColumns, orGone, type ThreadOwner, toMessage } from './thread-store.ts';

type Db = Kysely<Schema>;

/** How often a run is tried to be begun whose thread has grown in the same moment. */
const beginAttemptsMax = 5;

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
  /** Its whole messages, the user's first. */
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

/** Caps on the runs that go on at a time, on all nodes. What begins in the same instant on several nodes may pass them. */
export interface RunCaps {
  readonly runsPerUserMax: number;
  readonly runsPerAccountMax: number;
}

/** What came of it. */
export type RunInsertion =
  | {
      readonly kind: 'inserted';
      readonly threadId: string;
      readonly message: Message;
      /** The thread before the message, in order. */
      readonly history: readonly Message[];
    }
  /** The thread has a run in progress, or the message id was used before. */
  | { readonly kind: 'refused' }
  /** A cap is reached. Whether it would have been refused otherwise is not known. */
  | { readonly kind: 'full' };

interface InsertedRow {
  readonly sort: number | null;
  readonly history: readonly Message[] | null;
  readonly is_full: boolean;
}

/**
 * Keeps thread, run and user message, and reads what was said before, all in one statement.
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
      if (row === undefined || row.is_full) return { kind: 'full' };
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
      return { kind: 'inserted', threadId, message, history: row.history ?? [] };
    } catch (error) {
      // unique_violation: the run before has ended while this statement began, which does not see its last messages.
      if (codeOf(error) !== '23505' || attempt === beginAttemptsMax) throw error;
    }
  }
}

/**
 * The thread comes last where it is new, since nothing of it is to be left when the run is refused; foreign keys are checked when
 * the statement is over. That the message gets the next free number proves that all before it have been read: sort numbers have
 * no gaps, so a message that this statement does not see would stand there.
 */
function insertion(
  run: NewRun & { readonly threadId: string },
  isNew: boolean,
  { runsPerUserMax, runsPerAccountMax }: RunCaps,
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
  return sql<InsertedRow>`
    with going_on as (
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
      from going_on where not is_full
      on conflict do nothing
      returning id
    ),
    thread as (${thread}),
    said as (
      insert into messages (thread_id, run_id, id, role, content, is_in_process, created_at, sort)
      select ${threadId}::uuid, b.id, ${messageId}::text, 'user', ${run.input}::text, false, ${now}::timestamptz,
        (select coalesce(max(m.sort), 0) + 1 from messages m where m.thread_id = ${threadId}::uuid)
      from begun b
      returning sort
    )
    select g.is_full, (select s.sort from said s) as sort, ${isNew ? sql`null` : historyOf(threadId)} as history
    from going_on g`;
}

/** The members of a {@link Message}, in JSON as they are in memory. */
const historyOf = (threadId: string): RawBuilder<unknown> => sql`(
  select json_agg(json_build_object('id', m.id, 'role', m.role, 'content', m.content, 'graphPath', m.graph_path,
    'toolCall', m.tool_call, 'thinking', m.thinking, 'modelText', m.model_text, 'isInProcess', m.is_in_process, 'sort', m.sort)
    order by m.sort)
  from messages m where m.thread_id = ${threadId}::uuid and exists (select from begun))`;
