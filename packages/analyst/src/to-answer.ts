/** Words the answer to a question from the rows that came back, and from nothing else. No number is computed. */

import { answerOpening, lowerTitleOf } from './describe.ts';
import { type Intent, isHeldToOne } from './intent.ts';
import { listOf, plainText } from './plain-text.ts';
import { cellText, extremes, type ResultColumn, type ResultRow, type ResultRows, readRows } from './result-rows.ts';

const rowsNamedMax = 5;

/** The answer, one or two sentences. `result` is the parsed result of the SQL tool, without `error`. */
export function toAnswer(intent: Intent, result: Readonly<Record<string, unknown>>): string {
  const rows = readRows(intent, result);
  if (rows === undefined) return 'I could not read the result, so I give no answer.';
  const opening = answerOpening(intent);
  if (rows.rows.length === 0) return `There is no data for ${lowerFirst(opening)}.`;
  return `${opening}: ${bodyOf(intent, rows)}.${moreText(rows)}`;
}

/** The answer when a tool failed: the message is the safe one that the tool gave. */
export function failureAnswer(message: string, hint: string): string {
  const parts = [message, hint].filter((part) => part.trim() !== '').map((part) => endSentence(plainText(part, 400)));
  return ['I could not answer this.', ...parts].join(' ');
}

function bodyOf(intent: Intent, result: ResultRows): string {
  const groups = result.columns.filter(({ role }) => role !== 'measure');
  const [first] = result.rows;
  if (first === undefined) return 'no value';
  if (groups.length === 0 || isHeldToOneRow(intent, result)) return figuresText(intent, result, first);
  const hasCourse = groups[0]?.role === 'time' && intent.ranking === undefined;
  if (hasCourse && groups.length === 1) return courseText(intent, result);
  if (hasCourse) return extremesText(intent, result, groups);
  return listText(intent, result, groups);
}

// "Revenue for channel web": the opening has named the one group that there is.
function isHeldToOneRow(intent: Intent, result: ResultRows): boolean {
  if (result.rows.length !== 1 || intent.ranking !== undefined || intent.time?.grain !== undefined) return false;
  return intent.dimensions.every((dimension) => isHeldToOne(intent.filters, dimension));
}

// "web leads with 182,340.50, then store with 91,022.25, and 3 more".
function listText(intent: Intent, result: ResultRows, groups: readonly ResultColumn[]): string {
  const empty = result.rows.filter((row) => isEmptyGroup(result, row));
  const listed = empty.length < result.rows.length ? result.rows.filter((row) => !empty.includes(row)) : result.rows;
  const named = listed.slice(0, rowsNamedMax).map((row, index) => {
    const verb = index === 0 ? leadText(intent, result) : 'with';
    return `${groupText(intent, result, groups, row)} ${verb} ${figuresText(intent, result, row)}`;
  });
  const [first = '', ...others] = named;
  const more = listed.length - named.length;
  const rest = listed === result.rows ? '' : emptyText(groups, empty.length);
  return `${first}${others.length > 0 ? `, then ${others.join(', ')}` : ''}${more > 0 ? `, and ${more} more` : ''}${rest}`;
}

// Such as products without a category that nobody bought: a row, but nothing to list.
function isEmptyGroup(result: ResultRows, row: ResultRow): boolean {
  const isMeasure = result.columns.map(({ role }) => role === 'measure');
  return (
    row.every((cell, index) => cell === null || !isMeasure[index]) &&
    row.some((cell, index) => cell === null && !isMeasure[index])
  );
}

function emptyText(groups: readonly ResultColumn[], count: number): string {
  if (count === 0) return '';
  const titles = groups.map(({ member }) => lowerTitleOf(member));
  const named = listOf(
    titles.map((title) => `${/^[aeiou]/.test(title) ? 'an' : 'a'} ${title}`),
    'or',
  );
  return `; ${count === 1 ? `1 group without ${named} has` : `${count} groups without ${named} have`} no value`;
}

// Only a number can lead, and only others: empty cells are sorted last, so an empty first one means that all are.
function leadText(intent: Intent, result: ResultRows): string {
  const ordering = result.columns.findIndex(
    ({ role, member }) => role === 'measure' && (intent.ranking === undefined || member === intent.ranking.measure),
  );
  const cell = result.rows[0]?.[ordering];
  if (result.rows.length === 1 || cell === null || cell === undefined) return 'with';
  return intent.ranking?.direction === 'lowest' ? 'is lowest with' : 'leads with';
}

// "from 1,234.00 in January 2024 to 2,345.00 in December 2024; highest …, lowest …".
function courseText(intent: Intent, result: ResultRows): string {
  const [first] = result.rows;
  const last = result.rows.at(-1);
  const time = 0;
  const clauses = result.columns.flatMap((column, index) => {
    if (column.role !== 'measure' || first === undefined || last === undefined) return [];
    const at = (row: typeof first): string => {
      const label = cellText(row[time], result.columns[time] ?? column, intent.time?.grain);
      return `${cellText(row[index], column, undefined)} in ${label}`;
    };
    const name = nameBefore(intent, column);
    if (result.rows.length === 1) return [`${name}${at(first)}`];
    const found = result.rows.length > 2 ? extremes(result, index) : undefined;
    const span = `${name}from ${at(first)} to ${at(last)}`;
    return [found === undefined ? span : `${span}; highest ${at(found.highest)}, lowest ${at(found.lowest)}`];
  });
  return clauses.join('. ');
}

// A table of times and dimensions: its highest and lowest rows.
function extremesText(intent: Intent, result: ResultRows, groups: readonly ResultColumn[]): string {
  const clauses = result.columns.flatMap((column, index) => {
    if (column.role !== 'measure') return [];
    const found = extremes(result, index);
    const name = nameBefore(intent, column);
    if (found === undefined) return [`${name}no value`];
    const at = (row: ResultRow): string =>
      `${cellText(row[index], column, undefined)} for ${groupText(intent, result, groups, row)}`;
    if (result.rows.length === 1) return [`${name}${at(found.highest)}`];
    return [`${name}highest ${at(found.highest)}, lowest ${at(found.lowest)}`];
  });
  return clauses.join('; ');
}

function figuresText(intent: Intent, result: ResultRows, row: ResultRow): string {
  const parts = result.columns.flatMap((column, index) => {
    if (column.role !== 'measure') return [];
    return [`${nameBefore(intent, column)}${cellText(row[index], column, undefined)}`];
  });
  return listOf(parts);
}

// `orders `: of several measures each figure needs a name; of one the opening has named it.
function nameBefore(intent: Intent, column: ResultColumn): string {
  return intent.measures.length > 1 ? `${lowerTitleOf(column.member)} ` : '';
}

function groupText(intent: Intent, result: ResultRows, groups: readonly ResultColumn[], row: ResultRow): string {
  return groups
    .map((column) => {
      const cell = row[result.columns.indexOf(column)];
      if (cell !== null) return cellText(cell, column, intent.time?.grain);
      return `no value of ${lowerTitleOf(column.member)}`;
    })
    .join(', ');
}

function moreText(result: ResultRows): string {
  const { rows, totalRows } = result;
  return totalRows > rows.length ? ` These are the first ${rows.length} of ${totalRows} rows.` : '';
}

function lowerFirst(text: string): string {
  return /^\p{Lu}\p{Ll}/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function endSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
