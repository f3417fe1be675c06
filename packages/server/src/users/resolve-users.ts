/**
 * "Find or make these users and apply what the calls say": the use case that minting sessions and every call with
 * `sessionSettings` share, for many calls at once. Read, decide, write: calls that change nothing take the one statement that
 * reads; the others are decided again under locks, one after the other, and written in one transaction, so that a call that
 * fails changes nothing and does not touch the others.
 */
import type { Kysely } from 'kysely';
import { codeOf, InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Changes } from './decide.ts';
import { applyChanges, decideInFlight, type FlightCall, type FlightState, found, keyOf } from './flight-state.ts';
import { readFlight } from './read-users.ts';
import type { UserCall } from './user-call.ts';
import { lockKey, takeUserLocks, type UserLock } from './user-locks.ts';
import { StoreMoved, writeFlight } from './write-users.ts';

/** How often a flight is begun anew when others change under it what it has read, which takes them a commit each time. */
const attemptsMax = 10;

/** Whom a call means. */
export interface ResolvedUser {
  readonly userId: number;
  /** Of the embed tenant that the call names; null: it names none. */
  readonly embedTenantId: number | null;
}

/** A call whose user is written. */
export interface WrittenCall<Call> extends ResolvedUser {
  readonly call: Call;
  /** What was written for it; null: nothing had to be. */
  readonly changes: Changes | null;
}

/** Calls that are answered together. */
export interface Flight<Call extends FlightCall> {
  readonly calls: readonly Call[];
  /** One instant for all of them. */
  readonly now: Date;
  /** Writes what hangs on the users, together with them: all or nothing. May be called again after it failed. */
  write(db: Kysely<Schema>, resolved: readonly WrittenCall<Call>[]): Promise<void>;
  /** Told once per call what came of it, when that is kept. An InlayError is a refusal of this call alone. */
  settle(call: Call, outcome: ResolvedUser | InlayError): void;
}

/**
 * Resolves when every call is settled: {@link settleUnchanged}, then {@link settleChanging} for the rest.
 * @throws the error of the store; then what was not settled was not written.
 */
export async function resolveUsers<Call extends FlightCall>(db: Kysely<Schema>, flight: Flight<Call>): Promise<void> {
  const changing = await settleUnchanged(db, flight);
  if (changing.size > 0) await settleChanging(db, flight, changing);
}

/**
 * Settles the calls that are refused, and those that change nothing. Round trips: one read, and one `write`; no lock.
 * @returns the other calls, with what they change as things stand, for {@link settleChanging}
 * @throws the error of the store; then nothing was settled or written.
 */
export async function settleUnchanged<Call extends FlightCall>(
  db: Kysely<Schema>,
  { calls, now, write, settle }: Flight<Call>,
): Promise<ReadonlyMap<Call, Changes>> {
  const { refused, resolved, changing } = await whileMoved(async () => {
    const state = await readFlight(db, calls, now, new Set());
    const refused = new Map<Call, InlayError>();
    const changing = new Map<Call, Changes>();
    const unchanged: Call[] = [];
    for (const call of calls) {
      const decision = decideInFlight(state, call);
      if (decision.kind === 'refused') refused.set(call, decision.error);
      else if (decision.kind === 'unchanged') unchanged.push(call);
      else changing.set(call, decision.changes);
    }
    const resolved = unchanged.map((call) => ({ call, changes: null, ...resolvedOf(state, call) }));
    if (resolved.length > 0) await write(db, resolved);
    return { refused, resolved, changing };
  });
  for (const [call, error] of refused) settle(call, error);
  for (const { call, ...user } of resolved) settle(call, user);
  return changing;
}

/**
 * Settles calls that change something, decided again, in one transaction under locks. Round trips besides its begin and commit: the
 * locks, a read, one write per kind of thing that changes, and `write`.
 * @param changing the calls, in their order, with what they changed when they were looked at: that says which locks they need.
 * @throws the error of the store; then nothing was settled or written.
 */
