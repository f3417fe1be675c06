/** A run of an engine → its whole result in memory, within limits. */
import type { Cell } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import type { EngineRun } from './engine.ts';
import type { QueryLimits, WarehouseResult } from './warehouse.ts';

/**
 * What a row takes, in bytes, estimated: 8 for each cell, and for a text its length in UTF-16 code units beside that. JSON of
 * it is about as large; texts that are not Latin are up to three times.
 */
export function sizeOfRow(row: readonly Cell[]): number {
  let size = 8 * row.length;
  for (const cell of row) if (typeof cell === 'string') size += cell.length;
  return size;
}

/**
 * Reads the run to its end; the caller closes it.
 * @throws InlayError RESULT_TOO_LARGE as soon as a limit is passed; whatever the run throws
 */
export async function collectRows(
  run: EngineRun,
  {
    rowsMax = Number.POSITIVE_INFINITY,
    bytesMax = Number.POSITIVE_INFINITY,
  }: Pick<QueryLimits, 'rowsMax' | 'bytesMax'>,
): Promise<WarehouseResult> {
  const chunks: Cell[][][] = [];
  let rowCount = 0;
  let bytes = 0;
  for (let rows = await run.next(); rows !== null; rows = await run.next()) {
    rowCount += rows.length;
    if (rowCount > rowsMax) throw tooLarge(`${rowsMax} rows`);
    for (const row of rows) bytes += sizeOfRow(row);
    if (bytes > bytesMax) throw tooLarge(`${bytesMax} bytes`);
    if (rows.length > 0) chunks.push(rows);
  }
  return {
    columns: run.columns,
    rowCount,
    bytes,
    async *rows() {
      yield* chunks;
    },
  };
}

const tooLarge = (limit: string): InlayError =>
  new InlayError('RESULT_TOO_LARGE', `The result has more than ${limit}.`, {
    hint: 'Ask for fewer rows: filter, group more coarsely, or add a LIMIT.',
  });
