/** Questions that are easily answered with the figure of another question. Each is read as meant, or asked back. */

import type { AnalystContext } from '@inlay/analyst/analyst.ts';
import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { describe, expect, it } from 'vitest';
import {
  answerTo,
  ask,
  dimension,
  fulfilment,
  measure,
  rowsResult,
  sales,
  shop,
  sqlInThread,
  sqlOf,
} from './shop-catalogue.ts';

/** The shop with words that name two things: "customers", "buyers", "make", "time", "lines". */
const richSales: RelationMetadata = {
  ...sales,
  members: [
    ...sales.members.flatMap((member) => {
      if (member.name === 'sales.brand') return [{ ...member, synonyms: ['make'] }];
      if (member.name === 'sales.created_at') return [{ ...member, synonyms: ['time', 'date'] }];
      if (member.name !== 'sales.customers_count') return [member];
      return [{ ...member, title: 'Active customers', synonyms: ['customers', 'buyers'] }];
    }),
    dimension('sales', 'customer', 'Customer', { synonyms: ['buyer'] }),
    dimension('sales', 'customer_segment', 'Customer segment'),
    dimension('sales', 'cost', 'Purchase price', { synonyms: ['cost'], type: 'number' }),
    measure('sales', 'largest_line', 'Largest order line', { aggType: 'max' }),
    measure('sales', 'refunds_count', 'Refunds', { aggType: 'count' }),
    measure('sales', 'refund_rate', 'Refund rate', { aggType: 'number', format: 'percent' }),
  ],
};

const rich: AnalystContext = {
  ...shop,
  relations: [richSales, { ...fulfilment, synonyms: [...fulfilment.synonyms, 'logistics'] }],
  valueMatches: [
    ...shop.valueMatches,
    { member: 'sales.customer_segment', value: 'vip' },
    { member: 'sales.customer', value: 'Ida Rose' },
  ],
};

/** Where the SQL says what a question was taken for: after SELECT. */
const readings: readonly (readonly [question: string, sql: string])[] = [
  // A word that is a dimension and, letter by letter, a measure.
  ['customers by month', "date_trunc('month', created_at) AS month, MEASURE(customers_count)"],
  ['customers in Germany', "MEASURE(customers_count) AS customers_count FROM sales WHERE customer_country = 'Germany'"],
  ['buyers by channel', 'channel, MEASURE(customers_count)'],
  ['orders and customers by channel', 'channel, MEASURE(orders_count) AS orders_count, MEASURE(customers_count)'],
  ['customers vs orders by month', "date_trunc('month', created_at) AS month, MEASURE(customers_count)"],
  ['which brand has the most customers', 'brand, MEASURE(customers_count)'],
  ['top 5 brands by customers', 'brand, MEASURE(customers_count)'],
  ['how many different customers', 'MEASURE(customers_count)'],
  ['top 10 customers by revenue', 'customer, MEASURE(revenue)'],
  ['best customers by revenue', 'customer, MEASURE(revenue)'],
  ['customers by revenue', 'customer, MEASURE(revenue)'],
  ['revenue by customers', 'customer, MEASURE(revenue)'],
  ['revenue by channel and customers', 'channel, customer, MEASURE(revenue)'],
  ['customers with the most orders', 'customer, MEASURE(orders_count)'],
  // Who has a segment or a country, not what to list.
  ['revenue from vip customers', "MEASURE(revenue) AS revenue FROM sales WHERE customer_segment = 'vip'"],
  [
    'orders from customers in Germany',
    "MEASURE(orders_count) AS orders_count FROM sales WHERE customer_country = 'Germ",
  ],
  ['revenue by customer in Germany', 'customer, MEASURE(revenue)'],
  // Two figures, not the total of both.
  ['compare revenue for web and for store', 'channel, MEASURE(revenue)'],
  ['compare web with store by revenue', 'channel, MEASURE(revenue)'],
  ['web revenue vs store revenue', 'channel, MEASURE(revenue)'],
  ['revenue of web and revenue of store', 'channel, MEASURE(revenue)'],
  ['revenue for the web and the store channel', 'MEASURE(revenue)'],
  ['revenue of the web channel and the store channel', 'MEASURE(revenue)'],
  ['make a chart of revenue by month', "date_trunc('month', created_at) AS month, MEASURE(revenue)"],
  ['revenue by make', 'brand, MEASURE(revenue)'],
  ['revenue since the year 2023', "MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2023-01-01'"],
  ['give us orders by brand', 'brand, MEASURE(orders_count)'],
  ['products and revenue', 'product, MEASURE(revenue)'],
  ['top 5 brands by web revenue', "brand, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web'"],
  ['orders by statuses', 'status, MEASURE(orders_count)'],
  ['revenue across web and store', "MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store')"],
  ['revenue across 2024', "MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01'"],
  ['orders by month before 2024', "date_trunc('month', created_at) AS month, MEASURE(orders_count)"],
  ['revenue this December', "MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-12-01'"],
  ['logistics orders by channel', 'channel, MEASURE(orders_count) AS orders_count FROM fulfilment'],
  [
    'worst brands by revenue',
    'brand, MEASURE(revenue) AS revenue FROM sales WHERE brand IS NOT NULL GROUP BY 1 ORDER BY 2 ASC',
  ],
];

