/** Words the rows of a certified query: nothing is known of it but its name and its columns. No number is computed. */

import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { type Grain, grains } from './calendar.ts';
import { isRecord } from './conversation.ts';
import { lowerTitleOf } from './describe.ts';
import { localName } from './intent.ts';
import { listOf, plainText } from './plain-text.ts';
import { cellText, type ResultColumn, type ResultRow } from './result-rows.ts';

const rowsNamedMax = 5;
const nameCharactersMax = 128;

/**
 * The answer, one or two sentences. `result` is the parsed result of the SQL tool, without `error`; `relations` give titles and
 * formats to columns that are called as a member.
 */
export function toCertifiedAnswer(
  name: string,
  result: Readonly<Record<string, unknown>>,
  relations: readonly RelationMetadata[],
): string {
  const { schema, data, totalRows } = result;
  if (!Array.isArray(schema) || !Array.isArray(data)) return 'I could not read the result, so I give no answer.';
  const columns = schema.map((described: unknown) => toColumn(described, relations));
  const rows = data.filter((row): row is ResultRow => Array.isArray(row) && row.length === columns.length);
  const opening = plainText(name, nameCharactersMax);
  if (rows.length === 0) return `${opening}: there is no data.`;
  const [first = '', ...others] = rows.slice(0, rowsNamedMax).map((row) => rowText(columns, row));
  const more = rows.length > rowsNamedMax ? `, and ${rows.length - rowsNamedMax} more` : '';
  const cut =
    typeof totalRows === 'number' && totalRows > rows.length
      ? ` These are the first ${rows.length} of ${totalRows} rows.`
      : '';
  return `${opening}: ${first}${others.length > 0 ? `, then ${others.join(', ')}` : ''}${more}.${cut}`;
}

/** `web with revenue 1,234.00 and orders 12`; of a single figure the name of the query says what it is. */
function rowText(columns: readonly ResultColumn[], row: ResultRow): string {
  const isOnly = columns.filter(({ role }) => role === 'measure').length === 1;
  const cells = columns.map((column, index) => ({ column, text: cellText(row[index], column, grainOf(column)) }));
  const groups = cells.filter(({ column }) => column.role !== 'measure').map(({ text }) => text);
  const figures = cells
    .filter(({ column }) => column.role === 'measure')
    .map(({ column, text }) => (isOnly ? text : `${lowerTitleOf(column.member)} ${text}`));
  if (groups.length === 0 || figures.length === 0) return groups.length === 0 ? listOf(figures) : groups.join(', ');
  return `${groups.join(', ')} with ${listOf(figures)}`;
}

function toColumn(described: unknown, relations: readonly RelationMetadata[]): ResultColumn {
  const { name, column_type: type } = isRecord(described) ? described : {};
  const called = typeof name === 'string' ? name : '';
  const known = relations.flatMap(({ members }) => members).find((member) => localName(member) === called);
  const columnType = typeof type === 'string' ? type : '';
  const role = roleOf(columnType);
  return { name: called, role, type: columnType, member: known ?? unnamed(called, role) };
}

function roleOf(type: string): ResultColumn['role'] {
  if (type === 'Int64' || type === 'Double' || type === 'Decimal') return 'measure';
  return type === 'Date' || type === 'Timestamp' ? 'time' : 'dimension';
}

function unnamed(name: string, role: ResultColumn['role']): MemberMetadata {
  const isMeasure = role === 'measure';
  const title = name.replaceAll('_', ' ');
  const type = isMeasure ? 'number' : role === 'time' ? 'time' : 'string';
  return { name, title, description: '', type, kind: isMeasure ? 'measure' : 'dimension', synonyms: [] };
}

/** A column called `month` holds months: that is how people and the analyst call what `date_trunc` gives. */
function grainOf({ name, role }: ResultColumn): Grain | undefined {
  return role === 'time' ? grains.find((grain) => grain === name) : undefined;
}
