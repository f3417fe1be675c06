/** When two results count as the same answer. */
import type { Cell, Column, ColumnType } from '@inlay/contract/chat.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellKey } from '../src/cli/evaluate/cell-key.ts';
import { compareResults, type ResultTable } from '../src/cli/evaluate/compare-results.ts';

type TypedColumn = readonly [type: ColumnType, ...cells: Cell[]];

/** A table of columns, named a, b, c …. */
function tableOf(...columns: readonly TypedColumn[]): ResultTable {
  const schema = columns.map(
    ([column_type], index): Column => ({ name: String.fromCharCode(97 + index), column_type }),
  );
  const [first] = columns;
  const rows = Array.from({ length: (first?.length ?? 1) - 1 }, (_, row) =>
    columns.map((column) => column[row + 1] ?? null).map((cell) => (typeof cell === 'object' ? null : cell)),
  );
  return { schema, rows };
}

const kindOf = (expected: ResultTable, actual: ResultTable, isOrdered = false): string =>
  compareResults(expected, actual, { isOrdered }).kind;
const reasonsOf = (expected: ResultTable, actual: ResultTable, isOrdered = false): string => {
  const comparison = compareResults(expected, actual, { isOrdered });
  return comparison.kind === 'different' ? comparison.reasons.join('\n') : comparison.kind;
};

/** Columns of few values, so that duplicates and columns that look alike are common. */
const cells: Readonly<Record<ColumnType, fc.Arbitrary<Cell>>> = {
  String: fc.constantFrom('a', 'b', '1', '', null),
  Int64: fc.constantFrom(0, 1, 2, '9007199254740993', null),
  Double: fc.constantFrom(0, 1, 2.5, 'NaN', 'Infinity', null),
  Decimal: fc.constantFrom(1, 2.5, '12345678901234567.89', null),
  Boolean: fc.constantFrom(true, false, null),
  Date: fc.constantFrom('2024-01-31', '2024-02-01', null),
  Timestamp: fc.constantFrom('2024-01-31T00:00:00.000', '2024-02-01T12:30:00.000', null),
};
const types = fc.constantFrom<ColumnType>('String', 'Int64', 'Double', 'Decimal', 'Boolean', 'Date', 'Timestamp');
const tables = fc
  .tuple(fc.array(types, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 8 }))
  .chain(([columnTypes, rowCount]) =>
    fc.array(fc.tuple(...columnTypes.map((type) => cells[type])), { minLength: rowCount, maxLength: rowCount }).map(
      (rows): ResultTable => ({
        schema: columnTypes.map((column_type, index) => ({ name: `c${index}`, column_type })),
        rows,
      }),
    ),
  );
/** An order in which to take `length` things, chosen by numbers. */
const orderOf = (length: number, numbers: readonly number[]): readonly number[] =>
  [...Array(length).keys()].sort((one, other) => (numbers[one] ?? 0) - (numbers[other] ?? 0) || one - other);
const numbers = fc.array(fc.nat(1000), { minLength: 10, maxLength: 10 });

/** The rule, literally: some way to choose columns makes the rows the same multiset (or the same list). */
function bruteForce(expected: ResultTable, actual: ResultTable, isOrdered: boolean): boolean {
  const text = (table: ResultTable, places: readonly number[]): string => {
    const rows = table.rows.map((row) =>
      JSON.stringify(places.map((place) => cellKey(row[place] ?? null, table.schema[place]?.column_type ?? 'String'))),
    );
    return (isOrdered ? rows : rows.sort()).join('\n');
  };
  const wanted = text(expected, [...expected.schema.keys()]);
  const choose = (places: readonly number[]): boolean => {
    if (places.length === expected.schema.length) return text(actual, places) === wanted;
    return [...actual.schema.keys()].some((place) => !places.includes(place) && choose([...places, place]));
  };
  return expected.rows.length === actual.rows.length && choose([]);
}

