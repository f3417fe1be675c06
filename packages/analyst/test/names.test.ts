/** Names of members that are English as well: times, superlatives, what a cube counts, and segments. */
import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { describe, expect, test } from 'vitest';
import { dimension, measure, sqlInThread, sqlOf } from './shop-catalogue.ts';

const segment = (name: string, title: string): MemberMetadata => ({
  ...dimension('orders', name, title, { type: 'boolean' }),
  kind: 'segment',
});

// As a data team names things that never heard of the analyst.
const orders: RelationMetadata = {
  name: 'orders',
  type: 'cube',
  title: 'Orders',
  description: '',
  synonyms: [],
  members: [
    measure('orders', 'count', 'Count', { aggType: 'count' }),
    measure('orders', 'revenue', 'Revenue'),
    measure('orders', 'revenue_last_year', 'Revenue last year', { aggType: 'number' }),
    measure('orders', 'revenue_2024', 'Revenue 2024'),
    measure('orders', 'monthly_revenue', 'Monthly revenue'),
    measure('orders', 'revenue_growth', 'Revenue growth', { aggType: 'number' }),
    measure('orders', 'least_revenue', 'Least revenue', { aggType: 'min' }),
    measure('orders', 'products_sold', 'Products sold', { aggType: 'count_distinct' }),
    measure('orders', 'lines_count', 'Lines count', { aggType: 'count' }),
    dimension('orders', 'created_at', 'Created at', { type: 'time' }),
    dimension('orders', 'status', 'Status'),
    dimension('orders', 'channel', 'Channel'),
    dimension('orders', 'product', 'Product'),
    dimension('orders', 'fiscal_quarter', 'Fiscal quarter'),
    segment('completed', 'Completed'),
    segment('large', 'Large orders'),
    segment('this_week', 'This week'),
  ],
};
const jobs: RelationMetadata = {
  ...orders,
  name: 'jobs',
  title: 'Jobs',
  members: [
    measure('jobs', 'hired', 'Hired'),
    dimension('jobs', 'posted_at', 'Posted at', { type: 'time' }),
    dimension('jobs', 'month', 'Month', { type: 'time' }),
  ],
};
const context: AnalystContext = {
  today: '2025-11-20',
  relations: [orders, jobs],
  valueMatches: [
    { member: 'orders.status', value: 'shipped' },
    { member: 'orders.channel', value: 'new' },
    { member: 'orders.channel', value: 'web' },
  ],
  toolNames: { meta: 'platformMeta', sql: 'platformSqlApi' },
};
const asked = (question: string): string => sqlOf(question, context);

const lastYear = "created_at >= '2024-01-01' AND created_at < '2025-01-01'";
const byMonth = (measures: string, where = ''): string =>
  `SELECT date_trunc('month', created_at) AS month, ${measures} FROM orders${where} GROUP BY 1 ORDER BY 1 ASC NULLS LAST`;
const revenue = 'MEASURE(revenue) AS revenue';
const revenueLastYear = 'MEASURE(revenue_last_year) AS revenue_last_year';
const count = 'MEASURE(count) AS count';

describe('a name that ends in a time does not make that time a measure', () => {
  test.each([
    ['revenue by month last year', byMonth(revenue, ` WHERE ${lastYear}`)],
    ['last year revenue by month', byMonth(revenue, ` WHERE ${lastYear}`)],
    ["last year's revenue by month", byMonth(revenue, ` WHERE ${lastYear}`)],
    ['revenue for last year', `SELECT ${revenue} FROM orders WHERE ${lastYear}`],
    ['revenue in 2024', `SELECT ${revenue} FROM orders WHERE ${lastYear}`],
    ['orders last year', `SELECT ${count} FROM orders WHERE ${lastYear}`],
    ['revenue growth by month in 2024', byMonth('MEASURE(revenue_growth) AS revenue_growth', ` WHERE ${lastYear}`)],
    // "Fiscal quarter" is asked for by both words.
    [
      'revenue by quarter',
      `SELECT date_trunc('quarter', created_at) AS quarter, ${revenue} FROM orders GROUP BY 1 ORDER BY 1 ASC NULLS LAST`,
    ],
    [
      'revenue by fiscal quarter',
      `SELECT fiscal_quarter, ${revenue} FROM orders GROUP BY 1 ORDER BY 2 DESC NULLS LAST`,
    ],
  ])('%s', (question, sql) => {
    expect(asked(question)).toBe(sql);
  });
});

