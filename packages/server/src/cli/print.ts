/** Replies for people: a table of a list, lines of a record. Pure. */
import { plain } from './http-client.ts';

/** Characters that one column of a table takes at most. */
const columnMax = 60;

/** One line per field; what is nested stands as JSON. */
export function recordText(value: unknown): string {
  const fields = fieldsOf(value);
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.map(([name, text]) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}

/**
 * A table with a line of headings; the columns are the fields of all items. Of an object in a field the values stand one after
 * the other. Long texts are cut.
 */
export function tableText(items: readonly unknown[]): string {
  const rows = items.map((item) => new Map(fieldsOf(item, shortTextOf)));
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  const lines = [names, ...rows.map((row) => names.map((name) => cut(row.get(name) ?? '')))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function fieldsOf(value: unknown, toText: (field: unknown) => string = textOf): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [['value', toText(value)]];
  return Object.entries(value).map(([name, field]) => [plain(name), toText(field)]);
}

/** {@link textOf}; of an object of plain values, those that are there. */
function shortTextOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return textOf(value);
  const values: readonly unknown[] = Object.values(value).filter((one) => one !== null);
  if (values.some((one) => typeof one === 'object')) return textOf(value);
  return values.map(textOf).join(' ');
}

/** Nothing for null; what is nested as JSON. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return plain(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const cut = (text: string): string => (text.length <= columnMax ? text : `${text.slice(0, columnMax - 1)}…`);
