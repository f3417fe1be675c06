/** Questions without a time, with the exact semantic SQL that each leads to. */

import { describe, expect, it } from 'vitest';
import { sqlOf } from './shop-catalogue.ts';

const questions: readonly (readonly [question: string, sql: string])[] = [
  [
    'revenue by channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'orders and revenue by channel',
    'SELECT channel, MEASURE(orders_count) AS orders_count, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    'revenue for each merchant',
    'SELECT merchant, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  ['revenue for Shoes', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE category = 'Shoes'"],
  ['revenue only web', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web'"],
  ['orders in Germany', "SELECT MEASURE(orders_count) AS orders_count FROM sales WHERE customer_country = 'Germany'"],
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
    'SELECT product, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 5',
  ],
  [
    'top products by revenue',
    'SELECT product, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 10',
  ],
  [
    'bottom 3 channels by orders',
    'SELECT channel, MEASURE(orders_count) AS orders_count FROM sales WHERE channel IS NOT NULL GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 3',
  ],
  [
    'which product has the highest revenue',
    'SELECT product, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
  ],
  [
    'which carrier has the lowest on-time rate',
    'SELECT carrier, MEASURE(on_time_rate) AS on_time_rate FROM fulfilment WHERE carrier IS NOT NULL GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
  ],
  [
    'top 5 products and channels by revenue',
    'SELECT product, channel, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL AND channel IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST, 1 ASC NULLS LAST, 2 ASC NULLS LAST LIMIT 5',
  ],
  [
    'orders by carrier',
    'SELECT carrier, MEASURE(orders_count) AS orders_count FROM fulfilment GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
    'country revenue',
    'SELECT customer_country, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  ['revenue for web or store', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel IN ('web', 'store')"],
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
    'channels by revenue',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
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
    'the worst 3 sellers by AOV',
    'SELECT merchant, MEASURE(average_order_value) AS average_order_value FROM sales WHERE merchant IS NOT NULL GROUP BY 1 ORDER BY 2 ASC NULLS LAST, 1 ASC NULLS LAST LIMIT 3',
  ],
  [
    'highest revenue by channel',
    'SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE channel IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 1',
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
  ['what is the average order value?', 'SELECT MEASURE(average_order_value) AS average_order_value FROM sales'],
  [
    'revenue and refund amount by brand, category',
    'SELECT brand, category, MEASURE(revenue) AS revenue, MEASURE(refund_amount) AS refund_amount FROM sales GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST',
  ],
  [
    'number of orders by order status',
    'SELECT status, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  ['revenue not from web', "SELECT MEASURE(revenue) AS revenue FROM sales WHERE (channel <> 'web' OR channel IS NULL)"],
  [
    'revenue in Germany except Shoes',
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE customer_country = 'Germany' AND (category <> 'Shoes' OR category IS NULL)",
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

  it('are at least fifty, each asked once', () => {
    expect(questions.length).toBeGreaterThanOrEqual(50);
    expect(new Set(questions.map(([question]) => question)).size).toBe(questions.length);
  });
});
