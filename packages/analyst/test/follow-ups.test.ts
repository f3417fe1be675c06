/** Questions that go on from the one before. */

import { describe, expect, it } from 'vitest';
import { answerTo, ask, inputInThread, inputOf, rowsResult, shop, sqlInThread } from './shop-catalogue.ts';

const followUps: readonly (readonly [questions: readonly string[], sql: string])[] = [
  [
    ['revenue by channel', 'only web'],
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    ['revenue by channel in 2024', 'by month'],
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    ['revenue by channel', 'and by month'],
    "SELECT date_trunc('month', created_at) AS month, channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1, 2 ORDER BY 1 ASC NULLS LAST, 3 DESC NULLS LAST",
  ],
  [
    ['revenue for web in 2024', 'and for 2023?'],
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' AND created_at >= '2023-01-01' AND created_at < '2024-01-01'",
  ],
  [
    ['revenue by product', 'top 5'],
    'SELECT product, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 5',
  ],
  [
    ['orders and revenue by product', 'top 5 by revenue'],
    'SELECT product, MEASURE(orders_count) AS orders_count, MEASURE(revenue) AS revenue FROM sales WHERE product IS NOT NULL GROUP BY 1 ORDER BY 3 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT 5',
  ],
  [
    ['top 5 products by revenue', 'only web', 'by month'],
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    ['revenue for web', 'only store', 'in Germany'],
    "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'store' AND customer_country = 'Germany'",
  ],
  // Today is in 2025.
  ...['the year before', 'and the year before?', 'the previous year', 'what about the prior year?'].map(
    (back): readonly [readonly string[], string] => [
      ['revenue for web in 2023', back],
      "SELECT MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' AND created_at >= '2022-01-01' AND created_at < '2023-01-01'",
    ],
  ),
  [
    ['revenue by channel in January 2024', 'only web', 'the month before', 'the month before'],
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' AND created_at >= '2023-11-01' AND created_at < '2023-12-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    ['revenue by channel', 'the previous year'],
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE created_at >= '2024-01-01' AND created_at < '2025-01-01' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    ['revenue by channel', 'what about orders?'],
    'SELECT channel, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    ['revenue by channel', 'and orders?'],
    'SELECT channel, MEASURE(revenue) AS revenue, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    ['revenue by channel for web', 'orders by brand'],
    'SELECT brand, MEASURE(orders_count) AS orders_count FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
  ],
  [
    ['shipments by carrier', 'only web'],
    "SELECT carrier, MEASURE(shipments_count) AS shipments_count FROM fulfilment WHERE channel = 'web' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    ['revenue by channel', 'gibberish please', 'only web'],
    "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
  [
    ['revenue in 2024 by month', 'all time'],
    "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1 ASC NULLS LAST",
  ],
  [
    ['what about orders by channel', 'only web'],
    "SELECT channel, MEASURE(orders_count) AS orders_count FROM sales WHERE channel = 'web' GROUP BY 1 ORDER BY 2 DESC NULLS LAST",
  ],
];

describe('follow-ups', () => {
  it.each(followUps)('%j', (questions, sql) => {
    expect(sqlInThread(questions)).toBe(sql);
  });

  it.each([
    [['shipments by carrier', 'by brand'], 'That belongs to Sales, but the question before is about Fulfilment.'],
    [['revenue by channel', 'please'], 'I see nothing in it to change in the question before.'],
    [['revenue by channel', 'only gibberish'], 'I do not understand "gibberish".'],
    [['revenue by month and channel', 'top 5'], 'I cannot rank and show a course over time at once.'],
    [['gibberish', 'only web'], 'I need to know what to measure.'],
  ])('refuses %j', (questions, text) => {
    const sql = sqlInThread(questions);
    expect(sql).toContain(text);
    expect(sql).not.toContain('SELECT');
  });

  it('names the result that it builds on, and looks nothing up again', () => {
    expect(inputInThread(['orders by brand', 'revenue by channel', 'only web'])).toMatchObject({
      queryTitle: 'Revenue by channel',
      description: 'Revenue by channel for channel web, all time',
      userRequest: 'only web',
      memoryId: 'result-1',
    });
    expect(inputInThread(['orders by brand', 'revenue by channel'])).not.toHaveProperty('memoryId');
  });

  it('takes no memory from before the question that it goes back to', () => {
    const first = answerTo('orders by brand', JSON.stringify({ uuid: 'old' })).messages;
    const failed = answerTo(
      'revenue by channel',
      JSON.stringify({ error: { code: 'QUERY_FAILED', message: 'No.' } }),
      first,
    );
    expect(inputOf(ask('only web', failed.messages).turn)).not.toHaveProperty('memoryId');
  });

  it.each<[questions: readonly string[], text: RegExp]>([
    [['revenue the year before'], /I need to know which time you count back from\./],
    [['revenue by channel', 'the year before'], /I need to know which time you count back from\./],
    [['revenue since 2023', 'the year before'], /The question before was about since 2023\. Which year do you mean\?/],
    [['revenue in March 2025', 'the year before'], /was about March 2025\. Which year do you mean\?/],
    [['revenue last 3 months', 'and the previous month'], /was about last 3 months .* Which month do you mean\?/],
  ])('%j: refuses to guess what is counted back from', (questions, text) => {
    expect(sqlInThread(questions)).toMatch(text);
    expect(sqlInThread(questions)).toMatch(/I queried nothing\.$/);
  });

  it('answers as the recorded example', () => {
    const result = rowsResult(['channel:String', 'revenue:Decimal'], [['web', 182340.5]]);
    const { messages } = answerTo('revenue by channel', result);
    expect(answerTo('only web', result, messages).text).toBe('Revenue for channel web, all time: 182,340.50.');
  });

  it('refuses rather than going back to an older question when the last one is no longer understood', () => {
    const rows = rowsResult(['orders_count:Int64'], [[1]]);
    const first = answerTo('orders by month', rows).messages;
    const second = answerTo('revenue for Shoes', rows, first).messages;
    const { turn } = ask('by channel', second, { ...shop, valueMatches: [] });
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain('I can no longer tell what the question before meant.');
  });
});
