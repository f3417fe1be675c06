/**
 * This process among the others on the same store: it says every second that it is alive. What one that stopped doing so had
 * begun is nobody's, and may be closed by any other.
 */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { repeat } from '../repeat.ts';
import type { Schema } from './schema.ts';

/** How often a node says that it is alive. */
const beatMs = 1000;
/** This process. Disposing says that it is gone. */
export interface Node extends AsyncDisposable {
  /** A uuid, new for every process. */
  readonly id: string;
  /**
   * Begins to say that it is alive; resolves when that is known to the store, which must have its tables. `onGone` is told when
   * the node has been silent for so long that others may have taken it for gone.
   */
  start(onGone: () => void): Promise<void>;
}

/**
 * Makes the node; it is silent until it is started. One that has said nothing for `leaseMs` is gone: the same on every node.
 */
export function createNode(dependencies: {
  readonly db: Kysely<Schema>;
  readonly log: { error(fields: object, message: string): void };
  readonly leaseMs: number;
}): Node {
  const { db, log, leaseMs } = dependencies;
  const id = randomUUID();
  let beats: AsyncDisposable | undefined;

  return {
    id,
    async start(onGone) {
      await sayAlive(db, id, leaseMs);
      beats = repeat(
        async () => {
          if (await sayAlive(db, id, leaseMs)) onGone();
        },
        { firstMs: beatMs, everyMs: beatMs },
        (err) => log.error({ err }, 'the store could not be told that this node is alive'),
      );
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
