import fc from 'fast-check';
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

/** Charts with something that is not allowed but does not make the chart, and what is left of each. */
const bar = { mark: 'bar', encoding: { x, y } };
const stripped: readonly (readonly [string, object, object])[] = [
  ['data', { ...bar, data: { values: [{ a: 1 }] } }, bar],
  ['data by URL', { ...bar, data: { url: 'https://evil.example' } }, bar],
  ['data in a layer', { layer: [{ ...bar, data: { values: [] } }] }, { layer: [bar] }],
  ['datasets, config and usermeta', { ...bar, datasets: {}, config: { a: 1 }, usermeta: { embedOptions: {} } }, bar],
  ['params', { ...bar, params: [{ name: 'p', expr: 'alert(1)' }] }, bar],
  ['another schema', { ...bar, $schema: 'https://evil.example/v5.json' }, bar],
  ['a key that reaches a prototype', JSON.parse('{"mark":"bar","__proto__":{"data":1}}'), { mark: 'bar' }],
  ['a size by signal', { ...bar, width: { signal: 'alert(1)' } }, bar],
  ['a link in a mark', { mark: { type: 'bar', href: 'https://evil.example' } }, { mark: { type: 'bar' } }],
  [
    'a link channel',
    { mark: 'bar', encoding: { x, href: { field: 'a' }, url: { field: 'a' } } },
    { mark: 'bar', encoding: { x } },
  ],
  ['a tooltip of everything', { mark: { type: 'bar', tooltip: { content: 'data' } } }, { mark: { type: 'bar' } }],
  ['a colour by expression', { mark: { type: 'bar', color: { expr: 'alert(1)' } } }, { mark: { type: 'bar' } }],
  ['a colour that is a URL', { mark: { type: 'bar', fill: 'url(https://evil.example)' } }, { mark: { type: 'bar' } }],
  ['a shape that is a path', { mark: { type: 'point', shape: 'M0,0L1,1' } }, { mark: { type: 'point' } }],
  [
    'an expression in an axis',
    { mark: 'bar', encoding: { x: { ...x, axis: { labelExpr: 'alert(1)', grid: false } } } },
    { mark: 'bar', encoding: { x: { ...x, axis: { grid: false } } } },
  ],
  [
    'ticks without number',
    { mark: 'bar', encoding: { x: { ...x, axis: { tickCount: 1e9 }, scale: { nice: 1e9 } } } },
    { mark: 'bar', encoding: { x: { ...x, axis: {}, scale: {} } } },
  ],
  [
    'a range of expressions',
    { mark: 'bar', encoding: { color: { ...x, scale: { range: [{ expr: '1' }], zero: true } } } },
    { mark: 'bar', encoding: { color: { ...x, scale: { zero: true } } } },
  ],
  [
    'a custom format type',
    { mark: 'bar', encoding: { x: { ...x, formatType: 'mine' } } },
    { mark: 'bar', encoding: { x } },
  ],
  [
    'a condition',
    { mark: 'bar', encoding: { x, color: { condition: { test: 'alert(1)', value: 'red' }, value: 'grey' } } },
    { mark: 'bar', encoding: { x, color: { value: 'grey' } } },
  ],
  [
    'a channel that is a condition only',
    { mark: 'bar', encoding: { x, color: { condition: { test: 'alert(1)', value: 'red' } } } },
    { mark: 'bar', encoding: { x } },
  ],
  [
    'links in a list of channels',
    { mark: 'bar', encoding: { tooltip: [{ field: 'a', href: 'https://evil.example' }] } },
    { mark: 'bar', encoding: { tooltip: [{ field: 'a' }] } },
  ],
];

