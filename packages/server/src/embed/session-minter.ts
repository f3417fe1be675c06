/** Mints embed sessions, many at once: the calls that wait share a flight to the store (docs/decisions/0006-batches.md). */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { codeOf, InlayError } from '../errors.ts';
import type { Actor } from '../store/audit-log.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret, newSecret } from '../store/secret.ts';
import { noTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import type { Changes } from '../users/decide.ts';
import type { FlightCall } from '../users/flight-state.ts';
import { type Flight, type ResolvedUser, settleChanging, settleUnchanged } from '../users/resolve-users.ts';
import type { UserLimits } from '../users/user-call.ts';
import { auditDefinitions } from './audit-definitions.ts';
import { createFlights, type Passenger } from './flights.ts';
import { insertSessions, type NewSession } from './insert-sessions.ts';
import type { SessionCall } from './session-rules.ts';

/**
 * Flights at a time that look, and that change. A second one leaves when the first is full, or held up by a slow disk or a lock;
 * otherwise few calls on each would only make them dearer. Each takes a connection of the pool.
 */
const lookingMax = 2;
const changingMax = 2;
/** How long after it has left a flight counts as held up. */
const heldUpMs = 250;
/** Calls on a flight, and the things that they name, which bound what is held in memory and locked at a time. */
const callsMax = 64;
const namedMax = 4000;
/** Calls that wait; beyond, the store is too slow for any of them to be answered in time. */
const waitingMax = 5000;

/** What minting needs. Times in milliseconds. */
export interface SessionMinterDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly limits: UserLimits;
  readonly sessionExchangeMs: number;
  readonly sessionLifetimeMs: number;
  /** Left out: nobody is told. */
  readonly telemetry?: Telemetry;
}

/** A session to mint. */
export interface MintRequest {
  readonly accountId: number;
  /** The API key that asks. */
  readonly keyId: number;
  /** The same key as the audit log names it, and from where it asks. */
  readonly actor: Actor;
  readonly call: SessionCall;
}

/** Mints sessions. Disposing mints no more, and resolves when every call that waits has been answered. */
export interface SessionMinter extends AsyncDisposable {
  /**
   * A new session, kept when it resolves; only a hash of the sessionId is.
   * @throws InlayError what decide refuses with; NOT_READY when too many calls wait or the server is stopping
   */
  mint(request: MintRequest): Promise<{ readonly sessionId: string }>;
}

type Minted = { readonly sessionId: string };

/** What a flight carries: the call as users/ takes it, and the session that hangs on it. */
interface MintCall extends FlightCall {
  readonly request: MintRequest;
  readonly sessionId: string;
}

/** A call that a flight has looked at, and that changes something. */
interface ChangingCall {
  readonly call: MintCall;
  readonly changes: Changes;
}

