/**
 * Brings the store's tables up to date, while servers of the version before go on. The migrations are a list in the code, in
 * the order in which they run. docs/decisions/0008-migrations.md says what they may do.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { ConfigError } from '../config.ts';
import { codeOf } from '../errors.ts';
import { firstTables } from './migrations/0001-first-tables.ts';
import { scopesAndOperation } from './migrations/0002-scopes-and-operation.ts';
import { threadLog } from './migrations/0003-thread-log.ts';
import { messageBytes } from './migrations/0004-message-bytes.ts';
import { logStorage } from './migrations/0005-log-storage.ts';
import { createIndex, type MigrationStep } from './migrations/step.ts';
import type { Schema } from './schema.ts';

/** Names sort in the order of the list, begin with a number, and never change once released. */
const migrations: Readonly<Record<string, readonly MigrationStep[]>> = {
  '0001-first-tables': firstTables,
  '0002-scopes-and-operation': scopesAndOperation,
  '0003-thread-log': threadLog,
  '0004-message-bytes': messageBytes,
  '0005-log-storage': logStorage,
};

/** How a migration waits for others. */
export interface MigrationOptions {
  /** How long it tries, all in all, to get its turn and its locks, in milliseconds. */
  readonly patienceMs?: number;
  /** Told what it waits for, once per attempt. */
  readonly onWait?: (what: string) => void;
}

/**
 * A statement that waits for a lock makes everybody wait who comes after it. So it gives up soon, lets them pass, and tries
 * again later.
 */
const lockMsMax = 500;
const retryMsMin = 100;
const retryMsMax = 5_000;
/** Asking whether another process has finished is in nobody's way. */
const turnMsMax = 500;
const patienceMsDefault = 3_600_000;

/** Held by the session that migrates. The number is the one of version 0.1, so that the two exclude each other. */
const lockId = sql.lit(3853314791062309107n);

/**
 * Runs the migrations that this store has not had; several processes may call it at once. A new store gets them all or none.
 * On one that is in use each step commits by itself, holds its locks for an instant, and builds indexes beside the load; a
 * process that is killed leaves steps done that the next one finds done.
 * @returns the names of those that ran.
 * @throws ConfigError when somebody holds the tables for longer than `patienceMs` (an hour when left out); the database's error;
 * Error when the store has had a migration that this version does not know.
 */
export async function migrate(db: Kysely<Schema>, options: MigrationOptions = {}): Promise<readonly string[]> {
  const { patienceMs = patienceMsDefault, onWait = () => undefined } = options;
  const patience = { endsAtMs: performance.now() + patienceMs, retryMsMax, onWait };
  // One connection for all of it: the lock belongs to its session.
  return db.connection().execute(async (connection) => {
    const before = await readTimeouts(connection);
    const turn = { ...patience, retryMsMax: turnMsMax };
    await withPatience(turn, 'another process that migrates the store', () => takeTurn(connection));
    try {
      // Building an index takes as long as it takes, and waits for older transactions without being in anybody's way.
      await setTimeouts(connection, { statement: '0', lock: '0' });
      return await runMissing(connection, patience);
    } finally {
      await setTimeouts(connection, before);
      await sql`select pg_advisory_unlock(${lockId})`.execute(connection);
    }
  });
}

async function runMissing(db: Kysely<Schema>, patience: Patience): Promise<readonly string[]> {
  const done = await readDone(db);
  for (const name of done) {
    if (!Object.hasOwn(migrations, name)) {
      throw new Error(`The store has had the migration ${name}, which this version of Inlay does not know.`);
    }
  }
  const missing = Object.entries(migrations).filter(([name]) => !done.has(name));
  if (done.size === 0) {
    // Nobody uses a store without tables.
    await db.transaction().execute(async (tx) => {
      for (const [name, steps] of missing) {
        for (const statement of steps.flatMap(plainStatements)) await statement.execute(tx);
        await keepDone(tx, name);
      }
    });
  } else {
    for (const [name, steps] of missing) {
      for (const step of steps) await runStep(db, step, patience);
      await keepDone(db, name);
    }
  }
  return missing.map(([name]) => name);
}

const plainStatements = (step: MigrationStep): readonly RawBuilder<unknown>[] =>
  step.kind === 'index' ? [createIndex(step, false)] : step.statements;

async function runStep(db: Kysely<Schema>, step: MigrationStep, patience: Patience): Promise<void> {
  if (step.kind === 'index') {
    await withPatience(patience, `the index ${step.name}`, () => buildIndex(db, step));
    return;
  }
  await withPatience(patience, 'a transaction that holds a table', async () => {
    await db.transaction().execute(async (tx) => {
      await sql`select set_config('lock_timeout', ${String(lockMsMax)}, true)`.execute(tx);
      for (const statement of step.statements) await statement.execute(tx);
    });
    return true;
  });
}

/** Builds the index unless it is there. One that was not finished is there too, and not valid: it is built anew. */
async function buildIndex(db: Kysely<Schema>, step: Extract<MigrationStep, { kind: 'index' }>): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname = ${step.name} and pg_table_is_visible(c.oid) and not i.indisvalid`.execute(db);
  if (rows.length > 0) await sql.raw(`drop index concurrently if exists ${step.name}`).execute(db);
  await createIndex(step, true).execute(db);
  return true;
}

async function takeTurn(db: Kysely<Schema>): Promise<boolean> {
  // Asked again and again: who waits inside the database would hold up the building of indexes, and wait for it.
  const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${lockId}) as taken`.execute(db);
  return rows[0]?.taken === true;
}

interface Patience {
  readonly endsAtMs: number;
  /** The longest pause between two attempts. */
  readonly retryMsMax: number;
  readonly onWait: (what: string) => void;
}

/** Does `attempt` until it gives true. What ends without its locks, or in a deadlock, is tried again. */
async function withPatience(
  { endsAtMs, retryMsMax: longestMs, onWait }: Patience,
  what: string,
  attempt: () => Promise<boolean>,
): Promise<void> {
  for (let retryMs = retryMsMin; ; retryMs = Math.min(retryMs * 2, longestMs)) {
    const isDone = await attempt().catch((error: unknown) => {
      const code = codeOf(error);
      if (code === '55P03' || code === '40P01') return false;
      throw error;
    });
    if (isDone) return;
    if (performance.now() > endsAtMs)
      throw new ConfigError([`The store cannot be brought up to date: it waits for ${what}.`]);
    onWait(what);
    await pause(retryMs * (0.5 + Math.random() / 2));
  }
}

interface Timeouts {
  readonly statement: string;
  readonly lock: string;
}

async function readTimeouts(db: Kysely<Schema>): Promise<Timeouts> {
  const { rows } = await sql<Timeouts>`
    select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`.execute(db);
  return rows[0] ?? { statement: '0', lock: '0' };
}

/** For the session, which may go on to serve others. */
async function setTimeouts(db: Kysely<Schema>, { statement, lock }: Timeouts): Promise<void> {
  await sql`select set_config('statement_timeout', ${statement}, false), set_config('lock_timeout', ${lock}, false)`.execute(
    db,
  );
}

/** The names of the migrations that the store has had. The table is as version 0.1 made it. */
async function readDone(db: Kysely<Schema>): Promise<ReadonlySet<string>> {
  const { rows: found } = await sql<{ name: string | null }>`
    select to_regclass('kysely_migration')::text as name`.execute(db);
  if (found[0]?.name === null) {
    await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(
      db,
    );
  }
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

async function keepDone(db: Kysely<Schema>, name: string): Promise<void> {
  await sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(db);
}
