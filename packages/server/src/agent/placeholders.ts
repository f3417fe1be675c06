/**
 * Placeholders: in private mode a language model writes `{{q1f0c2b9e.revenue[1]}}` where a value belongs that it may not see,
 * and the server fills in the value while the text streams. Pure.
 */

import { type Grain, grains, unitLabel } from '@inlay/analyst/calendar.ts';
import { formatNumber, readDigits } from '@inlay/analyst/format-number.ts';
import { plainText } from '@inlay/analyst/plain-text.ts';
import type { Cell, ColumnType } from '@inlay/contract/chat.ts';
import type { StoredRows } from './stored-result.ts';

/** Rows of a table that stands for a whole result. */
const tableRowsMax = 25;
/** Enough of the text before a placeholder to know the word that it stands in, in UTF-16 code units. */
const keptCharactersMax = 300;
/** Values that are filled into one text, all together, in UTF-16 code units: a few words of the model can stand for long tables. */
const filledCharactersMax = 200_000;

/** The rows with that label, of this thread; undefined when it has none. */
export type FindRows = (label: string) => StoredRows | undefined;

/** Fills in the placeholders of one text, piece by piece. The pieces may be cut anywhere: the whole comes out the same. */
export interface Filler {
  /** The next piece of the model's text; gives what can be said by now. */
  write(text: string): string;
  /** Gives what was still held back. */
  end(): string;
}

