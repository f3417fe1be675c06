/** Certified questions: the SQL runs as it stands, and the rows are worded without knowing what was asked. */
import { type AnalystContext, nextTurn } from '@inlay/analyst/analyst.ts';
import { toCertifiedAnswer } from '@inlay/analyst/certified-answer.ts';
import type { AnalystMessage } from '@inlay/analyst/conversation.ts';
import { describe, expect, test } from 'vitest';
import { sales } from './shop-catalogue.ts';

const sql = 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1';
const context: AnalystContext = {
  today: '2026-01-01',
  relations: [sales],
  valueMatches: [],
  toolNames: { meta: 'platformMeta', sql: 'platformSqlApi' },
  certified: { name: 'What sells where', sql },
};
const asked: AnalystMessage = { role: 'user', content: 'what on earth sells where?' };
const table = (columns: readonly [name: string, type: string][], data: unknown[][], totalRows = data.length) => ({
  schema: columns.map(([name, column_type]) => ({ name, column_type })),
  data,
  totalRows,
});

describe('the turns of a certified question', () => {
  test('its SQL is run as it stands, whatever the words mean', () => {
    const { text, toolCalls } = nextTurn([asked], context);
    expect(text).toBe('');
    expect(toolCalls.map(({ name, input }) => [name, JSON.parse(input)])).toEqual([
      [
        'platformSqlApi',
        {
          sqlQuery: sql,
          queryTitle: 'What sells where',
          description: 'The certified query "What sells where".',
          userRequest: asked.content,
        },
      ],
    ]);
  });

  const answered = (sqlQuery: string, result: object): string => {
    const input = JSON.stringify({ sqlQuery });
    return nextTurn(
      [
        asked,
        { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'platformSqlApi', input }] },
        { role: 'tool', toolCallId: 'c1', name: 'platformSqlApi', result: JSON.stringify(result) },
      ],
      context,
    ).text;
  };

  test('its rows are the answer', () => {
    const result = table(
      [
        ['channel', 'String'],
        ['revenue', 'Decimal'],
      ],
      [
        ['web', '1234.5'],
        [null, '7'],
      ],
    );
    expect(answered(sql, result)).toBe('What sells where: web with 1,234.50, then no value with 7.00.');
  });

  test('a failure is said as any other', () => {
    const error = { error: { code: 'QUERY_TIMEOUT', message: 'It took too long', hint: '' } };
    expect(answered(sql, error)).toBe('I could not answer this. It took too long.');
  });

  test('rows of another query are not worded as its answer', () => {
    const other = answered('SELECT MEASURE(revenue) FROM sales', table([['revenue', 'Decimal']], [['1']]));
    expect(other).not.toContain('What sells where');
  });
});

describe('the words for rows', () => {
  const answer = (...of: Parameters<typeof table>): string => toCertifiedAnswer('Sales', table(...of), [sales]);

  test.each([
    ['no rows', answer([['revenue', 'Decimal']], []), 'Sales: there is no data.'],
    ['a single figure', answer([['revenue', 'Decimal']], [['12.5']]), 'Sales: 12.50.'],
    [
      'several figures',
      answer(
        [
          ['revenue', 'Decimal'],
          ['orders_count', 'Int64'],
          ['per_order', 'Double'],
        ],
        [['12.5', 3, 4.16666]],
      ),
      'Sales: revenue 12.50, orders 3 and per order 4.17.',
    ],
    [
      'times',
      answer(
        [
          ['month', 'Timestamp'],
          ['revenue', 'Decimal'],
        ],
        [['2025-03-01T00:00:00Z', '1']],
      ),
      'Sales: March 2025 with 1.00.',
    ],
    ['texts alone', answer([['channel', 'String']], [['web'], ['shop']]), 'Sales: web, then shop.'],
    [
      'more than are named, and more than came',
      answer([['channel', 'String']], [['a'], ['b'], ['c'], ['d'], ['e'], ['f']], 40),
      'Sales: a, then b, c, d, e, and 1 more. These are the first 6 of 40 rows.',
    ],
    [
      'hostile values',
      answer([['channel', 'String']], [['![x](https://evil.example/?q)']]),
      'Sales: \\!\\[x\\]\\(https: //evil.example/?q\\).',
    ],
  ])('%s', (_name, text, expected) => expect(text).toBe(expected));

  test('a result that cannot be read gives no answer', () => {
    expect(toCertifiedAnswer('Sales', {}, [])).toBe('I could not read the result, so I give no answer.');
  });
});
