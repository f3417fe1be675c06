/** Who may ask a warehouse now, and how many may wait for it. */
import { InlayError } from '../errors.ts';
import { createSemaphore } from '../semaphore.ts';

/** Queries that may wait for each one that may run: beyond, an answer would come too late for whoever asks. */
const waitingPerPlace = 50;

/** The places of a warehouse. */
export interface QueryPlaces {
  /** Takes a place; disposing gives it back. @throws InlayError WAREHOUSE_BUSY; the reason of `stop` when it aborts meanwhile */
  enter(stop: AbortSignal): Promise<Disposable>;
}

/** So many places, all free. */
export function createQueryPlaces(placesMax: number): QueryPlaces {
  const semaphore = createSemaphore(placesMax);
  let inside = 0;
  return {
    async enter(stop) {
      if (inside >= placesMax * (1 + waitingPerPlace)) {
        throw new InlayError('WAREHOUSE_BUSY', 'Too many queries wait for the warehouse; try again.', {
          retryAfterSeconds: 5,
        });
      }
      inside += 1;
      const place = await semaphore.enter(stop).catch((error: unknown) => {
        inside -= 1;
        throw error;
      });
      return {
        [Symbol.dispose]() {
          inside -= 1;
          place[Symbol.dispose]();
        },
      };
    },
  };
}
