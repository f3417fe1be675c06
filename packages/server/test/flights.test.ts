import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFlights, type FlightPlan, type Passenger } from '../src/embed/flights.ts';

type Flight = readonly Passenger<number, string>[];

/** A plan whose flights land when the test says so. */
function controlled(more: Partial<FlightPlan<number, string>> = {}) {
  const departed: { readonly items: readonly number[]; readonly land: (error?: unknown) => Promise<void> }[] = [];
  const flights = createFlights<number, string>({
    flightsMax: 2,
    heldUpMs: 0,
    itemsMax: 3,
    weightMax: 100,
    waitingMax: 10,
    weightOf: (item) => item,
    partyOf: () => 'all',
    soon: (depart) => depart(),
    isOfOnePassenger: () => false,
    fly(passengers: Flight) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      departed.push({
        items: passengers.map(({ item }) => item),
        async land(error) {
          if (error === undefined) {
            for (const passenger of passengers) passenger.resolve(`done ${passenger.item}`);
            resolve();
          } else reject(error);
          await nextTurn();
        },
      });
      return promise;
    },
    ...more,
  });
  const itemsOf = () => departed.map(({ items }) => items);
  const land = (index: number, error?: unknown) => departed[index]?.land(error);
  return { flights, itemsOf, land };
}