/** Each is a chart that would be another one without what is not allowed, or no chart. */
const refused: readonly (readonly [string, unknown, RegExp])[] = [
  ['transform', { mark: 'bar', transform: [{ calculate: '1', as: 'b' }] }, /"transform"/],
  ['nested layers', { layer: [{ layer: [{ mark: 'bar' }] }] }, /"layer\.0\.layer"/],
  ['charts beside each other', { hconcat: [bar] }, /"hconcat"/],
  ['a map', { ...bar, projection: { type: 'mercator' } }, /"projection"/],
  ['a channel of a map', { mark: 'bar', encoding: { latitude: { field: 'a' } } }, /"encoding\.latitude"/],
  ['an image', { mark: 'image' }, /"mark"/],
  ['an image with a URL', { mark: { type: 'image', url: 'https://evil.example/x.png' } }, /"mark/],
  ['a geographic shape', { mark: 'geoshape' }, /"mark"/],
  ['a repeated field', { mark: 'bar', encoding: { x: { field: { repeat: 'column' } } } }, /"encoding\.x\.field/],
  [
    'a computed aggregate',
    { mark: 'bar', encoding: { x: { aggregate: { argmax: 'a' } } } },
    /"encoding\.x\.aggregate"/,
  ],
  ['too many layers', { layer: Array.from({ length: 11 }, () => ({ mark: 'bar' })) }, /"layer"/],
  ['bins without number', { mark: 'bar', encoding: { x: { ...x, bin: { maxbins: 1e9 } } } }, /"encoding\.x\.bin/],
  ['no mark', { encoding: { x, y } }, /neither a mark nor a layer/],
  ['nothing that is left', { data: { values: [] } }, /neither a mark nor a layer/],
  ['a list', [], /vegaSpec/],
  ['a list of charts', [bar], /vegaSpec/],
  ['null', null, /vegaSpec/],
];

describe('a chart', () => {
  test.each(fine.map((spec) => [JSON.stringify(spec)]))('%s is kept as it is', (spec) => {
    expect(parseChartSpec(spec)).toBe(spec);
  });

  test.each(stripped)('is stripped of %s', (_what, spec, left) => {
    expect(JSON.parse(parseChartSpec(JSON.stringify(spec)))).toStrictEqual(left);
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
      `${'['.repeat(8000)}${']'.repeat(8000)}`,
      `{"mark":"bar","encoding":{"x":{"scale":${'['.repeat(8000)}${']'.repeat(8000)}}}}`,
      `{"layer":${'['.repeat(8000)}${']'.repeat(8000)}}`,
      `{"mark":"bar","title":"${'x'.repeat(20_000)}"}`,
    ]) {
      expect(() => parseChartSpec(spec)).toThrow(expect.objectContaining({ code: 'TOOL_INPUT_INVALID' }));
    }
  });

  test('is written anew: what a JSON parser skips is not passed on', () => {
    expect(parseChartSpec('{"mark": "image", "mark": "bar"}')).toBe('{"mark":"bar"}');
  });

  test('of any shape is refused, or comes out without a word of what loads or computes, the same when it is checked again', () => {
    const names =
      'mark encoding layer x y color tooltip scale axis legend header field type value title condition data url href params transform config expr signal usermeta image sort domain range format __proto__'.split(
        ' ',
      );
    const leaf = fc.oneof(
      fc.constantFrom(
        'bar',
        'line',
        'image',
        'https://evil.example/x',
        'alert(1)',
        'month',
        'nominal',
        '#abc',
        '-x',
        null,
        true,
        3,
      ),
      fc.string({ maxLength: 4 }),
    );
    const { chart } = fc.letrec((tie) => ({
      chart: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        leaf,
        fc.dictionary(fc.constantFrom(...names), tie('chart'), { maxKeys: 6 }),
        fc.array(tie('chart'), { maxLength: 3 }),
      ),
    }));
    const whole = fc.tuple(fc.dictionary(fc.constantFrom(...names), chart, { maxKeys: 6 }), fc.boolean());
    let kept = 0;
    fc.assert(
      fc.property(whole, ([spec, hasMark]) => {
        let cleaned: string;
        try {
          cleaned = parseChartSpec(JSON.stringify(hasMark ? { ...spec, mark: 'bar' } : spec));
        } catch (error) {
          expect(error).toMatchObject({ code: 'TOOL_INPUT_INVALID' });
          return;
        }
        kept += 1;
        expect(parseChartSpec(cleaned)).toBe(cleaned);
        // Titles and names of columns are words that are only shown.
        const shown = cleaned.replaceAll(/"(?:title|field|description|format)":"[^"]*"/g, '');
        expect(shown).not.toMatch(
          /"(?:data|url|href|params|transform|config|expr|signal|usermeta|condition)":|"image"/,
        );
      }),
      { numRuns: 400 },
    );
    expect(kept).toBeGreaterThan(20);
  });
});
