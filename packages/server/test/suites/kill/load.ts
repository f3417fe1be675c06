/** Clients that call generate-session without pause, note what was acknowledged, and go on when nobody answers. */
import { setTimeout as pause } from 'node:timers/promises';
import { suiteKey } from '../server-process.ts';
import { nextCall } from './calls.ts';
import type { History } from './history.ts';

const workers = 32;
/** Between two attempts while nobody answers. */
const retryMs = 50;
/** Of the sessions, one in so many is exchanged at once. */
const exchangeEvery = 5;

/** A session that was acknowledged. `token`: it was exchanged, and that was acknowledged too. */
export interface AcknowledgedSession {
  readonly sessionId: string;
  readonly mintedAt: number;
  token: string | undefined;
  /** An exchange went out and got no answer: it may have happened. */
  isUncertain: boolean;
}

/** A load that goes on. */
export interface Load {
  /** Sessions that were acknowledged since the last call of this. */
  takeSessions(): readonly AcknowledgedSession[];
  /** Refusals: no call of the load deserves one. */
  readonly refusals: readonly string[];
  /** Calls that were acknowledged so far. */
  readonly acknowledged: number;
  /** Ends it; calls under way are waited for. */
  stop(): Promise<void>;
}

/** What all loads of a run share. */
export interface LoadSource {
  readonly history: History;
  readonly random: () => number;
  nextMark(): number;
}

/** The headers of the suite's own key. */
export const keyHeaders = { 'content-type': 'application/json', authorization: `Api-Key ${suiteKey}` };

/** Posts JSON. @returns null when there is no answer, or one that says that the server is not able to. */
export async function post(
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = keyHeaders,
): Promise<{ readonly status: number; readonly text: string } | null> {
  try {
    const reply = await fetch(url + path, {
      method: 'POST',
      headers,
      signal: AbortSignal.timeout(30_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return reply.status >= 500 ? null : { status: reply.status, text };
  } catch {
    return null;
  }
}

/** Starts the clients. */
export function startLoad(url: string, { history, random, nextMark }: LoadSource): Load {
  let isStopped = false;
  let sessions: AcknowledgedSession[] = [];
  let acknowledged = 0;
  const refusals: string[] = [];

  const mint = async (): Promise<void> => {
    const call = nextCall(nextMark(), random);
    const acknowledge = history.begin(call);
    const reply = await post(url, '/api/v1/embed/generate-session', call.body);
    if (reply === null) return void (await pause(retryMs));
    const sessionId = /"sessionId":"([^"]+)"/.exec(reply.text)?.[1];
    if (reply.status !== 200 || sessionId === undefined) {
      refusals.push(`${reply.status} ${reply.text} to ${JSON.stringify(call.body)}`);
      return;
    }
    acknowledge();
    acknowledged += 1;
    const session: AcknowledgedSession = { sessionId, mintedAt: Date.now(), token: undefined, isUncertain: false };
    sessions.push(session);
    if (acknowledged % exchangeEvery === 0) await exchange(url, session, refusals);
  };
  const work = async (): Promise<void> => {
    while (!isStopped) await mint();
  };
  const ended = Promise.all(Array.from({ length: workers }, work));
  return {
    refusals,
    takeSessions() {
      const taken = sessions;
      sessions = [];
      return taken;
    },
    get acknowledged() {
      return acknowledged;
    },
    async stop() {
      isStopped = true;
      await ended;
    },
  };
}

async function exchange(url: string, session: AcknowledgedSession, refusals: string[]): Promise<void> {
  session.isUncertain = true;
  const reply = await post(
    url,
    '/api/v1/embed/session/token',
    { sessionId: session.sessionId },
    { 'content-type': 'application/json' },
  );
  if (reply === null) return;
  session.isUncertain = false;
  session.token = /"token":"([^"]+)"/.exec(reply.text)?.[1];
  if (session.token === undefined) refusals.push(`${reply.status} ${reply.text} to an exchange`);
}

/** The longest that a session of the suites waits for its exchange; the server's limit is five minutes. */
const recentMs = 240_000;

/**
 * Every session that was acknowledged exchanges for a token, once, or has done so, and its token holds.
 * @returns what is wrong.
 */
export async function sessionProblems(
  url: string,
  sessions: readonly AcknowledgedSession[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  const queue = sessions.values();
  const json = { 'content-type': 'application/json' };
  const work = async (): Promise<void> => {
    for (const { sessionId, token, isUncertain, mintedAt } of queue) {
      if (token !== undefined) {
        const renewed = await post(url, '/api/v1/embed/session/token', undefined, { authorization: `Bearer ${token}` });
        if (renewed?.status !== 200) problems.push(`a token that was given is ${renewed?.status}: ${renewed?.text}`);
      }
      if (Date.now() - mintedAt > recentMs) continue;
      const exchanged = await post(url, '/api/v1/embed/session/token', { sessionId }, json);
      const expected = token === undefined ? [200, ...(isUncertain ? [401] : [])] : [401];
      if (exchanged === null || !expected.includes(exchanged.status)) {
        problems.push(`a session is ${exchanged?.status} in place of ${expected.join(' or ')}: ${exchanged?.text}`);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return problems;
}