/** Makes the minter of a process; nobody waits. */
export function createSessionMinter(dependencies: SessionMinterDependencies): SessionMinter {
  const { db, clock, limits, telemetry = noTelemetry } = dependencies;
  const { metrics, traces } = telemetry;
  const sizes = {
    itemsMax: callsMax,
    weightMax: namedMax,
    waitingMax,
    heldUpMs,
    soon: setImmediate,
    isOfOnePassenger: isAboutData,
  };

  /** A flight of these calls for `work`, which settles each with its passenger. */
  async function flyWith<T>(
    passengers: ReadonlyMap<MintCall, Passenger<unknown, Minted>>,
    work: (flight: Flight<MintCall>) => Promise<T>,
  ): Promise<T> {
    const now = clock();
    const startedMs = performance.now();
    const calls = passengers.size;
    const flight: Flight<MintCall> = {
      calls: [...passengers.keys()],
      now,
      async write(store, written) {
        await insertSessions(
          store,
          written.map((one) => newSession(one, now, dependencies)),
        );
        for (const one of written) await auditDefinitions(store, one, one.call.request.actor, now);
      },
      settle(call, outcome) {
        if (outcome instanceof InlayError) passengers.get(call)?.reject(outcome);
        else passengers.get(call)?.resolve({ sessionId: call.sessionId });
      },
    };
    try {
      return await traces.span('store flight', { 'inlay.flight.calls': calls }, () => work(flight));
    } finally {
      metrics.flightEnded({ calls, seconds: (performance.now() - startedMs) / 1000 });
    }
  }

  const changing = createFlights<ChangingCall, Minted>({
    ...sizes,
    flightsMax: changingMax,
    weightOf: ({ call }) => countNamed(call.request),
    partyOf: ({ call }) => call.accountId,
    fly: (passengers) =>
      flyWith(new Map(passengers.map((passenger) => [passenger.item.call, passenger])), (flight) =>
        settleChanging(db, flight, new Map(passengers.map(({ item }) => [item.call, item.changes]))),
      ),
  });
  const looking = createFlights<MintRequest, Minted>({
    ...sizes,
    flightsMax: lookingMax,
    weightOf: countNamed,
    partyOf: ({ accountId }) => accountId,
    async fly(passengers) {
      const calls = new Map(passengers.map((passenger) => [toMintCall(passenger.item, limits), passenger]));
      const left = await flyWith(calls, (flight) => settleUnchanged(db, flight));
      // They wait for locks elsewhere, so that calls that change nothing do not wait for them.
      for (const [call, changes] of left) calls.get(call)?.resolve(changing.add({ call, changes }));
    },
  });
  return {
    async mint(request) {
      try {
        const minted = await looking.add(request);
        metrics.sessionMinted('OK');
        return minted;
      } catch (error) {
        metrics.sessionMinted(error instanceof InlayError ? error.code : 'INTERNAL');
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await looking[Symbol.asyncDispose]();
      await changing[Symbol.asyncDispose]();
    },
  };
}

function toMintCall(request: MintRequest, limits: UserLimits): MintCall {
  const { accountId, call } = request;
  const { deploymentId, scope, definitions, user } = call;
  return { accountId, deploymentId, scope, definitions, settings: user, limits, request, sessionId: newSecret('es-') };
}

function newSession(
  { call, userId, embedTenantId }: ResolvedUser & { readonly call: MintCall },
  now: Date,
  { sessionExchangeMs, sessionLifetimeMs }: SessionMinterDependencies,
): NewSession {
  const { accountId, scope, sessionId, request } = call;
  const { keyId, actor, call: asked } = request;
  return {
    id: randomUUID(),
    secret_hash: hashSecret(sessionId),
    account_id: accountId,
    deployment_id: asked.deploymentId,
    user_id: userId,
    api_key_id: keyId,
    embed_tenant_id: embedTenantId,
    is_creator_mode: scope.kind === 'embed-tenant',
    settings: asked.settings,
    security_context: asked.securityContext,
    created_from: actor.address,
    created_at: now,
    exchange_before: new Date(now.getTime() + sessionExchangeMs),
    ends_at: new Date(now.getTime() + sessionLifetimeMs),
  };
}

/** The things that a call names, items of lists included. */
function countNamed({ call: { user, definitions } }: MintRequest): number {
  const defined = definitions === null ? 0 : definitions.groups.length + definitions.attributes.length;
  if (user.kind === 'internal') return defined + 1;
  const { groups = [], userAttributes = [] } = user;
  const values = userAttributes.reduce((sum, { value }) => sum + (Array.isArray(value) ? value.length : 1), 0);
  return defined + groups.length + values + 1;
}

/**
 * Whether the database refuses what a row holds, rather than failing as a whole: the SQLSTATE classes 22 (data) and 54 (limits), a
 * null where none may be, and a check.
 */
function isAboutData(reason: unknown): boolean {
  const code = codeOf(reason);
  return typeof code === 'string' && /^(22...|54...|23502|23514)$/.test(code);
}