describe('a name that is a time of another measure', () => {
  test.each([
    'revenue last year',
    'Revenue last year by month',
    'what was the revenue last year?',
    'orders revenue last year',
    'revenue last-year',
    'top 3 channels by revenue last year',
    'revenue 2024',
    'revenue 2024 by channel',
    'monthly revenue',
    'monthly revenue by channel',
  ])('%s: which is meant has to be said', (question) => {
    expect(asked(question)).toMatch(/could be a measure, or Revenue at a time\. .* I queried nothing\.$/);
  });

  test('the refusal says how to ask for either, and both ways work', () => {
    expect(asked('revenue last year')).toBe(
      'I understood Revenue last year. "revenue last year" could be a measure, or Revenue at a time. For the measure Revenue last year write its name in quotes, for the time write "revenue for last year". I queried nothing.',
    );
    expect(asked('"Revenue last year" by month')).toBe(byMonth(revenueLastYear));
    expect(asked('revenue_last_year by month')).toBe(byMonth(revenueLastYear));
    expect(asked('monthly revenue')).toContain('for the time write "revenue by month"');
    expect(asked('"monthly revenue" by channel')).toBe(
      'SELECT channel, MEASURE(monthly_revenue) AS monthly_revenue FROM orders GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
    );
  });

  test('beside the other measure, or a time of its own, the name is plain', () => {
    expect(asked('revenue and revenue last year by month')).toBe(byMonth(`${revenue}, ${revenueLastYear}`));
    expect(asked('revenue last year by month in 2024')).toBe(byMonth(revenueLastYear, ` WHERE ${lastYear}`));
  });

  test('nor is a superlative taken for a part of a name in silence', () => {
    expect(asked('channel with least revenue')).toMatch(/"least revenue" could be the measure Least revenue, or /);
    expect(asked('channel with "least revenue"')).toMatch(/^SELECT channel, MEASURE\(least_revenue\)/);
    expect(asked('channel with lowest revenue')).toMatch(/ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 1$/);
  });

  test('a segment with the name of a time', () => {
    expect(asked('revenue this week')).toMatch(/"this week" could be the segment This week or a time\./);
    expect(asked('revenue by channel this week')).toMatch(/"this week" could be the segment This week or a time\./);
    expect(asked('revenue for "this week"')).toBe(`SELECT ${revenue} FROM orders WHERE this_week`);
  });
});

test('a time dimension with the name of a unit is asked for by that unit', () => {
  const hired = 'MEASURE(hired) AS hired FROM jobs GROUP BY 1 ORDER BY 1 ASC NULLS LAST';
  expect(asked('hired by month')).toBe(`SELECT date_trunc('month', month) AS month, ${hired}`);
  expect(asked('hired by year')).toBe(`SELECT date_trunc('year', posted_at) AS year, ${hired}`);
  expect(asked('hired by posted at month')).toMatch(/I can use one date at a time\./);
});

describe('what a measure named "Count" counts', () => {
  test.each([
    ['how many orders', `SELECT ${count} FROM orders`],
    ['number of orders by month', byMonth(count)],
    ['orders by month', byMonth(count)],
    ['shipped orders', `SELECT ${count} FROM orders WHERE status = 'shipped'`],
    ['how many orders are shipped', `SELECT ${count} FROM orders WHERE status = 'shipped'`],
    ['orders and revenue by month', byMonth(`${count}, ${revenue}`)],
    [
      'top 3 channels by orders',
      `SELECT channel, ${count} FROM orders WHERE channel IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 3`,
    ],
    // Of a view that does not say what it is about: by the title.
    ['how many lines', 'SELECT MEASURE(lines_count) AS lines_count FROM orders'],
    // Where something else is measured the word says what it is about.
    ['revenue of shipped orders', `SELECT ${revenue} FROM orders WHERE status = 'shipped'`],
    ['orders revenue', `SELECT ${revenue} FROM orders`],
  ])('%s', (question, sql) => {
    expect(asked(question)).toBe(sql);
  });

  test.each(['top 5 orders', 'orders by order', 'orders per customer', 'revenue by orders', 'list all orders'])(
    '%s: refused',
    (question) => {
      expect(asked(question)).toMatch(/I queried nothing\.$/);
    },
  );

  test('a view is not what it counts', () => {
    const view: AnalystContext = { ...context, relations: [{ ...orders, type: 'view' }] };
    expect(sqlOf('how many orders', view)).toMatch(/I queried nothing\.$/);
  });
});

