/** The shop of shop.ts in every engine, and a way to ask it in semantic SQL. */
import { type CompileOptions, compileSql } from '../../src/compile-sql.ts';
import type { DataModel } from '../../src/model/data-model.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { createTable, type TestEngine, type Value } from '../engines.ts';

/** Creates the shop's tables, with the rows of shop.ts. */
export async function createShop(engine: TestEngine): Promise<void> {
  const money = 'decimal(12,2)';
  await createTable(
    engine,
    'orders',
    {
      id: 'bigint',
      merchant_id: 'bigint',
      customer_id: 'bigint',
      channel: 'text',
      created_at: 'timestamp',
      shipping: money,
    },
    [
      [1, 7, 1, 'web', '2024-01-05 10:00:00', '5.00'],
      [2, 7, 2, 'store', '2024-01-31 23:30:00', '7.50'],
      [3, 7, 1, 'web', '2024-02-01 00:00:00', '2.50'],
      [4, 7, null, null, '2024-03-15 12:00:00', null],
      [5, 8, 3, 'web', '2024-01-06 09:00:00', '100.00'],
      [6, 8, 3, 'store', '2024-02-06 09:00:00', '1.00'],
    ],
  );
  await createTable(
    engine,
    'items',
    {
      id: 'bigint',
      order_id: 'bigint',
      merchant_id: 'bigint',
      product_id: 'bigint',
      quantity: 'integer',
      amount: money,
    },
    [
      [11, 1, 7, 1, 1, '10.10'],
      [12, 1, 7, 2, 2, '20.20'],
      [13, 1, 7, 1, 1, '10.10'],
      [14, 2, 7, 2, 3, '30.00'],
      [15, 4, 7, 99, 1, '5.00'],
      [16, 5, 8, 3, 1, '1000.00'],
      [17, 6, 8, 3, 2, '2000.00'],
    ],
  );
  await createTable(engine, 'products', { id: 'bigint', merchant_id: 'bigint', category: 'text', cost: money }, [
    [1, 7, 'Shoes', '4.00'],
    [2, 7, 'Hats', '8.00'],
    [3, 8, 'Shoes', '300.00'],
  ]);
  await createTable(
    engine,
    'refunds',
    { id: 'bigint', order_id: 'bigint', merchant_id: 'bigint', reason: 'text', amount: money },
    [
      [21, 1, 7, 'late', '3.00'],
      [22, 1, 7, 'broken', '4.00'],
      [23, 5, 8, 'late', '500.00'],
    ],
  );
  await createTable(engine, 'customers', { id: 'bigint', merchant_id: 'bigint', city: 'text' }, [
    [1, 7, 'Oslo'],
    [2, 7, 'Rome'],
    [3, 8, 'Oslo'],
  ]);
}

/** Asks an engine; the rows as they come. */
export async function ask(
  engine: TestEngine,
  sql: string,
  model: DataModel,
  subject: Subject,
  options?: CompileOptions,
): Promise<Value[][]> {
  const compiled = compileSql(sql, model, subject, engine.dialect, options);
  return engine.run(compiled.sql, compiled.parameters);
}
