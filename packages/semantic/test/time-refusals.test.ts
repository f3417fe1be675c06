/** What has no right answer is refused, with a reason and what to write instead. */
import { expect, test } from 'vitest';
import { SemanticError } from '../src/semantic-error.ts';
import { loadModel } from './load-model.ts';
import { type Asking, compile, somebody } from './time-shop.ts';

const refusals: readonly [name: string, sql: string, message: RegExp, asking?: Asking][] = [
  ['a window by the time itself (15)', 'SELECT at, MEASURE(total_3m) FROM sales GROUP BY 1', /has to group by one/],
  [
    'a window without a time',
    'SELECT channel, MEASURE(total_3m) FROM sales GROUP BY 1',
    /has to group by one time dimension/,
  ],
  [
    'a window by a part of the time',
    'SELECT EXTRACT(year FROM at), MEASURE(ytd) FROM sales GROUP BY 1',
    /has to group by one/,
  ],
  [
    'a window by two units',
    "SELECT date_trunc('month', at), date_trunc('year', at), MEASURE(total_3m) FROM sales GROUP BY 1, 2",
    /two units of time/,
  ],
  [
    'a window beside a part of its time',
    "SELECT date_trunc('month', at), EXTRACT(year FROM at), MEASURE(total_3m) FROM sales GROUP BY 1, 2",
    /cannot depend on at beside its unit/,
  ],
  [
    'a window beside what is made of its time',
    "SELECT date_trunc('month', at), month_name, MEASURE(total_3m) FROM sales GROUP BY 1, 2",
    /cannot depend on month_name/,
  ],
  [
    'a running total of a range without a unit',
    "SELECT MEASURE(running) FROM sales WHERE at >= '2024-01-01'",
    /has to group by one/,
  ],
  [
    'windows of a hundred years of seconds',
    "SELECT date_trunc('second', at), MEASURE(total_3m) FROM sales WHERE at >= '1950-01-01' AND at < '2050-01-01' GROUP BY 1",
    /more than 100000 units/,
  ],
  [
    'another time without a time',
    'SELECT channel, MEASURE(total_last_month) FROM sales GROUP BY 1',
    /has to group or filter by its time/,
  ],
  [
    'weeks moved by months',
    "SELECT date_trunc('week', at), MEASURE(total_last_month) FROM sales GROUP BY 1",
    /computed at another time/,
  ],
  ['times moved by months', 'SELECT at, MEASURE(total_last_month) FROM sales GROUP BY 1', /computed at another time/],
  [
    'days of the week moved by months',
    'SELECT EXTRACT(dow FROM at), MEASURE(total_last_month) FROM sales GROUP BY 1',
    /computed at another time/,
  ],
  [
    'days of the week in WHERE moved by months',
    "SELECT date_trunc('month', at), MEASURE(total_last_month) FROM sales WHERE EXTRACT(dow FROM at) = 1 GROUP BY 1",
    /finer part/,
  ],
  [
    'what is made of the time moved by months',
    'SELECT month_name, MEASURE(total_last_month) FROM sales GROUP BY 1',
    /computed at another time/,
  ],
  [
    'windows moved by what is no whole number of units',
    "SELECT date_trunc('week', at), MEASURE(total_3m_last_year) FROM sales GROUP BY 1",
    /does not lead from one of these units/,
  ],
  [
    'a choice that is not made',
    'SELECT channel, MEASURE(by_currency) FROM sales GROUP BY 1',
    /a choice that the query does not make/,
  ],
  [
    'dimensions of a stage mixed with others',
    'SELECT channel || region, MEASURE(total_of_channel) FROM sales GROUP BY 1',
    /mixes these with others/,
  ],
  [
    'gaps without a unit',
    "SELECT channel, MEASURE(total) FROM sales WHERE at >= '2024-01-01' AND at < '2024-02-01' GROUP BY 1",
    /not one unit/,
    { fill: true },
  ],
  [
    'gaps without an end',
    "SELECT date_trunc('day', at), MEASURE(total) FROM sales WHERE at >= '2024-01-01' GROUP BY 1",
    /two ends/,
    { fill: true },
  ],
  [
    'gaps in two units',
    "SELECT date_trunc('day', at), date_trunc('year', at), MEASURE(total) FROM sales WHERE at >= '2024-01-01' AND at < '2024-02-01' GROUP BY 1, 2",
    /not one unit/,
    { fill: true },
  ],
  [
    'gaps where it is not clear which units are asked for',
    "SELECT date_trunc('month', at), MEASURE(total) FROM sales WHERE at >= '2024-01-01' AND at < '2024-03-01' AND EXTRACT(dow FROM at) = 1 GROUP BY 1",
    /does not choose whole units/,
    { fill: true },
  ],
];

test.each(refusals)('%s', (_, sql, message, asking) => {
  expect(() => compile(sql, asking)).toThrow(message);
  try {
    compile(sql, asking);
  } catch (error) {
    expect(error).toBeInstanceOf(SemanticError);
  }
});

test('values at more dimensions that nothing is made of', () => {
  const model = loadModel(`
cubes:
  - name: sales
    sql_table: orders
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures:
      - { name: total, sql: amount, type: sum }
      - { name: each, multi_stage: true, type: number, sql: "{total}", add_group_by: [id] }
`);
  expect(() => compile('SELECT MEASURE(each) FROM sales', { model })).toThrow(/does not say what is made of these/);
});

test('a refusal names no member that the user may not see', () => {
  const model = loadModel(`
cubes:
  - name: sales
    sql_table: orders
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: secret_time, sql: at, type: time }
      - { name: day_name, sql: "{secret_time}", type: string }
    measures:
      - { name: total, sql: amount, type: sum }
      - { name: before, multi_stage: true, type: number, sql: "{total}", time_shift: [{ interval: 1 month, type: prior }] }
    access_policy:
      - { group: some, row_level: { allow_all: true }, member_level: { includes: [day_name, total, before] } }
`);
  const sql = 'SELECT day_name, MEASURE(before) FROM sales GROUP BY 1';
  expect(() => compile(sql, { model, subject: somebody })).toThrow(SemanticError);
  expect(() => compile(sql, { model, subject: somebody })).not.toThrow(/secret/);
});
