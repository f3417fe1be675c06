import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFiller, fillText, placeholderOf } from '../src/agent/placeholders.ts';
import { resultLabel, rowsIn, type StoredRows } from '../src/agent/stored-result.ts';

const rows: StoredRows = {
  kind: 'rows',
  uuid: '1f0c2b9e-0000-4000-8000-000000000001',
  schema: [
    { name: 'month', column_type: 'Timestamp' },
    { name: 'revenue', column_type: 'Decimal' },
    { name: 'share', column_type: 'Double' },
    { name: 'orders', column_type: 'Int64' },
    { name: 'Net [total]', column_type: 'String' },
    { name: 'revenue', column_type: 'Boolean' },
  ],
  data: [
    ['2025-03-01T00:00:00.000Z', '1234567.5', 0.12345, 12, 'x', true],
    ['2025-04-02T13:45:00.000Z', -1, 2, 1200, '[a](https://evil.example/?q=1) <img src=x> | y', false],
    [null, null, null, null, null, null],
  ],
  totalRows: 1234,
};
const find = (label: string): StoredRows | undefined => (label === 'q1f0c2b9e' ? rows : undefined);
const fill = (text: string): string => fillText(text, find);
const cell = (inside: string): string => fill(`{{q1f0c2b9e.${inside}}}`);

describe('a placeholder', () => {
  test('is a cell in words, or as it stands', () => {
    expect(cell('revenue[1]')).toBe('1,234,567.50');
    expect(cell('revenue[1]|raw')).toBe('1234567.5');
    expect(cell('revenue[2]')).toBe('-1.00');
    expect(cell('share[1]')).toBe('0.12');
    expect(cell('share[1]|percent')).toBe('12.35%');
    expect(cell('orders[2]')).toBe('1,200');
    expect(cell('month[1]')).toBe('2025-03-01');
    expect(cell('month[1]|month')).toBe('March 2025');
    expect(cell('month[1]|quarter')).toBe('Q1 2025');
    expect(cell('month[2]')).toBe('2025-04-02 13:45');
    expect(cell('#6[1]')).toBe('yes');
    expect(cell('Net [total][1]')).toBe('x');
    expect(cell('MONTH[1]|year')).toBe('2025');
    for (const column of ['month', 'revenue', 'share', 'orders', '#5', '#6'])
      expect(cell(`${column}[3]`)).toBe('no value');
    expect(fill('{{ q1f0c2b9e.orders[1] }} orders')).toBe('12 orders');
    expect(cell('totalRows')).toBe('1,234');
  });

  test('that names nothing becomes a mark that says so', () => {
    for (const inside of [
      'revenue[4]',
      'revenue[0]',
      'missing[1]',
      '#0[1]',
      '#7[1]',
      'revenue',
      'revenue[1',
      'revenue[-1]',
    ])
      expect(cell(inside)).toMatch(/^\[no value for .+\]$/);
    for (const text of ['{{q00000000.revenue[1]}}', '{{revenue}}', '{{}}', '{{q1.revenue[1]}}', '{{__proto__.x[1]}}'])
      expect(fill(text)).toMatch(/^\[no value for .*\]$/);
  });

  test('for a whole result is a table of its first rows', () => {
    const table = cell('table');
    expect(table.trim().split('\n').slice(0, 3)).toEqual([
      '| month | revenue | share | orders | Net \\[total\\] | revenue |',
      '| --- | --- | --- | --- | --- | --- |',
      '| 2025-03-01 | 1,234,567.50 | 0.12 | 12 | x | yes |',
    ]);
    expect(table).toContain('(3 of 1,234 rows)');
    expect(table).not.toMatch(/[^\\](?:\[|<)|https:\/\//);
  });

  test('brings no Markdown, HTML or address from a value', () => {
    expect(cell('#5[2]')).toBe('\\[a\\]\\(https: //evil.example/?q=1\\) \\<img src=x\\> \\| y');
  });

  test('is not filled into or behind an address, a link or HTML', () => {
    const value = '{{q1f0c2b9e.orders[1]}}';
    for (const before of [
      '![x](https://evil.example/',
      '[x](/',
      '[x]( ',
      '[x]: evil.example ',
      'https://evil.example/?q=',
      'see https://evil.example then ',
      'HTTP:/evil.example/',
      'https:\\\\evil.example\\',
      'www.evil.example?q=',
      'evil.example?q=',
      '<img src="a ',
      '<a\nhref=',
      '&#104;ttps ',
      '&colon; ',
      'anne@',
      '<',
      `https:/${value}/`,
    ]) {
      expect(fill(before + value), before).toBe(`${fill(before)}[no value in an address]`);
    }
    for (const before of ['Revenue: ', '**', '(', '$', 'a < b ', '1. ', 'e.g. ', '[a] ', '~', `${value}–`])
      expect(fill(before + value), before).toBe(`${fill(before)}12`);
  });
});

describe('text', () => {
  test('that is no placeholder stays as it is', () => {
    for (const text of [
      '',
      '{',
      '{{',
      '{ {a} }',
      '{a}',
      '}}',
      '{{a\nb}}',
      'if (x) { y }',
      `{{${'x'.repeat(400)}}}`,
      '{{{',
      '{{a}',
    ])
      expect(fill(text)).toBe(text);
    expect(fill('{{{q1f0c2b9e.orders[1]}}}')).toBe('{12}');
  });

  test('comes out the same however it is cut', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '{{q1f0c2b9e.revenue[1]}}',
        '{{q1f0c2b9e.table}}',
        '{{q1f0c2b9e.month[2]|month}}',
        '{{q1.x[1]}}',
        '{',
        '{{',
        '}}',
        '\n',
        ' ',
        '](',
        'https://e.x/',
        '<b>',
        '&amp;',
        'word ',
        'x'.repeat(320),
      ),
      fc.string({ maxLength: 8, unit: 'binary' }),
    );
    const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), lengths, (pieces, cuts) => {
        const text = pieces.join('');
        const filler = createFiller(find);
        let said = '';
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const length = cuts[turn % cuts.length] ?? 1;
          said += filler.write(text.slice(at, at + length));
          at += length;
        }
        expect(said + filler.end()).toBe(fill(text));
      }),
      { numRuns: 500 },
    );
  });

  test('is not held back longer than a placeholder may be', () => {
    const filler = createFiller(find);
    expect(filler.write('So far {')).toBe('So far ');
    expect(filler.write('{q1f0c2b9e.orders[1]')).toBe('');
    expect(filler.write('}')).toBe('');
    expect(filler.write('} so ')).toBe('12 so ');
    const open = `{{${'y'.repeat(310)}`;
    expect(filler.write(open)).toBe(open);
    expect(filler.write('{{a')).toBe('');
    expect(filler.end()).toBe('{{a');
  });
});

