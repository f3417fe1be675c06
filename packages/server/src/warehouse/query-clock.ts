/** How long one query may take: the engine's time, the reader's pauses, and all of it. */
import { InlayError } from '../errors.ts';

/** The most that a reader may pause between two chunks of a stream, and that a whole stream may last. */
export const streamLimits = { pauseMs: 60_000, wholeMs: 3_600_000 } as const;

/** The times of a query, in milliseconds. */
export interface QueryTimes {
  readonly timeoutMs: number;
  readonly pauseMs: number;
  readonly wholeMs: number;
}

/** Says when a query has to stop. Dispose it when the query is over. */
export interface QueryClock extends Disposable {
  /** Aborts with the reason of the caller's signal, or with QUERY_TIMEOUT. */
  readonly stop: AbortSignal;
  /** The engine is at work, and its time counts; in the beginning it is. */
  work(): void;
  /** The reader is, and the pause counts. */
  pause(): void;
}

/** Starts with the engine at work. */
export function createQueryClock(signal: AbortSignal, { timeoutMs, pauseMs, wholeMs }: QueryTimes): QueryClock {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  const endIn = (ms: number, message: string): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new InlayError('QUERY_TIMEOUT', message)), ms);
  const seconds = (ms: number): string => `${ms / 1000} s`;
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });

  let leftMs = timeoutMs;
  let sinceMs: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const whole = endIn(wholeMs, `The stream lasted longer than ${seconds(wholeMs)}.`);
  const stopTimer = (): void => {
    clearTimeout(timer);
    if (sinceMs !== null) leftMs -= performance.now() - sinceMs;
    sinceMs = null;
  };
  const work = (): void => {
    stopTimer();
    sinceMs = performance.now();
    timer = endIn(Math.max(0, leftMs), `The query took longer than ${seconds(timeoutMs)}.`);
  };
  work();
  return {
    stop: controller.signal,
    work,
    pause() {
      stopTimer();
      timer = endIn(pauseMs, `Nobody read the result for ${seconds(pauseMs)}.`);
    },
    [Symbol.dispose]() {
      stopTimer();
      clearTimeout(whole);
      signal.removeEventListener('abort', onAbort);
    },
  };
}
