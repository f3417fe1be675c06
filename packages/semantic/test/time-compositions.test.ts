/** Windows, other times, stages and formulas made of each other at random: the answer is the one that the definitions give, or none. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { utcToLocal } from '../src/query/zoned-time.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { answer, type Facts, type GroupBy, type JoinedRow, Refused } from './composition-oracle.ts';
import { next, truncate } from './composition-times.ts';
import { createTable, engineNames, type TestEngine, useEngine, type Value } from './engines.ts';
import { loadModel } from './load-model.ts';
import { anybody, sorted } from './plan/ask.ts';
import { dims, type RandomMeasure, randomMeasures, units, yamlOf } from './random-measures.ts';
import { type Random, randomFrom } from './random-model.ts';
import { compile } from './time-shop.ts';

const ms = (text: string) => Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`);
const toText = (time: number) => new Date(time).toISOString().slice(0, 19).replace('T', ' ');
const pick = <T>(random: Random, list: readonly T[]): T => {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

const days = [
  '2022-12-31',
  '2023-01-01',
  '2023-01-29',
  '2023-02-27',
  '2023-02-28',
  '2023-03-31',
  '2023-12-31',
  '2024-01-01',
  '2024-01-28',
  '2024-01-29',
  '2024-01-31',
  '2024-02-28',
  '2024-02-29',
  '2024-03-01',
  '2024-03-31',
  '2024-04-01',
  '2024-12-30',
  '1969-12-31',
];
const clocks = ['00:00:00', '00:30:00', '05:59:59', '11:30:00', '12:30:00', '23:59:59'];

/** An order; a refund is one without pieces. */
type Fact = readonly [
  id: number,
  moment: number | null,
  channel: string | null,
  buyer: number | null,
  amount: number | null,
];
interface Data {
  readonly moments: readonly (string | null)[];
  readonly orders: readonly Fact[];
  readonly refunds: readonly Fact[];
  readonly items: readonly (readonly [id: number, order: number | null, kind: string, n: number | null])[];
}
const regions: ReadonlyMap<number | null, string> = new Map([
  [1, 'north'],
  [2, 'south'],
  [3, 'south'],
]);

function randomData(random: Random): Data {
  const fact = (at: number): Fact => [
    at + 1,
    random(15) === 0 ? null : 1 + random(9),
    pick(random, ['web', 'store', null]),
    pick(random, [1, 2, 3, null]),
    pick(random, [10, 2.5, 0, -4, 100, null]),
  ];
  return {
    moments: times(8, () =>
      random(15) === 0 ? null : `${pick(random, random(8) === 0 ? days : days.slice(2, -2))} ${pick(random, clocks)}`,
    ),
    orders: times(random(12), fact),
    refunds: times(random(8), fact),
    items: times(random(9), (at) => [
      at + 1,
      pick(random, [1, 2, 3, 4, 5, 6, 99, null]),
      pick(random, ['a', 'b']),
      pick(random, [1, 7, null]),
    ]),
  };
}

async function fill(engine: TestEngine, { moments, orders, refunds, items }: Data): Promise<void> {
  const tables = ['orders', 'refunds', 'items', 'customers', 'moments'];
  for (const table of tables) await engine.exec(`DROP TABLE IF EXISTS ${table}`);
  const columns = {
    id: 'integer',
    moment_id: 'integer',
    channel: 'text',
    buyer: 'integer',
    amount: 'decimal(12,2)',
    at: 'timestamp',
  } as const;
  const withTime = (rows: readonly Fact[]) => rows.map((row) => [...row, moments[(row[1] ?? 0) - 1] ?? null]);
  await createTable(engine, 'orders', columns, withTime(orders));
  await createTable(engine, 'refunds', columns, withTime(refunds));
  await createTable(engine, 'items', { id: 'integer', order_id: 'integer', kind: 'text', n: 'integer' }, items);
  await createTable(engine, 'customers', { id: 'integer', region: 'text' }, [...regions]);
  const timed = moments.map((at, index) => [index + 1, at]);
  await createTable(engine, 'moments', { id: 'integer', at: 'timestamp' }, timed);
}

function joined({ moments, orders, refunds, items }: Data, timezone: string): Facts {
  const row = ([id, moment, channel, buyer, amount]: Fact) => {
    const at = moments[(moment ?? 0) - 1] ?? null;
    const local = at === null ? null : ms(utcToLocal(`${at}.000000`, timezone));
    const region = regions.get(buyer) ?? null;
    return { id, at: local, channel, buyer, amount, region, item: null, kind: null, n: null };
  };
  return {
    refunds: refunds.map(row),
    orders: orders.flatMap((order): JoinedRow[] => {
      const own = items.filter(([, id]) => id === order[0]);
      return own.length === 0 ? [row(order)] : own.map(([item, , kind, n]) => ({ ...row(order), item, kind, n }));
    }),
  };
}

