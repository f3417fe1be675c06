/** Runs in the store that nobody writes any more: how a node takes them, reads what is left of them, and gives up its own. */
import { type Kysely, type Selectable, sql } from 'kysely';
import { json } from '../store/json.ts';
import { nodeIsGone } from '../store/node.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import type { LoggedEntry } from './carry-on.ts';
import type { Message } from './frames.ts';
import { readLatest } from './thread-history.ts';
import { messageColumns, toMessage } from './thread-store.ts';
import type { RunClaim } from './write-log.ts';

type Db = Kysely<Schema>;

/** A run that this node has just taken. */
export interface ClaimedRun {
  readonly id: string;
  readonly threadId: string;
  readonly principal: Principal;
  /** `name` is null when the agent has been deleted. */
  readonly agent: { readonly id: number; readonly name: string | null; readonly deploymentId: number };
  readonly branch: string | null;
  /** The id of the user's message. */
  readonly messageId: string;
  readonly requestId: string;
  readonly startedAt: Date;
  /** Which attempt on the run this is, from 2 up; from 1 up when the one before has handed it on. */
  readonly attempts: number;
  readonly isAbortAsked: boolean;
}

type ClaimedRow = Pick<
  Selectable<Schema['runs']>,
  'id' | 'thread_id' | 'user_id' | 'agent_id' | 'message_id' | 'branch' | 'session_id' | 'api_key_id' | 'scope_id'
> & {
  readonly account_id: number;
  readonly deployment_id: number;
  readonly security_context: Principal['securityContext'];
  readonly request_id: string;
  readonly created_at: Date;
  readonly attempts: number;
  readonly is_abort_asked: boolean;
  readonly agent_name: string | null;
};

/**
 * Takes runs that go on by the store, but that no node writes: their node is gone or has handed them on, or they are of this node,
 * which has given them up. The oldest first; each goes to one node only.
 * @param ownIds the runs that this node writes or is about to begin.
 */
export async function claimRuns(
  db: Db,
  {
    nodeId,
    ownIds,
    leaseMs,
    max,
  }: { readonly nodeId: string; readonly ownIds: readonly string[]; readonly leaseMs: number; readonly max: number },
): Promise<ClaimedRun[]> {
  const { rows } = await sql<ClaimedRow>`
    with left_over as (
      select r.id from runs r
      where r.state = 'running' and r.account_id is not null and (
        r.node_id is null
        or (r.node_id = ${nodeId}::uuid and r.id not in (select o.id::uuid from jsonb_array_elements_text(${json(ownIds)}) as o(id)))
        or (r.node_id <> ${nodeId}::uuid and ${nodeIsGone('r.node_id', leaseMs)})
      )
      order by r.created_at limit ${max} for update of r skip locked
    ),
    claimed as (
      update runs r set node_id = ${nodeId}::uuid, attempts = r.attempts + 1
      from left_over l where r.id = l.id
      returning r.*
    )
    select c.id, c.thread_id, c.user_id, c.agent_id, c.message_id, c.branch, c.session_id, c.api_key_id, c.scope_id, c.account_id,
      c.deployment_id, c.security_context, c.request_id, c.created_at, c.attempts,
      c.abort_asked_at is not null as is_abort_asked, a.name as agent_name
    from claimed c left join agents a on a.id = c.agent_id
    order by c.created_at`.execute(db);
  return rows.map((row) => ({
    id: row.id,
    threadId: row.thread_id,
    principal: {
      accountId: row.account_id,
      userId: row.user_id,
      sessionId: row.session_id,
      apiKeyId: row.api_key_id,
      scopeId: row.scope_id,
      securityContext: row.security_context,
    },
    agent: { id: row.agent_id, name: row.agent_name, deploymentId: row.deployment_id },
    branch: row.branch,
    messageId: row.message_id,
    requestId: row.request_id,
    startedAt: row.created_at,
    attempts: row.attempts,
    isAbortAsked: row.is_abort_asked,
  }));
}

/** The log of a run, whole, its question, if it is there, and what its agent is told of what was said before. */
export async function readStoppedRun(
  db: Db,
  { id, threadId, messageId }: Pick<ClaimedRun, 'id' | 'threadId' | 'messageId'>,
): Promise<{
  readonly log: readonly LoggedEntry[];
  readonly question: Message | undefined;
  readonly history: readonly Message[];
}> {
  const log = await db
    .selectFrom('run_log')
    .select(['seq', 'line', 'step'])
    .where('run_id', '=', id)
    .orderBy('seq')
    .execute();
  const stored = await db
    .selectFrom('messages')
    .select(messageColumns)
    .where('run_id', '=', id)
    .where('id', '=', messageId)
    .executeTakeFirst();
  if (stored === undefined) return { log, question: undefined, history: [] };
  const question = toMessage(stored);
  return { log, question, history: await readLatest(db, threadId, question.sort) };
}

/** What has become of runs at work, of which the node that writes them may not have heard. */
export interface RunsNews {
  /** Their users have asked for their end. */
  readonly aborted: readonly string[];
  /** They are another's now, or were and have ended there, or are deleted with what they belong to. */
  readonly lost: readonly string[];
}

/** @param runs the runs that this node writes, by its count of their attempts. */
export async function readRunsNews(db: Db, nodeId: string, runs: readonly RunClaim[]): Promise<RunsNews> {
  const { rows } = await sql<{ readonly id: string; readonly is_lost: boolean }>`
    select w.id, r.id is null or r.node_id is distinct from ${nodeId}::uuid or r.attempts <> w.attempts as is_lost
    from jsonb_to_recordset(${json(runs)}) as w(id uuid, attempts integer)
    left join runs r on r.id = w.id
    where r.id is null or r.node_id is distinct from ${nodeId}::uuid or r.attempts <> w.attempts
      or (r.state = 'running' and r.abort_asked_at is not null)`.execute(db);
  const idsOf = (isLost: boolean): string[] => rows.filter((row) => row.is_lost === isLost).map(({ id }) => id);
  return { aborted: idsOf(false), lost: idsOf(true) };
}

/** Hands on all runs of a node that stops: any other may take them, and it does not count as an attempt. */
export async function handOnRuns(db: Db, nodeId: string): Promise<void> {
  await sql`update runs set node_id = null, attempts = attempts - 1
    where state = 'running' and node_id = ${nodeId}::uuid`.execute(db);
}
