/** Times in expressions: which are instants, which are what a wall clock shows, and what of literals is worked out beforehand. */
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { rightsOf } from '../../src/policy/rights.ts';
import { shiftTime, truncateTime } from '../../src/query/calendar.ts';
import { resolveStatement } from '../../src/query/resolve-statement.ts';
import type { ResolvedExpression } from '../../src/query/resolved-expression.ts';
import { granularities } from '../../src/query/semantic-query.ts';
import { parseSql } from '../../src/sql/parse-sql.ts';
import { load, merchant, shopYaml } from '../shop.ts';

const model = load(shopYaml);
const now = new Date('2024-03-10T03:30:00.000Z');

/** The condition of a query as it is resolved, in short: `t` is a member, `local(…)` the zone's clock, times without fractions. */
function condition(where: string, timezone: string): string {
  const statement = parseSql(`SELECT channel FROM sales WHERE ${where}`);
  const resolved = resolveStatement(statement, { model, rights: rightsOf(model, merchant(7)), timezone, now });
  if (resolved.kind !== 'block' || resolved.query.where === null) throw new Error('no block');
  return show(resolved.query.where);
}

function show(it: ResolvedExpression): string {
  switch (it.kind) {
    case 'compare':
      return `${show(it.left)} ${it.operator} ${show(it.right)}`;
    case 'between':
      return `${show(it.operand)} in ${show(it.low)} to ${show(it.high)}`;
    case 'dimension':
      return it.member.name === 'created_at' ? 't' : it.member.name;
    case 'time':
      return `${it.isLocal ? 'local ' : ''}${it.value.replace(/\.0+$/, '').replace(/ 00:00:00$/, '')}`;
    case 'local-time':
      return `local(${show(it.operand)})`;
    case 'date-trunc':
      return `${it.granularity}(${show(it.operand)})`;
    case 'date-part':
      return `part ${it.part}(${show(it.operand)})`;
    case 'shift-time':
      return `(${show(it.operand)} + ${it.interval.months}M${it.interval.days}D${it.interval.seconds}S)`;
    case 'cast':
      return `${it.type}(${show(it.operand)})`;
    case 'number':
      return it.text;
    default:
      return it.kind;
  }
}

// On 10 March 2024 at 03:30 in UTC it is 22:30 of the 9th in New York, where clocks go forward some hours later.
const zone = 'America/New_York';
test.each([
  ["created_at >= '2024-03-01'", zone, 't >= 2024-03-01 05:00:00'],
  ["created_at >= '2024-03-01'", 'UTC', 't >= 2024-03-01'],
  ["created_at < '2024-03-11'", zone, 't < 2024-03-11 04:00:00'],
  ["created_at < '2024-03-01T00:00:00Z'", zone, 't < 2024-03-01'],
  ["'2024-03-01' <= created_at", zone, '2024-03-01 05:00:00 <= t'],
  ["date_trunc('day', created_at) = '2024-03-10'", zone, 'day(local(t)) = local 2024-03-10'],
  ["date_trunc('day', created_at) = '2024-03-10'", 'UTC', 'day(t) = 2024-03-10'],
  ["created_at::date = '2024-03-10'", zone, 'date(local(t)) = local 2024-03-10'],
  ["created_at BETWEEN '2024-03-01' AND now()", zone, 't in 2024-03-01 05:00:00 to 2024-03-10 03:30:00'],
  ['created_at >= CURRENT_DATE', zone, 't >= 2024-03-09 05:00:00'],
  ['created_at >= CURRENT_DATE - 7', 'UTC', 't >= 2024-03-03'],
  ["created_at >= date_trunc('month', now()) - INTERVAL '1 month'", zone, 't >= 2024-02-01 05:00:00'],
  ["created_at >= date_trunc('week', CURRENT_TIMESTAMP) + INTERVAL '1' WEEK", 'UTC', null],
  ["created_at > now() - INTERVAL '24 hours'", zone, 't > 2024-03-09 03:30:00'],
  ["created_at > now() - INTERVAL '1 day'", zone, 't > 2024-03-09 03:30:00'],
  ["created_at + INTERVAL '1 day' > now()", zone, '(local(t) + 0M1D0S) > local 2024-03-09 22:30:00'],
  ["created_at + INTERVAL '2 hours' > now()", zone, '(t + 0M0D7200S) > 2024-03-10 03:30:00'],
  ["date_trunc('day', created_at) < created_at", zone, 'day(local(t)) < local(t)'],
  ["date_part('hour', created_at) = 3", zone, 'part hour(local(t)) = 3'],
  ["date_part('epoch', created_at) = 3", zone, 'part epoch(t) = 3'],
  ["created_at >= '2024-03-10 02:30'", zone, 't >= 2024-03-10 07:00:00'],
  ["created_at >= DATE '2024-01-31' + INTERVAL '1 month'", 'UTC', 't >= 2024-02-29'],
  ["created_at::timestamp >= TIMESTAMP '2024-01-31 10:00'", 'UTC', 't >= 2024-01-31 10:00:00'],
] as const)('%s in %s', (where, timezone, expected) => {
  if (expected === null) expect(() => condition(where, timezone)).toThrow(/INTERVAL|interval|syntax/);
  else expect(condition(where, timezone)).toBe(expected);
});

