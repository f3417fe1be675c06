/**
 * ClickHouse's values, as JSON with the settings of clickhouse.ts writes them (wide numbers as text, times in UTC), → cells. Pure.
 */
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';
import { decimalTextCell, doubleCell, integerTextCell, timeTextCell } from './cells.ts';

interface ColumnReader {
  readonly type: ColumnType;
  /** @param value of JSON, not null */
  readonly read: (value: unknown) => Cell;
}

const wholeText = (value: unknown): string => (typeof value === 'string' ? value : String(value));
const integer: ColumnReader = { type: 'Int64', read: (value) => integerTextCell(wholeText(value)) };
const double: ColumnReader = { type: 'Double', read: (value) => doubleCell(Number(value)) };
const decimal: ColumnReader = { type: 'Decimal', read: (value) => decimalTextCell(wholeText(value)) };
const boolean: ColumnReader = { type: 'Boolean', read: (value) => value === true };
const date: ColumnReader = { type: 'Date', read: (value) => timeTextCell(wholeText(value)) };
const timestamp: ColumnReader = { type: 'Timestamp', read: (value) => timeTextCell(wholeText(value)) };
const text: ColumnReader = {
  type: 'String',
  read: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
};

const readers: readonly (readonly [pattern: RegExp, reader: ColumnReader])[] = [
  [/^U?Int(8|16|32|64|128|256)$/, integer],
  [/^Decimal/, decimal],
  [/^(Float(32|64)|BFloat16)$/, double],
  [/^Bool$/, boolean],
  [/^Date(32)?$/, date],
  [/^DateTime/, timestamp],
];

/**
 * How the values of a column of that type are read. What has no type on the wire is text; arrays and the like are JSON.
 * @param type as ClickHouse writes it: `LowCardinality(Nullable(String))`, `DateTime64(6, 'UTC')`
 */
export function clickHouseReader(type: string): ColumnReader {
  const inner =
    /^(?:Nullable|LowCardinality)\((.+)\)$/s.exec(type)?.[1] ??
    /^SimpleAggregateFunction\(\w+, (.+)\)$/s.exec(type)?.[1];
  if (inner !== undefined) return clickHouseReader(inner);
  return readers.find(([pattern]) => pattern.test(type))?.[1] ?? text;
}
