/** The body of a reply (JSONCompactEachRowWithNamesAndTypes) → its columns and rows, as it comes; whole, or an error. */
import type { Cell, Column } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import { reasonOf } from '../errors.ts';
import { clickHouseReader } from './clickhouse-values.ts';

const headSchema = z.tuple([z.array(z.string()), z.array(z.string())]);
const rowsSchema = z.array(z.array(z.unknown()));
/** A line longer than this is no row that anybody can use, and would have to be held as a whole. */
const lineCharactersMax = 64 * 1024 * 1024;

/** Reads a body. */
export interface RowReader {
  /** The columns: the first two lines. */
  readonly columns: readonly Column[];
  /** The rows that came next; null at the end. */
  next(): Promise<Cell[][] | null>;
}

/**
 * Reads the columns. The driver's own reading of lines is not used: it drops what comes after the last line end, which is
 * where older servers write why they broke off.
 * @throws an error that holds what stands in the place of a row, where the result broke off
 */
export async function readBody(body: AsyncIterable<Uint8Array>): Promise<RowReader> {
  const batches = linesOf(body)[Symbol.asyncIterator]();
  const lines: string[] = [];
  while (lines.length < 2) {
    const batch = await batches.next();
    if (batch.done) throw new Error('the body ended before its second line');
    lines.push(...batch.value);
  }
  const [names, types] = headSchema.parse(lines.splice(0, 2).map(parseLine));
  const readers = types.map(clickHouseReader);
  let waiting: readonly string[] | null = lines;
  return {
    columns: names.map((name, index) => ({ name, column_type: readers[index]?.type ?? 'String' })),
    async next() {
      while (true) {
        const batch: readonly string[] | null = waiting ?? (await nextOf(batches));
        waiting = null;
        if (batch === null) return null;
        if (batch.length === 0) continue;
        const rows = parseRows(batch);
        if (typeof rows === 'string') throw new Error(rows + (await readFailure(batches)));
        return rows.map((row) =>
          readers.map(({ read }, index) => {
            const value = row[index];
            return value === null || value === undefined ? null : read(value);
          }),
        );
      }
    },
  };
}

async function nextOf<T>(items: AsyncIterator<T>): Promise<T | null> {
  const next = await items.next();
  return next.done === true ? null : next.value;
}

/** The lines that are whole, in batches as they come. @throws when something is left after the last line end */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const end = rest.lastIndexOf('\n');
    if (end < 0) {
      if (rest.length > lineCharactersMax) throw new Error('a row is too long');
      continue;
    }
    const whole = rest.slice(0, end);
    rest = rest.slice(end + 1);
    yield whole.split('\n');
  }
  rest += decoder.decode();
  if (rest !== '') throw new Error(rest.slice(0, failureCharacters));
}

/** So much of an exception as has its code in it. */
const failureCharacters = 2000;

/** What is left of a body that broke off, as far as it says why; it may come in pieces. */
async function readFailure(batches: AsyncIterator<readonly string[]>): Promise<string> {
  let text = '';
  try {
    for (let batch = await nextOf(batches); batch !== null; batch = await nextOf(batches)) {
      if (text.length < failureCharacters) text += `\n${batch.join('\n')}`;
    }
  } catch (error) {
    text += reasonOf(error);
  }
  return text;
}

/** Many lines at once: one call of the parser for each is several times slower. What stands in the place of a row, where one is none. */
function parseRows(lines: readonly string[]): unknown[][] | string {
  try {
    return rowsSchema.parse(JSON.parse(`[${lines.join(',')}]`));
  } catch {
    const other = lines.findIndex((line) => !line.startsWith('[') || !isJson(line));
    return lines.slice(Math.max(0, other)).join('\n').slice(0, failureCharacters);
  }
}

function parseLine(line: string): unknown {
  if (!isJson(line)) throw new Error(line.slice(0, failureCharacters));
  return JSON.parse(line);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
