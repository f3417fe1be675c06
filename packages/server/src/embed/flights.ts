/**
 * Work done for many at once. What comes in while a flight is under way waits and is taken together by the next one, in the order
 * of coming, and where not all fit, each party in turn, so that one with many calls does not make the others wait. With nothing
 * under way a flight leaves at once: an idle server waits for nobody, and a busy one asks the store once for many. A second flight
 * leaves beside the first only when it is full, or the first is held up: two half empty ones cost more than one.
 */
import { InlayError } from '../errors.ts';

/** One who is on a flight: the item, and the promise of whoever waits for what comes of it. */
export interface Passenger<Item, Result> {
  readonly item: Item;
  /** With a promise, who waits gets what comes of that: the item was handed on. */
  readonly resolve: (result: Result | PromiseLike<Result>) => void;
  readonly reject: (reason: unknown) => void;
}

/** How flights are made. */
export interface FlightPlan<Item, Result> {
  /** Flights under way at a time. */
  readonly flightsMax: number;
  /**
   * A flight that left so long ago, in milliseconds, is held up: nobody waits for it to end, if there is another. Infinity: none
   * ever is.
   */
  readonly heldUpMs: number;
  /** Items on one flight. */
  readonly itemsMax: number;
  /** The weight of a flight, in the units of `weightOf`; an item that is heavier flies alone. */
  readonly weightMax: number;
  /** Items that may wait; more are refused. */
  readonly waitingMax: number;
  /**
   * Calls `depart` when those who come at the same instant have come. A few clients who wait for their replies otherwise send
   * their next calls one by one into flights of one.
   */
  soon(depart: () => void): void;
  weightOf(item: Item): number;
  /** On whose behalf the item comes: equal for one party. */
  partyOf(item: Item): unknown;
  /** Settles every passenger; when it rejects, those not settled yet are rejected with its reason, and nothing was done for them. */
  fly(passengers: readonly Passenger<Item, Result>[]): Promise<void>;
  /** Whether a reason for which a flight failed can be the fault of one passenger: then each flies again alone, once. */
  isOfOnePassenger(reason: unknown): boolean;
}

/** A passenger who waits, with what the plan says of the item. */
interface Waiting<Item, Result> extends Passenger<Item, Result> {
  readonly weight: number;
  readonly party: unknown;
}

/** Flights for the items that come in. Disposing takes no more, and resolves when all who wait have been answered. */
export interface Flights<Item, Result> extends AsyncDisposable {
  /**
   * What came of the item.
   * @throws InlayError NOT_READY when too many wait, or after disposal; else what the flight rejects with
   */
  add(item: Item): Promise<Result>;
}