/** Braces with no more than 300 characters between them; with more they are text. */
const placeholder = /\{\{([^{}\n]{0,300})\}\}/y;
const beginOfPlaceholder = /\{(?:\{(?:[^{}\n]{0,300}\}?)?)?$/y;
const cellForm = /^(q[0-9a-f]{8})\.(.+)\[(\d{1,6})\](?:\|([a-z]{1,16}))?$/s;
const wholeForm = /^(q[0-9a-f]{8})\.(totalRows|table)$/;

/** Where an address, a link or HTML begins: a value behind it would go to whoever serves the address. At most 34 characters. */
const addressBegins = /[\\/]{2}|:[\\/]|www\.|\][(:]|<[a-z!/?]|&#|&\w{1,32};/i;
/** A word that may be a part of an address. */
const addressWord = /[/\\@<]|\.\p{L}/u;

/**
 * Makes the filler of one text. A placeholder is one of
 * - `{{label.column[row]}}`: the cell, rows counted from 1, worded for people; `{{label.column[row]|raw}}`: as it stands in the
 *   result; `|percent`: a share from 0 to 1; `|day`, `|week`, `|month`, `|quarter`, `|year`: what the time falls into;
 * - `{{label.totalRows}}`: the number of rows of the whole result;
 * - `{{label.table}}`: the first 25 rows as a Markdown table.
 * A column is named as in the schema, or by its place: `#1`. What names nothing becomes `[no value for …]`. Values are made
 * harmless as Markdown and HTML, and none is filled into or behind an address, a link or HTML. Beyond 200,000 characters of values
 * no more are filled in.
 * @param find is asked once for each label.
 */
export function createFiller(find: FindRows): Filler {
  const found = new Map<string, StoredRows | undefined>();
  let filledCharacters = 0;
  let held = '';
  /** The end of the text said so far, as the model wrote it. */
  let before = '';
  let isGuarded = false;

  const pass = (text: string): string => {
    isGuarded ||= addressBegins.test(before.slice(-40) + text);
    before = (before + text).slice(-keptCharactersMax);
    return text;
  };
  // A result is read from its JSON, which may be long.
  const findOnce: FindRows = (label) => {
    if (!found.has(label)) found.set(label, find(label));
    return found.get(label);
  };
  const fill = (inside: string): string => {
    const word = /\S*$/.exec(before)?.[0] ?? '';
    const isAddress = isGuarded || word.length === keptCharactersMax || addressWord.test(word);
    before = `${before}·`.slice(-keptCharactersMax);
    if (isAddress) return '[no value in an address]';
    if (filledCharacters > filledCharactersMax) return '[no more values]';
    const filled = filledIn(inside, findOnce);
    filledCharacters += filled.length;
    return filledCharacters > filledCharactersMax ? '[no more values]' : filled;
  };
  const read = (text: string, isEnd: boolean): string => {
    held += text;
    let said = '';
    let at = 0;
    while (at < held.length) {
      const brace = held.indexOf('{', at);
      if (brace === -1) break;
      said += pass(held.slice(at, brace));
      at = brace;
      placeholder.lastIndex = at;
      const whole = placeholder.exec(held);
      if (whole !== null) {
        said += fill(whole[1] ?? '');
        at = placeholder.lastIndex;
        continue;
      }
      beginOfPlaceholder.lastIndex = at;
      if (!isEnd && beginOfPlaceholder.test(held)) {
        held = held.slice(at);
        return said;
      }
      said += pass('{');
      at += 1;
    }
    said += pass(held.slice(at));
    held = '';
    return said;
  };
  return { write: (text) => read(text, false), end: () => read('', true) };
}

/** A text with its placeholders filled in, as {@link createFiller} does it. */
export function fillText(text: string, find: FindRows): string {
  const filler = createFiller(find);
  return filler.write(text) + filler.end();
}

/** How a model writes the first cell of a column: by its name where that can stand in a placeholder, else by its place. */
export function placeholderOf(label: string, columns: readonly { readonly name: string }[], column: number): string {
  const name = columns[column]?.name ?? '';
  const isFirst = columns.findIndex((other) => other.name === name) === column;
  const isPlain = /^[^{}[\]|#\s.\p{C}](?:[^{}[\]|\p{C}]{0,99}[^{}[\]|\s\p{C}])?$/u.test(name);
  return `{{${label}.${isFirst && isPlain ? name : `#${column + 1}`}[1]}}`;
}

function filledIn(inside: string, find: FindRows): string {
  const text = inside.trim();
  return cellOf(text, find) ?? wholeOf(text, find) ?? `[no value for ${plainText(text.replaceAll(/[[\]]/g, ' '))}]`;
}

function cellOf(text: string, find: FindRows): string | undefined {
  const match = cellForm.exec(text);
  if (match === null) return undefined;
  const [, label = '', name = '', row = '', format = ''] = match;
  const rows = find(label);
  if (rows === undefined) return undefined;
  const column = columnAt(rows, name.trim());
  const cell = rows.data[Number(row) - 1]?.[column];
  const type = rows.schema[column]?.column_type;
  return cell === undefined || type === undefined ? undefined : word(cell, type, format);
}

/** The place of a column by name or `#place`; -1 when there is none. */
function columnAt({ schema }: StoredRows, name: string): number {
  const byName = schema.findIndex((column) => column.name === name);
  if (byName !== -1) return byName;
  const place = /^#(\d{1,4})$/.exec(name)?.[1];
  if (place !== undefined) return Number(place) - 1;
  return schema.findIndex((column) => column.name.toLowerCase() === name.toLowerCase());
}

function wholeOf(text: string, find: FindRows): string | undefined {
  const [, label = '', what] = wholeForm.exec(text) ?? [];
  const rows = what === undefined ? undefined : find(label);
  if (rows === undefined) return undefined;
  return what === 'table' ? tableOf(rows) : word(rows.totalRows, 'Int64', '');
}

function tableOf({ schema, data, totalRows }: StoredRows): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const shown = data.slice(0, tableRowsMax);
  const lines = [
    line(schema.map(({ name }) => plainText(name))),
    line(schema.map(() => '---')),
    ...shown.map((row) => line(schema.map(({ column_type }, column) => word(row[column] ?? null, column_type, '')))),
  ];
  const rest = shown.length < totalRows ? `\n\n(${shown.length} of ${word(totalRows, 'Int64', '')} rows)` : '';
  // A table begins and ends on lines of its own.
  return `\n\n${lines.join('\n')}${rest}\n\n`;
}

/** A cell in words, harmless in Markdown and HTML; an unknown format is none. */
function word(cell: Cell, type: ColumnType, format: string): string {
  if (cell === null) return 'no value';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  const text = String(cell);
  if (format === 'raw') return plainText(text);
  if (type === 'Date' || type === 'Timestamp') return timeText(text, format);
  const digits = type === 'String' || text.length > 60 ? undefined : readDigits(cell);
  if (digits === undefined) return plainText(text);
  const isWhole = type === 'Int64';
  return formatNumber(digits, { isWhole, isExact: type !== 'Double', ...(format === 'percent' ? { format } : {}) });
}

/** A time: what it falls into where that is asked for, else its day, with the time of day where it has one. */
function timeText(text: string, format: string): string {
  const [day, time] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}))?/.exec(text)?.slice(1) ?? [];
  if (day === undefined) return plainText(text);
  if (isGrain(format)) return unitLabel(day, format);
  return time === undefined || time === '00:00' ? day : `${day} ${time}`;
}

function isGrain(format: string): format is Grain {
  return grains.some((grain) => grain === format);
}
