/** When two cells of results count as the same value: the rule by which answers are graded. Pure. */
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';

/** Digits that count in a number. */
const significantDigits = 4;
/** Beyond these digits a sum depends on the order in which it was added up. */
const exactDigits = 12;

/**
 * A text that is the same for cells that count as the same value: numbers of any type by four significant digits, times by their
 * instant (a date is its midnight in UTC), everything else exactly. A text is never the same as a number.
 */
export function cellKey(cell: Cell, type: ColumnType): string {
  if (cell === null) return 'null';
  if (typeof cell === 'boolean') return `is ${cell}`;
  if (typeof cell === 'number') return numberKey(cell);
  switch (type) {
    case 'Int64':
    case 'Double':
    case 'Decimal':
      return numberKey(cell.trim() === '' ? Number.NaN : Number(cell));
    case 'Date':
    case 'Timestamp':
      return timeKey(cell);
    case 'Boolean':
    case 'String':
      return `text ${cell}`;
  }
}

/** Rounded twice: what adds up to exactly half a digit is rounded the same way whichever way it was added up. */
function numberKey(value: number): string {
  if (!Number.isFinite(value)) return `number ${value}`;
  const exact = Number(value.toPrecision(exactDigits));
  return `number ${Number(exact.toPrecision(significantDigits))}`;
}

function timeKey(text: string): string {
  const [, date, time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  const instant = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(instant) ? `time ${text}` : `time ${instant}`;
}
