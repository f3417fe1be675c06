/** The audit log: who did what to which thing, when, from where, and with which result. Appended to, never changed. */
import type { ErrorCode } from '@inlay/contract/error.ts';
import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** Who acts, and from where. Ids and names only: a credential has no place in here. */
export interface Actor {
  readonly kind: 'api-key' | 'user' | 'operator' | 'server';
  /** The id of the key or user; null for an operator and for the server itself. */
  readonly id: string | null;
  /** The label or visible prefix of a key, the name of a user. */
  readonly name: string | null;
  /** The IP address of the request; null without one. */
  readonly address: string | null;
  readonly requestId: string | null;
}

/** Whoever works at the command line on the store itself. */
export const operator: Actor = { kind: 'operator', id: null, name: null, address: null, requestId: null };

/** The process on its own. */
export const server: Actor = { ...operator, kind: 'server' };

/** One thing done, or refused. */
export interface AuditEntry {
  readonly accountId: number;
  readonly actor: Actor;
  /** `api-key.create`: the kind of the object and the deed. */
  readonly action: string;
  readonly object: { readonly kind: string; readonly id: string | null; readonly name: string | null } | null;
  /** `OK`, or the code of the error with which it was refused. */
  readonly result: 'OK' | ErrorCode;
  /** What else tells what changed: names of fields, counts. No secret, no value of a user attribute. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Keeps an entry; in the transaction of the deed where it succeeds, so that neither is there without the other. */
export async function appendAuditEntry(
  db: Kysely<Schema>,
  { accountId, actor, action, object, result, details = {} }: AuditEntry,
  now: Date,
): Promise<void> {
  await db
    .insertInto('audit_log')
    .values({
      account_id: accountId,
      at: now,
      actor_kind: actor.kind,
      actor_id: actor.id,
      actor_name: actor.name,
      action,
      object_kind: object?.kind ?? null,
      object_id: object?.id ?? null,
      object_name: object?.name ?? null,
      result,
      address: actor.address,
      request_id: actor.requestId,
      details: JSON.stringify(details),
    })
    .execute();
}
