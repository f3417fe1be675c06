/** Whether one result answers what another does: rows as multisets, columns by their values. Pure. */
import type { Cell, Column } from '@inlay/contract/chat.ts';
import { cellKey } from './cell-key.ts';
import { describeDifference } from './describe-difference.ts';

/** A whole result. */
export interface ResultTable {
  readonly schema: readonly Column[];
  /** As long as the schema, each. */
  readonly rows: readonly (readonly Cell[])[];
}

/** What a comparison came to. `empty`: neither has rows, which says nothing; `undecided`: there are too many ways to try. */
export type Comparison =
  | { readonly kind: 'equal' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'undecided' }
  | { readonly kind: 'different'; readonly reasons: readonly string[] };

/** The columns of a table, each cell as a small number that is the same for the same value in both tables. */
export interface KeyedTable {
  readonly columns: readonly Int32Array[];
  readonly rowCount: number;
}

/** Rows that the search for a mapping looks at before it gives up: a second or two. */
const rowVisitsMax = 20_000_000;

/**
 * Compares `actual` with `expected`: equal when the columns of `expected` can be found among those of `actual`, each another one,
 * so that the rows are the same, as often as they occur. Names of columns say nothing, further columns are allowed, cells compare
 * by {@link cellKey}.
 * @param options.isOrdered the rows must come in the same order as well
 */
export function compareResults(
  expected: ResultTable,
  actual: ResultTable,
  { isOrdered }: { readonly isOrdered: boolean },
): Comparison {
  const [wanted, given] = keyTables(expected, actual);
  if (wanted.columns.length > given.columns.length || wanted.rowCount !== given.rowCount) {
    return { kind: 'different', reasons: describeDifference(expected, actual, wanted, given) };
  }
  if (wanted.rowCount === 0) return { kind: 'empty' };
  if (isOrdered && isSameInOrder(wanted, given)) return { kind: 'equal' };
  switch (findMapping(wanted, given)) {
    case 'found':
      return isOrdered
        ? { kind: 'different', reasons: ['The rows are right, but in another order.'] }
        : { kind: 'equal' };
    case 'none':
      return { kind: 'different', reasons: describeDifference(expected, actual, wanted, given) };
    case 'given up':
      return { kind: 'undecided' };
  }
}

function keyTables(...tables: readonly [ResultTable, ResultTable]): readonly [KeyedTable, KeyedTable] {
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const known = numbers.get(key) ?? numbers.size;
    numbers.set(key, known);
    return known;
  };
  const keyed = ({ schema, rows }: ResultTable): KeyedTable => ({
    columns: schema.map(({ column_type }, index) =>
      Int32Array.from(rows, (row) => numberOf(cellKey(row[index] ?? null, column_type))),
    ),
    rowCount: rows.length,
  });
  return [keyed(tables[0]), keyed(tables[1])];
}

/** Row by row: a wanted column is as good in one place as in another that has the same cells, so that counting them decides. */
function isSameInOrder(wanted: KeyedTable, given: KeyedTable): boolean {
  const left = new Map<string, number>();
  for (const column of given.columns) left.set(textOf(column), (left.get(textOf(column)) ?? 0) + 1);
  return wanted.columns.every((column) => {
    const count = left.get(textOf(column)) ?? 0;
    left.set(textOf(column), count - 1);
    return count > 0;
  });
}

/**
 * Looks for places for the wanted columns, one after the other. After each, the rows so far must be the same on both sides, as
 * often as they occur: so most wrong ways end at once. Columns with the same cells are tried once.
 */
function findMapping(wanted: KeyedTable, given: KeyedTable): 'found' | 'none' | 'given up' {
  const { rowCount } = wanted;
  const givenTexts = given.columns.map(textOf);
  const profiles = given.columns.map(profileOf);
  const wantedWithPlaces = wanted.columns.map((column) => {
    const profile = profileOf(column);
    return { column, places: profiles.flatMap((other, place) => (other === profile ? [place] : [])) };
  });
  // Those with the fewest places first, and of these the ones that tell rows apart best.
  wantedWithPlaces.sort(
    (one, other) => one.places.length - other.places.length || new Set(other.column).size - new Set(one.column).size,
  );
  let visitsLeft = rowVisitsMax;
  const taken = new Set<number>();

  const search = (at: number, wantedRows: Int32Array, givenRows: Int32Array): 'found' | 'none' | 'given up' => {
    const next = wantedWithPlaces[at];
    if (next === undefined) return 'found';
    const tried = new Set<string>();
    for (const place of next.places) {
      const column = given.columns[place];
      const text = givenTexts[place];
      if (column === undefined || text === undefined || taken.has(place) || tried.has(text)) continue;
      tried.add(text);
      visitsLeft -= rowCount;
      if (visitsLeft < 0) return 'given up';
      const rows = extendRows(wantedRows, next.column, givenRows, column);
      if (rows === null) continue;
      taken.add(place);
      const found = search(at + 1, rows.wanted, rows.given);
      if (found !== 'none') return found;
      taken.delete(place);
    }
    return 'none';
  };
  return search(0, new Int32Array(rowCount), new Int32Array(rowCount));
}

/** The rows with one more cell each, numbered anew; null when they are not the same on both sides, as often as they occur. */
function extendRows(
  wantedRows: Int32Array,
  wantedColumn: Int32Array,
  givenRows: Int32Array,
  givenColumn: Int32Array,
): { readonly wanted: Int32Array; readonly given: Int32Array } | null {
  const numbers = new Map<number, number>();
  const counts: number[] = [];
  // Exact for up to four million rows; more are never read.
  const pairOf = (row: number, cell: number): number => row * 2 ** 31 + cell;
  const wanted = wantedRows.map((row, index) => {
    const pair = pairOf(row, wantedColumn[index] ?? 0);
    const number = numbers.get(pair) ?? numbers.size;
    numbers.set(pair, number);
    counts[number] = (counts[number] ?? 0) + 1;
    return number;
  });
  const given = new Int32Array(givenRows.length);
  for (const [index, row] of givenRows.entries()) {
    const number = numbers.get(pairOf(row, givenColumn[index] ?? 0));
    const count = number === undefined ? 0 : (counts[number] ?? 0);
    if (number === undefined || count === 0) return null;
    counts[number] = count - 1;
    given[index] = number;
  }
  return { wanted, given };
}

const textOf = (column: Int32Array): string => column.join(' ');
/** The same for columns that hold the same values as often. */
const profileOf = (column: Int32Array): string => textOf(column.toSorted());
