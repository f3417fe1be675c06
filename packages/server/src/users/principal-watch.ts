/**
 * The ends of those who have a stream or a run open: revocation, deletion, and the end of a user, session or key close them
 * within a second, on every node (http-api.md). A watch is told of changes that may concern it, looks at the instants that it
 * knows of, and while the channel of changes is lost looks into the store every second. Whoever watches the same principal, as a
 * stream and its run do, shares what is known of them.
 */
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { type Changes, isHearing, type News } from '../store/changes.ts';
import { json } from '../store/json.ts';
import { logOutages, type OutageLog } from '../store/outages.ts';
import type { Schema } from '../store/schema.ts';
import type { Principal } from './principal.ts';
import { sessionEnd, sessionStands } from './session-stands.ts';

/** How often the clock and the channel are looked at while anything is watched. */
const tickMs = 250;
/** Between two looks into the store while the channel is lost. */
const checkMs = 750;
/** With neither the channel nor the store to ask for so long, nobody can say whether a principal still stands. */
const unknownMsMax = 15_000;

/** What of a principal is watched. */
export type Watched = Pick<Principal, 'accountId' | 'userId' | 'sessionId' | 'apiKeyId'>;

/** One principal who is watched, until disposed. */
export interface Watch extends Disposable {
  /** Aborts with an InlayError when the principal does not stand any more: SESSION_ENDED, or NOT_READY when nobody can say. */
  readonly signal: AbortSignal;
}

/** The watches of a process. Disposing ends all of them, without aborting their signals. */
export interface PrincipalWatches extends Disposable {
  /** Begins to watch. Whether the principal stands at this moment is looked up without waiting for it. */
  watch(principal: Watched): Watch;
}

/** What watches need. `nowMs` is the monotonic clock of {@link Changes}, in milliseconds. */
export interface PrincipalWatchDependencies {
  readonly db: Kysely<Schema>;
  readonly changes: Changes;
  readonly clock: () => Date;
  readonly log: OutageLog;
  readonly nowMs?: () => number;
}

/** A principal who is watched. */
interface Entry {
  readonly key: string;
  readonly principal: Watched;
  /** One for each watch. */
  readonly stops: Set<AbortController>;
  /** When to look again at the latest, in milliseconds of the clock: the earliest end that the store told. */
  endsAtMs: number;
  /** Whether the store has to be asked. */
  isDue: boolean;
}

