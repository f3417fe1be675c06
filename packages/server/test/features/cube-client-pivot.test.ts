/** Charts of Cube's own client from npm, unchanged: what it makes of an answer by its annotation and its query, and asks next. */
import { ResultSet } from '@cubejs-client/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CubeWorld, openCubeWorld } from '../cube-world.ts';

let world: CubeWorld;
let seven: string;
beforeAll(async () => {
  world = await openCubeWorld({ clock: () => new Date('2024-03-15T10:20:30Z') });
  seven = await world.merchant(7);
});
afterAll(() => world.close());

const dateRange: [string, string] = ['2024-01-01', '2024-06-30'];
const byChannel = {
  measures: ['sales.count', 'sales.revenue'],
  dimensions: ['sales.channel'],
  timeDimensions: [{ dimension: 'sales.at', granularity: 'quarter', dateRange }],
};
/** A line for each channel and figure. */
const lines = { x: ['sales.at.quarter'], y: ['sales.channel', 'measures'] };
const first = '2024-01-01T00:00:00.000';
const second = '2024-04-01T00:00:00.000';

test('a dimension beside the time: series, columns of columns, and what is annotated', async () => {
  const result = await world.client(seven).load(byChannel);
  expect(result.seriesNames(lines).map(({ key, title }) => [key, title])).toEqual([
    ['store,sales.count', 'store, Sales Orders'],
    ['store,sales.revenue', 'store, Sales Revenue'],
    ['web,sales.count', 'web, Sales Orders'],
    ['web,sales.revenue', 'web, Sales Revenue'],
    ['sales.count', 'Sales Orders'],
    ['sales.revenue', 'Sales Revenue'],
  ]);
  expect(
    result.pivot(lines).map(({ xValues, yValuesArray }) => [xValues, yValuesArray.map(([, value]) => value)]),
  ).toEqual([
    [[first], [1, 5, 2, 30.5, 0, 0]],
    [[second], [0, 0, 0, 0, 1, 4]],
  ]);
  expect(result.tablePivot(lines)[0]).toMatchObject({ 'sales.at.quarter': first, 'web,sales.revenue': 30.5 });
  expect(
    result.tableColumns(lines).map(({ key, children = [] }) => [key, children.map(({ format }) => format)]),
  ).toEqual([
    ['sales.at.quarter', []],
    ['store', [undefined, 'currency']],
    ['web', [undefined, 'currency']],
    [null, [undefined, 'currency']],
  ]);
  const { measures, dimensions, timeDimensions } = result.annotation();
  expect([Object.keys(measures), Object.keys(dimensions), Object.keys(timeDimensions)]).toEqual([
    ['sales.count', 'sales.revenue'],
    ['sales.channel'],
    ['sales.at.quarter', 'sales.at'],
  ]);
});

test.each([
  ['web', 'equals', [{ 'sales.channel': 'web' }]],
  [null, 'notSet', []],
])('a point of the line of %s leads to the rows behind it', async (channel, operator, rows) => {
  const client = world.client(seven);
  const result = await client.load(byChannel);
  const points = result.pivot(lines)[0]?.yValuesArray.map(([names]) => names) ?? [];
  const yValues = points.find(([name, measure]) => name === channel && measure === 'sales.count') ?? [];
  const query = result.drillDown({ xValues: [first], yValues }, lines);
  expect(query?.filters).toContainEqual(expect.objectContaining({ member: 'sales.channel', operator }));
  if (query === null) throw new Error('no query');
  expect((await client.load(query)).rawData()).toEqual(rows);
});

test.each([
  ['fiscal_year', ['2023-01-01', '2024-12-31'], { '2022-04-01': 0, '2023-04-01': 3, '2024-04-01': 1 }],
  ['week', ['2024-01-22', '2024-02-11'], { '2024-01-22': 0, '2024-01-29': 1, '2024-02-05': 1 }],
  ['day', ['2024-01-30', '2024-02-01'], { '2024-01-30': 0, '2024-01-31': 1, '2024-02-01': 0 }],
])(
  'the client adds the units of %s that have no rows where rows of ours would stand',
  async (granularity, range, counts) => {
    const [from = '', to = ''] = range;
    const result = await world.client(seven).load({
      measures: ['sales.count'],
      timeDimensions: [{ dimension: 'sales.at', granularity, dateRange: [from, to] }],
    });
    expect(Object.fromEntries(result.chartPivot().map((it) => [it.x.slice(0, 10), it['sales.count']]))).toEqual(counts);
  },
);

test('two units of one time are two columns; an answer that was put away is the same answer', async () => {
  const result = await world.client(seven).load({
    measures: ['sales.count'],
    timeDimensions: [
      { dimension: 'sales.at', granularity: 'year' },
      { dimension: 'sales.at', granularity: 'month' },
    ],
  });
  const rows = ['01', '02', '04'].map((month, at) => ({
    'sales.at.year': first,
    'sales.at.month': `2024-${month}-01T00:00:00.000`,
    'sales.count': [2, 1, 1][at],
  }));
  expect(result.tableColumns().map(({ key }) => key)).toEqual(['sales.at.year', 'sales.at.month', 'sales.count']);
  expect(result.tablePivot()).toEqual(rows);
  expect(ResultSet.deserialize(JSON.parse(JSON.stringify(result.serialize()))).tablePivot()).toEqual(rows);
});
