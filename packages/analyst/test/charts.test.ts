/** The Vega-Lite specs: built from marks and encodings only, over exactly the columns of the query. */

import { describe, expect, it } from 'vitest';
import { ask, inputOf, sales, shop } from './shop-catalogue.ts';

/** The chart of a question, parsed; null without one. */
function chartOf(question: string): unknown {
  const spec = inputOf(ask(question).turn)['vegaSpec'];
  return spec === undefined ? null : JSON.parse(spec);
}

const channel = { field: 'channel', type: 'nominal', sort: '-x', title: 'Channel' };
const month = { field: 'month', type: 'temporal', title: 'Month', axis: { format: '%b %Y' } };
const revenue = { field: 'revenue', type: 'quantitative', title: 'Revenue' };

describe('charts', () => {
  it.each([
    ['revenue', null],
    ['revenue and orders for web', null],
    ['monthly revenue by channel and category', null],
    ['revenue by channel', { mark: 'bar', encoding: { y: channel, x: revenue } }],
    ['bottom 3 channels by revenue', { mark: 'bar', encoding: { y: { ...channel, sort: 'x' }, x: revenue } }],
    ['revenue by month', { mark: 'line', encoding: { x: month, y: revenue } }],
    [
      'best 3 months by revenue',
      { mark: 'bar', encoding: { y: { field: 'month', type: 'nominal', sort: '-x', title: 'Month' }, x: revenue } },
    ],
    [
      'revenue by month and channel',
      {
        mark: 'line',
        encoding: { x: month, y: revenue, color: { field: 'channel', type: 'nominal', title: 'Channel' } },
      },
    ],
    [
      'revenue by channel and category',
      {
        mark: 'bar',
        encoding: {
          y: channel,
          x: revenue,
          color: { field: 'category', type: 'nominal', title: 'Category' },
          yOffset: { field: 'category', type: 'nominal' },
        },
      },
    ],
    [
      'on-time rate by channel',
      {
        mark: 'bar',
        encoding: {
          y: channel,
          x: { field: 'on_time_rate', type: 'quantitative', title: 'On-time rate', axis: { format: '.1%' } },
        },
      },
    ],
  ])('%s', (question, chart) => {
    expect(chartOf(question)).toEqual(chart);
  });

  it('draws two measures in two layers with scales of their own', () => {
    expect(chartOf('revenue and orders by month')).toEqual({
      encoding: { x: month },
      layer: [
        {
          mark: { type: 'line', color: '#4c78a8' },
          encoding: { y: { ...revenue, axis: { titleColor: '#4c78a8' } } },
        },
        {
          mark: { type: 'line', color: '#f58518' },
          encoding: {
            y: { field: 'orders_count', type: 'quantitative', title: 'Orders', axis: { titleColor: '#f58518' } },
          },
        },
      ],
      resolve: { scale: { y: 'independent' } },
    });
  });

  it('holds no data, expression, URL, parameter or transform', () => {
    for (const question of [
      'revenue and orders by channel',
      'revenue by month and channel',
      'top 5 brands by revenue',
    ]) {
      const spec = inputOf(ask(question).turn)['vegaSpec'] ?? '';
      expect(spec).not.toMatch(/"(?:data|datasets|expr|url|href|params|transform|usermeta)"/);
    }
  });

  it('quotes names that SQL or Vega-Lite would read otherwise', () => {
    const renamed = new Map([
      ['sales.channel', 'sales.Order'],
      ['sales.brand', 'sales.a.b'],
    ]);
    const members = sales.members.map((member) => ({ ...member, name: renamed.get(member.name) ?? member.name }));
    const context = { ...shop, relations: [{ ...sales, name: 'user', members }] };
    expect(inputOf(ask('revenue by channel', [], context).turn)['sqlQuery']).toContain(
      'SELECT "Order", MEASURE(revenue)',
    );
    const brand = inputOf(ask('revenue by brand', [], context).turn);
    expect(brand['sqlQuery']).toContain('SELECT "a.b", MEASURE(revenue) AS revenue FROM "user" GROUP BY');
    expect(brand['vegaSpec']).toContain(JSON.stringify('a\\.b'));
  });

  it('gives a time column a name of its own beside a member of that name', () => {
    const members = sales.members.map((member) =>
      member.name === 'sales.channel' ? { ...member, name: 'sales.month', title: 'Channel' } : member,
    );
    const context = { ...shop, relations: [{ ...sales, members }] };
    const { sqlQuery } = inputOf(ask('monthly revenue by channel', [], context).turn);
    expect(sqlQuery).toContain("SELECT date_trunc('month', created_at) AS created_at_month, month, MEASURE(revenue)");
  });
});