/** Makes the watches of a process; nothing is watched. */
export function createPrincipalWatches(dependencies: PrincipalWatchDependencies): PrincipalWatches {
  const { db, changes, clock, log, nowMs = () => performance.now() } = dependencies;
  const byKey = new Map<string, Entry>();
  let timer: NodeJS.Timeout | undefined;
  const outages = logOutages(log, 'whether users and sessions still stand could not be looked up');
  let isChecking = false;
  /** The store did not answer when it was asked last. */
  let isFailing = false;
  let checkedMs = Number.NEGATIVE_INFINITY;
  /** The last time at which it was certain that all who are watched stand, but for what has been heard since. */
  let certainMs = nowMs();

  const subscription = changes.subscribe((news) => {
    let isAnyDue = false;
    for (const entry of byKey.values()) {
      if (!mayConcern(entry.principal, news)) continue;
      entry.isDue = true;
      isAnyDue = true;
    }
    if (isAnyDue) void check();
  });

  function tick(): void {
    const isLost = !isHearing(changes, nowMs());
    const time = clock().getTime();
    if (!isLost && !isFailing) certainMs = nowMs();
    if (nowMs() - certainMs > unknownMsMax) {
      endAll();
      return;
    }
    const isAllDue = isLost && nowMs() - checkedMs >= checkMs;
    let isAnyDue = false;
    for (const entry of byKey.values()) {
      if (isAllDue || entry.endsAtMs <= time) entry.isDue = true;
      isAnyDue ||= entry.isDue;
    }
    if (isAnyDue) void check();
  }

  /** Asks the store about all who are due, in one statement; again when others have become due meanwhile. Never rejects. */
  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    try {
      // Those who begin to be watched in the same moment are asked about together.
      await Promise.resolve();
      while (true) {
        const due = [...byKey.values()].filter(({ isDue }) => isDue);
        if (due.length === 0) return;
        // Who begins to be watched meanwhile is due by themselves.
        const areAllDue = due.length === byKey.size;
        const startedMs = nowMs();
        checkedMs = startedMs;
        for (const entry of due) entry.isDue = false;
        try {
          settle(
            due,
            await readEnds(
              db,
              due.map(({ principal }) => principal),
              clock(),
            ),
          );
        } catch (err) {
          // The next tick tries again.
          isFailing = true;
          for (const entry of due) entry.isDue = true;
          outages.failed(err);
          return;
        }
        isFailing = false;
        outages.succeeded();
        if (areAllDue) certainMs = Math.max(certainMs, startedMs);
      }
    } finally {
      isChecking = false;
    }
  }

  function settle(due: readonly Entry[], ends: ReadonlyMap<number, number>): void {
    for (const [index, entry] of due.entries()) {
      const endsAtMs = ends.get(index);
      if (endsAtMs === undefined) end(entry, new InlayError('SESSION_ENDED', 'The user or the session has ended'));
      else entry.endsAtMs = endsAtMs;
    }
  }

  function end(entry: Entry, reason: InlayError): void {
    remove(entry);
    for (const stop of entry.stops) stop.abort(reason);
  }

  function endAll(): void {
    const reason = new InlayError('NOT_READY', 'The server cannot tell whether the session still stands');
    for (const entry of [...byKey.values()]) end(entry, reason);
  }

  function remove(entry: Entry): void {
    // One who has ended may be watched anew by now.
    if (byKey.get(entry.key) === entry) byKey.delete(entry.key);
    if (byKey.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** Of one who is watched already all that may have ended them since has been heard of, or is looked for. */
  function entryOf({ accountId, userId, sessionId, apiKeyId }: Watched): Entry {
    const key = JSON.stringify([accountId, userId, sessionId, apiKeyId]);
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const principal = { accountId, userId, sessionId, apiKeyId };
    const entry: Entry = { key, principal, stops: new Set(), endsAtMs: Number.POSITIVE_INFINITY, isDue: true };
    if (byKey.size === 0) certainMs = nowMs();
    byKey.set(key, entry);
    timer ??= setInterval(tick, tickMs).unref();
    void check();
    return entry;
  }

  return {
    watch(principal) {
      const entry = entryOf(principal);
      const stop = new AbortController();
      entry.stops.add(stop);
      return {
        signal: stop.signal,
        [Symbol.dispose]() {
          entry.stops.delete(stop);
          if (entry.stops.size === 0) remove(entry);
        },
      };
    },
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      for (const entry of [...byKey.values()]) remove(entry);
    },
  };
}

/** Whether the principal may not stand any more after what was heard. */
function mayConcern({ accountId, userId, sessionId, apiKeyId }: Watched, news: News): boolean {
  switch (news.kind) {
    case 'user':
      return news.id === userId;
    case 'session':
      return news.id === sessionId;
    case 'api-key':
      // A session may be one that the key minted.
      return sessionId !== null || news.id === apiKeyId;
    case 'account':
      return news.id === accountId;
    case 'embed-tenant':
    case 'deployment':
      return sessionId !== null;
    case 'run-abort':
      return false;
    case 'gap':
      return true;
  }
}

/**
 * Which of the principals stand at `now`, by their index, each with the earliest instant (milliseconds) at which that may end;
 * Infinity when none is known.
 */
async function readEnds(
  db: Kysely<Schema>,
  principals: readonly Watched[],
  now: Date,
): Promise<ReadonlyMap<number, number>> {
  const asked = principals.map((principal, index) => ({ index, ...principal }));
  const { rows } = await sql<{ readonly index: number; readonly ends_at: Date | null }>`
    select w.index, least(u.expires_at, ${sessionEnd}, k.expires_at) as ends_at
    from jsonb_to_recordset(${json(asked)})
      as w(index integer, "accountId" integer, "userId" integer, "sessionId" uuid, "apiKeyId" integer)
    join users u on u.id = w."userId" and u.account_id = w."accountId"
    left join sessions s on s.id = w."sessionId" and s.user_id = u.id
    left join api_keys k on k.id = w."apiKeyId" and k.account_id = w."accountId" and k.revoked_at is null
    where u.is_active and (u.expires_at is null or u.expires_at > ${now})
      and (w."sessionId" is null or ${sessionStands(now)})
      and (w."apiKeyId" is null or (k.id is not null and (k.expires_at is null or k.expires_at > ${now})))`.execute(db);
  return new Map(rows.map(({ index, ends_at }) => [index, ends_at?.getTime() ?? Number.POSITIVE_INFINITY]));
}
