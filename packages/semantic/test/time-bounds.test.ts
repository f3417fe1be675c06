/**
 * Conditions on the time of a window choose units of time, however they are written: a unit is there exactly when some time in it fulfils
 * WHERE, and what is in its window does not depend on WHERE.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SemanticError } from '../src/semantic-error.ts';
import { engineNames, useEngine } from './engines.ts';
import { truncate, type Unit } from './time-oracle.ts';
import { ask, compile, fill, type Order } from './time-shop.ts';

const second = 1_000;
const day = 86_400 * second;
const ms = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
const toText = (time: number) => new Date(time).toISOString().slice(0, 19).replace('T', ' ');

/** A condition on `at`: as SQL, and as it is true or not of a time. */
interface Condition {
  readonly sql: string;
  readonly holds: (time: number) => boolean;
  readonly literals: readonly number[];
}

const operators = {
  '=': (a: number, b: number) => a === b,
  '<>': (a: number, b: number) => a !== b,
  '<': (a: number, b: number) => a < b,
  '<=': (a: number, b: number) => a <= b,
  '>': (a: number, b: number) => a > b,
  '>=': (a: number, b: number) => a >= b,
};
const operator = fc.constantFrom<keyof typeof operators>('=', '<>', '<', '<=', '>', '>=');
const unit = fc.constantFrom<Unit>('day', 'week', 'month', 'quarter', 'year', 'fiscal_year');
/** Midnights, beginnings of months, and times within a day. */
const time = fc
  .tuple(
    fc.integer({ min: 0, max: 460 }),
    fc.constantFrom<Unit | null>(null, 'month', 'quarter', 'week'),
    fc.constantFrom(0, 0, 0, 45_000 * second),
  )
  .map(([days, round, within]) => {
    const at = ms('2023-11-01 00:00:00') + days * day;
    return (round === null ? at : truncate(round, at)) + within;
  });
const parts: Readonly<Record<string, (time: number) => number>> = {
  year: (at) => new Date(at).getUTCFullYear(),
  quarter: (at) => Math.floor(new Date(at).getUTCMonth() / 3) + 1,
  month: (at) => new Date(at).getUTCMonth() + 1,
  day: (at) => new Date(at).getUTCDate(),
  dow: (at) => new Date(at).getUTCDay(),
};

/** The time itself, or truncated. */
const side = fc.oneof(
  fc.constant({ sql: 'at', of: (at: number) => at }),
  fc.constant({ sql: 'CAST(at AS date)', of: (at: number) => truncate('day', at) }),
  unit.map((name) => ({ sql: `date_trunc('${name}', at)`, of: (at: number) => truncate(name, at) })),
);
const quote = (at: number) => `'${toText(at)}'`;
const condition: fc.Memo<Condition> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        fc
          .record({ side, operator, literal: time, isMirrored: fc.boolean() })
          .map(({ side: { sql, of }, operator: op, literal, isMirrored }) => ({
            sql: isMirrored ? `${quote(literal)} ${op} ${sql}` : `${sql} ${op} ${quote(literal)}`,
            holds: (at: number) => (isMirrored ? operators[op](literal, of(at)) : operators[op](of(at), literal)),
            literals: [literal],
          })),
        fc.record({ side, low: time, high: time, not: fc.boolean() }).map(({ side: { sql, of }, low, high, not }) => ({
          sql: `${sql} ${not ? 'NOT ' : ''}BETWEEN ${quote(low)} AND ${quote(high)}`,
          holds: (at: number) => (of(at) >= low && of(at) <= high) !== not,
          literals: [low, high],
        })),
        fc
          .record({ side, items: fc.array(time, { minLength: 1, maxLength: 3 }) })
          .map(({ side: { sql, of }, items }) => ({
            sql: `${sql} IN (${items.map(quote).join(', ')})`,
            holds: (at: number) => items.includes(of(at)),
            literals: items,
          })),
        fc
          .record({ part: fc.constantFrom(...Object.keys(parts)), operator, value: fc.constantFrom(1, 2, 3, 4, 2024) })
          .map(({ part, operator: op, value }) => ({
            sql: `EXTRACT(${part} FROM at) ${op} ${value}`,
            holds: (at: number) => operators[op](parts[part]?.(at) ?? 0, value),
            literals: [],
          })),
        fc.constant({ sql: 'at IS NOT NULL', holds: () => true, literals: [] }),
      )
    : fc.oneof(
        condition(1),
        condition(depth - 1).map(({ sql, holds, literals }) => ({
          sql: `NOT (${sql})`,
          holds: (at: number) => !holds(at),
          literals,
        })),
        fc
          .record({ left: condition(depth - 1), right: condition(depth - 1), isAnd: fc.boolean() })
          .map(({ left, right, isAnd }) => ({
            sql: `(${left.sql} ${isAnd ? 'AND' : 'OR'} ${right.sql})`,
            holds: (at: number) => (isAnd ? left.holds(at) && right.holds(at) : left.holds(at) || right.holds(at)),
            literals: [...left.literals, ...right.literals],
          })),
      ),
);

