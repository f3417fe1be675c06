/** The one statement by which the logs of runs grow. */
import type { Usage } from '@inlay/contract/chat.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AgentStep } from '../agent/agent-step.ts';
import type { Schema } from '../store/schema.ts';
import type { Message, RunFailure } from './frames.ts';
import { bytesOf } from './thread-store.ts';

/** What entitles to write a run: beside the id of the node, its how-manieth attempt on the run this is. Nobody else may write then. */
export interface RunClaim {
  readonly id: string;
  readonly attempts: number;
}

/** How a run ended. */
export interface RunEnd {
  readonly state: 'completed' | 'aborted' | 'failed';
  readonly usage: Usage;
  readonly error: RunFailure | null;
}

/** A row of a run's log: a line, or a step of the agent. `line` is a frame as JSON. */
export type LogRow =
  | { readonly seq: number; readonly sort: number; readonly line: string; readonly step: null }
  | { readonly seq: number; readonly sort: 0; readonly line: null; readonly step: AgentStep };

/** What is to be written of one run. */
export interface RunEntries {
  readonly run: RunClaim;
  readonly rows: readonly LogRow[];
  /** Messages that are whole now, each once. */
  readonly closed: readonly Message[];
  /** Sort numbers of messages that are not whole any more; none of those in `closed`. */
  readonly voided: readonly number[];
  readonly end: RunEnd | null;
}

/**
 * Writes entries of many runs, of each all or nothing: the rows of the log, the messages that closed, the ends. Of a run that is
 * not this node's (any more) nothing is written. May be repeated when it is not known whether it succeeded.
 * @returns of whom in the batch it is written: no two of one run, since only one attempt on it may write.
 */
export async function writeLog(
  db: Kysely<Schema>,
  nodeId: string,
  batch: readonly RunEntries[],
  now: Date,
): Promise<ReadonlySet<RunClaim>> {
  const rows = batch.flatMap(({ run, rows: own }) => own.map((row) => ({ ...refer(run), ...row })));
  const closed = batch.flatMap(({ run, closed: own }) => own.map((message) => ({ ...refer(run), ...toRow(message) })));
  const ends = batch.flatMap(({ run, end }) => (end === null ? [] : [{ ...refer(run), ...end }]));
  const voided = batch.flatMap(({ run, voided: sorts }) => sorts.map((sort) => ({ ...refer(run), sort })));
  const parts = [
    rows.length > 0 && insertRows(rows, now),
    voided.length > 0 && deleteMessages(voided),
    closed.length > 0 && insertMessages(closed, now),
    ends.length > 0 && endRuns(ends, now),
  ].filter((part) => part !== false);
  // Locked, so that no other node takes a run over in the middle; in one order, so that no two statements wait for each other.
  // A run that this very attempt has ended before was written then: the answer was lost.
  const { rows: written } = await sql<RunClaim>`
    with mine as (
      select r.id, r.attempts, r.thread_id, r.state = 'running' as goes_on
      from jsonb_to_recordset(${storableJson(batch.map(({ run }) => run))}) as w(id uuid, attempts integer)
      join runs r on r.id = w.id and r.attempts = w.attempts and r.node_id = ${nodeId}::uuid
      order by r.id for no key update of r
    )${sql.join(
      parts.map((part) => sql`, ${part}`),
      sql``,
    )}
    select id, attempts from mine`.execute(db);
  const attemptsOf = new Map(written.map(({ id, attempts }) => [id, attempts]));
  return new Set(batch.map(({ run }) => run).filter(({ id, attempts }) => attemptsOf.get(id) === attempts));
}

/** Whose an entry is: what an earlier attempt of this very node still has to say, in the same statement, is not the run's any more. */
function refer({ id, attempts }: RunClaim): object {
  return { run: id, attempts };
}

function toRow(message: Message): object {
  const { id, role, content, graphPath, toolCall, thinking, modelText, sort } = message;
  return { id, role, content, graphPath, toolCall, thinking, modelText, sort, bytes: bytesOf(message) };
}

const insertRows = (rows: readonly object[], now: Date): RawBuilder<unknown> => sql`logged as (
  insert into run_log (run_id, seq, sort, line, step, created_at)
  select m.id, e.seq, e.sort, e.line, e.step, ${now}::timestamptz
  from jsonb_to_recordset(${storableJson(rows)}) as e(run uuid, attempts integer, seq integer, sort integer, line text, step jsonb)
  join mine m on m.id = e.run and m.attempts = e.attempts and m.goes_on
  on conflict do nothing)`;

const deleteMessages = (voided: readonly object[]): RawBuilder<unknown> => sql`voided as (
  delete from messages d
  using jsonb_to_recordset(${storableJson(voided)}) as v(run uuid, attempts integer, sort integer), mine m
  where m.id = v.run and m.attempts = v.attempts and m.goes_on and d.thread_id = m.thread_id and d.sort = v.sort and d.run_id = m.id)`;

const insertMessages = (closed: readonly object[], now: Date): RawBuilder<unknown> => sql`kept as (
  insert into messages
    (thread_id, sort, id, run_id, role, content, graph_path, tool_call, thinking, model_text, is_in_process, bytes, created_at)
  select m.thread_id, c.sort, c.id, m.id, c.role, c.content, c."graphPath", c."toolCall", c.thinking, c."modelText", false,
    c.bytes, ${now}::timestamptz
  from jsonb_to_recordset(${storableJson(closed)}) as c(run uuid, attempts integer, sort integer, id text, role text, content text,
    "graphPath" jsonb, "toolCall" jsonb, thinking text, "modelText" text, bytes integer)
  join mine m on m.id = c.run and m.attempts = c.attempts and m.goes_on
  on conflict (thread_id, sort) do update set content = excluded.content, tool_call = excluded.tool_call,
    thinking = excluded.thinking, model_text = excluded.model_text, bytes = excluded.bytes, is_in_process = false
    where messages.run_id = excluded.run_id)`;

const endRuns = (ends: readonly object[], now: Date): RawBuilder<unknown> => sql`ended as (
  update runs r set state = e.state, usage = e.usage, error = e.error, ended_at = ${now}::timestamptz
  from jsonb_to_recordset(${storableJson(ends)}) as e(run uuid, attempts integer, state text, usage jsonb, error jsonb), mine m
  where m.id = e.run and m.attempts = e.attempts and m.goes_on and r.id = m.id)`;

/**
 * A bound JSON value. What the store cannot hold in it, NUL and halves of surrogate pairs, becomes U+FFFD: one such character in
 * one run must not keep the others of its batch from being written.
 */
function storableJson(value: unknown): RawBuilder<unknown> {
  const text = JSON.stringify(value);
  // JSON.stringify escapes just those, and \\ as a pair, which keeps an escaped backslash before a u from being taken for one.
  const isOdd = /\\u(0000|d[89a-f])/.test(text);
  const storable = isOdd
    ? text.replaceAll(/\\(u[0-9a-f]{4}|.)/g, (escaped, what: string) =>
        /^u(0000|d[89a-f])/.test(what) ? '\ufffd' : escaped,
      )
    : text;
  return sql`${storable}::text::jsonb`;
}
