/**
 * Answers that take longer than a call may wait: the call is told to ask again, the work goes on, and the next same call waits for it.
 * Where nobody comes back it is stopped. Kept in this process only: a call that comes to another node begins anew.
 */

/** What a call got: the answer, or that it has to ask again. */
export type Waited<T> = { readonly isReady: true; readonly answer: T } | { readonly isReady: false };

/** A call. */
export interface SlowCall<T> {
  /** Equal for calls of one user that ask the same. */
  readonly key: string;
  readonly userId: number;
  /** What is asked for, as it came out this time. Work that was begun for another identity is not waited for. */
  readonly identity: string;
  /** The moment that the work belongs to, if it begins now. */
  readonly now: Date;
  /** Aborts when the caller has gone away: work that nobody else waits for stops. */
  readonly signal: AbortSignal;
  readonly work: (signal: AbortSignal) => Promise<T>;
}

/** The slow answers of a process. Disposing stops all work. */
export interface SlowAnswers<T> extends Disposable {
  /** The moment that the work under this key belongs to; null: there is none. */
  begunAt(key: string): Date | null;
  /** Begins the work, or waits for the work that was begun. @throws what the work throws; the signal's reason */
  ask(call: SlowCall<T>): Promise<Waited<T>>;
}

interface Work<T> {
  readonly userId: number;
  readonly identity: string;
  readonly now: Date;
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
  leaving: NodeJS.Timeout | undefined;
}

/** How long nobody may ask for work that goes on, or for its answer. Clients ask again at once. */
const abandonedMsDefault = 10_000;

/**
 * Makes them; nothing is under way.
 * @param options.waitMs how long a call waits
 * @param options.perUserMax how much work of one user may outlive its call; beyond that a call waits to the end
 * @param options.abandonedMs how long work may go on that nobody waits for
 */
export function createSlowAnswers<T>({
  waitMs,
  perUserMax,
  abandonedMs = abandonedMsDefault,
}: {
  readonly waitMs: number;
  readonly perUserMax: number;
  readonly abandonedMs?: number;
}): SlowAnswers<T> {
  const works = new Map<string, Work<T>>();

  const drop = (key: string, work: Work<T>): void => {
    clearTimeout(work.leaving);
    if (works.get(key) === work) works.delete(key);
    work.stop.abort(new Error('nobody waits for it any more'));
  };
  const begin = ({ key, userId, identity, now, work }: SlowCall<T>): Work<T> => {
    const stop = new AbortController();
    const begun: Work<T> = { userId, identity, now, answer: work(stop.signal), stop, waiting: 0, leaving: undefined };
    // A failure that nobody has come back for yet is told when somebody does.
    begun.answer.catch(() => undefined);
    works.set(key, begun);
    return begun;
  };

  return {
    begunAt: (key) => works.get(key)?.now ?? null,
    async ask(call) {
      const { key, signal } = call;
      signal.throwIfAborted();
      let work = works.get(key);
      if (work !== undefined && work.identity !== call.identity) {
        // Whoever waits for it still gets it; nobody joins any more.
        if (work.waiting === 0) drop(key, work);
        else works.delete(key);
        work = undefined;
      }
      if (work === undefined) {
        const own = [...works.values()].filter(({ userId }) => userId === call.userId);
        if (own.length >= perUserMax) return { isReady: true, answer: await call.work(signal) };
        work = begin(call);
      }
      clearTimeout(work.leaving);
      work.waiting += 1;
      const { promise: over, resolve, reject } = Promise.withResolvers<null>();
      const timer = setTimeout(() => resolve(null), waitMs);
      const leave = (): void => reject(signal.reason);
      signal.addEventListener('abort', leave);
      let mayReturn = false;
      try {
        const answer = await Promise.race([work.answer.then((it) => ({ it })), over]);
        mayReturn = answer === null;
        return answer === null ? { isReady: false } : { isReady: true, answer: answer.it };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        work.waiting -= 1;
        const left = work;
        if (left.waiting === 0) {
          if (mayReturn) left.leaving = setTimeout(() => drop(key, left), abandonedMs).unref();
          else drop(key, left);
        }
      }
    },
    [Symbol.dispose]() {
      for (const [key, work] of works) drop(key, work);
    },
  };
}
