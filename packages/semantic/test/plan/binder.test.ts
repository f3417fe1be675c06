/** Parameters: what is one, and what must never be. */
import { expect, test } from 'vitest';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { createBinder } from '../../src/plan/binder.ts';
import { likePattern } from '../../src/query/like-pattern.ts';

test('equal values of a query are one parameter; a value of a policy is one by its place, never by what it is', () => {
  const binder = createBinder(duckdb);
  const query = binder.bind('7', 'string');
  expect(binder.bind('7', 'string')).toBe(query);
  const placed = binder.bind('7', 'string', 'orders 0 0');
  expect(placed).not.toBe(query);
  expect(binder.bind('7', 'string', 'orders 0 0')).toBe(placed);
  expect(binder.bind('7', 'string', 'orders 0 1')).not.toBe(placed);
  expect(binder.bindPattern('7', 'anywhere', 'orders 0 0')).not.toBe(placed);
  expect(binder.slots.map(({ value, origin, pattern }) => [value, origin, pattern])).toEqual([
    ['7', null, null],
    ['7', 'orders 0 0', null],
    ['7', 'orders 0 1', null],
    ['%7%', 'orders 0 0', 'anywhere'],
  ]);
});

test('no text of a query takes the place of a policy', () => {
  for (const origin of ['orders 0 0', 'policy string null orders 0 0']) {
    const binder = createBinder(duckdb);
    const placed = binder.bind('mine', 'string', origin);
    for (const text of ['mine', origin, `policy string null ${origin}`, `string null ${origin}`, `null ${origin}`]) {
      expect(binder.bind(text, 'string')).not.toBe(placed);
    }
  }
});

test('values get the types that hold them', () => {
  const binder = createBinder(duckdb);
  for (const value of [1, 2n ** 62n, 1.5, true, 'x']) binder.bind(value, 'number');
  binder.bind('2024-01-01 00:00:00.000000', 'time');
  expect(binder.slots.map(({ value, type }) => [value, type])).toEqual([
    [1n, 'integer'],
    [2n ** 62n, 'integer'],
    [1.5, 'double'],
    [true, 'boolean'],
    ['x', 'string'],
    ['2024-01-01 00:00:00.000000', 'time'],
  ]);
});

test('a pattern finds its text as it is written', () => {
  expect(likePattern('50%_\\', 'at-start')).toBe('50\\%\\_\\\\%');
  expect(likePattern('a', 'at-end')).toBe('%a');
  expect(likePattern('', 'anywhere')).toBe('%%');
});