/** Makes the flights of `plan`; none is under way. */
export function createFlights<Item, Result>(plan: FlightPlan<Item, Result>): Flights<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  const underWay = new Set<Promise<void>>();
  let isClosing = false;
  let isDeparting = false;
  let leftAtMs = 0;
  /** Goes off when the latest flight counts as held up; only while somebody waits who may leave then. */
  let heldUp: NodeJS.Timeout | undefined;

  /** Whether a flight may leave now. Weights are not counted: a heavy flight is as good as a full one to whoever waits for it. */
  function mayDepart(): boolean {
    if (waiting.length === 0 || underWay.size >= plan.flightsMax) return false;
    if (underWay.size === 0 || waiting.length >= plan.itemsMax) return true;
    return performance.now() - leftAtMs >= plan.heldUpMs;
  }

  /** Those whose turn it is: the first of all, and as many after it as fit beside it, in turns. */
  function board(): Passenger<Item, Result>[] {
    const boarded = new Set<Waiting<Item, Result>>();
    let weight = 0;
    for (const passenger of inTurns(waiting)) {
      weight += passenger.weight;
      if (boarded.size === plan.itemsMax || (boarded.size > 0 && weight > plan.weightMax)) break;
      boarded.add(passenger);
    }
    waiting = waiting.filter((passenger) => !boarded.has(passenger));
    return [...boarded];
  }

  function depart(): void {
    isDeparting = false;
    while (mayDepart()) {
      leftAtMs = performance.now();
      const flight = fly(plan, board()).finally(() => {
        underWay.delete(flight);
        depart();
      });
      underWay.add(flight);
    }
    awaitHeldUp();
  }

  /** Without it, who comes last would wait for a flight that is held up until somebody else comes or that one ends. */
  function awaitHeldUp(): void {
    const isOneFree = waiting.length > 0 && underWay.size > 0 && underWay.size < plan.flightsMax;
    if (heldUp !== undefined || !isOneFree || plan.heldUpMs === Number.POSITIVE_INFINITY) return;
    const leftMs = plan.heldUpMs - (performance.now() - leftAtMs);
    heldUp = setTimeout(
      () => {
        heldUp = undefined;
        depart();
      },
      Math.max(1, leftMs),
    );
  }

  return {
    // What the plan says of an item is asked here, where a failure is that of the caller alone.
    async add(item) {
      if (isClosing) throw notReady('The server is stopping.');
      if (waiting.length >= plan.waitingMax) throw notReady('Too many calls wait at this moment.');
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      waiting.push({ item, weight: plan.weightOf(item), party: plan.partyOf(item), resolve, reject });
      if (!isDeparting && mayDepart()) {
        isDeparting = true;
        plan.soon(depart);
      } else awaitHeldUp();
      return promise;
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      depart();
      while (underWay.size > 0) await Promise.all(underWay);
      clearTimeout(heldUp);
    },
  };
}

/** The first of each party in the order of coming, then the second of each, and so on. */
function inTurns<Item, Result>(waiting: readonly Waiting<Item, Result>[]): Waiting<Item, Result>[] {
  const turns = new Map<unknown, number>();
  const placed = waiting.map((passenger) => {
    const turn = turns.get(passenger.party) ?? 0;
    turns.set(passenger.party, turn + 1);
    return { passenger, turn };
  });
  // Sorting keeps the order of coming within a turn.
  if (turns.size > 1) placed.sort((one, other) => one.turn - other.turn);
  return placed.map(({ passenger }) => passenger);
}

/** Never rejects: whatever happens, every passenger is settled. */
async function fly<Item, Result>(
  plan: FlightPlan<Item, Result>,
  passengers: readonly Passenger<Item, Result>[],
): Promise<void> {
  try {
    const settled = new Set<Passenger<Item, Result>>();
    const boarded = passengers.map((passenger) => noting(passenger, settled));
    const reason = await failureOf(plan.fly(boarded));
    const left = passengers.filter((passenger) => !settled.has(passenger));
    if (left.length > 1 && plan.isOfOnePassenger(reason)) {
      for (const passenger of left) passenger.reject(await failureOf(plan.fly([passenger])));
    } else for (const { reject } of left) reject(reason);
  } catch (error) {
    for (const { reject } of passengers) reject(error);
  }
}

/** The same passenger, who is put into `settled` when their promise is. */
function noting<Item, Result>(
  passenger: Passenger<Item, Result>,
  settled: Set<Passenger<Item, Result>>,
): Passenger<Item, Result> {
  const { item, resolve, reject } = passenger;
  return {
    item,
    resolve(result) {
      settled.add(passenger);
      resolve(result);
    },
    reject(reason) {
      settled.add(passenger);
      reject(reason);
    },
  };
}

/** Why it failed; where it did not, that whoever it left unsettled was forgotten. */
async function failureOf(flight: Promise<void>): Promise<unknown> {
  try {
    await flight;
    return new Error('A flight ended without an answer for everybody.');
  } catch (error) {
    return error;
  }
}

const notReady = (message: string): InlayError => new InlayError('NOT_READY', message, { retryAfterSeconds: 1 });
