/** How figures are taken and printed: ours beside a floor measured in the same run, as a ratio; machines differ. */

/** One line of the report. `ratio` is ours over the floor; whether more or less is better the claim says. */
export interface Figure {
  readonly claim: string;
  readonly ours: string;
  readonly floor: string;
  readonly ratio: number;
}

/** The value below which the share `part` (0–1) of the samples lies. */
export function quantile(samples: readonly number[], part: number): number {
  const sorted = [...samples].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The value in the middle of the samples. */
export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** Runs both in turn, so that what else the machine does falls on both, and gives the milliseconds of each run. */
export async function interleave(rounds: number, ours: () => Promise<unknown>, floor: () => Promise<unknown>) {
  const times = { ours: [] as number[], floor: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, work] of Object.entries({ ours, floor })) {
      const started = performance.now();
      await work();
      (name === 'ours' ? times.ours : times.floor).push(performance.now() - started);
    }
  }
  return times;
}

/** Milliseconds for people. */
export const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} ms`;
/** A rate for people. */
export const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')} /s`;

/** Prints the figures as a table. */
export function printFigures(figures: readonly Figure[]): void {
  const rows = [
    ['claim', 'ours', 'floor', 'ratio'],
    ...figures.map(({ claim, ours, floor, ratio }) => [claim, ours, floor, ratio.toFixed(2)]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    );
  }
}
