/** Windows, shifts and stages over random data: the answer is the one that the definition gives, on every engine. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { utcToLocal } from '../src/query/zoned-time.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { engineNames, useEngine } from './engines.ts';
import { answer, definitions, type Key, type Question, sqlOf, truncate, type Unit } from './time-oracle.ts';
import { ask, everyone, fill, type Order, somebody } from './time-shop.ts';

const units: readonly Unit[] = ['day', 'week', 'month', 'quarter', 'year', 'fiscal_year'];
const names = Object.keys(definitions);

const order = fc.record({
  owner: fc.constantFrom(1, 2),
  channel: fc.constantFrom('web', 'store', null),
  region: fc.constantFrom('north', 'south'),
  buyer: fc.constantFrom(1, 2, 3, null),
  amount: fc.constantFrom(10, 2.5, 0, -4, 100, null),
  // The ends of months and years, and two leap years, are where lengths of time differ.
  at: fc.option(
    fc
      .tuple(
        fc.constantFrom(
          '2023-02-27',
          '2023-02-28',
          '2023-03-31',
          '2023-12-31',
          '2024-01-01',
          '2024-01-29',
          '2024-01-31',
          '2024-02-29',
          '2024-03-01',
          '2024-03-30',
          '2024-04-01',
          '2024-04-15',
          // Clocks are changed: a day of 23 hours, of 25, and one without a midnight.
          '2023-03-26',
          '2023-10-29',
          '2024-03-10',
        ),
        fc.constantFrom('00:00:00', '00:30:00', '04:30:00', '12:30:00', '23:59:59'),
      )
      .map((parts) => parts.join(' ')),
    { freq: 12 },
  ),
});
const orders = fc
  .array(order, { maxLength: 14 })
  .map((rows): Order[] => rows.map((row, at) => ({ id: at + 1, ...row })));

const day = 86_400_000;
const toText = (time: number) => new Date(time).toISOString().slice(0, 19).replace('T', ' ');
const question: fc.Arbitrary<Question> = fc
  .record({
    unit: fc.constantFrom(...units),
    keys: fc.subarray<Key>(['channel', 'region']),
    measures: fc.subarray(names, { minLength: 1, maxLength: 3 }),
    start: fc.option(fc.integer({ min: -60, max: 500 }), { nil: null }),
    length: fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }),
    web: fc.boolean(),
  })
  .map(({ start, length, ...rest }) => {
    // Whole units: what a shifted measure makes of a part of one is another test's.
    const at = (days: number) => toText(truncate(rest.unit, Date.UTC(2023, 0, 1) + days * day));
    const from = start === null ? null : at(start);
    return { ...rest, from, until: length === null ? null : at((start ?? 0) + length) };
  });

const comparable = (rows: readonly (readonly unknown[])[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(9)) + 0 : cell))),
    )
    .sort();

/** Windows, shifts and units are all of the wall clock: the answer is that over rows that hold its times. */
const onWallClock = (row: Order, timezone: string): Order => ({
  ...row,
  at: row.at === null ? null : utcToLocal(`${row.at}.000000`, timezone).slice(0, 19),
});

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('windows, shifts and stages', { timeout: 300_000 }, async () => {
    let answered = 0;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('UTC', 'Europe/Berlin', 'America/Havana'),
        orders,
        fc.array(question, { minLength: 8, maxLength: 8 }),
        fc.boolean(),
        async (timezone, rows, questions, isOwn) => {
          await fill(engine(), rows);
          const seen = rows.filter(({ owner }) => !isOwn || owner === 1).map((row) => onWallClock(row, timezone));
          for (const it of questions) {
            const sql = sqlOf(it);
            asked += 1;
            try {
              const found = await ask(engine(), sql, { subject: isOwn ? somebody : everyone, timezone });
              answered += 1;
              expect(comparable(found), sql).toEqual(comparable(answer(it, seen)));
            } catch (error) {
              if (!(error instanceof SemanticError)) throw error;
              // Weeks moved by months, and the like.
              expect(error.message, sql).toMatch(/another time/);
            }
          }
        },
      ),
      { numRuns: Number(process.env['TIME_RUNS'] ?? (name === 'duckdb' ? 40 : 8)) },
    );
    expect(answered).toBeGreaterThan(asked * 0.6);
  });
});