function randomQuestion(random: Random, count: number) {
  const unit = pick(random, units);
  const keys: GroupBy[] = [
    ...(random(8) === 0 ? [] : [{ unit }]),
    ...dims.filter(() => random(4) === 0).map((dim) => ({ dim })),
  ];
  const range = random(4);
  const first = Date.UTC(2022, 11, 20) + random(500) * 86_400_000 + pick(random, [0, 0, 9.5 * 3_600_000]);
  const cut = (time: number) => (random(2) === 0 ? truncate(unit, time) : time);
  const from = range === 1 || range === 3 ? cut(first) : null;
  const isFine = unit === 'hour' || unit === 'shift';
  const until = range > 1 ? cut((from ?? first) + (1 + random(isFine ? 12 : 250)) * 86_400_000) : null;
  const measures = [...new Set(times(1 + random(3), () => random(count)))];
  const only = pick(random, [
    null,
    null,
    { dim: 'channel', value: 'web' },
    { dim: 'region', value: 'south' },
    { dim: 'kind', value: 'a' },
  ] as const);
  const isFilled = from !== null && until !== null && keys.some((key) => 'unit' in key) && random(3) === 0;
  return { keys, from, until, measures, only, isFilled };
}

function sqlOf({ keys, from, until, measures, only }: ReturnType<typeof randomQuestion>): string {
  const columns = keys.map((key) => ('dim' in key ? key.dim : `date_trunc('${key.unit}', at)`));
  const conditions = [
    ...(from === null ? [] : [`at >= '${toText(from)}'`]),
    ...(until === null ? [] : [`at < '${toText(until)}'`]),
    ...(only === null ? [] : [`${only.dim} = '${only.value}'`]),
  ];
  return [
    `SELECT ${[...columns, ...measures.map((at) => `MEASURE(m${at})`)].join(', ')} FROM sales`,
    ...(conditions.length === 0 ? [] : [`WHERE ${conditions.join(' AND ')}`]),
    ...(keys.length === 0 ? [] : [`GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`]),
  ].join(' ');
}

/** Combinations of keys and units of the range that no measure has rows for. */
function missing({ keys, from, until }: ReturnType<typeof randomQuestion>, combos: ReadonlySet<string>): string[] {
  const place = keys.findIndex((key) => 'unit' in key);
  const axis = keys[place];
  if (axis === undefined || !('unit' in axis) || from === null || until === null) return [];
  const all = keys.length === 1 ? [[null]] : [...combos].map((combo): Value[] => JSON.parse(combo));
  const found = new Set<string>();
  for (let bucket = truncate(axis.unit, from); bucket < until; bucket = next(axis.unit, bucket)) {
    for (const cells of all) found.add(JSON.stringify(cells.map((cell, at) => (at === place ? bucket : cell))));
  }
  return [...found];
}

function expected(measures: readonly RandomMeasure[], question: ReturnType<typeof randomQuestion>, facts: Facts) {
  const of = answer(measures, question, facts);
  const values = question.measures.map((at) => of(at));
  const groups = new Set(values.flatMap((it) => [...it.keys()]));
  const combos = new Set([...groups, ...(question.isFilled ? missing(question, groups) : [])]);
  return [...combos].map((combo) => {
    const cells: Value[] = JSON.parse(combo);
    const keys = cells.map((cell, at): Value => {
      const key = question.keys[at];
      return key !== undefined && 'unit' in key && typeof cell === 'number' ? toText(cell) : cell;
    });
    return [...keys, ...values.map((it) => it.get(combo) ?? null)];
  });
}

const runs = { duckdb: 40, postgres: 20, clickhouse: 4 };

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test('measures made of each other', { timeout: 300_000 }, async () => {
    let [answered, asked] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.constantFrom('UTC', 'Asia/Kolkata', 'America/St_Johns', 'Australia/Lord_Howe'),
        async (seed, timezone) => {
          const random = randomFrom(seed);
          const isShared = random(2) === 0;
          const measures = randomMeasures(random, 10, isShared);
          const yaml = yamlOf(measures, isShared);
          const model = loadModel(yaml);
          const data = randomData(random);
          await fill(engine(), data);
          const facts = joined(data, timezone);
          for (const question of times(10, () => randomQuestion(random, measures.length))) {
            const sql = sqlOf(question);
            asked += 1;
            try {
              const asking = { subject: anybody, timezone, model, fill: question.isFilled };
              const compiled = compile(sql, asking, engine().dialect);
              const found = await engine().run(compiled.sql, compiled.parameters);
              answered += 1;
              const told = () =>
                `${sql} ${question.isFilled ? 'filled' : ''}\n${yaml}\n${JSON.stringify(data)}\n${compiled.sql}`;
              expect(sorted(found), told()).toEqual(sorted(expected(measures, question, facts)));
            } catch (error) {
              if (error instanceof Refused)
                throw new Error(`answered, where there is no right answer: ${error.message}: ${sql}\n${yaml}`);
              if (!(error instanceof SemanticError)) throw error;
              expect(() => expected(measures, question, facts), `${error.message} ${sql}\n${yaml}`).toThrow(Refused);
            }
          }
        },
      ),
      { numRuns: Number(process.env['TIME_RUNS'] ?? runs[name]) },
    );
    expect(answered).toBeGreaterThan(asked * 0.4);
  });
});
