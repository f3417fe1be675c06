/** Guards what walks JSON by calling itself, such as validation and writing it, against input nested so deep that the stack ends. */

/** Levels of lists and objects that JSON from outside may have. What the API, tools and charts take has far fewer. */
export const jsonDepthMax = 64;

/** True when parsed JSON has more than `levels` levels of lists and objects. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}
