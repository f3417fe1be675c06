import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRunTail, type StoredEntry } from '../src/chat/run-tail.ts';
import type { LogLine } from '../src/chat/thread-log.ts';

const line = (seq: number, characters = 10): LogLine => ({
  seq,
  sort: seq,
  text: `${String(seq).padEnd(characters - 1)}\n`,
  isControl: false,
  isLast: false,
});
const isLine = (entry: StoredEntry): entry is LogLine => entry.text !== null;

/** All that a reader gets who begins after `place` and goes on until nothing is there; what is forgotten comes from the log. */
function readAll(tail: ReturnType<typeof createRunTail>, place: number, log: readonly StoredEntry[]): number[] {
  const seen: number[] = [];
  for (let at = place; ; ) {
    const next = tail.after(at);
    if (next === 'nothing yet') return seen;
    if (next === 'forgotten') {
      const stored = log.find(({ seq }) => seq === at + 1);
      if (stored === undefined) throw new Error(`forgotten, though the log ends at ${at}`);
      at = stored.seq;
      if (isLine(stored)) seen.push(stored.seq);
    } else {
      at = next.seq;
      seen.push(next.seq);
    }
  }
}

/** A log as its writers make it: pieces that are committed, by this process (told a moment later) or by another. */
const actionArbitrary = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), steps: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }) }),
  fc.record({ kind: fc.constant('tell' as const) }),
  fc.record({ kind: fc.constant('ask' as const) }),
  fc.record({ kind: fc.constant('answer' as const) }),
  fc.record({ kind: fc.constant('change hands' as const) }),
);

test('whoever writes, and however the store’s answers and the writer’s word cross, no line is lost, doubled or out of order', () => {
  fc.assert(
    fc.property(
      fc.array(actionArbitrary, { maxLength: 60 }),
      fc.nat(20),
      fc.integer({ min: 15, max: 200 }),
      (actions, from, max) => {
        const log: StoredEntry[] = Array.from({ length: from }, (_, index) => line(index + 1));
        const tail = createRunTail(from, () => max);
        let isOurs = false;
        let untold: LogLine[] = [];
        let answer: StoredEntry[] | null = null;
        const tell = (): void => {
          if (untold.length > 0) tail.push(untold);
          untold = [];
        };
        for (const action of actions) {
          switch (action.kind) {
            case 'write':
              for (const isStep of action.steps) {
                const seq = log.length + 1;
                log.push(isStep ? { seq, text: null } : line(seq));
              }
              if (isOurs) untold.push(...log.slice(-action.steps.length).filter(isLine));
              break;
            case 'tell':
              tell();
              break;
            case 'ask':
              if (!tail.isFed) answer = log.filter(({ seq }) => seq > tail.end).slice(0, 7);
              break;
            case 'answer':
              if (answer !== null) tail.take(answer);
              answer = null;
              break;
            case 'change hands':
              tell();
              isOurs = !isOurs;
              if (isOurs) tail.feed(log.length);
              else tail.unfeed();
          }
          // At any moment what is known is a piece of the log.
          const known = readAll(tail, from, log);
          expect(known).toEqual(
            log
              .filter(({ seq }) => seq > from && seq <= tail.end)
              .filter(isLine)
              .map(({ seq }) => seq),
          );
        }
        tell();
        if (answer !== null) tail.take(answer);
        while (!tail.isFed && tail.end < log.length) tail.take(log.filter(({ seq }) => seq > tail.end).slice(0, 7));
        for (let place = 0; place <= log.length; place++) {
          const rest = log.filter(({ seq }) => seq > place).filter(isLine);
          expect(readAll(tail, place, log)).toEqual(rest.map(({ seq }) => seq));
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('it remembers no more than it may, but one line at least', () => {
  const tail = createRunTail(0, () => 100);
  tail.feed(0);
  tail.push(Array.from({ length: 50 }, (_, index) => line(index + 1)));
  expect([tail.after(0), tail.after(39)]).toEqual(['forgotten', 'forgotten']);
  expect(tail.after(40)).toMatchObject({ seq: 41 });
  tail.push([line(51, 1000)]);
  expect(tail.after(49)).toBe('forgotten');
  expect(tail.after(50)).toMatchObject({ seq: 51 });
});

test('it forgets when it may remember less than before', () => {
  let max = 1000;
  const tail = createRunTail(0, () => max);
  tail.feed(0);
  tail.push(Array.from({ length: 50 }, (_, index) => line(index + 1)));
  expect(tail.after(0)).toMatchObject({ seq: 1 });
  max = 100;
  tail.push([line(51)]);
  expect(tail.after(40)).toBe('forgotten');
  expect(tail.after(41)).toMatchObject({ seq: 42 });
});

test('what waits for the store is bounded as well, and comes from there then', () => {
  const tail = createRunTail(0, () => 100);
  tail.feed(3);
  for (let seq = 4; seq <= 40; seq++) tail.push([line(seq)]);
  expect([tail.isFed, tail.after(0)]).toEqual([false, 'nothing yet']);
  tail.take([1, 2, 3].map((seq) => line(seq)));
  expect(tail.isFed).toBe(false);
  tail.take(Array.from({ length: 37 }, (_, index) => line(index + 4)));
  expect([tail.isFed, tail.end]).toEqual([true, 40]);
  tail.push([line(41)]);
  expect(tail.after(40)).toMatchObject({ seq: 41 });
});

test('a hole in what the store tells is a defect', () => {
  expect(() => createRunTail(0, () => 100).take([line(2)])).toThrow('gap');
});
