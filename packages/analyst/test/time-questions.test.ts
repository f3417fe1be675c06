/** Questions with a time, with the exact semantic SQL that each leads to. Today is 20 November 2025, a Thursday. */

import { describe, expect, it } from 'vitest';
import { sqlOf } from './shop-catalogue.ts';

const questions: readonly (readonly [question: string, sql: string])[] = [
  [
    'Revenue by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'show me the orders, revenue and units per month please',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(orders_count) AS orders_count, MEASURE(revenue) AS revenue, MEASURE(items_sold) AS items_sold FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue per category and month',
    "SELECT date_trunc('month', created_at) AS month, category, MEASURE(revenue) AS revenue FROM sales GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    'what was the total revenue in 2024?',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01'",
  ],
  [
    'how many orders last month',
    "SELECT MEASURE(orders_count) AS orders_count FROM sales WHERE created_at >= '2025-10-01' AND created_at < '2025-11-01'",
  ],
  [
    'how many customers did we have this year',
    "SELECT MEASURE(customers_count) AS customers_count FROM sales WHERE created_at >= '2025-01-01' AND created_at < '2026-01-01'",
  ],
  [
    'AOV by quarter',
    "SELECT date_trunc('quarter', created_at) AS quarter, MEASURE(average_order_value) AS average_order_value FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'average order value per brand in Q3 2024',
    "SELECT brand, MEASURE(average_order_value) AS average_order_value FROM sales WHERE created_at >= '2024-07-01' AND created_at < '2024-10-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'revenue in March 2025',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-03-01' AND created_at < '2025-04-01'",
  ],
  [
    'revenue 2025-03',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-03-01' AND created_at < '2025-04-01'",
  ],
  [
    'daily revenue last 30 days',
    "SELECT date_trunc('day', created_at) AS day, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-10-21' AND created_at < '2025-11-20' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'weekly orders since 2023',
    "SELECT date_trunc('week', created_at) AS week, MEASURE(orders_count) AS orders_count FROM sales WHERE created_at >= '2023-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue by month between March and May 2024',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-03-01' AND created_at < '2024-06-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue from 2022 to 2024 by year',
    "SELECT date_trunc('year', created_at) AS year, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2022-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue from January 2024 to March 2024',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2024-04-01'",
  ],
  [
    'revenue year to date',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-01-01' AND created_at < '2025-11-21'",
  ],
  ['revenue before 2023', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at < '2023-01-01'"],
  ['revenue after 2023', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01'"],
  [
    'web orders by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(orders_count) AS orders_count FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'best month for revenue',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 1",
  ],
  [
    '5 best months by revenue',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 5",
  ],
  [
    'on time rate by carrier last quarter',
    "SELECT carrier, MEASURE(on_time_rate) AS on_time_rate FROM fulfilment WHERE created_at >= '2025-07-01' AND created_at < '2025-10-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'revenue web vs store by month',
    "SELECT date_trunc('month', created_at) AS month, channel, MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store') GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    'refunds by refund date',
    "SELECT date_trunc('day', refunded_at) AS day, MEASURE(refund_amount) AS refund_amount FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'refunds by month of refund date',
    "SELECT date_trunc('month', refunded_at) AS month, MEASURE(refund_amount) AS refund_amount FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue over time',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'unique customers by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(customers_count) AS customers_count FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue last 3 months by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-08-01' AND created_at < '2025-11-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue Q1 by channel',
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-01-01' AND created_at < '2025-04-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'revenue in May by channel',
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-05-01' AND created_at < '2025-06-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'monthly revenue by channel and category',
    "SELECT date_trunc('month', created_at) AS month, channel, category, MEASURE(revenue) AS revenue FROM sales GROUP BY 1, 2, 3 ORDER BY 1 ASC NULLS LAST, 4 DESC NULLS LAST",
  ],
  [
    'month by month revenue',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    "this month's revenue",
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-11-01' AND created_at < '2025-12-01'",
  ],
  [
    'revenue by quarter since Q1 2024',
    "SELECT date_trunc('quarter', created_at) AS quarter, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue in the first half of 2024',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2024-07-01'",
  ],
  [
    'revenue today',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-11-20' AND created_at < '2025-11-21'",
  ],
  [
    'revenue yesterday by channel',
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-11-19' AND created_at < '2025-11-20' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'revenue on 5 March 2024',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-03-05' AND created_at < '2024-03-06'",
  ],
  [
    'revenue from March 5, 2024 to March 20, 2024 by day',
    "SELECT date_trunc('day', created_at) AS day, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-03-05' AND created_at < '2024-03-21' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'orders before March 2024',
    "SELECT MEASURE(orders_count) AS orders_count FROM sales WHERE created_at < '2024-03-01'",
  ],
  ['revenue until June 2024', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at < '2024-07-01'"],
  [
    'revenue between November and February 2024',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2023-11-01' AND created_at < '2024-03-01'",
  ],
  [
    'revenue 2022-2024 per year',
    "SELECT date_trunc('year', created_at) AS year, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2022-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue over the last 12 months',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-11-01' AND created_at < '2025-11-01'",
  ],
  [
    'which brands have the most orders in 2024?',
    "SELECT brand, MEASURE(orders_count) AS orders_count FROM sales WHERE brand IS NOT NULL AND created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 10",
  ],
  [
    'shipments and orders per carrier and month in 2024',
    "SELECT date_trunc('month', created_at) AS month, carrier, MEASURE(shipments_count) AS shipments_count, MEASURE(orders_count) AS orders_count FROM fulfilment WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    'total refunds per shop, Q4 2023',
    "SELECT merchant, MEASURE(refund_amount) AS refund_amount FROM sales WHERE created_at >= '2023-10-01' AND created_at < '2024-01-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'revenue for web, store and mobile app by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store', 'mobile app') GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue from 2024-01-15 to 2024-02-14',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-15' AND created_at < '2024-02-15'",
  ],
  [
    'revenue last week by day',
    "SELECT date_trunc('day', created_at) AS day, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-11-10' AND created_at < '2025-11-17' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue qtd',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2025-10-01' AND created_at < '2025-11-21'",
  ],
  [
    'revenue for the year 2024',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01'",
  ],
  [
    'revenue in the month of March 2024 by day',
    "SELECT date_trunc('day', created_at) AS day, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-03-01' AND created_at < '2024-04-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue by month 2024',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
];

describe('questions with a time', () => {
  it.each(questions)('%s', (question, sql) => {
    expect(sqlOf(question)).toBe(sql);
  });

  it('are at least fifty, each asked once', () => {
    expect(questions.length).toBeGreaterThanOrEqual(50);
    expect(new Set(questions.map(([question]) => question)).size).toBe(questions.length);
  });
});
