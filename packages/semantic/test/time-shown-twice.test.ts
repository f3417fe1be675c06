/** Ranges that begin or end in the hour that clocks show twice: worked out by hand, on every engine. */
import { describe, expect, test } from 'vitest';
import { isShownAgain, putBackBefore } from '../src/plan/shown-twice.ts';
import { engineNames, useEngine } from './engines.ts';
import { order } from './time-fixture.ts';
import { ask, compile, fill } from './time-shop.ts';

const zone = 'America/New_York';
/** On 3 November 2024, 6:00 UTC, clocks in New York go from 2 to 1. */
const asking = { timezone: zone, fill: true } as const;
const hours = (from: string, until: string): string =>
  `SELECT date_trunc('hour', at), MEASURE(total), MEASURE(last_2h) FROM sales
    WHERE at >= '2024-11-03T${from}Z' AND at < '2024-11-03T${until}Z' GROUP BY 1 ORDER BY 1`;
const at = (hour: string): string => `2024-11-03 ${hour}:00:00`;

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);

  test('hours', async () => {
    await fill(engine(), [
      order(1, '2024-11-03 04:30:00', 1),
      order(2, '2024-11-03 05:15:00', 2),
      order(3, '2024-11-03 05:45:00', 4),
      order(4, '2024-11-03 06:15:00', 8),
      order(5, '2024-11-03 07:15:00', 16),
    ]);
    const rows = (from: string, until: string) => ask(engine(), hours(from, until), asking);
    // The hour from 1 is two hours long, of which the range has a part; the window has all of it.
    expect(await rows('05:30', '06:30')).toEqual([[at('01'), 12, 15]]);
    expect(await rows('05:00', '06:00')).toEqual([[at('01'), 6, 15]]);
    expect(await rows('06:15', '06:30')).toEqual([[at('01'), 8, 15]]);
    expect(await rows('06:30', '06:15')).toEqual([]);
    const closed = hours('05:30', '06:15').replace("< '", "<= '");
    expect(await ask(engine(), closed, asking)).toEqual([[at('01'), 12, 15]]);
    expect(await rows('04:00', '06:00')).toEqual([
      [at('00'), 1, 1],
      [at('01'), 6, 15],
    ]);
    expect(await rows('05:45', '07:30')).toEqual([
      [at('01'), 12, 15],
      [at('02'), 16, 30],
    ]);
  });
});

test.each([
  ['05:30', '06:30'],
  ['05:30', '08:00'],
  ['04:00', '06:00'],
])('minutes from %s to %s are no one stretch of the clock', (from, until) => {
  const sql = hours(from, until).replace("'hour'", "'minute'");
  expect(() => compile(sql, asking)).toThrow(/clocks show twice/);
});

test('when clocks are put back', () => {
  const time = (text: string): string => `2024-${text}:00.000000`;
  expect(putBackBefore(time('11-03 06:00'), zone)).toBe(time('11-03 02:00'));
  expect(putBackBefore(time('11-03 06:59'), zone)).toBe(time('11-03 02:00'));
  for (const hour of ['05:00', '05:59', '07:00']) expect(putBackBefore(time(`11-03 ${hour}`), zone)).toBeNull();
  // Half an hour, from 2 to 1:30; at midnight, from 1 to 0.
  expect(putBackBefore(time('04-06 15:10'), 'Australia/Lord_Howe')).toBe(time('04-07 02:00'));
  expect(putBackBefore(time('11-03 05:00'), 'America/Havana')).toBe(time('11-03 01:00'));
  const again = ['04:59', '05:00', '05:01', '05:59', '06:00', '06:30'].filter((it) =>
    isShownAgain(time(`11-03 ${it}`), zone),
  );
  expect(again).toEqual(['05:01', '05:59']);
});
