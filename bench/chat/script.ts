/**
 * What is said in a bench of the chat, the same on every server: words that hold the moment at which they were said, so that
 * whoever reads them knows how long they took. Self-contained: it is copied beside the graph of the peer.
 */

/** How much is said, and how fast. It travels as the question. */
export interface Script {
  readonly deltas: number;
  /** Milliseconds between two deltas; 0: as fast as they are taken, {@link burst} at a time. */
  readonly everyMs: number;
}

/** Deltas that come in one piece from the network, as those of a quick language model do. */
export const burst = 20;

/** Microseconds of a clock that all processes of a machine share. */
export const microseconds = (): number => Number(process.hrtime.bigint() / 1000n);

/** Says the script. Throws the reason of `signal` when it aborts. */
export async function* say({ deltas, everyMs }: Script, signal: AbortSignal): AsyncGenerator<string> {
  const started = performance.now();
  for (let index = 0; index < deltas; index += 1) {
    if (everyMs > 0) await pause(started + index * everyMs - performance.now(), signal);
    else if (index % burst === 0) await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    yield `w${microseconds()} `;
  }
}

/** The moments in a piece of text, in microseconds. */
export function momentsIn(text: string): readonly number[] {
  return [...text.matchAll(/w(\d+) /g)].map(([, moment]) => Number(moment));
}

/** The script in a question. */
export function readScript(question: string): Script {
  const { deltas, everyMs }: Partial<Script> = Object(JSON.parse(question));
  if (typeof deltas !== 'number' || typeof everyMs !== 'number') throw new Error('The question is no script.');
  return { deltas, everyMs };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
