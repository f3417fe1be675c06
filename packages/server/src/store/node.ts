/**
 * This process among the others on the same store: it says every second that it is alive. What one that stopped doing so had
 * begun is nobody's, and may be closed by any other.
 */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { repeat } from '../repeat.ts';
import { logOutages, type OutageLog } from './outages.ts';
import type { Schema } from './schema.ts';

/** How often a node says that it is alive. */
const beatMs = 1000;

/** This process. Disposing says that it is gone. */
export interface Node extends AsyncDisposable {
  /** A uuid, new for every process. */
  readonly id: string;
  /** Begins to say that it is alive; resolves when that is known to the store, which must have its tables. */
  start(): Promise<void>;
}

/**
 * Makes the node; it is silent until it is started. One that has said nothing for `leaseMs` is gone: the same on every node.
 */
export function createNode(dependencies: {
  readonly db: Kysely<Schema>;
  readonly log: OutageLog;
  readonly leaseMs: number;
}): Node {
  const { db, log, leaseMs } = dependencies;
  const id = randomUUID();
  const outages = logOutages(log, 'the store could not be told that this node is alive');
  let beats: AsyncDisposable | undefined;

  async function beat(): Promise<void> {
    // Nothing is to be done about it: what others have taken is fenced off, and what nobody has taken goes on.
    if (await sayAlive(db, id, leaseMs)) {
      log.warn({ leaseMs }, 'this node was silent for so long that another would have taken it for gone');
    }
    outages.succeeded();
  }

  return {
    id,
    async start() {
      await sayAlive(db, id, leaseMs);
      beats = repeat(beat, { firstMs: beatMs, everyMs: beatMs }, outages.failed);
    },
    async [Symbol.asyncDispose]() {
      if (beats === undefined) return;
      await beats[Symbol.asyncDispose]();
      await sql`delete from nodes where id = ${id}::uuid`
        .execute(db)
        .catch((err: unknown) => log.error({ err }, 'the store could not be told that this node is gone'));
    },
  };
}

/** By the clock of the database, which all nodes share. @returns whether others could take the node for gone before. */
async function sayAlive(db: Kysely<Schema>, id: string, leaseMs: number): Promise<boolean> {
  const { rows } = await sql<{ readonly was_gone: boolean }>`
    with before as (select seen_at from nodes where id = ${id}::uuid)
    insert into nodes (id, seen_at) values (${id}::uuid, clock_timestamp())
    on conflict (id) do update set seen_at = excluded.seen_at
    returning coalesce((select seen_at <= clock_timestamp() - ${`${leaseMs} milliseconds`}::interval from before), true)
      as was_gone`.execute(db);
  return rows[0]?.was_gone ?? true;
}

/**
 * Forgets all nodes: whoever alone may use the store, as the process that holds the lock of the data folder, knows that the
 * others are gone.
 */
export async function forgetNodes(db: Kysely<Schema>): Promise<void> {
  await sql`delete from nodes`.execute(db);
}

/** SQL: the node with the id of `column` is not alive, or is none; it had `leaseMs` to say that it is. */
export const nodeIsGone = (column: string, leaseMs: number) => sql<boolean>`not exists (
  select 1 from nodes n
  where n.id = ${sql.ref(column)} and n.seen_at > clock_timestamp() - ${`${leaseMs} milliseconds`}::interval)`;
