/**
 * Random measures over orders: windows, other times, stages and formulas, made of each other as a data model may make them, as plain
 * values; and their YAML. What they come to is in `composition-oracle.ts`.
 */
import type { Random } from './random-model.ts';

/** A length of time as the YAML writes it: a count, and a unit. */
export interface Span {
  readonly count: number;
  readonly unit: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';
}

/** Units that a query may group by; those from `fiscal_year` on are the model's own. */
export const units = [
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
  'fiscal_year',
  'mid_month',
  'fortnight',
  'shift',
] as const;
/** A unit of time. */
export type Unit = (typeof units)[number];

/** A dimension of the view that is no time: of the order, or of its pieces (`kind`). */
export type Dim = 'channel' | 'region' | 'buyer' | 'kind';
export const dims: readonly Dim[] = ['channel', 'region', 'buyer', 'kind'];

export type Aggregation = 'sum' | 'count' | 'avg' | 'min' | 'max' | 'count_distinct';

/** What rows come to: of orders and refunds their amount (of a count of different values, the buyer), of pieces their number. */
export interface Plain {
  readonly of: 'orders' | 'items' | 'refunds';
  readonly aggregation: Aggregation;
  readonly isWebOnly: boolean;
}

/** A window around a unit. */
export type RandomWindow =
  | {
      readonly kind: 'fixed';
      readonly trailing: Span | 'unbounded' | null;
      readonly leading: Span | 'unbounded' | null;
      readonly offset: 'start' | 'end';
    }
  | { readonly kind: 'to_date'; readonly unit: Unit };

/** A measure; others are named by their place in the list, which is before its own. */
export type RandomMeasure =
  | { readonly kind: 'plain'; readonly plain: Plain }
  | { readonly kind: 'window'; readonly plain: Plain; readonly window: RandomWindow }
  | { readonly kind: 'formula'; readonly left: number; readonly operator: '+' | '/'; readonly right: number }
  | { readonly kind: 'shift'; readonly inner: number; readonly by: Span; readonly type: 'prior' | 'next' }
  | {
      readonly kind: 'stage';
      readonly inner: number;
      readonly outer: 'sum' | 'avg' | 'min' | 'max';
      readonly grain: 'group_by' | 'reduce_by' | 'add_group_by';
      readonly dims: readonly (Dim | 'at')[];
    };

