/** The lines of one run, in memory while it goes on: appended once, read by any number of readers at their own pace. */
import type { Frame } from '@inlay/contract/chat.ts';

/** An append-only log. The writer never waits for a reader, and a reader costs no more than its cursor. */
export interface ThreadLog {
  /** Everything so far; grows in place. */
  readonly frames: readonly Frame[];
  /** Whether nothing follows. */
  readonly isEnded: boolean;
  append(frame: Frame): void;
  /** Nothing follows; readers that have read everything end. */
  end(): void;
  /** The lines from index `from` on, as they come, until the end of the log or until `signal` says that the reader is gone. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<Frame, void, undefined>;
}

/** Makes an empty log. */
export function createThreadLog(): ThreadLog {
  const frames: Frame[] = [];
  let isEnded = false;
  // One promise for all who wait; replaced when it has woken them.
  let news = Promise.withResolvers<void>();

  const wake = (): void => {
    const woken = news;
    news = Promise.withResolvers<void>();
    woken.resolve();
  };

  return {
    frames,
    get isEnded() {
      return isEnded;
    },
    append(frame) {
      if (isEnded) throw new Error('the log has ended');
      frames.push(frame);
      wake();
    },
    end() {
      isEnded = true;
      wake();
    },
    async *follow(from, signal) {
      let cursor = from;
      // A reader that waits hears of nothing but news, so its going counts as news; the others just look again.
      signal.addEventListener('abort', wake, { once: true });
      try {
        while (!signal.aborted) {
          const frame = frames[cursor];
          if (frame !== undefined) {
            cursor += 1;
            yield frame;
          } else if (isEnded) return;
          else await news.promise;
        }
      } finally {
        signal.removeEventListener('abort', wake);
      }
    },
  };
}