describe('flights', () => {
  test('leave at once while there is one free; who comes later shares the next, in the order of coming', async () => {
    const { flights, itemsOf, land } = controlled();
    const results = [1, 2, 3, 4, 5, 6, 7].map((item) => flights.add(item));
    expect(itemsOf()).toEqual([[1], [2]]);
    await land(1);
    expect(itemsOf()).toEqual([[1], [2], [3, 4, 5]]);
    await land(2);
    expect(itemsOf()).toEqual([[1], [2], [3, 4, 5], [6, 7]]);
    await land(0);
    await land(3);
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4, 5, 6, 7].map((item) => `done ${item}`));
    void flights.add(8);
    expect(itemsOf().at(-1)).toEqual([8]);
  });

  test('take each party in turn where not all fit, and each in the order of coming', async () => {
    const { flights, itemsOf, land } = controlled({ flightsMax: 1, partyOf: (item) => Math.floor(item / 10) });
    for (const item of [10, 11, 12, 13, 14, 20, 30, 21]) void flights.add(item);
    for (let index = 0; index < 3; index += 1) await land(index);
    expect(itemsOf()).toEqual([[10], [11, 20, 30], [12, 21, 13], [14]]);
  });

  test('one party with heavy items does not keep another waiting', async () => {
    const { flights, itemsOf, land } = controlled({
      flightsMax: 1,
      weightOf: (item) => (item < 10 ? 100 : 0),
      partyOf: (item) => item < 10,
    });
    for (const item of [1, 2, 3, 4, 50]) void flights.add(item);
    await land(0);
    expect(itemsOf()).toEqual([[1], [2, 50]]);
  });

  test('leave beside another only when they are full, or that one is held up', async () => {
    const { flights, itemsOf, land } = controlled({ heldUpMs: Number.POSITIVE_INFINITY });
    for (const item of [1, 2, 3]) void flights.add(item);
    expect(itemsOf()).toEqual([[1]]);
    void flights.add(4);
    void flights.add(5);
    expect(itemsOf()).toEqual([[1], [2, 3, 4]]);
    await land(0);
    expect(itemsOf()).toEqual([[1], [2, 3, 4]]);
    await land(1);
    expect(itemsOf()).toEqual([[1], [2, 3, 4], [5]]);
  });

  test('nobody waits for one that is held up until somebody else comes', async () => {
    const { flights, itemsOf, land } = controlled({ heldUpMs: 20 });
    const results = [1, 2, 3].map((item) => flights.add(item));
    expect(itemsOf()).toEqual([[1]]);
    await expect.poll(itemsOf).toEqual([[1], [2, 3]]);
    // All that may be under way are: now there is something to wait for.
    results.push(flights.add(4));
    await land(1);
    await land(0);
    await expect.poll(itemsOf).toEqual([[1], [2, 3], [4]]);
    await land(2);
    expect(await Promise.all(results)).toHaveLength(4);
    await flights[Symbol.asyncDispose]();
  });

  test('take those along who come before they leave', async () => {
    const waiting: (() => void)[] = [];
    const { flights, itemsOf, land } = controlled({ flightsMax: 1, soon: (depart) => void waiting.push(depart) });
    const results = [1, 2].map((item) => flights.add(item));
    expect([itemsOf(), waiting.length]).toEqual([[], 1]);
    waiting[0]?.();
    expect(itemsOf()).toEqual([[1, 2]]);
    results.push(flights.add(3));
    expect(waiting).toHaveLength(1);
    await land(0);
    expect(itemsOf()).toEqual([[1, 2], [3]]);
    await land(1);
    // Nobody is left behind when it closes before they have left.
    results.push(flights.add(4));
    const closed = flights[Symbol.asyncDispose]();
    expect(itemsOf()).toEqual([[1, 2], [3], [4]]);
    await land(2);
    await closed;
    expect(await Promise.all(results)).toEqual([1, 2, 3, 4].map((item) => `done ${item}`));
  });

  test('are no heavier than allowed, but for one who is alone', async () => {
    const { flights, itemsOf, land } = controlled({ flightsMax: 1 });
    for (const item of [1, 60, 40, 1, 500, 2]) void flights.add(item);
    for (const index of [0, 1, 2, 3]) await land(index);
    expect(itemsOf()).toEqual([[1], [60, 40], [1], [500], [2]]);
  });

  test('that fail as a whole reject all who are not answered, and the next one leaves', async () => {
    const { flights, itemsOf, land } = controlled({ flightsMax: 1 });
    const results = [1, 2, 3].map((item) => flights.add(item));
    await land(0);
    const error = new Error('the store is away');
    const settled = Promise.allSettled(results);
    await land(1, error);
    expect(await settled).toEqual([
      { status: 'fulfilled', value: 'done 1' },
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ]);
    const next = flights.add(4);
    await land(2);
    expect(await next).toBe('done 4');
    expect(itemsOf()).toHaveLength(3);
  });

  test('that fail for one passenger are flown again one by one, and only that one is told so', async () => {
    const bad = new Error('a bad row');
    const flown: number[][] = [];
    const { flights } = controlled({
      flightsMax: 1,
      isOfOnePassenger: (reason) => reason === bad,
      async fly(passengers: Flight) {
        flown.push(passengers.map(({ item }) => item));
        await nextTurn();
        if (passengers.some(({ item }) => item === 3)) throw bad;
        for (const { item, resolve } of passengers) resolve(`done ${item}`);
      },
    });
    const settled = await Promise.allSettled([1, 2, 3, 4].map((item) => flights.add(item)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(settled[2]).toMatchObject({ reason: bad });
    expect(flown).toEqual([[1], [2, 3, 4], [2], [3], [4]]);
  });

  test('nobody is forgotten by a flight that answers only some', async () => {
    const { flights } = controlled({ fly: async () => undefined });
    await expect(flights.add(1)).rejects.toThrow('without an answer');
  });

  test('nor by one that throws before it begins', async () => {
    const { flights } = controlled({
      fly: () => {
        throw new Error('at once');
      },
    });
    await expect(flights.add(1)).rejects.toThrow('at once');
  });

  test('whatever a flight does, everybody is answered once, and no rejection is left over', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    try {
      const ways = ['answers', 'answers twice', 'throws', 'rejects', 'rejects after', 'hands on', 'forgets'] as const;
      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom(...ways), { minLength: 1, maxLength: 12 }), async (asked) => {
          const flights = createFlights<(typeof ways)[number], string>({
            flightsMax: 2,
            heldUpMs: 1,
            itemsMax: 3,
            weightMax: 100,
            waitingMax: 10,
            weightOf: () => 1,
            partyOf: (way) => way,
            soon: setImmediate,
            isOfOnePassenger: () => asked.length % 2 === 0,
            fly(passengers) {
              if (passengers.some(({ item }) => item === 'throws')) throw new Error('at once');
              return (async () => {
                await nextTurn();
                if (passengers.some(({ item }) => item === 'rejects')) throw new Error('later');
                for (const { item, resolve, reject } of passengers) {
                  if (item === 'hands on') resolve(Promise.reject(new Error('elsewhere')));
                  else if (item !== 'forgets') resolve(item);
                  if (item === 'answers twice') reject(new Error('too late'));
                }
                if (passengers.some(({ item }) => item === 'rejects after')) throw new Error('after the answers');
              })();
            },
          });
          const settled = Promise.allSettled(asked.map((way) => flights.add(way)));
          await flights[Symbol.asyncDispose]();
          expect(await settled).toHaveLength(asked.length);
        }),
        { numRuns: 60 },
      );
      await nextTurn();
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).toEqual([]);
  });

  test('an item of which the plan can say nothing is refused alone', async () => {
    const { flights, land } = controlled({
      weightOf: (item) => {
        if (item === 2) throw new Error('no weight');
        return 1;
      },
    });
    const first = flights.add(1);
    await expect(flights.add(2)).rejects.toThrow('no weight');
    await land(0);
    expect(await first).toBe('done 1');
  });

  test('more than may wait are refused', async () => {
    const { flights } = controlled({ waitingMax: 2 });
    for (const item of [1, 2, 3, 4]) void flights.add(item);
    await expect(flights.add(5)).rejects.toMatchObject({ code: 'NOT_READY', retryAfterSeconds: 1 });
  });

  test('closing answers all who wait, and takes no more', async () => {
    const { flights, itemsOf, land } = controlled({ flightsMax: 1 });
    const results = Promise.all([1, 2, 3].map((item) => flights.add(item)));
    let isClosed = false;
    const closed = flights[Symbol.asyncDispose]().then(() => {
      isClosed = true;
    });
    await expect(flights.add(4)).rejects.toMatchObject({ code: 'NOT_READY' });
    await land(0);
    expect(isClosed).toBe(false);
    await land(1);
    await closed;
    expect(await results).toHaveLength(3);
    expect(itemsOf()).toEqual([[1], [2, 3]]);
  });
});
