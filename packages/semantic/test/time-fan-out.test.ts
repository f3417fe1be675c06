/**
 * Windows over times that a row has several of: by when the items of an order were sent. A row of the measure's cube is in a window once,
 * by the definition: join everything, keep what is in the window, and take each different order.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { engineNames, useEngine } from './engines.ts';
import { move, truncate } from './time-oracle.ts';
import { ask, fill, type Item, type Order, somebody } from './time-shop.ts';

const ms = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
const toText = (time: number) => new Date(time).toISOString().slice(0, 19).replace('T', ' ');
const at = fc.constantFrom(
  null,
  '2024-01-10 00:00:00',
  '2024-01-31 23:00:00',
  '2024-02-01 00:00:00',
  '2024-03-15 08:00:00',
  '2024-05-02 10:00:00',
);
const owner = fc.constantFrom(1, 1, 2);
const orders = fc
  .array(
    fc.record({
      owner,
      channel: fc.constantFrom('web', 'store'),
      region: fc.constant('north'),
      buyer: fc.constantFrom(1, 2, null),
      amount: fc.constantFrom(1, 2.5, null),
      at,
    }),
    { maxLength: 5 },
  )
  .map((rows): Order[] => rows.map((row, index) => ({ id: index + 1, ...row })));
const items = fc
  .array(
    fc.record({
      owner,
      order_id: fc.constantFrom(1, 2, 3, 9, null),
      kind: fc.constantFrom('a', 'b'),
      n: fc.constantFrom(1, 10),
      sent_at: at,
    }),
    { maxLength: 8 },
  )
  .map((rows): Item[] => rows.map((row, index) => ({ id: index + 1, ...row })));

/** An order with one of its items, or none. */
interface Joined {
  readonly order: Order;
  readonly item: Item | null;
}

const sum = (values: readonly (number | null)[]) => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
};

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  test.each([[[]], [['channel']], [['kind']]] as const)(
    'a row counts once in each window, by %s',
    { timeout: 100_000 },
    async (keys) => {
      await fc.assert(
        fc.asyncProperty(orders, items, async (allOrders, allItems) => {
          await fill(engine(), allOrders, allItems);
          const measures = ['count_3m', 'total_3m', 'mean_3m', 'most_3m', 'buyers_3m', 'pieces_3m'];
          const columns = ["date_trunc('month', sent_at)", ...keys, ...measures.map((it) => `MEASURE(${it})`)];
          const sql = `SELECT ${columns.join(', ')} FROM sales GROUP BY ${['', ...keys].map((_, index) => index + 1).join(', ')}`;
          const found = await ask(engine(), sql, { subject: somebody });

          const seen = allItems.filter((item) => item.owner === 1);
          const joined = allOrders
            .filter((order) => order.owner === 1)
            .flatMap((order): Joined[] => {
              const own = seen.filter((item) => item.order_id === order.id);
              return own.length === 0 ? [{ order, item: null }] : own.map((item) => ({ order, item }));
            });
          const timeOf = ({ item }: Joined) => (item === null || item.sent_at === null ? null : ms(item.sent_at));
          const times = joined.flatMap((row) => timeOf(row) ?? []);
          const expected: unknown[][] = [];
          const keyOf = ({ order, item }: Joined) =>
            JSON.stringify(keys.map((key) => (key === 'kind' ? (item?.kind ?? null) : order.channel)));
          const last = truncate('month', Math.max(...times));
          for (let month = truncate('month', Math.min(...times)); month <= last; month = move(month, { months: 1 })) {
            const end = move(month, { months: 1 });
            const inWindow = joined.filter((row) => {
              const time = timeOf(row);
              return time !== null && time >= move(end, { months: 3 }, -1) && time < end;
            });
            for (const [key, rows] of Map.groupBy(inWindow, keyOf)) {
              const each = [...new Set(rows.map(({ order }) => order))];
              const amounts = each.flatMap(({ amount }) => amount ?? []);
              const pieces = [...new Set(rows.map(({ item }) => item))].map((item) => item?.n ?? null);
              expected.push([
                toText(month),
                ...JSON.parse(key),
                each.length,
                sum(amounts),
                amounts.length === 0 ? null : (sum(amounts) ?? 0) / amounts.length,
                amounts.length === 0 ? null : Math.max(...amounts),
                new Set(each.flatMap(({ buyer }) => buyer ?? [])).size,
                sum(pieces),
              ]);
            }
          }
          const sorted = (rows: readonly (readonly unknown[])[]) =>
            rows
              .map((row) =>
                JSON.stringify(row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(9)) : cell))),
              )
              .sort();
          expect(sorted(found), sql).toEqual(sorted(expected));
        }),
        { numRuns: Number(process.env['TIME_RUNS'] ?? (name === 'duckdb' ? 20 : 6)) },
      );
    },
  );
});
