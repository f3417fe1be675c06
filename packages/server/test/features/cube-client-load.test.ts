/** `load()` of Cube's own client from npm, unchanged: rows, pivots, comparisons, drill-down, errors. */
import { RequestError } from '@cubejs-client/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CubeWorld, openCubeWorld } from '../cube-world.ts';

let world: CubeWorld;
let seven: string;
beforeAll(async () => {
  world = await openCubeWorld({ clock: () => new Date('2024-03-15T10:20:30Z') });
  seven = await world.merchant(7);
});
afterAll(() => world.close());

const byMonth = {
  measures: ['sales.revenue', 'sales.count'],
  timeDimensions: [
    { dimension: 'sales.at', granularity: 'month', dateRange: ['2024-01-01', '2024-04-30'] as [string, string] },
  ],
};

describe('load()', () => {
  test('rows, pivots, series, and empty months in between', async () => {
    const result = await world.client(seven).load(byMonth);
    expect(result.rawData()).toEqual([
      {
        'sales.at.month': '2024-01-01T00:00:00.000',
        'sales.at': '2024-01-01T00:00:00.000',
        'sales.revenue': 30.5,
        'sales.count': 2,
      },
      {
        'sales.at.month': '2024-02-01T00:00:00.000',
        'sales.at': '2024-02-01T00:00:00.000',
        'sales.revenue': 5,
        'sales.count': 1,
      },
      {
        'sales.at.month': '2024-04-01T00:00:00.000',
        'sales.at': '2024-04-01T00:00:00.000',
        'sales.revenue': 4,
        'sales.count': 1,
      },
    ]);
    expect(result.chartPivot().map((it) => [it.x, it['sales.revenue']])).toEqual([
      ['2024-01-01T00:00:00.000', 30.5],
      ['2024-02-01T00:00:00.000', 5],
      ['2024-03-01T00:00:00.000', 0],
      ['2024-04-01T00:00:00.000', 4],
    ]);
    expect(result.series()).toMatchObject([
      { key: 'sales.revenue', title: 'Sales Revenue', shortTitle: 'Revenue' },
      { key: 'sales.count', series: [{ value: 2 }, { value: 1 }, { value: 0 }, { value: 1 }] },
    ]);
    expect(result.tablePivot({ fillMissingDates: false })[0]).toEqual({
      'sales.at.month': '2024-01-01T00:00:00.000',
      'sales.revenue': 30.5,
      'sales.count': 2,
    });
    expect(result.tableColumns().map(({ title, format }) => [title, format])).toEqual([
      ['Sales Ordered', undefined],
      ['Sales Revenue', 'currency'],
      ['Sales Orders', undefined],
    ]);
    const filled = await world.client(seven).load({ ...byMonth, fillMissingDates: true });
    expect(filled.rawData().map((it) => [it['sales.at.month'], it['sales.count']])).toContainEqual([
      '2024-03-01T00:00:00.000',
      null,
    ]);
  });

  test('totals, limits and offsets', async () => {
    const query = {
      dimensions: ['orders.id'],
      order: { 'orders.id': 'desc' },
      limit: 2,
      offset: 1,
      total: true,
    } as const;
    const result = await world.client(seven).load(query);
    expect(result.rawData()).toEqual([{ 'orders.id': 3 }, { 'orders.id': 2 }]);
    expect(result.totalRows()).toBe(4);
    const none = await world
      .client(seven)
      .load({ ...query, filters: [{ member: 'orders.id', operator: 'gt', values: ['99'] }] });
    expect([none.rawData(), none.totalRows(), none.chartPivot(), none.tablePivot()]).toEqual([[], 0, [], []]);
  });

  test('a range of phrases, in the time zone of the query', async () => {
    const query = { measures: ['orders.count'], timeDimensions: [{ dimension: 'orders.at', dateRange: 'last month' }] };
    const counted = async (more: object) => (await world.client(seven).load({ ...query, ...more })).rawData()[0];
    expect(await counted({})).toEqual({ 'orders.count': 1 });
    // 23:30 on 31 January in UTC is half past midnight in Berlin.
    expect(await counted({ timezone: 'Europe/Berlin' })).toEqual({ 'orders.count': 2 });
    const result = await world.client(seven).load({ ...query, timezone: 'Europe/Berlin' });
    expect(result.query()).toMatchObject({
      timezone: 'Europe/Berlin',
      timeDimensions: [{ dateRange: ['2024-02-01T00:00:00.000', '2024-02-29T23:59:59.999'] }],
    });
  });

  test('ranges are compared', async () => {
    const result = await world.client(seven).load({
      measures: ['orders.count'],
      timeDimensions: [
        {
          dimension: 'orders.at',
          granularity: 'month',
          compareDateRange: ['this month', ['2024-01-01', '2024-01-31'], ['2024-02-01', '2024-02-29']],
        },
      ],
    });
    expect(result.decompose().map((it) => it.rawData())).toMatchObject([
      [],
      [{ 'orders.count': 2, compareDateRange: '2024-01-01T00:00:00.000 - 2024-01-31T23:59:59.999' }],
      [{ 'orders.count': 1, compareDateRange: '2024-02-01T00:00:00.000 - 2024-02-29T23:59:59.999' }],
    ]);
    expect(
      result.series().map(({ key, series }) => [key, series.map(({ value }: { value: number }) => value)]),
    ).toEqual([
      ['2024-01-01T00:00:00.000 - 2024-01-31T23:59:59.999,orders.count', [2]],
      ['2024-02-01T00:00:00.000 - 2024-02-29T23:59:59.999,orders.count', [1]],
    ]);
  });

  test('queries are blended by one unit of time', async () => {
    const of = (measure: string) => ({ ...byMonth, measures: [measure] });
    const result = await world.client(seven).load([of('sales.revenue'), of('sales.count')]);
    expect(result.chartPivot()[0]).toMatchObject({
      x: '2024-01-01T00:00:00.000',
      'sales.revenue': 30.5,
      'sales.count': 2,
    });
    await expect(world.client(seven).load([of('sales.revenue'), { measures: ['sales.count'] }])).rejects.toThrow(
      'Each of several queries needs a time dimension',
    );
  });

  test('what a figure is made of: the client asks for the rows behind it', async () => {
    const query = {
      measures: ['orders.count'],
      dimensions: ['orders.channel'],
      timeDimensions: [
        { dimension: 'orders.at', granularity: 'month', dateRange: ['2024-01-01', '2024-02-29'] as [string, string] },
      ],
    };
    const result = await world.client(seven).load(query);
    const behind = result.drillDown({ xValues: ['2024-01-01T00:00:00.000'], yValues: ['web', 'orders.count'] });
    expect(behind).not.toBeNull();
    const rows = await world.client(seven).load(behind ?? {});
    expect(rows.rawData().map((it) => it['orders.id'])).toEqual([1, 2]);
    const filtered = await world.client(seven).load({ measures: ['orders.web_count'] });
    const counted = filtered.drillDown({ xValues: [], yValues: ['orders.web_count'] });
    const some = await world.client(seven).load({ ...counted, order: { 'orders.id': 'desc' } });
    expect(some.rawData().map((it) => it['orders.id'])).toEqual([2, 1]);
  });

  test('rows in other forms are the same rows', async () => {
    const expected = (await world.client(seven).load(byMonth)).rawData();
    for (const form of ['compact', 'columnar'] as const) {
      expect((await world.client(seven).load(byMonth, undefined, undefined, form)).rawData()).toEqual(expected);
    }
  });

  test('cubes are joined as the model declares, each figure as when asked alone', async () => {
    const query = { measures: ['lines.quantity', 'orders.revenue'], dimensions: ['orders.channel'] };
    const result = await world.client(seven).load({ ...query, order: { 'orders.channel': 'asc' } });
    expect(result.rawData()).toEqual([
      { 'orders.channel': 'store', 'lines.quantity': 4, 'orders.revenue': 5 },
      { 'orders.channel': 'web', 'lines.quantity': 5, 'orders.revenue': 30.5 },
      { 'orders.channel': null, 'lines.quantity': null, 'orders.revenue': 4 },
    ]);
  });

  test('a unit of time of the model, segments, filters of groups', async () => {
    const query = {
      measures: ['orders.revenue'],
      timeDimensions: [{ dimension: 'orders.at', granularity: 'fiscal_year' }],
    };
    const years = await world.client(seven).load(query);
    expect(years.rawData().map((it) => [it['orders.at.fiscal_year'], it['orders.revenue']])).toEqual([
      ['2023-04-01T00:00:00.000', 35.5],
      ['2024-04-01T00:00:00.000', 4],
    ]);
    expect(years.chartPivot().map(({ x }) => x)).toEqual(['2023-04-01T00:00:00.000', '2024-04-01T00:00:00.000']);
    const large = await world.client(seven).load({ ...query, segments: ['orders.large'] });
    expect(large.rawData().map((it) => it['orders.revenue'])).toEqual([30.5]);
    const filters = [{ member: 'orders.revenue', operator: 'lt' as const, values: ['10'] }];
    expect((await world.client(seven).load({ ...query, filters })).rawData()).toHaveLength(1);
  });

  test('accounts, embed tenants and merchants side by side', async () => {
    const query = { measures: ['sales.revenue'] };
    for (const account of [world.shops.demo, world.shops.other]) {
      for (const [id, revenue] of [
        [7, 39.5],
        [8, 100],
        [9, null],
      ] as const) {
        const token = await world.merchant(id, account);
        expect((await world.client(token, account).load(query)).rawData()).toEqual([{ 'sales.revenue': revenue }]);
      }
    }
    const other = world.client(seven, world.shops.other).load(query);
    await expect(other).rejects.toMatchObject({ status: 404 });
  });

  test('a hidden member is as unknown as one that there is not', async () => {
    const messageOf = (member: string): Promise<string> =>
      world
        .client(seven)
        .load({ dimensions: [member] })
        .then(
          () => 'answered',
          (error: Error) => error.message,
        );
    expect((await messageOf('orders.secret')).replace('secret', 'x')).toBe(
      (await messageOf('orders.secrex')).replace('secrex', 'x'),
    );
    expect(await messageOf('orders.secret')).toMatch(/^No member "secret" in orders\./);
    const ordered = world
      .client(seven)
      .load({ measures: ['orders.count'], filters: [{ member: 'orders.secret', operator: 'gt', values: ['1'] }] });
    await expect(ordered).rejects.toThrow('No member "secret" in orders.');
  });

  test('errors are what the client throws', async () => {
    const load = world.client(seven).load({ measures: ['orders.county'] });
    await expect(load).rejects.toBeInstanceOf(RequestError);
    await expect(load).rejects.toMatchObject({
      message: 'No member "county" in orders. Closest: count',
      status: 400,
      response: { code: 'MEMBER_NOT_FOUND' },
    });
    for (const wrong of ['', 'Bearer x', seven.replace('Bearer ', ''), seven.replace('Bearer', 'Api-Key')]) {
      await expect(world.client(wrong).load(byMonth)).rejects.toMatchObject({ status: 401 });
    }
    expect((await world.client(seven.replace('Bearer', 'Embed-Token')).load(byMonth)).rawData()).toHaveLength(3);
  });

  test('a long query is sent as a body', async () => {
    const values = Array.from({ length: 400 }, (_, at) => String(at));
    const query = {
      measures: ['orders.count'],
      filters: [{ member: 'orders.id', operator: 'equals' as const, values }],
    };
    expect((await world.client(seven).load(query)).rawData()).toEqual([{ 'orders.count': 4 }]);
  });
});
