/** In a few lines, how a result differs from the expected one, for people. Pure. */
import type { Cell } from '@inlay/contract/chat.ts';
import type { KeyedTable, ResultTable } from './compare-results.ts';

/** Rows that are told of each kind, and characters of one row. */
const rowsToldMax = 3;
const rowCharactersMax = 160;

/**
 * What differs: the counts, the columns for which the other result holds no such values, and some of the rows that are missing
 * or too many, where the columns that fit best are held beside each other.
 */
export function describeDifference(
  expected: ResultTable,
  actual: ResultTable,
  wanted: KeyedTable,
  given: KeyedTable,
): readonly string[] {
  const reasons: string[] = [];
  if (wanted.columns.length > given.columns.length) {
    reasons.push(
      `${count(wanted.columns.length, 'column')} expected, ${given.columns.length} given: ${namesOf(actual)}.`,
    );
  }
  if (wanted.rowCount !== given.rowCount) {
    reasons.push(`${count(wanted.rowCount, 'row')} expected, ${given.rowCount} given.`);
  }
  const places = bestPlaces(wanted, given);
  const strange = expected.schema.filter((_, index) => (places[index]?.shared ?? 0) === 0).map(({ name }) => name);
  if (strange.length > 0 && wanted.rowCount > 0 && given.rowCount > 0) {
    reasons.push(`No column has a value of the expected ${strange.join(', ')}.`);
  }
  const rowsOf = (columns: readonly (Int32Array | undefined)[], rowCount: number): readonly string[] =>
    Array.from({ length: rowCount }, (_, row) => columns.map((column) => column?.[row] ?? -1).join(' '));
  const wantedRows = rowsOf(wanted.columns, wanted.rowCount);
  const givenRows = rowsOf(
    places.map(({ place }) => (place === null ? undefined : given.columns[place])),
    given.rowCount,
  );
  const tell = (what: string, rows: readonly (readonly Cell[])[]): void => {
    if (rows.length === 0) return;
    const more = rows.length > rowsToldMax ? ` and ${rows.length - rowsToldMax} more` : '';
    reasons.push(`${what}: ${rows.slice(0, rowsToldMax).map(rowText).join(' ')}${more}`);
  };
  tell(
    'Missing',
    surplus(wantedRows, givenRows).map((row) => expected.rows[row] ?? []),
  );
  tell(
    'Not expected',
    surplus(givenRows, wantedRows).map((row) =>
      places.map(({ place }) => (place === null ? null : (actual.rows[row]?.[place] ?? null))),
    ),
  );
  return reasons;
}

interface Place {
  /** The column of the actual result; null: it has no more. */
  readonly place: number | null;
  /** Cells that the two have in common. */
  readonly shared: number;
}

/** For each wanted column the one that has the most cells in common and is still free. */
function bestPlaces(wanted: KeyedTable, given: KeyedTable): readonly Place[] {
  const free = new Set(given.columns.keys());
  return wanted.columns.map((column) => {
    let best: Place = { place: null, shared: -1 };
    for (const place of free) {
      const shared = sharedCount(column, given.columns[place] ?? new Int32Array());
      if (shared > best.shared) best = { place, shared };
    }
    if (best.place !== null) free.delete(best.place);
    return best;
  });
}

function sharedCount(one: Int32Array, other: Int32Array): number {
  const counts = new Map<number, number>();
  for (const cell of one) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  let shared = 0;
  for (const cell of other) {
    const left = counts.get(cell) ?? 0;
    if (left > 0) shared += 1;
    counts.set(cell, left - 1);
  }
  return shared;
}

/** The rows of `rows` that `others` do not have, or not so often. */
function surplus(rows: readonly string[], others: readonly string[]): readonly number[] {
  const counts = new Map<string, number>();
  for (const row of others) counts.set(row, (counts.get(row) ?? 0) + 1);
  return rows.flatMap((row, index) => {
    const left = counts.get(row) ?? 0;
    counts.set(row, left - 1);
    return left > 0 ? [] : [index];
  });
}

function rowText(row: readonly Cell[]): string {
  const text = JSON.stringify(row);
  return text.length <= rowCharactersMax ? text : `${text.slice(0, rowCharactersMax - 1)}…`;
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
const namesOf = ({ schema }: ResultTable): string => schema.map(({ name }) => name).join(', ') || 'none';
