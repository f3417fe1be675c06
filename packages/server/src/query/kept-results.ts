/**
 * Results that are kept for a while, for who asks the same. Two users share one exactly where the compiled SQL and every bound value
 * are the same, and so the policies in them; a branch, another commit of a data model or another warehouse has its own.
 */
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import type { WarehouseResult } from '../warehouse/warehouse.ts';
import { createAnswerCache } from './answer-cache.ts';
import type { Deployment } from './deployments.ts';
import { queryKey } from './query-key.ts';

/** The kept results of a process. */
export interface KeptResults {
  /** @throws what `read` throws; the signal's reason when aborted. The reading stops when nobody waits for it any more */
  get(
    deployment: Pick<Deployment, 'version' | 'dataModel'>,
    compiled: CompiledQuery,
    signal: AbortSignal,
    read: (signal: AbortSignal) => Promise<WarehouseResult>,
  ): Promise<WarehouseResult>;
}

/**
 * Makes them; none is kept yet.
 * @param limits.resultCacheBytesMax of all results; 0: none is kept or shared
 * @param limits.resultCacheSeconds for results of cubes that do not say how long (`refresh_key.every`); the shortest of its cubes counts
 */
export function createKeptResults({
  resultCacheBytesMax,
  resultCacheSeconds,
}: {
  readonly resultCacheBytesMax: number;
  readonly resultCacheSeconds: number;
}): KeptResults {
  const answers = createAnswerCache<WarehouseResult>({
    bytesMax: resultCacheBytesMax,
    // A cell costs more than it says, and so does an array of them.
    bytesOf: ({ bytes, rowCount, columns }) => 2 * bytes + 64 * rowCount + 100 * columns.length + 500,
  });
  const secondsOf = (deployment: Pick<Deployment, 'dataModel'>, cubes: ReadonlySet<string>): number => {
    const { cubes: known } = deployment.dataModel;
    const each = [...cubes].map((name) => known.get(name)?.refreshEverySeconds ?? resultCacheSeconds);
    return each.length === 0 ? resultCacheSeconds : Math.min(...each);
  };
  return {
    get: (deployment, compiled, signal, read) =>
      answers.get(`${deployment.version} ${queryKey(compiled)}`, {
        keptMs: 1000 * secondsOf(deployment, compiled.cubes),
        signal,
        read,
      }),
  };
}