const refusals: readonly (readonly [question: string, named: string])[] = [
  ['how many orders in 2024 by store', 'I cannot break down by "store". Do you mean "for store" or "by channel"?'],
  ['revenue by March 2024', 'I cannot break down by "March 2024".'],
  ['orders by logistics', 'but not "logistics"'],
  ['orders in logistics', 'but not "logistics"'],
  ['how many sales', 'I have no measure that counts "sales".'],
  ['how much did we refund', 'Refunds is a count. Do you mean "how many"?'],
  ['largest order by month', 'I cannot tell the "largest order"'],
  ['largest orders by brand', 'I cannot tell the "largest orders"'],
  ['top 5 orders by brand', 'I cannot tell the "top orders"'],
  ['largest sale by brand', 'I cannot tell the "largest sale"'],
  ['order lines by month', 'but not "lines"'],
  ['worst brands by refund rate', 'Do you mean the highest or the lowest refund rate?'],
  ['which brand has the highest revenue and which the most orders', 'I can rank by one measure at a time.'],
  ['is web the best channel by revenue', 'There is only one to rank'],
  ['revenue for Shoes in Germany and Hats in France', 'I cannot tell whether "Germany" goes with "Hats".'],
  ['web vs Germany revenue', 'but not "vs"'],
  ['revenue compared with store', 'but not "compared with"'],
  ['compare revenue for web', 'but not "compare"'],
  ['compare revenue by month with last year', 'I cannot compare with another time range.'],
  ['revenue and web revenue', 'I cannot tell what goes with which measure.'],
  ['revenue and web orders', 'I cannot tell which measures "web" goes with.'],
  ['revenue by month and orders by channel', 'I can show one table at a time.'],
  ['cancelled and refunds', 'I cannot tell how "cancelled" and "refunds" belong together.'],
  ['revenue by channel and Germany', 'I cannot tell how "channel" and "Germany" belong together.'],
  ['revenue without web, Germany', 'I cannot tell whether "Germany" is to be left out too.'],
  ['revenue by channel and total', 'but not "total"'],
  ['orders on time', 'but not "time"'],
  ['average order value in days', 'but not "days"'],
  ['revenue the day before yesterday', 'but not "day"'],
  ['list all customers', 'I need to know what to measure.'],
  ['customers and their orders', 'but not "their"'],
  ['orders for these brands', 'but not "these"'],
  ['revenue and cost by month', 'Purchase price is no measure.'],
  ['cost and revenue by month', 'Purchase price is no measure.'],
  ['revenue in the US', 'but not "US"'],
  ['orders AT by month', 'but not "AT"'],
  ['no revenue', 'but not "no"'],
];

describe('wording', () => {
  it.each(readings)('%s', (question, sql) => {
    expect(sqlOf(question, rich).replace(/^SELECT /, '')).toContain(sql);
  });

  it.each(refusals)('asks back: %s', (question, named) => {
    const { turn } = ask(question, [], rich);
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain(named);
  });

  it('takes no part of a title for a count of something less', () => {
    const members = fulfilment.members.filter(({ name }) => name !== 'fulfilment.shipments_count');
    const { turn } = ask('shipments by carrier', [], { ...shop, relations: [{ ...fulfilment, members }] });
    expect(turn.text).toContain('but not "shipments"');
  });

  it('says which date decides where another one could be meant', () => {
    const rows = rowsResult(['refunds_count:Int64'], [[3]]);
    expect(answerTo('refunds in 2024', rows, [], rich).text).toBe('Refunds, 2024, by order date: 3.');
    expect(answerTo('orders in 2024', rowsResult(['orders_count:Int64'], [[3]]), [], rich).text).toBe(
      'Orders, 2024: 3.',
    );
  });
});

describe('wording of follow-ups', () => {
  it.each([
    [['revenue by month', 'ok, by channel'], 'SELECT channel, MEASURE(revenue)'],
    [['revenue by channel', 'no, by month'], "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue)"],
    [['revenue by month', 'the same for 2023'], "WHERE created_at >= '2023-01-01' AND created_at < '2024-01-01'"],
    [['revenue for web and store', 'without store'], "channel IN ('web', 'store') AND (channel <> 'store' OR"],
    [['revenue by channel', 'without web', 'without store'], "(channel NOT IN ('web', 'store') OR channel IS NULL)"],
    [['revenue only web', 'without web'], "WHERE (channel <> 'web' OR channel IS NULL)"],
    [['revenue without web by month', 'all channels'], 'AS revenue FROM sales GROUP BY 1 ORDER BY 2'],
    [['revenue in March 2025', 'and April?'], "created_at >= '2025-04-01'"],
    [['revenue in 2023', 'only Q1'], 'Which year do you mean: is it "Q1 2025"?'],
    [['revenue by month', 'cost by month'], 'Purchase price is no measure.'],
    [['revenue for store', 'add web'], 'I can add measures and breakdowns only.'],
    [['revenue for web', 'vs store'], 'but not "vs"'],
    [['revenue for web', 'compare with store'], 'but not "compare"'],
    [['best month by revenue', 'orders in that month'], 'but not "that"'],
    [['top 5 brands by revenue', 'what is their average order value'], 'but not "their"'],
    [['refund rate by brand', 'which was the worst'], 'Do you mean the highest or the lowest refund rate?'],
  ])('%j', (questions, expected) => {
    expect(sqlInThread(questions, rich)).toContain(expected);
  });
});
