/** The turns of one question, and the words of its answer, which come from the returned rows only. */

import { nextTurn } from '@inlay/analyst/analyst.ts';
import { describe, expect, it } from 'vitest';
import { answerTo, ask, inputOf, metaResult, rowsResult, shop, withResult } from './shop-catalogue.ts';

describe('turns', () => {
  it('are metadata, query, answer', () => {
    const question = [{ role: 'user', content: 'revenue by channel' }] as const;
    const first = nextTurn(question, shop);
    expect(first).toEqual({
      text: 'I look up revenue and channel.',
      toolCalls: [{ name: 'platformMeta', input: '{"searchQuery":"revenue by channel"}' }],
    });
    const found = withResult(question, first, metaResult());
    const second = nextTurn(found, shop);
    expect(second.text).toBe('');
    expect(second.toolCalls.map(({ name }) => name)).toEqual(['platformSqlApi']);
    expect(inputOf(second)).toEqual({
      sqlQuery: 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST',
      queryTitle: 'Revenue by channel',
      description: 'Revenue by channel, all time',
      userRequest: 'revenue by channel',
      vegaSpec:
        '{"mark":"bar","encoding":{"y":{"field":"channel","type":"nominal","sort":"-x","title":"Channel"},"x":{"field":"revenue","type":"quantitative","title":"Revenue"}}}',
    });
    const data = [
      ['web', 182340.5],
      ['store', 91022.25],
    ];
    const answered = withResult(found, second, rowsResult(['channel:String', 'revenue:Decimal'], data));
    expect(nextTurn(answered, shop)).toEqual({
      text: 'Revenue by channel, all time: web leads with 182,340.50, then store with 91,022.25.',
      toolCalls: [],
    });
  });

  it('tell a failure of a tool and end', () => {
    const error = { code: 'QUERY_TIMEOUT', message: 'The query took too long and was stopped', hint: 'Ask for less.' };
    const { text } = answerTo('revenue by channel', JSON.stringify({ error }));
    expect(text).toBe('I could not answer this. The query took too long and was stopped. Ask for less.');
  });

  it.each(['', 'null', '[]', '{', '{"error":7}'])('survive the unreadable result %s', (result) => {
    expect(answerTo('revenue by channel', result).text).toMatch(/^I could not answer this\./);
  });

  it.each([
    {},
    { schema: [], data: [] },
    { schema: [{ name: 'x' }, { name: 'revenue' }], data: [] },
    { schema: [{ name: 'channel' }, { name: 'revenue' }], data: [['web']] },
    { schema: [{ name: 'channel' }, { name: 'revenue' }], data: [[{}, 1]] },
  ])('give no answer from rows that are not those of the query %j', (result) => {
    expect(answerTo('revenue by channel', JSON.stringify(result)).text).toBe(
      'I could not read the result, so I give no answer.',
    );
  });

  it('give no answer for rows of a question that means something else by now', () => {
    const { turn, messages } = ask('revenue for web');
    const answered = withResult(messages, turn, rowsResult(['revenue:Decimal'], [[1]]));
    const other = { ...shop, valueMatches: [{ member: 'sales.brand', value: 'web' }] };
    expect(nextTurn(answered, other).text).toBe('What you may query has changed meanwhile. Please ask again.');
  });
});

