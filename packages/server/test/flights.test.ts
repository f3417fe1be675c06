import { setImmediate as nextTurn } from 'node:timers/promises';
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
