/** The clients of a bench of the chat, in a process of their own. A program to be forked. */
import { randomUUID } from 'node:crypto';
import { type ClientRequest, request } from 'node:http';
import { serveParent } from './child.ts';
import { microseconds, momentsIn, type Script } from './script.ts';

/** Streams to open on one server. */
export interface Load {
  readonly kind: 'streams';
  /** `graph`: the peer, which has another address for each thread and another body. */
  readonly server: 'inlay' | 'bare' | 'graph';
  readonly url: string;
  readonly apiKey: string;
  /** Open at a time. */
  readonly streams: number;
  /** They begin evenly over so long. */
  readonly spreadMs: number;
  /** Each is followed by another until so long has passed; 0: one each. */
  readonly forMs: number;
  readonly script: Script;
}

/** What came of it; times in milliseconds. */
export interface LoadResult {
  /** From the call to the first byte of the body. */
  readonly firstMs: readonly number[];
  /** From the language model's last token to the last byte. */
  readonly tailMs: readonly number[];
  /** From a token to its arrival, of some. */
  readonly deltaMs: readonly number[];
  readonly deltas: number;
  readonly streams: number;
  /** From the first call to the last byte. */
  readonly elapsedMs: number;
}

/** A run to abort once it goes on, on whichever address. */
export interface AbortOrder {
  readonly kind: 'abort';
  readonly url: string;
  readonly abortUrl: string;
  readonly apiKey: string;
  readonly input: string;
  readonly user: string;
}

const sessionSettingsOf = (user: string): object => ({
  externalId: user,
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: 7 }],
  isEphemeral: false,
});

function post(url: string, apiKey: string, body: object): ClientRequest {
  const text = JSON.stringify(body);
  const call = request(url, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Api-Key ${apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    },
  });
  call.end(text);
  return call;
}

interface Stream {
  readonly firstMs: number;
  readonly tailMs: number;
  readonly deltas: number;
}

/** Opens one stream and reads it to its end. */
function read(load: Load, user: string, deltaMs: number[]): Promise<Stream> {
  const { server, url, apiKey, script } = load;
  const started = microseconds();
  const call =
    server === 'graph'
      ? post(`${url}/threads/${randomUUID()}/runs/stream`, apiKey, {
          assistant_id: 'bench',
          if_not_exists: 'create',
          input: { question: JSON.stringify(script) },
          stream_mode: ['custom'],
        })
      : post(url, apiKey, { input: JSON.stringify(script), sessionSettings: sessionSettingsOf(user) });
  return new Promise((resolve, reject) => {
    call.once('error', reject);
    call.once('response', (reply) => {
      let first = 0;
      let last = 0;
      let deltas = 0;
      let rest = '';
      reply.setEncoding('utf8').on('data', (chunk: string) => {
        const now = microseconds();
        if (first === 0) first = now;
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          // What is said once more as a whole is no delta.
          if (server !== 'graph' && !line.includes('"isDelta":true')) continue;
          const moments = momentsIn(line);
          deltas += moments.length;
          last = moments.at(-1) ?? last;
          if (moments.length > 0 && deltaMs.length < 200_000) deltaMs.push((now - last) / 1000);
        }
      });
      reply.once('error', reject);
      reply.once('end', () => {
        const now = microseconds();
        if (reply.statusCode !== 200) reject(new Error(`status ${reply.statusCode}: ${rest.slice(0, 300)}`));
        else if (deltas !== script.deltas) reject(new Error(`${deltas} deltas of ${script.deltas} came`));
        else resolve({ firstMs: (first - started) / 1000, tailMs: (now - last) / 1000, deltas });
      });
    });
  });
}

async function runLoad(load: Load): Promise<LoadResult> {
  const { streams, spreadMs, forMs } = load;
  const started = performance.now();
  const deltaMs: number[] = [];
  const done: Stream[] = [];
  await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, (index * spreadMs) / streams));
      do done.push(await read(load, `bench-${index % 100}`, deltaMs));
      while (performance.now() - started < forMs);
    }),
  );
  return {
    firstMs: done.map(({ firstMs }) => firstMs),
    tailMs: done.map(({ tailMs }) => tailMs),
    deltaMs,
    deltas: done.reduce((sum, { deltas }) => sum + deltas, 0),
    streams: done.length,
    elapsedMs: performance.now() - started,
  };
}

/** Begins a run, aborts it as soon as it has said or asked something, and gives when, and when the stream had ended. */
function abortOne({ url, abortUrl, apiKey, input, user }: AbortOrder): Promise<{ called: number; ended: number }> {
  return new Promise((resolve, reject) => {
    const call = post(url, apiKey, { input, sessionSettings: sessionSettingsOf(user) });
    call.once('error', reject);
    call.once('response', (reply) => {
      let called = 0;
      let text = '';
      reply.setEncoding('utf8').on('data', (chunk: string) => {
        if (called !== 0) return;
        text += chunk;
        const chatId = /"chatId":"([^"]+)"/.exec(text)?.[1];
        if (chatId === undefined || !/"isDelta":true|"toolCall"/.test(text)) return;
        // Some time after the beginning, as people do: nothing is in its first moment any more.
        called = 1;
        setTimeout(() => {
          called = microseconds();
          const abort = post(abortUrl, apiKey, { chatId, sessionSettings: sessionSettingsOf(user) });
          abort.once('error', reject);
          abort.once('response', (answer) => {
            answer.resume();
            if (answer.statusCode !== 204) reject(new Error(`abort: status ${answer.statusCode}`));
          });
        }, 100);
      });
      reply.once('error', reject);
      reply.once('end', () => {
        if (called > 1) resolve({ called, ended: microseconds() });
        else reject(new Error(`It ended before it was aborted: ${text.slice(-300)}`));
      });
    });
  });
}

const isLoad = (order: object): order is Load => 'kind' in order && order.kind === 'streams';
const isAbort = (order: object): order is AbortOrder => 'kind' in order && order.kind === 'abort';

serveParent(
  {},
  async (order) => {
    if (isLoad(order)) return runLoad(order);
    if (isAbort(order)) return abortOne(order);
    throw new Error('not known');
  },
  async () => undefined,
);
