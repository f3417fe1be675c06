/** Waiting for something, but not for ever. */

/** What the work gives; `otherwise` when it fails or takes longer. Keeps no timer when it is done. */
export async function withinMs<T>(work: Promise<T>, ms: number, otherwise: T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(otherwise), ms);
  try {
    return await Promise.race([work, late]);
  } catch {
    return otherwise;
  } finally {
    clearTimeout(timer);
  }
}
