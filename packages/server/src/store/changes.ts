/**
 * News of changes that every node has to hear of: credentials that ended, settings that others keep in memory. A change is told
 * in the transaction that makes it, and reaches the listeners of every node when that commits.
 */
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { Schema } from './schema.ts';

/** What changed. It says where to look, not what is there now: whoever hears of it reads the store. */
export type Change =
  | {
      readonly kind: 'account' | 'api-key' | 'user' | 'embed-tenant' | 'deployment';
      readonly id: number;
    }
  | { readonly kind: 'session'; readonly id: string }
  /** The run of the thread with this id is to be stopped by the node that writes it. */
  | { readonly kind: 'run-abort'; readonly id: string };

/** The channel of PostgreSQL's LISTEN and NOTIFY. */
export const changesChannel = 'inlay_changes';

/**
 * What a listener is told: a change, or that some may have been missed: the channel was lost for a while, or brought what this
 * version does not understand. Then anything may have changed.
 */
export type News = Change | { readonly kind: 'gap' };

/** The changes that a node hears of. Disposing ends the connection that listens. */
export interface Changes extends AsyncDisposable {
  /** `listener` must not throw. Disposing the subscription ends it. */
  subscribe(listener: (news: News) => void): Disposable;
  /**
   * Every change whose commit was acknowledged before this instant (milliseconds, on the scale of `performance.now()`) has been
   * heard; -Infinity while the channel is lost. What is kept in memory may be used only if {@link isHearing}.
   */
  heardUntil(): number;
  /**
   * How often this process may have written to the store, where nobody else can write to it; else null. It has risen before a write
   * is acknowledged, so that what was read since it last rose is what the store holds.
   */
  writes(): number | null;
  /**
   * Resolves when every change whose commit was acknowledged before the call has been heard, so that this node acts by what it
   * has just changed itself; when the channel is lost, at once. Takes a round trip, a second at most. Never rejects.
   */
  catchUp(): Promise<void>;
}

/** How old what is kept in memory may be, in milliseconds: a change is effective on every node after that (http-api.md). */
export const heardWithinMs = 1000;

/** Whether all changes up to a second ago have been heard, so that what is kept in memory may be used at `nowMs`. */
export function isHearing(changes: Pick<Changes, 'heardUntil'>, nowMs: number): boolean {
  return nowMs - changes.heardUntil() < heardWithinMs;
}

/** Hears nothing, ever, so that nothing is used from memory: for a process that has no channel. */
export const noChanges: Changes = {
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
  heardUntil: () => Number.NEGATIVE_INFINITY,
  writes: () => null,
  catchUp: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

const changeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['account', 'api-key', 'user', 'embed-tenant', 'deployment']), id: z.int() }),
  z.object({ kind: z.enum(['session', 'run-abort']), id: z.string() }),
]) satisfies z.ZodType<Change>;

/** What a message of the channel says; what does not parse comes from another version, and is a gap. */
export function parseNews(payload: string): News {
  try {
    return changeSchema.parse(JSON.parse(payload));
  } catch {
    return { kind: 'gap' };
  }
}

/** Listeners, told one after the other. */
export interface Listeners {
  subscribe(listener: (news: News) => void): Disposable;
  tell(news: News): void;
}

/** Makes an empty set of listeners. */
export function createListeners(): Listeners {
  const listeners = new Set<(news: News) => void>();
  return {
    subscribe(listener) {
      // A wrapper of its own: the same function may subscribe twice.
      const own = (news: News): void => listener(news);
      listeners.add(own);
      return { [Symbol.dispose]: () => void listeners.delete(own) };
    },
    tell(news) {
      for (const listener of [...listeners]) listener(news);
    },
  };
}

/** Tells every node, this one too, once the transaction commits. */
export async function publish(db: Kysely<Schema>, change: Change): Promise<void> {
  await sql`select pg_notify(${changesChannel}, ${JSON.stringify(change)})`.execute(db);
}
