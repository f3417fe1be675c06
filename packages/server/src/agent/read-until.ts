/** Reading others' streams no longer than a signal allows, whether they heed it or not. */
import { InlayError } from '../errors.ts';
import { followSignal } from './follow-signal.ts';

/** Events that are read ahead of who handles them, at most. */
const readyMax = 256;

/**
 * What a language model's stream gives, until `signal` aborts or the stream is silent for `silenceMs`: events that are there at the
 * same moment come together, never none. The stream's own signal aborts whenever reading ends early, so that nothing goes on unread.
 * @throws the signal's reason; InlayError LANGUAGE_MODEL_TIMEOUT; what the stream throws, an unknown error as
 * LANGUAGE_MODEL_FAILED with its cause.
 */
export async function* readUntil<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  signal: AbortSignal,
  silenceMs: number,
): AsyncGenerator<readonly T[]> {
  using own = followSignal(signal);
  // Silence is the stream's only while we listen, not while our own reader takes its time.
  let isListening = false;
  const silence = setTimeout(() => {
    if (isListening) own.abort(new InlayError('LANGUAGE_MODEL_TIMEOUT', 'The language model did not answer in time.'));
  }, silenceMs);
  try {
    own.signal.throwIfAborted();
    const stream = open(own.signal)[Symbol.asyncIterator]();
    const next = readTogether(() => stream.next(), own.signal);
    while (true) {
      silence.refresh();
      isListening = true;
      const events = await next();
      isListening = false;
      if (events === null) return;
      yield events;
      own.signal.throwIfAborted();
    }
  } catch (error) {
    if (own.signal.aborted) throw own.signal.reason;
    if (error instanceof InlayError) throw error;
    throw new InlayError('LANGUAGE_MODEL_FAILED', 'The language model failed.', { cause: error });
  } finally {
    clearTimeout(silence);
    own.abort(new InlayError('ABORTED', 'The turn has ended.'));
  }
}

/** What an iterator gives next, or the reader of a stream. */
type Next<T> = { readonly done?: false; readonly value: T } | { readonly done: true; readonly value?: unknown };

/**
 * Reads a stream ahead by `readNext`, never two at a time, and gives a function that gives what has come since it was last called,
 * as soon as there is something; null at the end. So what is ready at one moment goes on by one promise.
 * @throws (the function) what `readNext` throws, or the signal's reason as soon as it aborts, but for what had come before
 */
export function readTogether<T>(
  readNext: () => Promise<Next<T>>,
  signal: AbortSignal,
): () => Promise<readonly T[] | null> {
  let ready: T[] = [];
  let isReading = false;
  /** How the stream has ended; null: it goes on. */
  let end: { readonly error: unknown } | 'well' | null = null;
  let waiting: PromiseWithResolvers<readonly T[] | null> | null = null;

  function tell(): void {
    if (waiting === null || (ready.length === 0 && end === null)) return;
    const { resolve, reject } = waiting;
    waiting = null;
    if (ready.length > 0) {
      resolve(ready);
      ready = [];
    } else if (end === 'well') resolve(null);
    else reject(end?.error);
  }
  function read(): void {
    if (isReading || end !== null || ready.length >= readyMax) return;
    isReading = true;
    readNext().then(onNext, (error: unknown) => onEnd({ error }));
  }
  function onNext(next: Next<T>): void {
    isReading = false;
    if (next.done === true) {
      onEnd('well');
      return;
    }
    // After everything that is ready at this moment.
    if (ready.length === 0) process.nextTick(tell);
    ready.push(next.value);
    read();
  }
  function onEnd(how: { readonly error: unknown } | 'well'): void {
    end ??= how;
    tell();
  }

  signal.addEventListener('abort', () => onEnd({ error: signal.reason }), { once: true });
  return () => {
    const asked = Promise.withResolvers<readonly T[] | null>();
    waiting = asked;
    tell();
    read();
    return asked.promise;
  };
}
