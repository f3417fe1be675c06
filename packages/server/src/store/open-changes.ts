/**
 * The channel of changes, open: on PostgreSQL a connection of its own that listens, with a heartbeat that proves how far it has
 * heard; with PGlite the database in this process.
 */
import type { PGlite } from '@electric-sql/pglite';
import type { Client } from 'pg';
import { type Changes, changesChannel, createListeners, heardWithinMs, type Listeners, parseNews } from './changes.ts';

/** How often the connection is asked whether it still listens. */
const heartbeatMs = 250;
/** A connection that does not answer for so long is given up. */
const answerMsMax = 2000;
const connectMsMax = 5000;
const goodByeMsMax = 500;
/** Waiting between attempts to connect: doubled each time, from the first to the last. */
const retryMsMin = 100;
const retryMsMax = 5000;

/** What else the channel needs. `nowMs` is the monotonic clock, in milliseconds. */
export interface ChangesDependencies {
  readonly nowMs?: () => number;
  /** Told when the channel is lost, or does not come about; it tries again by itself. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Listens within this process: PGlite hands a notification over before the call that committed it has resolved.
 * @param writes counts what this process writes
 * @throws what PGlite throws
 */
export async function openPgliteChanges(
  pglite: PGlite,
  writes: () => number,
  { nowMs = now }: ChangesDependencies = {},
): Promise<Changes> {
  const listeners = createListeners();
  const unlisten = await pglite.listen(changesChannel, (payload) => listeners.tell(parseNews(payload)));
  let isOpen = true;
  return {
    subscribe: listeners.subscribe,
    heardUntil: () => (isOpen ? nowMs() : Number.NEGATIVE_INFINITY),
    writes: () => (isOpen ? writes() : null),
    catchUp: async () => undefined,
    async [Symbol.asyncDispose]() {
      isOpen = false;
      if (!pglite.closed) await unlisten();
    },
  };
}

/**
 * Listens on a connection of its own to `url`, and connects again whenever that is lost. Whenever it has begun to listen,
 * listeners are told of a gap. It does not wait for the first connection: until it stands, nothing has been heard.
 *
 * A change is on its way to the listening backend before its commit is acknowledged, and a backend hands over what it has
 * been notified of before it says that it is ready for the next query. So when a query that was sent at t is answered, every
 * change acknowledged before t has been heard.
 */
export function openPostgresChanges(url: string, dependencies: ChangesDependencies = {}): Changes {
  const { nowMs = now, onError = () => undefined } = dependencies;
  const listeners = createListeners();
  const closing = new AbortController();
  let heardUntil = Number.NEGATIVE_INFINITY;
  const waiting = createWaiting();
  const onHeard = (untilMs: number): void => {
    heardUntil = untilMs;
    waiting.settle(untilMs);
  };

  const ended = (async () => {
    let retryMs = retryMsMin;
    while (!closing.signal.aborted) {
      try {
        await listen(url, { listeners, nowMs, onHeard, waiting, signal: closing.signal });
      } catch (error) {
        if (!closing.signal.aborted) onError(error);
      }
      if (heardUntil !== Number.NEGATIVE_INFINITY) retryMs = retryMsMin;
      heardUntil = Number.NEGATIVE_INFINITY;
      waiting.settle(Number.POSITIVE_INFINITY);
      // Not all nodes at the same instant, when the database comes back.
      await pause(retryMs * (0.5 + Math.random() / 2), closing.signal);
      retryMs = Math.min(retryMs * 2, retryMsMax);
    }
  })();

  return {
    subscribe: listeners.subscribe,
    heardUntil: () => heardUntil,
    writes: () => null,
    async catchUp() {
      if (heardUntil === Number.NEGATIVE_INFINITY) return;
      const late = new AbortController();
      await Promise.race([waiting.until(nowMs()), pause(heardWithinMs, late.signal)]);
      late.abort();
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await ended;
    },
  };
}

/** Those who wait until the channel has heard up to some instant. */
interface Waiting {
  until(ms: number): Promise<void>;
  /** Ends the waiting for all instants up to `untilMs`. */
  settle(untilMs: number): void;
  /** Waits for `ms`, and no longer than until somebody waits, or the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

function createWaiting(): Waiting {
  const all = new Set<{ readonly ms: number; readonly resolve: () => void }>();
  let wake = new AbortController();
  return {
    until(ms) {
      return new Promise((resolve) => {
        all.add({ ms, resolve });
        wake.abort();
      });
    },
    settle(untilMs) {
      for (const one of all) {
        if (one.ms > untilMs) continue;
        all.delete(one);
        one.resolve();
      }
      if (all.size === 0) wake = new AbortController();
    },
    pause: (ms, signal) => pause(ms, signal, wake.signal),
  };
}

interface Listening {
  readonly listeners: Listeners;
  readonly nowMs: () => number;
  readonly onHeard: (untilMs: number) => void;
  readonly waiting: Waiting;
  readonly signal: AbortSignal;
}

/** One connection, from its beginning to its end. @throws what ended it */
async function listen(url: string, { listeners, nowMs, onHeard, waiting, signal }: Listening): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({
    connectionString: url,
    application_name: 'inlay changes',
    connectionTimeoutMillis: connectMsMax,
    query_timeout: answerMsMax,
    keepAlive: true,
  });
  const lost = new AbortController();
  const lose = (reason: unknown): void => lost.abort(reason);
  // The driver may leave the promise of a connection open that breaks off while it is made.
  const failure = new Promise<never>((_resolve, reject) => {
    lost.signal.addEventListener('abort', () => reject(lost.signal.reason), { once: true });
  });
  failure.catch(() => undefined);
  const onAbort = (): void => {
    lose(signal.reason);
    client.end().catch(() => undefined);
  };
  client.on('error', lose);
  client.on('end', () => lose(new Error('The connection that listens for changes has ended.')));
  client.on('notification', ({ channel, payload = '' }) => {
    if (channel === changesChannel) listeners.tell(parseNews(payload));
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([client.connect(), failure]);
    await client.query(`listen ${changesChannel}`);
    await requireOwnBackend(client);
    listeners.tell({ kind: 'gap' });
    while (!lost.signal.aborted) {
      const sentMs = nowMs();
      await client.query('select 1');
      onHeard(sentMs);
      await waiting.pause(heartbeatMs, lost.signal);
    }
    throw lost.signal.reason;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The server may be out of reach: its good-bye is not waited for long.
    await Promise.race([client.end().catch(() => undefined), pause(goodByeMsMax)]);
  }
}

/**
 * A pooler between us and PostgreSQL may give each query another backend, and drop what the one that listens says. Its
 * connections do not carry the backend's own process id.
 * @throws Error when somebody else is between
 */
async function requireOwnBackend(client: Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if (rows[0]?.pid !== Reflect.get(client, 'processID')) {
    throw new Error('DATABASE_URL leads through a connection pooler, which does not carry notifications.');
  }
}

function now(): number {
  return performance.now();
}

/** Resolves after `ms`, or as soon as one of the signals aborts. Keeps no process alive. */
function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some(({ aborted }) => aborted)) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms).unref();
    for (const signal of signals) signal.addEventListener('abort', done, { once: true });
  });
}