describe('compareResults', () => {
  test('rows and columns in any order, further columns and other names make no difference', () => {
    fc.assert(
      fc.property(tables, tables, numbers, numbers, (expected, more, rowNumbers, columnNumbers) => {
        const wide = {
          schema: [...expected.schema, ...more.schema].map((column, index) => ({ ...column, name: `x${index}` })),
          rows: expected.rows.map((row, index) => [...row, ...(more.rows[index % more.rows.length] ?? [])]),
        };
        const columns = orderOf(wide.schema.length, columnNumbers);
        const shuffled: ResultTable = {
          schema: columns.flatMap((column) => wide.schema[column] ?? []),
          rows: orderOf(wide.rows.length, rowNumbers).map((row) =>
            columns.map((column) => wide.rows[row]?.[column] ?? null),
          ),
        };
        expect(kindOf(expected, shuffled)).toBe('equal');
      }),
    );
  });

  test('says what trying every mapping says', () => {
    const isOrdered = fc.boolean();
    // Half of the tables are the same but for one cell, so that both answers are common.
    const pairs = fc.oneof(
      fc.tuple(tables, tables),
      fc.tuple(tables, fc.nat(), fc.nat(), fc.nat()).map(([table, row, column, from]) => {
        const { schema, rows } = table;
        const [at, place] = [row % rows.length, column % schema.length];
        const cell = rows[from % rows.length]?.[place] ?? null;
        return [table, { schema, rows: rows.with(at, (rows[at] ?? []).with(place, cell)) }] satisfies [
          ResultTable,
          ResultTable,
        ];
      }),
    );
    fc.assert(
      fc.property(pairs, isOrdered, ([expected, actual], ordered) => {
        expect(kindOf(expected, actual, ordered) === 'equal').toBe(bruteForce(expected, actual, ordered));
      }),
      { numRuns: 500 },
    );
  });

  test('how often a row occurs counts', () => {
    expect(kindOf(tableOf(['Int64', 1, 1, 2]), tableOf(['Int64', 1, 2, 1]))).toBe('equal');
    expect(kindOf(tableOf(['Int64', 1, 1, 2]), tableOf(['Int64', 1, 2, 2]))).toBe('different');
    expect(kindOf(tableOf(['Int64', 1, 1]), tableOf(['Int64', 1]))).toBe('different');
  });

  test('cells belong to their row: the same columns in other pairs are another result', () => {
    const expected = tableOf(['String', 'web', 'store'], ['Int64', 1, 2]);
    expect(kindOf(expected, tableOf(['String', 'web', 'store'], ['Int64', 2, 1]))).toBe('different');
    expect(kindOf(expected, tableOf(['Int64', 2, 1], ['String', 'store', 'web']))).toBe('equal');
  });

  test('one column stands for one only', () => {
    const twice = tableOf(['Int64', 1, 2], ['Int64', 1, 2]);
    for (const isOrdered of [false, true]) {
      expect(kindOf(twice, tableOf(['Int64', 1, 2], ['Int64', 3, 4]), isOrdered)).toBe('different');
      expect(kindOf(twice, twice, isOrdered)).toBe('equal');
    }
  });

  test('where the order counts, the same rows in another are not the same', () => {
    const [expected, other] = [tableOf(['Int64', 1, 2, 3]), tableOf(['Int64', 3, 2, 1])];
    expect(kindOf(expected, other)).toBe('equal');
    expect(reasonsOf(expected, other, true)).toBe('The rows are right, but in another order.');
    expect(kindOf(expected, expected, true)).toBe('equal');
  });

  test('two results without rows say nothing; one without is another', () => {
    const [none, some] = [tableOf(['Int64']), tableOf(['Int64', 1])];
    expect(kindOf(none, none)).toBe('empty');
    expect(reasonsOf(none, some)).toBe('0 rows expected, 1 given.\nNot expected: [1]');
    expect(reasonsOf(some, none)).toBe('1 row expected, 0 given.\nMissing: [1]');
  });

  test('a difference is told with a few of its rows, bounded', () => {
    const expected = tableOf(['String', 'web', 'store', 'app'], ['Decimal', 10, 20, 30]);
    expect(reasonsOf(expected, tableOf(['Decimal', 10, 21, 30], ['String', 'web', 'store', 'app']))).toBe(
      'Missing: ["store",20]\nNot expected: ["store",21]',
    );
    expect(reasonsOf(expected, tableOf(['String', 'web', 'store', 'app']))).toContain(
      '2 columns expected, 1 given: a.',
    );
    expect(reasonsOf(expected, tableOf(['String', 'web', 'store', 'app'], ['Int64', 1, 2, 3]))).toContain(
      'No column has a value of the expected b.',
    );
    const many = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(1000)}`);
    const told = reasonsOf(tableOf(['String', ...many]), tableOf(['String', ...many.map(() => null)]));
    expect(told).toContain(' and 997 more');
    expect(told.length).toBeLessThan(2000);
  });

  test('many columns that look alike do not take for ever', () => {
    // Each column is a permutation of the same values, so that every one may stand for every other, and none fits.
    const columns = Array.from(
      { length: 12 },
      (_, column): TypedColumn => ['Int64', ...Array.from({ length: 997 }, (_, row) => (row * (column + 1)) % 997)],
    );
    const others = columns.map(
      ([type, ...values]): TypedColumn => [
        type,
        ...values.map((value) => (Number(value) ** 2 * 31 + 7 * Number(value)) % 997),
      ],
    );
    expect(['different', 'undecided']).toContain(kindOf(tableOf(...columns), tableOf(...others)));
    expect(kindOf(tableOf(...columns), tableOf(...columns.toReversed()))).toBe('equal');
  });
});

describe('cellKey', () => {
  const isSame = (one: Cell, other: Cell, oneType: ColumnType = 'Double', otherType: ColumnType = oneType): boolean =>
    cellKey(one, oneType) === cellKey(other, otherType);

  test.each<[Cell, Cell, boolean]>([
    [1234.4, 1234, true],
    [1234.4, 1235, false],
    [0.00012344, 0.00012341, true],
    [0.00012344, 0.00012351, false],
    [-1, 1, false],
    [-0, 0, true],
    [0, 1e-9, false],
    [9999.6, 10000, true],
    [1e300, 1.00001e300, true],
    ['NaN', 'NaN', true],
    ['Infinity', '-Infinity', false],
    ['NaN', null, false],
    [null, 0, false],
  ])('%s and %s: %s', (one, other, expected) => expect(isSame(one, other)).toBe(expected));

  test('numbers of all types compare, also those that come as text', () => {
    expect(isSame(5, '5', 'Int64', 'Decimal')).toBe(true);
    expect(isSame('12345678901234567.89', 12345678901234568, 'Decimal', 'Double')).toBe(true);
    expect(isSame('5', 5, 'String', 'Int64')).toBe(false);
    expect(isSame('', 0, 'Decimal', 'Int64')).toBe(false);
  });

  test('what float sums lose makes no difference, not even at the edge between two roundings', () => {
    const edges = fc.tuple(fc.integer({ min: 1000, max: 9999 }), fc.integer({ min: -20, max: 20 }));
    fc.assert(
      fc.property(edges, fc.double({ min: -1e-14, max: 1e-14, noNaN: true }), ([digits, power], noise) => {
        const edge = Number(`${digits}5e${power}`);
        expect(isSame(edge, edge * (1 + noise))).toBe(true);
      }),
    );
  });

  test('a difference in the fourth digit always counts, one below a twentieth of it never but at an edge', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 9998 }), fc.integer({ min: -20, max: 20 }), (digits, power) => {
        const [value, next] = [Number(`${digits}e${power}`), Number(`${digits + 1}e${power}`)];
        expect(isSame(value, next)).toBe(false);
        expect(isSame(value, Number(`${digits}.4e${power}`))).toBe(true);
      }),
    );
  });

  test('times are the same at the same instant, a date at its midnight', () => {
    expect(isSame('2024-01-31', '2024-01-31T00:00:00.000', 'Date', 'Timestamp')).toBe(true);
    expect(isSame('2024-01-31 13:45:00', '2024-01-31T13:45:00.000', 'Timestamp')).toBe(true);
    expect(isSame('2024-01-31T13:45:00+01:00', '2024-01-31T12:45:00.000Z', 'Timestamp')).toBe(true);
    expect(isSame('2024-01-31', '2024-02-01', 'Date')).toBe(false);
    expect(isSame('infinity', 'infinity', 'Timestamp')).toBe(true);
    expect(isSame('2024-01-31', '2024-01-31T00:00:00.000', 'String', 'Timestamp')).toBe(false);
  });

  test('text is compared as it stands', () => {
    expect(isSame('web', 'Web', 'String')).toBe(false);
    expect(isSame('null', null, 'String')).toBe(false);
    expect(isSame('true', true, 'String', 'Boolean')).toBe(false);
  });
});
