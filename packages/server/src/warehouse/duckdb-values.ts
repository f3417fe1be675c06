/** Columns of DuckDB's chunks → cells, a whole column at a time: going through values one by one is several times slower. */
import {
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';
import { dateCell, decimalCell, doubleCell, integerCell, timestampCell } from './cells.ts';

/** The type of a column on the wire, and how one of its values, not null, becomes a cell. */
export interface ColumnReader {
  readonly type: ColumnType;
  readonly read: (value: DuckDBValue) => Cell;
}

const integers: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
]);
const timestamps: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
]);

/** How the values of a column of that type are read. What has no type on the wire is text. */
export function columnReader({ typeId }: DuckDBType): ColumnReader {
  if (integers.has(typeId)) return { type: 'Int64', read: readInteger };
  if (typeId === DuckDBTypeId.DECIMAL) return { type: 'Decimal', read: readDecimal };
  if (typeId === DuckDBTypeId.DOUBLE) return { type: 'Double', read: readDouble };
  if (typeId === DuckDBTypeId.FLOAT) return { type: 'Double', read: readFloat };
  if (typeId === DuckDBTypeId.BOOLEAN) {
    return { type: 'Boolean', read: (value) => (typeof value === 'boolean' ? value : null) };
  }
  if (typeId === DuckDBTypeId.DATE) return { type: 'Date', read: readDate };
  if (timestamps.has(typeId)) return { type: 'Timestamp', read: readTimestamp };
  return { type: 'String', read: (value) => (typeof value === 'string' ? value : String(value)) };
}

/** The rows of a chunk. */
export function readRows(chunk: DuckDBDataChunk, readers: readonly ColumnReader[]): Cell[][] {
  const count = chunk.rowCount;
  const rows: Cell[][] = Array.from({ length: count }, () => []);
  for (const [index, { read }] of readers.entries()) {
    const vector = chunk.getColumnVector(index);
    for (let row = 0; row < count; row++) {
      const value = vector.getItem(row);
      rows[row]?.push(value === null ? null : read(value));
    }
  }
  return rows;
}

function readInteger(value: DuckDBValue): Cell {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? integerCell(value) : null;
}

const readDecimal = (value: DuckDBValue): Cell =>
  value instanceof DuckDBDecimalValue ? decimalCell(value.value, value.scale) : null;

const readDouble = (value: DuckDBValue): Cell => (typeof value === 'number' ? doubleCell(value) : null);

/** The shortest text that means the same float, as PostgreSQL and ClickHouse write it: 0.1, not 0.10000000149011612. */
function readFloat(value: DuckDBValue): Cell {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  for (let digits = 6; digits < 9; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === value) return doubleCell(shorter);
  }
  return doubleCell(Number(value.toPrecision(9)));
}

/** DuckDB's own ends of time. */
const daysMax = 2_147_483_647;
const readDate = (value: DuckDBValue): Cell =>
  value instanceof DuckDBDateValue && Math.abs(value.days) < daysMax ? dateCell(value.days) : null;

function readTimestamp(value: DuckDBValue): Cell {
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) {
    return timestampCell(value.micros);
  }
  if (value instanceof DuckDBTimestampNanosecondsValue) {
    // Infinity stays what it is; anything else is cut off towards the past.
    const isEnd = value.nanos >= 2n ** 63n - 1n || value.nanos <= -(2n ** 63n - 1n);
    return isEnd ? null : timestampCell((value.nanos - (((value.nanos % 1000n) + 1000n) % 1000n)) / 1000n);
  }
  if (value instanceof DuckDBTimestampMillisecondsValue) return scaled(value.millis, 1000n);
  if (value instanceof DuckDBTimestampSecondsValue) return scaled(value.seconds, 1_000_000n);
  return null;
}

const scaled = (count: bigint, micros: bigint): Cell =>
  count >= 2n ** 63n - 1n || count <= -(2n ** 63n - 1n) ? null : timestampCell(count * micros);