describe('answers', () => {
  const byMonth = ['month:Timestamp', 'revenue:Decimal'];
  const byChannel = ['channel:String', 'revenue:Decimal'];
  const month = (name: string): string => `2024-${name}-01T00:00:00.000`;

  it.each([
    ['revenue', ['revenue:Decimal'], [[1234]], 'Revenue, all time: 1,234.00.'],
    ['revenue in 2024', ['revenue:Decimal'], [[null]], 'Revenue, 2024: no value.'],
    ['revenue for web', ['revenue:Decimal'], [[0]], 'Revenue for channel web, all time: 0.00.'],
    ['orders without web', ['orders_count:Int64'], [[12345]], 'Orders without channel web, all time: 12,345.'],
    [
      'revenue and orders in Q3 2024',
      ['revenue:Decimal', 'orders_count:Int64'],
      [['12345678901234567890.125', '9007199254740993']],
      'Revenue and orders, Q3 2024: revenue 12,345,678,901,234,567,890.125 and orders 9,007,199,254,740,993.',
    ],
    [
      'average order value',
      ['average_order_value:Double'],
      [[87.33333333333333]],
      'Average order value, all time: 87.33.',
    ],
    ['on-time rate', ['on_time_rate:Double'], [[0.95349]], 'On-time rate, all time: 95.35%.'],
    ['revenue by channel in 2024', byChannel, [], 'There is no data for revenue by channel, 2024.'],
    ['revenue by channel', byChannel, [[null, 5]], 'Revenue by channel, all time: no value of channel with 5.00.'],
    [
      'revenue by channel',
      byChannel,
      [
        ['web', 5],
        ['store', null],
        [null, null],
      ],
      'Revenue by channel, all time: web leads with 5.00, then store with no value; 1 group without a channel has no value.',
    ],
    ['revenue by channel', byChannel, [['web', null]], 'Revenue by channel, all time: web with no value.'],
    [
      'which channel has the lowest revenue',
      byChannel,
      [['store', 1.5]],
      'Revenue by channel, lowest, all time: store with 1.50.',
    ],
    [
      'bottom 2 channels by revenue',
      byChannel,
      [
        ['store', -1.5],
        ['web', 3],
      ],
      'Revenue by channel, lowest 2, all time: store is lowest with -1.50, then web with 3.00.',
    ],
    [
      'revenue by month in 2024',
      byMonth,
      [
        [month('01'), 1234],
        [month('02'), '99999999999999999999.5'],
        [month('03'), null],
        [month('04'), 1000],
        [month('05'), 2345],
      ],
      'Revenue by month, 2024: from 1,234.00 in January 2024 to 2,345.00 in May 2024; highest 99,999,999,999,999,999,999.50 in February 2024, lowest 1,000.00 in April 2024.',
    ],
    [
      'revenue by quarter',
      ['quarter:Timestamp', 'revenue:Decimal'],
      [[month('04'), 7]],
      'Revenue by quarter, all time: 7.00 in Q2 2024.',
    ],
    [
      'revenue by month and channel',
      ['month:Timestamp', 'channel:String', 'revenue:Decimal'],
      [
        [month('01'), 'web', 5],
        [month('01'), 'store', 2],
        [month('02'), 'web', 9],
      ],
      'Revenue by month and channel, all time: highest 9.00 for February 2024, web, lowest 2.00 for January 2024, store.',
    ],
    [
      'revenue by channel and category',
      ['channel:String', 'category:String', 'revenue:Decimal'],
      [
        ['web', 'Shoes', 5],
        ['store', 'Hats', 2],
      ],
      'Revenue by channel and category, all time: web, Shoes leads with 5.00, then store, Hats with 2.00.',
    ],
    [
      'revenue by week last 3 weeks',
      ['week:Timestamp', 'revenue:Decimal'],
      [['2025-11-10T00:00:00.000', 3]],
      'Revenue by week, last 3 weeks (27 October 2025 to 16 November 2025): 3.00 in week of 10 November 2025.',
    ],
  ] as const)('%s', (question, columns, data, expected) => {
    expect(answerTo(question, rowsResult(columns, data)).text).toBe(expected);
  });

  it('names at most five rows and says how many there are', () => {
    const data = Array.from({ length: 100 }, (_, index) => [`p${index}`, 1000 - index]);
    const { text } = answerTo(
      'revenue by product',
      rowsResult(['product:String', 'revenue:Decimal'], data, { totalRows: 250 }),
    );
    expect(text).toBe(
      'Revenue by product, all time: p0 leads with 1,000.00, then p1 with 999.00, p2 with 998.00, p3 with 997.00, ' +
        'p4 with 996.00, and 95 more. These are the first 100 of 250 rows.',
    );
  });

  it.each([
    ['![x](http://evil.example/a.png)', '\\!\\[x\\]\\(http: //evil.example/a.png\\)'],
    ['<img src=x onerror=alert(1)>', '\\<img src=x onerror=alert\\(1\\)\\>'],
    ['a\nb\r\n\tc\u2028d\u202ee', 'a b c d e'],
    ['www.evil.example', 'www .evil.example'],
    ['jane@evil.example', 'jane @evil.example'],
    ['**bold** `code` _em_ a|b', '\\*\\*bold\\*\\* \\`code\\` \\_em\\_ a\\|b'],
    ['credit_card', 'credit_card'],
    ['\\[x](y)', '\\\\\\[x\\]\\(y\\)'],
    ['x'.repeat(81), `${'x'.repeat(79)}…`],
    ['😀'.repeat(80), '😀'.repeat(80)],
  ])('makes the value %j harmless', (value, shown) => {
    const { text } = answerTo('revenue by channel', rowsResult(byChannel, [[value, 1]]));
    expect(text).toBe(`Revenue by channel, all time: ${shown} with 1.00.`);
  });
});
