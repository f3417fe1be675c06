/** Numbers that only look random: the same ones for the same seed. */

/** A source of choices. */
export interface Random {
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  /** One of the items, which are some. */
  pick<T>(items: readonly [T, ...T[]]): T;
}

/** The choices of a seed. */
export function randomFrom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  return { below, pick: (items) => items[below(items.length)] ?? items[0] };
}
