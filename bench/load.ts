/** A bounded load of POST requests over kept connections, from a thread of its own, so that it does not slow the server. */
import { Agent, request } from 'node:http';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** What is sent, by how many at once, and for how long. */
export interface Load {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent in turn. */
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly milliseconds: number;
}

/** Replies per second, and the milliseconds that each took. */
export interface LoadResult {
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
}

/** Runs the load. Rejects when a reply is not 200. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const worker = new Worker(new URL(import.meta.url), { workerData: load });
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  worker.once('message', resolve);
  worker.once('error', reject);
  try {
    return await promise;
  } finally {
    await worker.terminate();
  }
}

async function send({ url, headers, bodies, connections, milliseconds }: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latenciesMs: number[] = [];
  const started = performance.now();
  let next = 0;
  const post = (body: string) =>
    new Promise<void>((resolve, reject) => {
      const sent = performance.now();
      const call = request(
        url,
        { method: 'POST', agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } },
        (reply) => {
          reply.resume();
          reply.once('end', () => {
            if (reply.statusCode !== 200) return reject(new Error(`status ${reply.statusCode}`));
            latenciesMs.push(performance.now() - sent);
            resolve();
          });
        },
      );
      call.once('error', reject);
      call.end(body);
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() - started < milliseconds) await post(bodies[next++ % bodies.length] ?? '');
    }),
  );
  agent.destroy();
  return { perSecond: (latenciesMs.length * 1000) / (performance.now() - started), latenciesMs };
}

if (parentPort !== null) parentPort.postMessage(await send(workerData));
