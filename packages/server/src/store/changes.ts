/**
 * News of changes that every node has to hear of: credentials that ended, settings that others keep in memory. A change is told
 * in the transaction that makes it, and reaches the listeners of every node when that commits.
 */
import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';

/** What changed. It says where to look, not what is there now: whoever hears of it reads the store. */
export type Change =
  | {
      readonly kind: 'account' | 'api-key' | 'user' | 'embed-tenant' | 'deployment';
      readonly id: number;
    }
  | { readonly kind: 'session'; readonly id: string };

/** The channel of PostgreSQL's LISTEN and NOTIFY. */
export const changesChannel = 'inlay_changes';

/** The changes that a node hears of. Disposing ends the connection that listens. */
export interface Changes extends AsyncDisposable {
  /** `listener` must not throw. Disposing the subscription ends it. */
  subscribe(listener: (change: Change) => void): Disposable;
  /**
   * Every change that was committed before this instant (milliseconds, on the scale of `performance.now()`) has been heard;
   * -Infinity while the channel is lost. What is kept in memory may be used only if this is less than a second ago.
   */
  heardUntil(): number;
}

/** Tells every node, this one too, once the transaction commits. */
export async function publish(db: Kysely<Schema>, change: Change): Promise<void> {
  await sql`select pg_notify(${changesChannel}, ${JSON.stringify(change)})`.execute(db);
}
