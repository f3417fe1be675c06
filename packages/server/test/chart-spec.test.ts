import { describe, expect, test } from 'vitest';
import { parseChartSpec } from '../src/agent/tools/chart-spec.ts';

const x = { field: 'month', type: 'temporal' };
const y = { field: 'revenue', type: 'quantitative' };
const fine: readonly object[] = [
  { mark: 'bar', encoding: { y: { field: 'channel', type: 'nominal', sort: '-x', title: 'Channel' }, x: y } },
  {
    mark: { type: 'line', point: true, tooltip: true },
    encoding: { x: { ...x, timeUnit: 'yearmonth', axis: { format: '%b %Y' } }, y },
  },
  {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    mark: 'area',
    width: 'container',
    encoding: { x, y: { ...y, stack: 'zero' } },
  },
  {
    layer: [
      { mark: 'bar', encoding: { x, y } },
      { mark: { type: 'rule', color: '#f00' }, encoding: { y } },
    ],
    resolve: { scale: { y: 'independent' } },
  },
  {
    mark: 'arc',
    encoding: {
      theta: y,
      color: { field: 'c', type: 'nominal', scale: { range: ['#abc', 'red', 'rgb(1, 2, 3)'] }, legend: null },
    },
  },
  { title: ['Two', 'lines'], mark: 'point', encoding: { x, y, tooltip: [x, y] } },
];

/** Each is a chart with one thing too many, or something else altogether. */
const refused: readonly (readonly [string, unknown, RegExp])[] = [
  ['data', { mark: 'bar', data: { values: [{ a: 1 }] } }, /"data"/],
  ['data by URL', { mark: 'bar', data: { url: 'https://evil.example' } }, /"data"/],
  ['data in a layer', { layer: [{ mark: 'bar', data: { values: [] } }] }, /"layer\.0\.data"/],
  ['datasets', { mark: 'bar', datasets: {} }, /"datasets"/],
  ['params', { mark: 'bar', params: [{ name: 'p', expr: 'alert(1)' }] }, /"params"/],
  ['transform', { mark: 'bar', transform: [{ calculate: '1', as: 'b' }] }, /"transform"/],
  ['config', { mark: 'bar', config: {} }, /"config"/],
  ['usermeta', { mark: 'bar', usermeta: { embedOptions: { loader: {} } } }, /"usermeta"/],
  ['nested layers', { layer: [{ layer: [{ mark: 'bar' }] }] }, /"layer\.0\.layer"/],
  ['an image', { mark: 'image' }, /"mark"/],
  ['an image with a URL', { mark: { type: 'image', url: 'https://evil.example/x.png' } }, /"mark/],
  ['a geographic shape', { mark: 'geoshape' }, /"mark"/],
  ['an href in a mark', { mark: { type: 'bar', href: 'https://evil.example' } }, /"mark\.href"/],
  ['an href channel', { mark: 'bar', encoding: { href: { field: 'a' } } }, /"encoding\.href"/],
  ['a url channel', { mark: 'bar', encoding: { url: { field: 'a' } } }, /"encoding\.url"/],
  ['an expression', { mark: { type: 'bar', color: { expr: 'alert(1)' } } }, /"mark\.color\.expr"|"mark/],
  ['a signal', { mark: 'bar', width: { signal: 'alert(1)' } }, /"width/],
  [
    'an expression in an axis',
    { mark: 'bar', encoding: { x: { ...x, axis: { labelExpr: 'alert(1)' } } } },
    /labelExpr/,
  ],
  ['a condition', { mark: 'bar', encoding: { color: { condition: { test: 'alert(1)', value: 'red' } } } }, /condition/],
  ['a custom format type', { mark: 'bar', encoding: { x: { ...x, formatType: 'mine' } } }, /formatType/],
  ['a colour that is a URL', { mark: { type: 'bar', fill: 'url(https://evil.example)' } }, /mark/],
  ['a shape that is a path', { mark: { type: 'point', shape: 'M0,0L1,1' } }, /mark/],
  ['another schema', { mark: 'bar', $schema: 'https://evil.example/v5.json' }, /\$schema/],
  ['a key that reaches a prototype', JSON.parse('{"mark":"bar","__proto__":{"data":1}}'), /vegaSpec/],
  ['too many layers', { layer: Array.from({ length: 11 }, () => ({ mark: 'bar' })) }, /"layer"/],
  ['no mark', { encoding: { x, y } }, /neither a mark nor a layer/],
  ['a list', [], /vegaSpec/],
  ['null', null, /vegaSpec/],
];

describe('a chart', () => {
  test.each(fine.map((spec) => [JSON.stringify(spec)]))('%s is kept as it is', (spec) => {
    expect(parseChartSpec(spec)).toBe(spec);
  });

  test.each(refused)('with %s is refused', (_what, spec, message) => {
    expect(() => parseChartSpec(JSON.stringify(spec))).toThrow(
      expect.objectContaining({ code: 'TOOL_INPUT_INVALID', message: expect.stringMatching(message) }),
    );
  });

  test('that is no JSON, or too long or deep, is refused', () => {
    for (const spec of [
      '',
      '{"mark":"bar"',
      "{mark:'bar'}",
      '['.repeat(16_000),
      `{"mark":"bar","title":"${'x'.repeat(20_000)}"}`,
    ]) {
      expect(() => parseChartSpec(spec)).toThrow(expect.objectContaining({ code: 'TOOL_INPUT_INVALID' }));
    }
  });

  test('is written anew: what a JSON parser skips is not passed on', () => {
    expect(parseChartSpec('{"mark": "image", "mark": "bar"}')).toBe('{"mark":"bar"}');
  });
});
