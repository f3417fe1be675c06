import { sql } from 'kysely';
import { index, type MigrationStep, transaction } from './step.ts';

/**
 * The log of runs, durable before a client sees a line of it; what a run needs to be carried on by another node; thoughts and
 * the words as the language model wrote them; retention of threads; the folder of an agent's configuration.
 */
export const threadLog: readonly MigrationStep[] = [
  transaction(sql`create table if not exists run_log (
    run_id uuid not null references runs on delete cascade,
    seq integer not null,
    sort integer not null,
    line text,
    step jsonb,
    created_at timestamptz not null,
    primary key (run_id, seq)
  )`),
  // Every run that goes on is found by its node, and counted by its account and user.
  transaction(sql`alter table runs
    add column if not exists account_id integer,
    add column if not exists deployment_id integer,
    add column if not exists branch text,
    add column if not exists session_id uuid,
    add column if not exists api_key_id integer,
    add column if not exists scope_id integer,
    add column if not exists security_context jsonb,
    add column if not exists request_id text,
    add column if not exists abort_asked_at timestamptz,
    add column if not exists attempts integer not null default 1`),
  index('runs_going_on', `runs (account_id, user_id) where state = 'running'`),
  index('runs_ended', `runs (ended_at) where ended_at is not null`),
  // Only whole messages are kept; one in process is in the log of its run.
  transaction(sql`alter table messages
    alter column is_in_process set default false,
    add column if not exists thinking text,
    add column if not exists model_text text`),
  index('threads_listed', 'threads (user_id, agent_id, coalesce(embed_tenant_id, 0), updated_at, id)'),
  index('threads_kept', 'threads (account_id, updated_at)'),
  transaction(sql`alter table accounts add column if not exists thread_retention_days integer`),
  transaction(sql`alter table deployments add column if not exists agents_folder text`),
];
