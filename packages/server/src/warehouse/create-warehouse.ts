/** An engine → a warehouse: places, times, limits and second attempts, the same for every kind. */
import type { Cell } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import { collectRows } from './collect-rows.ts';
import { type Engine, type EngineRun, LostConnection } from './engine.ts';
import { createQueryClock, type QueryClock, streamLimits } from './query-clock.ts';
import { createQueryPlaces } from './query-places.ts';
import type { Warehouse, WarehouseQuery } from './warehouse.ts';

/** Beyond what the clock allows, for the engine's own limit, so that the clock comes first. */
const engineSlackMs = 2000;

/** @param pauseMs how long a reader of a stream may pause; tests shorten it */
export function createWarehouse(engine: Engine, pauseMs: number = streamLimits.pauseMs): Warehouse {
  const places = createQueryPlaces(engine.queriesMax);

  /** Whatever went wrong, as the caller gets it: why the query was to stop, where it was. */
  const toError = (error: unknown, query: WarehouseQuery, { stop }: QueryClock): unknown => {
    if (stop.aborted) return stop.reason;
    return error instanceof InlayError ? error : engine.toFailure(error, query);
  };

  /** Begins the query; once more where the connection was lost: a SELECT of which nothing was seen. */
  const begin = async <T>(stop: AbortSignal, attempt: () => Promise<T>): Promise<T> => {
    try {
      return await attempt();
    } catch (error) {
      if (stop.aborted || !(error instanceof LostConnection)) throw error;
      return attempt();
    }
  };

  return {
    dialect: engine.dialect,
    async query(query, { signal, timeoutMs, rowsMax, bytesMax }) {
      using clock = createQueryClock(signal, { timeoutMs, pauseMs, wholeMs: streamLimits.wholeMs });
      const { stop } = clock;
      try {
        using _place = await places.enter(stop);
        const run = await begin(stop, () => engine.run(query, { stop, timeoutMs: timeoutMs + engineSlackMs }));
        try {
          const result = await collectRows(run, { rowsMax, bytesMax });
          stop.throwIfAborted();
          return result;
        } finally {
          await run.close();
        }
      } catch (error) {
        throw toError(error, query, clock);
      }
    },

    async stream(query, { signal, timeoutMs }) {
      await using opening = new AsyncDisposableStack();
      const clock = opening.use(createQueryClock(signal, { timeoutMs, pauseMs, wholeMs: streamLimits.wholeMs }));
      const { stop } = clock;
      let run: EngineRun;
      try {
        opening.use(await places.enter(stop));
        run = await begin(stop, () => engine.run(query, { stop, timeoutMs: timeoutMs + engineSlackMs }));
      } catch (error) {
        throw toError(error, query, clock);
      }
      opening.defer(() => run.close());
      const held = opening.move();
      clock.pause();
      // Nobody may ever read: then all of it is given back when the pause has been too long.
      let isReading = false;
      const onStop = (): void => {
        if (!isReading) void held.disposeAsync();
      };
      stop.addEventListener('abort', onStop, { once: true });

      const read = async (): Promise<Cell[][] | null> => {
        stop.throwIfAborted();
        isReading = true;
        clock.work();
        try {
          const rows = await run.next();
          stop.throwIfAborted();
          return rows;
        } finally {
          isReading = false;
          clock.pause();
        }
      };
      return {
        columns: run.columns,
        async *rows() {
          try {
            for (let rows = await read(); rows !== null; rows = await read()) if (rows.length > 0) yield rows;
          } catch (error) {
            throw toError(error, query, clock);
          } finally {
            await held.disposeAsync();
          }
        },
      };
    },

    async ping() {
      try {
        await engine.ping();
      } catch (error) {
        throw engine.toFailure(error, { sql: '', parameters: [] });
      }
    },
    close: () => engine.close(),
  };
}
