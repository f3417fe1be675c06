/** A few orders that the answers of tests over time are worked out from by hand, and how such answers are checked. */
import { expect, test } from 'vitest';
import type { TestEngine, Value } from './engines.ts';
import { type Asking, ask, fill, type Item, type Order } from './time-shop.ts';

/** An order of owner 1. */
export const order = (id: number, at: string | null, amount: number | null, more: Partial<Order> = {}): Order => ({
  id,
  owner: 1,
  channel: 'web',
  region: 'north',
  buyer: 1,
  amount,
  at,
  ...more,
});

/** Months without rows, the end of a February, a time near midnight, a missing time, a missing amount. */
export const orders: readonly Order[] = [
  order(1, '2023-11-10 10:00:00', 1),
  order(2, '2023-12-31 23:30:00', 2, { channel: 'store', buyer: 2 }),
  order(3, '2024-01-01 00:00:00', 4, { owner: 2 }),
  order(4, '2024-01-31 12:00:00', 8, { buyer: 3 }),
  order(5, '2024-02-28 12:00:00', 16, { channel: 'store' }),
  order(6, '2024-02-29 12:00:00', 32),
  order(7, '2024-05-10 09:00:00', 64, { buyer: 2, region: 'south' }),
  order(8, null, 128),
  order(9, '2024-05-20 09:00:00', null, { channel: null, buyer: null }),
];
/** What was sent of them, and when: of order 4 in two parts. */
export const items: readonly Item[] = [
  { id: 1, order_id: 4, owner: 1, kind: 'a', n: 1, sent_at: '2024-02-01 00:00:00' },
  { id: 2, order_id: 4, owner: 1, kind: 'a', n: 2, sent_at: '2024-03-01 00:00:00' },
  { id: 3, order_id: 7, owner: 1, kind: 'b', n: 4, sent_at: '2024-05-11 00:00:00' },
  { id: 4, order_id: 3, owner: 2, kind: 'b', n: 8, sent_at: '2024-03-02 00:00:00' },
];

/** The beginning of a month. */
export const month = (text: string): string => `${text}-01 00:00:00`;

/** Name, SQL, rows, and how it is asked. */
export type Case = readonly [name: string, sql: string, rows: Value[][], asking?: Asking];

/** Asks each question of an engine that holds the orders above. */
export function testCases(cases: readonly Case[], engine: () => TestEngine): void {
  let isFilled = false;
  for (const [name, sql, rows, asking] of cases) {
    test(name, async () => {
      if (!isFilled) await fill(engine(), orders, items);
      isFilled = true;
      expect(await ask(engine(), sql, asking)).toEqual(rows);
    });
  }
}