/** A row on the first day of each month, from December 2023 to January 2025: `total_3m` differs in each, and no window is empty. */
const orders: readonly Order[] = Array.from({ length: 14 }, (_, at) => ({
  id: at,
  owner: 1,
  channel: 'web',
  region: 'north',
  buyer: 1,
  amount: 2 ** at,
  at: toText(Date.UTC(2023, 11 + at, 1)),
}));
const first = Date.UTC(2023, 11, 1);
const last = Date.UTC(2025, 0, 1);

/** Whether some time of a bucket fulfils a condition. Nothing changes but at these times, and a second about them. */
function isChosen(begin: number, end: number, { holds, literals }: Condition): boolean {
  const turns = [
    begin,
    end,
    ...literals.flatMap((it) => [
      it,
      ...(['day', 'week', 'month', 'quarter', 'year', 'fiscal_year'] as const).flatMap((name) => [
        truncate(name, it),
        truncate(name, truncate(name, it) + 366 * day),
      ]),
    ]),
  ];
  for (let at = begin; at < end; at += day) turns.push(at);
  return turns.flatMap((at) => [at - second, at, at + second]).some((at) => at >= begin && at < end && holds(at));
}

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('whatever is said of the time chooses units, or is refused', { timeout: 200_000 }, async () => {
    await fill(engine(), orders);
    let answered = 0;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(
        condition(3),
        fc.constantFrom<Unit>('day', 'week', 'month', 'quarter', 'fiscal_year'),
        async (where, by) => {
          const query = (text: string) =>
            `SELECT date_trunc('${by}', at), MEASURE(count_3m) FROM sales${text} GROUP BY 1 ORDER BY 1`;
          const all = await ask(engine(), query(''));
          const expected = all.filter(([bucket]) => {
            const begin = ms(String(bucket));
            const next = truncate(
              by,
              begin +
                (by === 'fiscal_year' ? 367 : by === 'quarter' ? 93 : by === 'month' ? 32 : by === 'week' ? 7 : 1) *
                  day,
            );
            return isChosen(begin, next, where);
          });
          asked += 1;
          try {
            const sql = query(` WHERE ${where.sql}`);
            const found = await ask(engine(), sql);
            answered += 1;
            // Where both ends are said, units before the first and behind the last row come, too.
            const within = found.filter(
              ([bucket]) => ms(String(bucket)) >= truncate(by, first) && ms(String(bucket)) <= last,
            );
            expect(within, sql).toEqual(expected);
          } catch (error) {
            if (!(error instanceof SemanticError)) throw error;
            expect(error.message, where.sql).toMatch(/does not choose whole units/);
          }
        },
      ),
      { numRuns: Number(process.env['TIME_RUNS'] ?? (name === 'duckdb' ? 80 : 15)) },
    );
    expect(answered).toBeGreaterThan(asked * 0.5);
  });
});

test.each([
  ['the time with something else', "at >= '2024-01-01' OR channel = 'web'", /mixes "?at"? with channel/],
  ['a part of each unit', 'EXTRACT(dow FROM at) = 1', /does not choose whole units/],
  ['what is made of the time', "month_name = '2024-01-01'", /cannot depend on month_name/],
  ['the time moved', "at + INTERVAL '1 day' >= '2024-01-01'", /does not choose whole units/],
])('a window is not cut by %s', (_, where, message) => {
  const sql = `SELECT date_trunc('month', at), MEASURE(total_3m) FROM sales WHERE ${where} GROUP BY 1`;
  expect(() => compile(sql)).toThrow(message);
});
