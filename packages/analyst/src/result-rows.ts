/** Reads the rows of an SQL result and words its cells. Cells are hostile text: every word of them is made harmless. */

import { type Grain, partsOf, unitLabel } from './calendar.ts';
import { isRecord } from './conversation.ts';
import { compareDigits, formatNumber, readDigits } from './format-number.ts';
import type { Intent } from './intent.ts';
import { plainText } from './plain-text.ts';
import { type QueryColumn, queryColumns } from './to-sql.ts';

type Cell = string | number | boolean | null;

/** One row, with a cell for each column. */
export type ResultRow = readonly Cell[];

/** A column of the query with the type that the result says its values have. */
export type ResultColumn = QueryColumn & { readonly type: string };

/** The rows returned, as many as came, and how many the query has in all. */
export interface ResultRows {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly ResultRow[];
  readonly totalRows: number;
}

/** The rows of a result, when its columns are the ones that `intent` selects; else undefined. */
export function readRows(intent: Intent, result: Readonly<Record<string, unknown>>): ResultRows | undefined {
  const { schema, data, totalRows } = result;
  const expected = queryColumns(intent);
  if (!Array.isArray(schema) || !Array.isArray(data) || schema.length !== expected.length) return undefined;
  const columns: ResultColumn[] = [];
  for (const [index, column] of expected.entries()) {
    const described: unknown = schema[index];
    if (!isRecord(described) || described['name'] !== column.name) return undefined;
    const type = described['column_type'];
    columns.push({ ...column, type: typeof type === 'string' ? type : '' });
  }
  const rows: ResultRow[] = [];
  for (const row of data) {
    if (!Array.isArray(row) || row.length !== columns.length || !row.every(isCell)) return undefined;
    rows.push(row);
  }
  return { columns, rows, totalRows: typeof totalRows === 'number' ? Math.max(totalRows, rows.length) : rows.length };
}

/** A cell in words: `182,340.50`, `January 2024`, `no value`; at most about 80 characters. */
export function cellText(cell: Cell | undefined, column: ResultColumn, grain: Grain | undefined): string {
  if (cell === null || cell === undefined) return 'no value';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (column.role === 'time' || column.type === 'Timestamp' || column.type === 'Date') {
    return timeText(String(cell), column.role === 'time' ? grain : undefined);
  }
  const digits = column.role === 'measure' ? readDigits(cell) : undefined;
  if (digits === undefined || column.member.type === 'string' || String(cell).length > 60)
    return plainText(String(cell));
  const isWhole = column.type === 'Int64';
  return formatNumber(digits, { isWhole, isExact: isWhole || column.type === 'Decimal', format: column.member.format });
}

/** The rows with the lowest and the highest number in a column, the first of equals; empty cells do not count. */
export function extremes(
  result: ResultRows,
  column: number,
): { readonly lowest: ResultRow; readonly highest: ResultRow } | undefined {
  const numbered = result.rows.flatMap((row) => {
    const digits = readDigits(row[column]);
    return digits === undefined ? [] : [{ row, digits }];
  });
  const [first] = numbered;
  if (first === undefined) return undefined;
  let lowest = first;
  let highest = first;
  for (const entry of numbered) {
    if (compareDigits(entry.digits, lowest.digits) < 0) lowest = entry;
    if (compareDigits(entry.digits, highest.digits) > 0) highest = entry;
  }
  return { lowest: lowest.row, highest: highest.row };
}

function timeText(text: string, grain: Grain | undefined): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(text)?.[0];
  if (day === undefined || partsOf(day) === undefined) return plainText(text);
  return unitLabel(day, grain ?? 'day');
}

function isCell(value: unknown): value is Cell {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