const pick = <T>(random: Random, list: readonly T[]): T => {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const some = <T>(random: Random, list: readonly T[]): readonly T[] => list.filter(() => random(3) === 0);
const span = (count: number, unit: Span['unit']): Span => ({ count, unit });

const lengths = [
  span(1, 'month'),
  span(3, 'month'),
  span(10, 'day'),
  span(1, 'week'),
  span(1, 'quarter'),
  span(1, 'year'),
  span(36, 'hour'),
  span(-1, 'month'),
] as const;
const shifts = [
  span(1, 'month'),
  span(1, 'month'),
  span(2, 'month'),
  span(1, 'quarter'),
  span(1, 'year'),
  span(1, 'day'),
  span(7, 'day'),
  span(2, 'week'),
  span(6, 'hour'),
] as const;

function randomPlain(random: Random, isShared: boolean): Plain {
  return {
    of: isShared && random(3) === 0 ? 'refunds' : random(5) === 0 ? 'items' : 'orders',
    aggregation: pick(random, ['sum', 'sum', 'count', 'avg', 'min', 'max', 'count_distinct'] as const),
    isWebOnly: random(4) === 0,
  };
}

function randomWindow(random: Random, { of }: Plain, isShared: boolean): RandomWindow {
  if (random(3) === 0) {
    const builtIn = ['day', 'week', 'month', 'quarter', 'year'] as const;
    // The units of the model's own are those of the cube that has the time.
    const unit = pick(
      random,
      isShared || of === 'items' ? builtIn : ([...builtIn, 'fiscal_year', 'mid_month'] as const),
    );
    return { kind: 'to_date', unit };
  }
  const end = () => pick(random, [null, null, 'unbounded' as const, ...lengths]);
  const [trailing, leading] = [end(), end()];
  const offset = pick(random, ['start', 'end', 'end'] as const);
  return { kind: 'fixed', trailing: trailing === null && leading === null ? lengths[1] : trailing, leading, offset };
}

/** So many measures, each made of rows or of those before it. `isShared`: orders and refunds have their times in a cube that they share. */
export function randomMeasures(random: Random, count: number, isShared: boolean): readonly RandomMeasure[] {
  const measures: RandomMeasure[] = [];
  const before = () => random(measures.length);
  for (let at = 0; at < count; at += 1) {
    const kind = at === 0 ? 0 : random(10);
    if (kind < 2) measures.push({ kind: 'plain', plain: randomPlain(random, isShared) });
    else if (kind < 4) {
      const plain = randomPlain(random, isShared);
      measures.push({ kind: 'window', plain, window: randomWindow(random, plain, isShared) });
    } else if (kind < 5) {
      measures.push({ kind: 'formula', left: before(), operator: pick(random, ['+', '/'] as const), right: before() });
    } else if (kind < 7) {
      const type = pick(random, ['prior', 'prior', 'next'] as const);
      measures.push({ kind: 'shift', inner: before(), by: pick(random, shifts), type });
    } else {
      const grain = pick(random, ['group_by', 'reduce_by', 'add_group_by'] as const);
      const listed = some(random, grain === 'add_group_by' ? dims : [...dims, 'at' as const]);
      const outer = pick(random, ['sum', 'avg', 'min', 'max'] as const);
      measures.push({ kind: 'stage', inner: before(), outer, grain, dims: listed });
    }
  }
  return measures;
}

const written = (length: Span | 'unbounded') =>
  length === 'unbounded' ? 'unbounded' : `${length.count} ${length.unit}`;

function windowOf(window: RandomWindow): string {
  if (window.kind === 'to_date') return `{ type: to_date, granularity: ${window.unit} }`;
  const { trailing, leading, offset } = window;
  const ends = [
    ...(trailing === null ? [] : [`trailing: ${written(trailing)}`]),
    ...(leading === null ? [] : [`leading: ${written(leading)}`]),
  ];
  return `{ ${[...ends, `offset: ${offset}`].join(', ')} }`;
}

function plainOf({ of, aggregation, isWebOnly }: Plain): string {
  const value = of === 'items' ? 'n' : aggregation === 'count_distinct' ? 'buyer' : 'amount';
  const sql = aggregation === 'count' ? '' : `, sql: "{CUBE}.${value}"`;
  const condition = of === 'items' ? "kind = 'a'" : "channel = 'web'";
  return `type: ${aggregation}${sql}${isWebOnly ? `, filters: [{ sql: "{CUBE}.${condition}" }]` : ''}`;
}

const cubeOf = (measure: RandomMeasure) =>
  measure.kind === 'plain' || measure.kind === 'window' ? measure.plain.of : 'orders';

/** A measure's line in the YAML. */
function lineOf(measure: RandomMeasure, measures: readonly RandomMeasure[], isShared: boolean): string {
  const name = (at: number) => {
    const other = measures[at];
    const cube = other === undefined ? 'orders' : cubeOf(other);
    return cube === 'orders' ? `{m${at}}` : `{${cube}.m${at}}`;
  };
  const at = isShared ? 'moments.at' : 'at';
  const dimension = {
    kind: 'items.kind',
    region: 'customers.region',
    channel: 'channel',
    buyer: 'customers.buyer',
    at,
  };
  switch (measure.kind) {
    case 'plain':
      return plainOf(measure.plain);
    case 'window':
      return `${plainOf(measure.plain)}, rolling_window: ${windowOf(measure.window)}`;
    case 'formula':
      return `type: number, sql: "${name(measure.left)} ${measure.operator} ${name(measure.right)}"`;
    case 'shift': {
      const shift = `{ time_dimension: ${at}, interval: ${written(measure.by)}, type: ${measure.type} }`;
      return `multi_stage: true, type: number, sql: "${name(measure.inner)}", time_shift: [${shift}]`;
    }
    case 'stage': {
      const listed = measure.dims.map((it) => dimension[it]).join(', ');
      return `multi_stage: true, type: ${measure.outer}, sql: "${name(measure.inner)}", ${measure.grain}: [${listed}]`;
    }
  }
}

/** The model: orders with pieces and a buyer, refunds to a buyer, and a view `sales` over them with the measures `m0`, `m1` … */
export function yamlOf(measures: readonly RandomMeasure[], isShared: boolean): string {
  const list = (cube: Plain['of']) => {
    const own = measures.flatMap((it, at) =>
      cubeOf(it) === cube ? [`      - { name: m${at}, ${lineOf(it, measures, isShared)} }\n`] : [],
    );
    return own.length === 0 ? '' : `    measures:\n${own.join('')}`;
  };
  const time = `      - name: at
        sql: "{CUBE}.at"
        type: time
        granularities:
          - { name: fiscal_year, interval: 1 year, origin: "2024-04-01" }
          - { name: mid_month, interval: 1 month, origin: "2024-01-28T12:00:00" }
          - { name: fortnight, interval: 14 days, origin: "2024-01-01" }
          - { name: shift, interval: 12 hours, origin: "2024-01-01T06:00:00" }
`;
  const joins = `      - { name: customers, relationship: many_to_one, sql: "{CUBE}.buyer = {customers}.id" }
      - { name: moments, relationship: many_to_one, sql: "{CUBE}.moment_id = {moments}.id" }`;
  const key = '{ name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: false }';
  return `
cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: items, relationship: one_to_many, sql: "{CUBE}.id = {items}.order_id" }
${joins}
    dimensions:
      - ${key}
      - { name: channel, sql: "{CUBE}.channel", type: string }
${isShared ? '' : time}${list('orders')}  - name: refunds
    sql_table: refunds
    joins:
${joins}
    dimensions:
      - ${key}
${list('refunds')}  - name: items
    sql_table: items
    dimensions:
      - ${key}
      - { name: kind, sql: "{CUBE}.kind", type: string }
${list('items')}  - name: customers
    sql_table: customers
    dimensions:
      - ${key}
      - { name: buyer, sql: "{CUBE}.id", type: number }
      - { name: region, sql: "{CUBE}.region", type: string }
  - name: moments
    sql_table: moments
    dimensions:
      - ${key}
${isShared ? time : ''}views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*" }
      - { join_path: orders.items, includes: "*" }
      - { join_path: orders.customers, includes: [region, buyer] }
${isShared ? '      - { join_path: orders.moments, includes: [at] }\n      - { join_path: refunds, includes: "*" }\n' : ''}`;
}
