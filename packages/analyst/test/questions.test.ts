/** Questions with the exact semantic SQL that each leads to. Today is 20 November 2025, a Thursday. */

import { describe, expect, it } from 'vitest';
import { sqlOf } from './shop-catalogue.ts';

const questions: readonly (readonly [question: string, sql: string])[] = [
  [
    'revenue by channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'Revenue by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'orders and revenue by channel',
    'SELECT channel, MEASURE(orders_count) AS orders_count, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
    'revenue for each merchant',
    'SELECT merchant, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
  ['revenue for Shoes', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE category = 'Shoes'"],
  ['revenue only web', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web'"],
  ['orders in Germany', "SELECT MEASURE(orders_count) AS orders_count FROM sales WHERE customer_country = 'Germany'"],
  [
    'web orders by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(orders_count) AS orders_count FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  ['revenue for web and store', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store')"],
  [
    'revenue for Shoes in Germany',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE category = 'Shoes' AND customer_country = 'Germany'",
  ],
  ['revenue without web', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE (channel <> 'web' OR channel IS NULL)"],
  [
    'revenue by channel except web and store',
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE (channel NOT IN ('web', 'store') OR channel IS NULL) GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ['revenue for brand Berlin', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE brand = 'Berlin'"],
  ['revenue in the city Berlin', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE customer_city = 'Berlin'"],
  [
    'revenue for Berlin by customer city',
    "SELECT customer_city, MEASURE(revenue) AS revenue FROM sales WHERE customer_city = 'Berlin' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ["revenue for O'Neill", "SELECT MEASURE(revenue) AS revenue FROM sales WHERE brand = 'O''Neill'"],
  ["revenue for kids' toys", "SELECT MEASURE(revenue) AS revenue FROM sales WHERE category = 'Kids'' Toys'"],
  [
    'top 5 products by revenue',
    'SELECT product, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 5',
  ],
  [
    'top products by revenue',
    'SELECT product, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 10',
  ],
  [
    'bottom 3 channels by orders',
    'SELECT channel, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 3',
  ],
  [
    'which product has the highest revenue',
    'SELECT product, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
  ],
  [
    'which carrier has the lowest on-time rate',
    'SELECT carrier, MEASURE(on_time_rate) AS on_time_rate FROM fulfilment GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
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
    'top 5 products and channels by revenue',
    'SELECT product, channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST, 1 ASC NULLS LAST, 2 ASC NULLS LAST LIMIT 5',
  ],
  [
    'orders by carrier',
    'SELECT carrier, MEASURE(orders_count) AS orders_count FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'on time rate by carrier last quarter',
    "SELECT carrier, MEASURE(on_time_rate) AS on_time_rate FROM fulfilment WHERE created_at >= '2025-07-01' AND created_at < '2025-10-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    'late shipments by merchant',
    'SELECT merchant, MEASURE(late_shipments) AS late_shipments FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'delivery days by carrier',
    'SELECT carrier, MEASURE(average_delivery_days) AS average_delivery_days FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'fulfilment orders by channel',
    'SELECT channel, MEASURE(orders_count) AS orders_count FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'revenue web vs store by month',
    "SELECT date_trunc('month', created_at) AS month, channel, MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store') GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    'country revenue',
    'SELECT customer_country, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
  ['revenue for web or store', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store')"],
  [
    'unique customers by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(customers_count) AS customers_count FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    'revenue all time by channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'turnover per seller for Blue Door',
    "SELECT merchant, MEASURE(revenue) AS revenue FROM sales WHERE merchant = 'Blue Door' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ['sales by channel', 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST'],
  [
    'completed orders by payment method',
    "SELECT payment_method, MEASURE(orders_count) AS orders_count FROM sales WHERE status = 'completed' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ['revenue from mobile app', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'mobile app'"],
  ['mobile-app revenue', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'mobile app'"],
  [
    'on_time_rate by carrier',
    'SELECT carrier, MEASURE(on_time_rate) AS on_time_rate FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
    'channels by revenue',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
    'revenue without web in Germany',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE (channel <> 'web' OR channel IS NULL) AND customer_country = 'Germany'",
  ],
  [
    'orders with status cancelled by brand',
    "SELECT brand, MEASURE(orders_count) AS orders_count FROM sales WHERE status = 'cancelled' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ['revenue for "web"', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web'"],
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
    'the worst 3 sellers by AOV',
    'SELECT merchant, MEASURE(average_order_value) AS average_order_value FROM sales GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 3',
  ],
  [
    'highest revenue by channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
  ],
  [
    'which brands have the most orders in 2024?',
    "SELECT brand, MEASURE(orders_count) AS orders_count FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 10",
  ],
  [
    'shipments and orders per carrier and month in 2024',
    "SELECT date_trunc('month', created_at) AS month, carrier, MEASURE(shipments_count) AS shipments_count, MEASURE(orders_count) AS orders_count FROM fulfilment WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    'sales.revenue by sales.channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'average delivery days for Swift',
    "SELECT MEASURE(average_delivery_days) AS average_delivery_days FROM fulfilment WHERE carrier = 'Swift'",
  ],
  [
    'REVENUE BY CHANNEL',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'revenues per categories',
    'SELECT category, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'total refunds per shop, Q4 2023',
    "SELECT merchant, MEASURE(refund_amount) AS refund_amount FROM sales WHERE created_at >= '2023-10-01' AND created_at < '2024-01-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  ['what is the average order value?', 'SELECT MEASURE(average_order_value) AS average_order_value FROM sales'],
  [
    'revenue and refund amount by brand, category',
    'SELECT brand, category, MEASURE(revenue) AS revenue, MEASURE(refund_amount) AS refund_amount FROM sales GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST',
  ],
  [
    'number of orders by order status',
    'SELECT status, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'revenue for web, store and mobile app by month',
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store', 'mobile app') GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  ['revenue not from web', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE (channel <> 'web' OR channel IS NULL)"],
  [
    'revenue in Germany except Shoes',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE customer_country = 'Germany' AND (category <> 'Shoes' OR category IS NULL)",
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
  [
    'revenue for web but not Shoes',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' AND (category <> 'Shoes' OR category IS NULL)",
  ],
  [
    "I would like to see revenue by brand for Acme, O'Neill",
    "SELECT brand, MEASURE(revenue) AS revenue FROM sales WHERE brand IN ('Acme', 'O''Neill') GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
];

describe('questions', () => {
  it.each(questions)('%s', (question, sql) => {
    expect(sqlOf(question)).toBe(sql);
  });

  it('are at least sixty, each asked once', () => {
    expect(new Set(questions.map(([question]) => question)).size).toBe(questions.length);
    expect(questions.length).toBeGreaterThanOrEqual(60);
  });
});
