/** PostgreSQL's values, as the text that it sends, → cells. Pure. */
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';
import { decimalTextCell, doubleCell, integerTextCell, timeTextCell } from './cells.ts';

interface ColumnReader {
  readonly type: ColumnType;
  readonly read: (text: string) => Cell;
}

const text: ColumnReader = { type: 'String', read: (value) => value };
const integer: ColumnReader = { type: 'Int64', read: integerTextCell };
const double: ColumnReader = { type: 'Double', read: (value) => doubleCell(Number(value)) };
const timestamp: ColumnReader = { type: 'Timestamp', read: timeTextCell };

/** By PostgreSQL's own numbers of its types, which never change. */
const readers: ReadonlyMap<number, ColumnReader> = new Map<number, ColumnReader>([
  [16, { type: 'Boolean', read: (value) => value === 't' }],
  [20, integer],
  [21, integer],
  [23, integer],
  [26, integer],
  [700, double],
  [701, double],
  [1082, { type: 'Date', read: timeTextCell }],
  [1114, timestamp],
  [1184, timestamp],
  [1700, { type: 'Decimal', read: decimalTextCell }],
]);

/** How the values of a column of that type are read. What has no type on the wire is text. */
export function postgresReader(typeId: number): ColumnReader {
  return readers.get(typeId) ?? text;
}
