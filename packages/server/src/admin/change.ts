/** What every change by the management API has in common: one transaction, with its entry in the audit log. */
import { type Kysely, sql, type Transaction } from 'kysely';
import { codeOf, InlayError } from '../errors.ts';
import { type Actor, appendAuditEntry } from '../store/audit-log.ts';
import type { Schema } from '../store/schema.ts';

/** Who asks for a change of which account, and the parts that it needs. */
export interface AdminCall {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly accountId: number;
  readonly actor: Actor;
}

/** The thing that a change is about, as the audit log names it. */
export interface ChangedObject {
  readonly kind: string;
  readonly id: number | string;
  readonly name: string | null;
}

/** A change under way. */
export interface Change {
  readonly tx: Transaction<Schema>;
  readonly accountId: number;
  readonly now: Date;
  /** Keeps what was done, once the work is; `details` hold names of fields and counts, no values. */
  audit(action: string, object: ChangedObject, details?: Readonly<Record<string, unknown>>): Promise<void>;
}

/**
 * How long a change waits for one lock before it begins anew, and how often it does. Calls for sessions lock members, groups
 * and users in an order that a deletion with its cascade cannot follow. So the one that gives way when two wait for each
 * other is the change, well before PostgreSQL (after a second) would end either of them.
 */
const lockMs = 250;
const attemptsMax = 20;

/**
 * Runs `work` in a transaction, again from its beginning when a lock does not come, or when something that it has found is
 * deleted before it refers to it: then it does not find it any more. It must use `tx` alone: PGlite has one
 * connection.
 * @throws what `work` throws, and then nothing is written; InlayError NOT_READY when the locks do not come.
 */
export async function change<T>(call: AdminCall, work: (change: Change) => Promise<T>): Promise<T> {
  const { db, clock, accountId, actor } = call;
  for (let attempt = 1; ; attempt++) {
    const now = clock();
    try {
      return await db
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (tx) => {
          await sql`select set_config('lock_timeout', ${`${lockMs}ms`}, true)`.execute(tx);
          return await work({
            tx,
            accountId,
            now,
            audit: (action, { kind, id, name }, details = {}) =>
              appendAuditEntry(
                tx,
                { accountId, actor, action, object: { kind, id: String(id), name }, result: 'OK', details },
                now,
              ),
          });
        });
    } catch (error) {
      if (!isFailureOfMoment(error)) throw error;
      if (attempt >= attemptsMax) {
        throw new InlayError('NOT_READY', 'Other calls hold what this one would change; try again.', {
          retryAfterSeconds: 1,
          cause: error,
        });
      }
    }
  }
}

/** What PostgreSQL says when others were in the way. */
const codesOfMoment: ReadonlySet<unknown> = new Set([
  '23503', // foreign_key_violation
  '40P01', // deadlock_detected
  '55P03', // lock_not_available
]);

function isFailureOfMoment(error: unknown): boolean {
  return codesOfMoment.has(codeOf(error));
}

/**
 * Runs the one statement of a change that may meet a name that is taken.
 * @throws InlayError NAME_TAKEN with `message`; the transaction is over then.
 */
export async function orNameTaken<T>(message: string, statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (cause) {
    // unique_violation
    if (codeOf(cause) === '23505') throw new InlayError('NAME_TAKEN', message);
    throw cause;
  }
}

/** The fields of `wanted` that are there and differ from what is stored; empty when nothing would change. */
export function differing<Row extends object>(
  stored: Row,
  wanted: { readonly [Key in keyof Row]?: Row[Key] | undefined },
) {
  const changed: Partial<Row> = {};
  for (const key in wanted) {
    const value = wanted[key];
    if (value !== undefined && value !== stored[key]) changed[key] = value;
  }
  return changed;
}

/** The names of changed columns as the API writes them: `display_name` is `displayName`. */
export function fieldsOf(changes: object): readonly string[] {
  return Object.keys(changes).map((name) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
}
