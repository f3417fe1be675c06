/** Says what is wrong at a place, given as the keys and indexes that lead to it from where the caller stands. */
export type Report = (path: readonly (string | number)[], message: string) => void;

/** A report for a part of the same file: its paths begin at `prefix`. */
export const reportUnder =
  (report: Report, ...prefix: (string | number)[]): Report =>
  (path, message) =>
    report([...prefix, ...path], message);