test('a time zone of UTC, however it is written, puts nothing around times', () => {
  const sqlIn = (timezone: string) =>
    compileSql("SELECT date_trunc('day', created_at) AS d FROM sales GROUP BY 1", model, merchant(7), duckdb, {
      timezone,
    }).sql;
  expect(sqlIn('Etc/UTC')).toBe(sqlIn('utc'));
  expect(sqlIn('Europe/Berlin')).not.toBe(sqlIn('utc'));
});

describe('what is worked out of literals is what the warehouse would', () => {
  let ask: (sql: string) => Promise<unknown>;
  beforeAll(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    ask = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson()[0]?.[0];
  });
  const time = fc
    .date({ min: new Date('0100-01-01T00:00:00Z'), max: new Date('2900-01-01T00:00:00Z'), noInvalidDate: true })
    .map((date) => `${date.toISOString().slice(0, 23).replace('T', ' ')}000`);
  const amount = fc.integer({ min: -900, max: 900 });
  const short = (text: string | null) => (text ?? '').replace(/\.?0+$/, '');

  test('units', async () => {
    await fc.assert(
      fc.asyncProperty(time, fc.constantFrom(...granularities), async (text, unit) => {
        const expected = String(await ask(`SELECT CAST(date_trunc('${unit}', TIMESTAMP '${text}') AS VARCHAR)`));
        expect(short(truncateTime(unit, text)?.replace(/\.0+$/, '.') ?? null)).toBe(short(`${expected}.`));
      }),
      { numRuns: 300 },
    );
  });

  test('intervals', async () => {
    await fc.assert(
      fc.asyncProperty(time, amount, amount, amount, async (text, months, days, seconds) => {
        const sql = `SELECT CAST(TIMESTAMP '${text}' + to_months(${months}) + to_days(${days}) + to_seconds(${seconds}) AS VARCHAR)`;
        const shifted = shiftTime(text, { months, days, seconds }) ?? '';
        const [seconds19, fraction = ''] = shifted.split('.');
        const rest = fraction.replace(/0+$/, '');
        expect(rest === '' ? seconds19 : `${seconds19}.${rest}`).toBe(await ask(sql));
      }),
      { numRuns: 300 },
    );
  });

  test('nothing beyond what a literal can be', () => {
    expect(shiftTime('9999-12-31 00:00:00.000000', { months: 1, days: 0, seconds: 0 })).toBeNull();
    expect(shiftTime('0001-01-01 00:00:00.000000', { months: 0, days: -1, seconds: 0 })).toBeNull();
    expect(shiftTime('2024-02-29 00:00:00.000000', { months: -12, days: 0, seconds: 0 })).toBe(
      '2023-02-28 00:00:00.000000',
    );
  });
});
