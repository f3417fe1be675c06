/**
 * The allow-list of Vega-Lite: one unit or a layer of units, marks and encodings with their looks. What is not in here never
 * reaches a reader: data, URLs, images, geographic shapes, parameters, transforms, expressions, configuration (charts are data,
 * not code). It knows no recursion, so it bounds the depth as well.
 */
import { z } from 'zod';

const layersMax = 10;

const text = z.string().max(500);
const label = z.union([text, z.array(text).max(10), z.null()]);
const field = z.string().max(256);
const size = z.number().min(0).max(10_000);
const number = z.number();
/** Of what a reader's browser makes one by one: ticks, bins. A huge number of them would be its end. */
const count = z.number().min(0).max(1000);
const cell = z.union([text, number, z.boolean(), z.null()]);
/** Names, hex and functional notations; nothing that could hold a `url(…)`. */
const colour = z.string().regex(/^(#[0-9a-fA-F]{3,8}|[a-zA-Z]{1,30}|(rgb|rgba|hsl|hsla)\([\d\s.,%/]{1,60}\))$/);
/** A word such as the name of an interpolation, a colour scheme or an orientation. */
const word = z.string().regex(/^[a-zA-Z][a-zA-Z0-9-]{0,40}$/);
/** A format of d3: `,.2f`, `%b %Y`. */
const format = z.string().max(60);

const markType = z.enum([
  'arc',
  'area',
  'bar',
  'boxplot',
  'circle',
  'errorband',
  'errorbar',
  'line',
  'point',
  'rect',
  'rule',
  'square',
  'text',
  'tick',
  'trail',
]);

const markStyle = z.strictObject({
  color: colour.optional(),
  fill: colour.optional(),
  stroke: colour.optional(),
  filled: z.boolean().optional(),
  opacity: number.optional(),
  fillOpacity: number.optional(),
  strokeOpacity: number.optional(),
  strokeWidth: size.optional(),
  size: size.optional(),
  shape: word.optional(),
});

const markObject = z.strictObject({
  ...markStyle.shape,
  type: markType,
  point: z.union([z.boolean(), z.literal('transparent'), markStyle]).optional(),
  line: z.union([z.boolean(), markStyle]).optional(),
  tooltip: z.union([z.boolean(), z.null()]).optional(),
  interpolate: word.optional(),
  tension: number.optional(),
  orient: word.optional(),
  clip: z.boolean().optional(),
  strokeDash: z.array(size).max(10).optional(),
  strokeCap: word.optional(),
  strokeJoin: word.optional(),
  cornerRadius: size.optional(),
  cornerRadiusEnd: size.optional(),
  cornerRadiusTopLeft: size.optional(),
  cornerRadiusTopRight: size.optional(),
  innerRadius: size.optional(),
  outerRadius: size.optional(),
  padAngle: number.optional(),
  radius: size.optional(),
  theta: number.optional(),
  radiusOffset: number.optional(),
  align: word.optional(),
  baseline: word.optional(),
  dx: number.optional(),
  dy: number.optional(),
  angle: number.optional(),
  fontSize: size.optional(),
  fontWeight: z.union([word, number]).optional(),
  width: z.union([size, z.strictObject({ band: number })]).optional(),
  height: z.union([size, z.strictObject({ band: number })]).optional(),
  thickness: size.optional(),
  bandSize: size.optional(),
  extent: z.union([word, number]).optional(),
});
const mark = z.union([markType, markObject]);

const sort = z.union([
  word,
  z.string().regex(/^-[a-zA-Z]{1,12}$/),
  z.array(cell).max(1000),
  z.strictObject({
    field: field.optional(),
    op: word.optional(),
    order: word.nullable().optional(),
    encoding: word.optional(),
  }),
  z.null(),
]);

const scale = z.strictObject({
  type: word.optional(),
  domain: z.array(cell).max(1000).optional(),
  range: z.union([word, z.array(z.union([number, colour])).max(1000)]).optional(),
  scheme: word.optional(),
  zero: z.boolean().optional(),
  nice: z.union([z.boolean(), count, word]).optional(),
  reverse: z.boolean().optional(),
  clamp: z.boolean().optional(),
  base: number.optional(),
  exponent: number.optional(),
  padding: number.optional(),
  paddingInner: number.optional(),
  paddingOuter: number.optional(),
  round: z.boolean().optional(),
  domainMin: number.optional(),
  domainMax: number.optional(),
  domainMid: number.optional(),
  interpolate: word.optional(),
});

const guide = {
  title: label.optional(),
  orient: word.optional(),
  format: format.optional(),
  formatType: z.enum(['number', 'time']).optional(),
  values: z.array(cell).max(1000).optional(),
  labelAngle: number.optional(),
  labelLimit: size.optional(),
  labelFontSize: size.optional(),
  titleFontSize: size.optional(),
  labelColor: colour.optional(),
  titleColor: colour.optional(),
  tickCount: z.union([count, word]).optional(),
  tickMinStep: number.optional(),
};

const axis = z.strictObject({
  ...guide,
  grid: z.boolean().optional(),
  ticks: z.boolean().optional(),
  domain: z.boolean().optional(),
  labels: z.boolean().optional(),
  labelAlign: word.optional(),
  labelBaseline: word.optional(),
  labelOverlap: z.union([z.boolean(), word]).optional(),
  labelPadding: number.optional(),
  titlePadding: number.optional(),
  offset: number.optional(),
  zindex: number.optional(),
});

const legend = z.strictObject({
  ...guide,
  direction: word.optional(),
  columns: number.optional(),
  type: word.optional(),
  symbolType: word.optional(),
  offset: number.optional(),
  padding: number.optional(),
  symbolLimit: number.optional(),
});

const header = z.strictObject({
  title: label.optional(),
  format: format.optional(),
  orient: word.optional(),
  labelAngle: number.optional(),
});

const channelMembers = {
  field: field.optional(),
  type: z.enum(['quantitative', 'temporal', 'ordinal', 'nominal']).optional(),
  title: label.optional(),
  aggregate: word.optional(),
  timeUnit: word.optional(),
  bin: z
    .union([
      z.boolean(),
      z.strictObject({ maxbins: count.optional(), step: number.optional(), nice: z.boolean().optional() }),
      z.null(),
    ])
    .optional(),
  stack: z.union([word, z.boolean(), z.null()]).optional(),
  sort: sort.optional(),
  scale: scale.nullable().optional(),
  axis: axis.nullable().optional(),
  legend: legend.nullable().optional(),
  format: format.optional(),
  formatType: z.enum(['number', 'time']).optional(),
  bandPosition: number.optional(),
  value: z.union([number, colour, z.null()]).optional(),
  datum: cell.optional(),
  header: header.nullable().optional(),
  columns: number.optional(),
  spacing: number.optional(),
};
const channel = z.strictObject(channelMembers);
const channels = z.union([channel, z.array(channel).max(20)]);
/** `null` switches tooltips off. */
const tooltip = z.union([channel, z.array(channel).max(20), z.null()]);

const encoding = z.strictObject({
  x: channel.optional(),
  y: channel.optional(),
  x2: channel.optional(),
  y2: channel.optional(),
  xOffset: channel.optional(),
  yOffset: channel.optional(),
  xError: channel.optional(),
  yError: channel.optional(),
  color: channel.optional(),
  fill: channel.optional(),
  stroke: channel.optional(),
  opacity: channel.optional(),
  fillOpacity: channel.optional(),
  strokeOpacity: channel.optional(),
  strokeWidth: channel.optional(),
  strokeDash: channel.optional(),
  size: channel.optional(),
  shape: channel.optional(),
  angle: channel.optional(),
  theta: channel.optional(),
  theta2: channel.optional(),
  radius: channel.optional(),
  radius2: channel.optional(),
  text: channel.optional(),
  detail: channels.optional(),
  order: channels.optional(),
  tooltip: tooltip.optional(),
  row: channel.optional(),
  column: channel.optional(),
  facet: channel.optional(),
});

const title = z.union([
  label,
  z.strictObject({ text: label, subtitle: label.optional(), anchor: word.optional(), fontSize: size.optional() }),
]);
const extent = z.union([size, z.literal('container'), z.strictObject({ step: size })]);
const scaleResolve = z.record(word, z.enum(['shared', 'independent']));

const unit = { mark: mark.optional(), encoding: encoding.optional(), title: title.optional() };

/** A chart as a language model may write it. */
export const chartSchema = z.strictObject({
  ...unit,
  $schema: z
    .string()
    .regex(/^https:\/\/vega\.github\.io\/schema\/vega-lite\/v\d{1,2}(\.\d{1,4}){0,2}\.json$/)
    .optional(),
  name: word.optional(),
  description: text.optional(),
  width: extent.optional(),
  height: extent.optional(),
  padding: size.optional(),
  background: colour.nullable().optional(),
  autosize: z
    .union([word, z.strictObject({ type: word, contains: word.optional(), resize: z.boolean().optional() })])
    .optional(),
  layer: z.array(z.strictObject(unit)).min(1).max(layersMax).optional(),
  resolve: z
    .strictObject({ scale: scaleResolve.optional(), axis: scaleResolve.optional(), legend: scaleResolve.optional() })
    .optional(),
});

/** The keys that each part of a chart may have, with the schema of each: what is cleaned part by part (clean-chart.ts). */
export const chartParts = {
  chart: chartSchema.shape,
  unit,
  mark: markObject.shape,
  encoding: encoding.shape,
  channel: channel.shape,
  scale: scale.shape,
  axis: axis.shape,
  legend: legend.shape,
  header: header.shape,
} as const satisfies Readonly<Record<string, Readonly<Record<string, z.ZodType>>>>;
