/** The settings of an account (management-api.md). */
import type { Account, AccountChanges } from '@inlay/contract/admin/account.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import type { AccountLimits, Schema } from '../store/schema.ts';
import { type AdminCall, change, orNameTaken } from './change.ts';

const columns = [
  'id',
  'name',
  'plan',
  'use_creator_mode',
  'allowed_origins',
  'frame_ancestors',
  'limits',
  'thread_retention_days',
  'created_at',
] as const;

interface Row {
  readonly id: number;
  readonly name: string;
  readonly plan: string;
  readonly use_creator_mode: boolean;
  readonly allowed_origins: readonly string[];
  readonly frame_ancestors: readonly string[];
  readonly limits: AccountLimits;
  readonly thread_retention_days: number | null;
  readonly created_at: Date;
}

const toAccount = (row: Row): Account => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  useCreatorMode: row.use_creator_mode,
  allowedOrigins: [...row.allowed_origins],
  frameAncestors: [...row.frame_ancestors],
  limits: {
    externalUsersMax: row.limits.externalUsersMax ?? null,
    ephemeralUsersMax: row.limits.ephemeralUsersMax ?? null,
    keyRequestsPerMinuteMax: row.limits.keyRequestsPerMinuteMax ?? null,
    userRequestsPerMinuteMax: row.limits.userRequestsPerMinuteMax ?? null,
  },
  threadRetentionDays: row.thread_retention_days,
  createdAt: row.created_at.toISOString(),
});

/** @throws InlayError NOT_FOUND when the account is gone. */
export async function readAccount(db: Kysely<Schema>, accountId: number): Promise<Account> {
  const row = await db.selectFrom('accounts').select(columns).where('id', '=', accountId).executeTakeFirst();
  if (row === undefined) throw notFound();
  return toAccount(row);
}

/**
 * Changes what is there and differs, and tells every node. Nothing that differs: nothing is written.
 * @throws InlayError NAME_TAKEN when another account has the name, which stands in the chat address.
 */
export function updateAccount(call: AdminCall, wanted: AccountChanges): Promise<Account> {
  return change(call, async ({ tx, accountId, audit }) => {
    const row = await tx
      .selectFrom('accounts')
      .select(columns)
      .where('id', '=', accountId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (row === undefined) throw notFound();
    const stored = toAccount(row);
    const next: Account = {
      ...stored,
      name: wanted.name ?? stored.name,
      plan: wanted.plan ?? stored.plan,
      useCreatorMode: wanted.useCreatorMode ?? stored.useCreatorMode,
      allowedOrigins: wanted.allowedOrigins ?? stored.allowedOrigins,
      frameAncestors: wanted.frameAncestors ?? stored.frameAncestors,
      limits: withChanges(stored.limits, wanted.limits),
      threadRetentionDays:
        wanted.threadRetentionDays === undefined ? stored.threadRetentionDays : wanted.threadRetentionDays,
    };
    const fields = differingFields(stored, next);
    if (fields.length === 0) return stored;
    await orNameTaken('An account of that name exists', () =>
      tx
        .updateTable('accounts')
        .set({
          name: next.name,
          plan: next.plan,
          use_creator_mode: next.useCreatorMode,
          allowed_origins: JSON.stringify(next.allowedOrigins),
          frame_ancestors: JSON.stringify(next.frameAncestors),
          limits: JSON.stringify(present(next.limits)),
          thread_retention_days: next.threadRetentionDays,
        })
        .where('id', '=', accountId)
        .execute(),
    );
    await audit('account.update', { kind: 'account', id: accountId, name: next.name }, { fields });
    await publish(tx, { kind: 'account', id: accountId });
    return next;
  });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Account not found');

function withChanges(stored: Account['limits'], wanted: AccountChanges['limits'] = {}): Account['limits'] {
  const chosen = (now: number | null, then: number | null | undefined): number | null =>
    then === undefined ? now : then;
  return {
    externalUsersMax: chosen(stored.externalUsersMax, wanted.externalUsersMax),
    ephemeralUsersMax: chosen(stored.ephemeralUsersMax, wanted.ephemeralUsersMax),
    keyRequestsPerMinuteMax: chosen(stored.keyRequestsPerMinuteMax, wanted.keyRequestsPerMinuteMax),
    userRequestsPerMinuteMax: chosen(stored.userRequestsPerMinuteMax, wanted.userRequestsPerMinuteMax),
  };
}

/** The limits that the account has of its own: what is null is not kept. */
function present(limits: Account['limits']): AccountLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
}

/** Names of what differs; limits one by one: `limits.externalUsersMax`. */
function differingFields(stored: Account, next: Account): readonly string[] {
  const flat = ({ limits, ...rest }: Account): ReadonlyMap<string, string> =>
    new Map([
      ...Object.entries(rest).map(([name, value]) => [name, JSON.stringify(value)] as const),
      ...Object.entries(limits).map(([name, value]) => [`limits.${name}`, JSON.stringify(value)] as const),
    ]);
  const before = flat(stored);
  return [...flat(next)].filter(([name, value]) => before.get(name) !== value).map(([name]) => name);
}