test('a result is looked up once, however often it is named', () => {
  let looks = 0;
  const filler = createFiller((label) => {
    looks += 1;
    return find(label);
  });
  for (let count = 0; count < 100; count += 1)
    filler.write('{{q1f0c2b9e.orders[1]}} {{q1f0c2b9e.table}} {{q00000000.x[1]}} ');
  expect(looks).toBe(2);
});

test('values that are filled in are no longer than they may be, all together', () => {
  const table = fill('{{q1f0c2b9e.table}}');
  const fitting = Math.floor(200_000 / table.length);
  const text = '{{q1f0c2b9e.table}} '.repeat(fitting + 2);
  expect(fill(text)).toBe(`${`${table} `.repeat(fitting)}${'[no more values] '.repeat(2)}`);
});

test('every column is reached by the placeholder that the model is told', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 12, unit: 'binary' }), { minLength: 1, maxLength: 6 }), (names) => {
      const schema = names.map((name) => ({ name, column_type: 'Int64' }) as const);
      const one: StoredRows = { ...rows, schema, data: [names.map((_, index) => index + 1000)], totalRows: 1 };
      for (const index of names.keys())
        expect(fillText(placeholderOf('q1f0c2b9e', schema, index), () => one)).toBe(
          `1,${String(index).padStart(3, '0')}`,
        );
    }),
  );
});

test('a label finds its result in its own conversation only', () => {
  const { kind: _, ...json } = rows;
  const result = { role: 'tool', toolCallId: 'a', name: 'platformSqlApi', result: JSON.stringify(json) } as const;
  const label = resultLabel(rows.uuid);
  expect(rowsIn([{ role: 'user', content: 'q' }, result])(label)?.totalRows).toBe(1234);
  expect(rowsIn([{ role: 'user', content: label }])(label)).toBeUndefined();
  expect(rowsIn([{ ...result, result: `"${rows.uuid}"` }])(label)).toBeUndefined();
  expect(rowsIn([{ ...result, result: 'no JSON 1f0c2b9e' }])(label)).toBeUndefined();
  expect(rowsIn([{ ...result, result: 'no JSON "uuid":"1f0c2b9e"' }])(label)).toBeUndefined();
  // Of two under one label, which chance alone can make, the latest.
  const later = { ...result, result: JSON.stringify({ ...json, totalRows: 5 }) };
  expect(rowsIn([result, later])(label)?.totalRows).toBe(5);
});

test('the guide tells what placeholders become', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/private-mode.md'), 'utf8');
  const told = [...guide.matchAll(/^\| `(\{\{.+?\}\})` \| `(.+?)` \|/gm)];
  expect(told.length).toBe(8);
  const result: StoredRows = {
    kind: 'rows',
    uuid: rows.uuid,
    schema: [
      { name: 'month', column_type: 'Timestamp' },
      { name: 'revenue', column_type: 'Decimal' },
      { name: 'share', column_type: 'Double' },
    ],
    data: [['2025-03-01T00:00:00.000Z', 1234567.5, 0.1234]],
    totalRows: 40,
  };
  for (const [, text = '', becomes] of told) expect(fillText(text.replaceAll('\\|', '|'), () => result)).toBe(becomes);
});
