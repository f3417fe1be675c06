/** DuckDB's values → cells of the wire (chat-stream.md: numbers where exact, else strings; times as ISO 8601). */
import {
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

/** The type of a column on the wire, and how one of its values becomes a cell. */
interface ColumnReader {
  readonly type: ColumnType;
  readonly read: (value: DuckDBValue) => Cell;
}

const integers: readonly DuckDBTypeId[] = [
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
];
const timestamps: readonly DuckDBTypeId[] = [
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
];

/** How the values of a column of that type are read. What has no type on the wire is text. */
export function columnReader(type: DuckDBType): ColumnReader {
  const { typeId } = type;
  if (integers.includes(typeId)) return { type: 'Int64', read: readInteger };
  if (typeId === DuckDBTypeId.DECIMAL) return { type: 'Decimal', read: readDecimal };
  if (typeId === DuckDBTypeId.DOUBLE || typeId === DuckDBTypeId.FLOAT) return { type: 'Double', read: readDouble };
  if (typeId === DuckDBTypeId.BOOLEAN)
    return { type: 'Boolean', read: (value) => (typeof value === 'boolean' ? value : null) };
  if (typeId === DuckDBTypeId.DATE) return { type: 'Date', read: readTime };
  if (timestamps.includes(typeId)) return { type: 'Timestamp', read: readTime };
  return { type: 'String', read: (value) => (value === null ? null : String(value)) };
}

function readInteger(value: DuckDBValue): Cell {
  if (typeof value === 'number') return value;
  if (typeof value !== 'bigint') return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** 15 significant digits survive a double; more stay text, so that no digit is lost. */
function readDecimal(value: DuckDBValue): Cell {
  if (!(value instanceof DuckDBDecimalValue)) return null;
  return Math.abs(Number(value.value)) < 1e15 ? Number(value.toString()) : value.toString();
}

function readDouble(value: DuckDBValue): Cell {
  if (typeof value !== 'number') return null;
  return Number.isFinite(value) ? value : String(value);
}

/** `2024-01-31`, `2024-01-31T13:45:00.000`. Times are UTC in the warehouse. */
function readTime(value: DuckDBValue): Cell {
  if (value instanceof DuckDBDateValue) return value.toString();
  if (value === null) return null;
  const milliseconds = millisecondsOf(value);
  // Outside the years of a Date (infinity, too) the warehouse's own text is all there is.
  if (milliseconds === null || Number.isNaN(new Date(milliseconds).getTime())) return String(value);
  return new Date(milliseconds).toISOString().slice(0, -1);
}

/** Milliseconds since 1970, what is finer cut off towards the past; null for what is no timestamp. */
function millisecondsOf(value: DuckDBValue): number | null {
  const floor = (count: bigint, perMillisecond: bigint) =>
    Number(count / perMillisecond - (count % perMillisecond < 0n ? 1n : 0n));
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue)
    return floor(value.micros, 1000n);
  if (value instanceof DuckDBTimestampNanosecondsValue) return floor(value.nanos, 1_000_000n);
  if (value instanceof DuckDBTimestampMillisecondsValue) return Number(value.millis);
  if (value instanceof DuckDBTimestampSecondsValue) return Number(value.seconds) * 1000;
  return null;
}
