/**
 * Removes what has come to its end: users, sessions, old audit entries, old threads, logs of runs, nodes that are gone. Refusing at
 * the instant of the end is not its business: whatever it leaves lying is refused already. It goes in small batches, each a
 * transaction of its own that takes one lock for all nodes, so that one node at a time sweeps and none is elected for longer than
 * a batch.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { codeOf } from '../errors.ts';
import type { SweptKind } from '../telemetry/telemetry.ts';
import type { Schema } from './schema.ts';

/** What is kept for how long, in days. */
export interface SweepSettings {
  readonly auditRetentionDays: number;
}

/** Rows removed by one transaction, so that none holds its locks, or the one connection of the embedded store, for long. */
const batchMax = 200;
/** How long one transaction may take. One that is too large for it is tried again smaller, and alone with more time. */
const batchMs = 5_000;
const rowMs = 30_000;
/** Between batches, so that others get their turn. */
const pauseMs = 20;
/** Ended sessions are listed for so long. */
const endedSessionDays = 7;
const goneNodeDays = 1;
/** A reader may come for the log of a run that has ended for so long; later ones get its messages. */
const runLogMs = 300_000;

/** The lock for all nodes: a number that nothing else in this database uses. */
const sweepLock = 7_354_120_061;
const dayMs = 86_400_000;

/** Deletes at most `max` rows. @returns how many. */
type RemoveBatch = (db: Kysely<Schema>, max: number) => Promise<number>;

/**
 * One round: all that has ended at `now`, batch by batch.
 * @param removed is told of every batch.
 * @returns `elsewhere` when another node sweeps at this moment.
 */
export async function sweep(
  db: Kysely<Schema>,
  now: Date,
  settings: SweepSettings,
  { removed, signal }: { readonly removed: (kind: SweptKind, rows: number) => void; readonly signal: AbortSignal },
): Promise<'done' | 'elsewhere'> {
  for (const [kind, remove] of removers(now, settings)) {
    let max = batchMax;
    while (!signal.aborted) {
      const rows = await removeUnderLock(db, remove, max);
      if (rows === 'elsewhere') return 'elsewhere';
      if (rows === 'too slow') {
        max = Math.ceil(max / 10);
        continue;
      }
      if (rows > 0) removed(kind, rows);
      if (rows < max) break;
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return 'done';
}

function removers(now: Date, { auditRetentionDays }: SweepSettings): readonly (readonly [SweptKind, RemoveBatch])[] {
  const before = (days: number): Date => new Date(now.getTime() - days * dayMs);
  return [
    ['users', (db, max) => removeEndedUsers(db, now, max)],
    ['sessions', (db, max) => removeEndedSessions(db, before(endedSessionDays), max)],
    ['audit entries', (db, max) => removeAuditEntries(db, before(auditRetentionDays), max)],
    ['threads', (db, max) => removeOldThreads(db, now, max)],
    ['run logs', (db, max) => removeRunLogs(db, new Date(now.getTime() - runLogMs), max)],
    ['nodes', (db, max) => removeGoneNodes(db, before(goneNodeDays), max)],
  ];
}

async function removeUnderLock(
  db: Kysely<Schema>,
  remove: RemoveBatch,
  max: number,
): Promise<number | 'elsewhere' | 'too slow'> {
  try {
    return await db.transaction().execute(async (transaction) => {
      const limitMs = max === 1 ? rowMs : batchMs;
      const { rows } = await sql<{ readonly is_ours: boolean }>`
        select pg_try_advisory_xact_lock(${sweepLock}) as is_ours,
          set_config('statement_timeout', ${String(limitMs)}, true)`.execute(transaction);
      return rows[0]?.is_ours === true ? remove(transaction, max) : 'elsewhere';
    });
  } catch (error) {
    const isTooSlow = codeOf(error) === '57014';
    if (isTooSlow && max > 1) return 'too slow';
    throw error;
  }
}

/** One whose answer is still being written stays until it is; nothing of theirs can be reached meanwhile. */
async function removeEndedUsers(db: Kysely<Schema>, now: Date, max: number): Promise<number> {
  return affected(
    await sql`
      delete from users where expires_at <= ${now} and id in (
        select u.id from users u
        where u.kind = 'external' and u.expires_at <= ${now}
          and not exists (select 1 from runs r where r.user_id = u.id and r.state = 'running')
        order by u.expires_at limit ${max} for update of u skip locked)`.execute(db),
  );
}

async function removeEndedSessions(db: Kysely<Schema>, before: Date, max: number): Promise<number> {
  return affected(
    await sql`
      delete from sessions where id in (
        select id from sessions where ends_at < ${before} order by ends_at limit ${max} for update skip locked)`.execute(
      db,
    ),
  );
}

/**
 * The oldest ones, as far as they are old enough: entries are numbered in the order of time, so that a look at the first few tells.
 * The trigger of the audit log lets the retention pass, and nobody else.
 */
async function removeAuditEntries(db: Kysely<Schema>, before: Date, max: number): Promise<number> {
  await sql`select set_config('inlay.audit_retention', 'on', true)`.execute(db);
  return affected(
    await sql`
      delete from audit_log
      where id in (select id from audit_log order by id limit ${max}) and at < ${before}`.execute(db),
  );
}

/** Threads that nobody wrote in for as many days as their account keeps them. */
async function removeOldThreads(db: Kysely<Schema>, now: Date, max: number): Promise<number> {
  return affected(
    await sql`
      delete from threads where id in (
        select t.id from accounts a
        join threads t on t.account_id = a.id
          and t.updated_at < ${now}::timestamptz - make_interval(days => a.thread_retention_days)
        where a.thread_retention_days is not null
          and not exists (select 1 from runs r where r.thread_id = t.id and r.state = 'running')
        limit ${max} for update of t skip locked)`.execute(db),
  );
}

/**
 * The logs of runs that ended before. `max` counts runs: a log goes as a whole. Goes from run to run in the index, not from line to
 * line: only runs that go on or ended a moment ago have a log.
 */
async function removeRunLogs(db: Kysely<Schema>, before: Date, max: number): Promise<number> {
  const { rows } = await sql<{ readonly runs: number }>`
    with recursive logged(run_id) as (
      (select run_id from run_log order by run_id limit 1)
      union all
      select (select l.run_id from run_log l where l.run_id > g.run_id order by l.run_id limit 1)
      from logged g where g.run_id is not null
    ), over as materialized (
      select r.id from logged g join runs r on r.id = g.run_id where r.ended_at < ${before} limit ${max}
    ), removed as (
      delete from run_log where run_id in (select id from over)
    )
    select count(*)::integer as runs from over`.execute(db);
  return rows[0]?.runs ?? 0;
}

async function removeGoneNodes(db: Kysely<Schema>, before: Date, max: number): Promise<number> {
  return affected(
    await sql`
      delete from nodes where id in (select id from nodes where seen_at < ${before} limit ${max} for update skip locked)`.execute(
      db,
    ),
  );
}

const affected = ({ numAffectedRows = 0n }: { readonly numAffectedRows?: bigint }): number => Number(numAffectedRows);