export async function settleChanging<Call extends FlightCall>(
  db: Kysely<Schema>,
  { now, write, settle }: Omit<Flight<Call>, 'calls'>,
  changing: ReadonlyMap<Call, Changes>,
): Promise<void> {
  const calls = [...changing.keys()];
  const held = new Map<string, UserLock>();
  const hold = (call: Call, changes: Changes): boolean => {
    const missing = locksOf(call, changes).filter((lock) => !held.has(lockKey(lock)));
    for (const lock of missing) held.set(lockKey(lock), lock);
    return missing.length === 0;
  };
  for (const [call, changes] of changing) hold(call, changes);

  const settled = await whileMoved(() =>
    // Each statement has to see what the locks before it waited for.
    db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (tx) => {
        const counted = new Set(
          Array.from(held.values(), (lock) => (lock.kind === 'places' ? [lock.accountId] : [])).flat(),
        );
        await takeUserLocks(tx, held.keys());
        const state = await readFlight(tx, calls, now, counted);
        const refused = new Map<Call, InlayError>();
        const written = new Map<Call, Changes>();
        let isHeld = true;
        for (const call of calls) {
          const decision = decideInFlight(state, call);
          if (decision.kind === 'refused') refused.set(call, decision.error);
          if (decision.kind !== 'changes') continue;
          isHeld = hold(call, decision.changes) && isHeld;
          applyChanges(state, call, decision.changes);
          written.set(call, decision.changes);
        }
        if (!isHeld) throw new StoreMoved('More locks are needed than before.');
        await writeFlight(tx, state);
        const resolved = calls
          .filter((call) => !refused.has(call))
          .map((call) => ({ call, changes: written.get(call) ?? null, ...resolvedOf(state, call) }));
        if (resolved.length > 0) await write(tx, resolved);
        return { refused, resolved };
      }),
  );
  for (const [call, error] of settled.refused) settle(call, error);
  for (const { call, ...resolved } of settled.resolved) settle(call, resolved);
}

/**
 * The id of the user that one call means, made or changed as it says, at the instant `now`.
 * @throws InlayError the refusal, see decide
 */
export async function resolveUser(db: Kysely<Schema>, call: UserCall, now: Date): Promise<number> {
  const outcomes: (ResolvedUser | InlayError)[] = [];
  await resolveUsers(db, {
    calls: [{ ...call, deploymentId: null }],
    now,
    write: async () => undefined,
    settle: (_call, outcome) => void outcomes.push(outcome),
  });
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error('The call was not settled.');
  if (outcome instanceof InlayError) throw outcome;
  return outcome.userId;
}

/** The locks under which the changes of a call may be written. */
function locksOf({ accountId, scope, settings }: FlightCall, changes: Changes): UserLock[] {
  const locks: UserLock[] = [];
  const { makesEmbedTenant, groups, attributes, user } = changes;
  if (scope.embedTenantName !== null && (makesEmbedTenant || groups.length > 0 || attributes.length > 0)) {
    locks.push({ kind: 'scope', accountId, embedTenantName: scope.embedTenantName });
  }
  if (user !== null && settings.kind === 'external') {
    locks.push({ kind: 'user', accountId, externalId: settings.externalId });
    if (user.takesPlace !== null) locks.push({ kind: 'places', accountId });
  }
  return locks;
}

/** Whom a call means in a state in which everything is written. */
function resolvedOf(state: FlightState, { accountId, scope, settings }: FlightCall): ResolvedUser {
  const userId =
    settings.kind === 'internal'
      ? found(state.internalUsers, keyOf(accountId, settings.internalId))
      : found(state.users, keyOf(accountId, settings.externalId)).id;
  if (userId === null) throw new Error('A call was decided upon without its user.');
  const { embedTenantName } = scope;
  const tenant = embedTenantName === null ? null : found(state.embedTenants, keyOf(accountId, embedTenantName));
  return { userId, embedTenantId: tenant?.id ?? null };
}

/** What the database says when a row or a name came or went since it was read, or when it ended a knot of locks. */
const movedCodes: ReadonlySet<unknown> = new Set([
  '23503', // foreign_key_violation
  '23505', // unique_violation
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);

/** Begins `work`, which writes all or nothing, anew as long as the store moves under it. */
async function whileMoved<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attemptsMax || !(error instanceof StoreMoved || movedCodes.has(codeOf(error)))) throw error;
    }
  }
}
