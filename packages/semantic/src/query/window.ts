/** Window functions, which are computed over the rows of an answer, and their frames. */

/** The window functions that semantic SQL allows, with how many arguments they take; the last five are aggregates. */
export const windowFunctions = {
  row_number: [0, 0],
  rank: [0, 0],
  dense_rank: [0, 0],
  ntile: [1, 1],
  lag: [1, 3],
  lead: [1, 3],
  first_value: [1, 1],
  last_value: [1, 1],
  count: [0, 1],
  sum: [1, 1],
  avg: [1, 1],
  min: [1, 1],
  max: [1, 1],
} as const satisfies Record<string, readonly [min: number, max: number]>;

/** A function of a row and the rows around it. */
export type WindowFunction = keyof typeof windowFunctions;

/** One end of a frame, in rows from the current one: negative ones come before it; null: as far as there are rows. */
export type FrameBound = number | null;

/** ROWS BETWEEN … AND …. */
export interface Frame {
  readonly from: FrameBound;
  readonly to: FrameBound;
}

/** Whether what a function gives depends on the order of rows that its ORDER BY leaves equal. */
export const dependsOnTies = (name: WindowFunction, frame: Frame | null): boolean =>
  frame !== null ||
  name === 'row_number' ||
  name === 'ntile' ||
  name === 'lag' ||
  name === 'lead' ||
  name === 'first_value' ||
  name === 'last_value';
