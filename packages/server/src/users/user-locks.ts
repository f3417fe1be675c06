/**
 * The locks under which users, their rights and an embed tenant's definitions are written. All are advisory, live until the
 * transaction ends, and are taken by one statement in one global order, that of their 64-bit numbers, before any row is locked.
 * So no two transactions that take them here wait for each other, whatever they name and on whatever node.
 *
 * - `user`: the external user of a name, whether or not there is one: one call at a time decides over it.
 * - `scope`: the definitions of an embed tenant, and whether it is there.
 * - `places`: how many external users an account has. Whoever makes one, or makes one persistent, holds it from before the
 *   count until the commit, which makes the limit exact.
 *
 * Rows come after: of embed tenants, groups, attributes, users, and what hangs on them, each statement in the order of its kind.
 * A foreign key locks the row that it refers to (FOR KEY SHARE) only against deletion. Deletions elsewhere take row locks in orders
 * of their own; should one of them and a flight ever wait for each other, the database ends one, and the flight begins anew.
 */
import { type Kysely, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';

/** What a lock is for. */
export type UserLock =
  | { readonly kind: 'user'; readonly accountId: number; readonly externalId: string }
  | { readonly kind: 'scope'; readonly accountId: number; readonly embedTenantName: string }
  | { readonly kind: 'places'; readonly accountId: number };

/** The text that stands for a lock: equal for equal locks. */
export function lockKey(lock: UserLock): string {
  switch (lock.kind) {
    case 'user':
      return `user ${lock.accountId} ${lock.externalId}`;
    case 'scope':
      return `scope ${lock.accountId} ${lock.embedTenantName}`;
    case 'places':
      return `places ${lock.accountId}`;
  }
}

/** Takes locks until the transaction `tx` ends, waiting for them; to be called once in a transaction, before all else. */
export async function takeUserLocks(tx: Kysely<Schema>, keys: Iterable<string>): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(number) from (
      select distinct hashtextextended(key, 0) as number from jsonb_array_elements_text(${json([...keys])}) as asked(key)
      order by number) as sorted`.execute(tx);
}