test('after "which" a dimension is due, though a longer name is that of a measure', () => {
  expect(asked('which product sold most in each channel')).toMatch(/^I understood Product and Channel, but not "sold"/);
  expect(asked('how many products sold')).toBe('SELECT MEASURE(products_sold) AS products_sold FROM orders');
});

test('a measure that is named twice goes with two things', () => {
  expect(asked('revenue by channel and revenue by month')).toMatch(/I cannot tell what goes with which measure\./);
  expect(asked('revenue by month of revenue')).toMatch(/I cannot tell what goes with which measure\./);
});

describe('segments', () => {
  test.each([
    ['completed orders', `SELECT ${count} FROM orders WHERE completed`],
    ['how many completed orders last year', `SELECT ${count} FROM orders WHERE completed AND ${lastYear}`],
    ['completed revenue by month', byMonth(revenue, ' WHERE completed')],
    ['revenue from completed web orders', `SELECT ${revenue} FROM orders WHERE completed AND channel = 'web'`],
    ['large orders', `SELECT ${count} FROM orders WHERE large`],
    ['revenue of large orders by month', byMonth(revenue, ' WHERE large')],
    ['large completed orders', `SELECT ${count} FROM orders WHERE large AND completed`],
    ['completed orders and revenue by month', byMonth(`${count}, ${revenue}`, ' WHERE completed')],
    [
      'top 3 channels by completed orders',
      `SELECT channel, ${count} FROM orders WHERE completed AND channel IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 3`,
    ],
  ])('%s', (question, sql) => {
    expect(asked(question)).toBe(sql);
  });

  test.each([
    'revenue by completed',
    'revenue without completed',
    'revenue not completed',
    'completed and large orders',
    'completed or web orders',
    'completed vs large orders',
    'revenue and completed orders',
    'revenue by channel and completed',
  ])('%s: refused', (question) => {
    expect(asked(question)).toMatch(/I queried nothing\.$/);
  });

  test('a value with the same name has to be told from it', () => {
    const both = { ...context, valueMatches: [{ member: 'orders.status', value: 'completed' }] };
    expect(sqlOf('completed orders', both)).toMatch(/"completed" could be Completed or a value of Status\./);
    expect(sqlOf('orders with status completed', both)).toBe(`SELECT ${count} FROM orders WHERE status = 'completed'`);
  });

  test('follow-ups keep them and add to them', () => {
    const inThread = (...questions: string[]): string => sqlInThread(questions, context);
    expect(inThread('completed orders', 'by month')).toBe(byMonth(count, ' WHERE completed'));
    expect(inThread('completed orders', 'what about revenue?')).toBe(`SELECT ${revenue} FROM orders WHERE completed`);
    expect(inThread('orders by month', 'only completed', 'last year', 'only web')).toBe(
      byMonth(count, ` WHERE completed AND channel = 'web' AND ${lastYear}`),
    );
  });
});

describe('words between a measure and a time', () => {
  test.each(['orders shipped last month', 'how many orders were shipped in March 2025', 'orders completed last year'])(
    '%s: the time may be that of what was done',
    (question) => {
      expect(asked(question)).toMatch(
        /^I understood .* I cannot tell whether ".*" is when they were (?:shipped|completed)\./,
      );
    },
  );

  test('the words that the refusal offers are understood', () => {
    expect(asked('orders shipped last year')).toContain('write "shipped orders last year"');
    expect(asked('shipped orders last year')).toBe(
      `SELECT ${count} FROM orders WHERE status = 'shipped' AND ${lastYear}`,
    );
  });

  test('two values of one dimension beside each other are no list', () => {
    expect(asked('new web orders')).toMatch(/I cannot tell how "new" and "web" belong together\./);
    expect(asked('new and web orders')).toBe(`SELECT ${count} FROM orders WHERE channel IN ('new', 'web')`);
  });

  test('"late" before a time is a part of it', () => {
    const late = { ...context, valueMatches: [{ member: 'orders.status', value: 'late' }] };
    expect(sqlOf('late orders', late)).toBe(`SELECT ${count} FROM orders WHERE status = 'late'`);
    expect(sqlOf('orders in late 2024', late)).toMatch(/but not "late"/);
  });

  test('"month on month" is a change, which is not computed', () => {
    expect(asked('revenue month on month')).toMatch(/but not "on"/);
  });
});
