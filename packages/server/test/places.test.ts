import { expect, test } from 'vitest';
import { InlayError } from '../src/errors.ts';
import { createPlaces } from '../src/http/places.ts';

const never = new AbortController().signal;
const wait = { signal: never, timeoutMs: 60_000 };

/** Whether the promise has settled once everything that could make it so has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve));
  return Promise.race([promise.then(() => true), Promise.resolve(false)]);
}

test('each user has so many places; who comes later waits, in turn, and nobody waits for another user', async () => {
  const places = createPlaces(2);
  const first = await places.enter(1, wait);
  await places.enter(1, wait);
  const third = places.enter(1, wait);
  const fourth = places.enter(1, wait);
  await places.enter(2, wait);
  expect(await isSettled(third)).toBe(false);
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  await fourth;
  const fifth = places.enter(1, wait);
  expect(await isSettled(fifth)).toBe(false);
});

test('a place given back is free, however often', async () => {
  const places = createPlaces(1);
  for (let time = 0; time < 3; time++) (await places.enter(1, wait))[Symbol.dispose]();
  const held = await places.enter(1, wait);
  expect(await isSettled(places.enter(1, wait))).toBe(false);
  held[Symbol.dispose]();
});

test('who gives up waiting, or waits too long, takes no place', async () => {
  const places = createPlaces(1);
  const held = await places.enter(1, wait);
  const gone = new AbortController();
  const leaving = places.enter(1, { ...wait, signal: gone.signal });
  const reason = new InlayError('ABORTED', 'The client has gone away');
  gone.abort(reason);
  await expect(leaving).rejects.toBe(reason);
  await expect(places.enter(1, { ...wait, signal: gone.signal })).rejects.toBe(reason);
  await expect(places.enter(1, { ...wait, timeoutMs: 1 })).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' });
  const next = places.enter(1, wait);
  held[Symbol.dispose]();
  await next;
});
