/** A load on one server, and what the server used for it. */
import { type Child, startChild, type Use } from './child.ts';
import type { AbortOrder, Load, LoadResult } from './load.ts';

/** A server under load. */
export interface Target {
  readonly name: string;
  readonly server: Load['server'];
  readonly child: Child;
}

/** A load's result, with the processor time and the memory of the server. */
export interface Measured extends LoadResult {
  readonly cpuMicroseconds: number;
  /** The resident memory before it, and the most during it, looked at twice a second. */
  readonly residentBytesBefore: number;
  readonly residentBytesMax: number;
}

/** What a load is, without where it goes. */
export type Shape = Pick<Load, 'streams' | 'spreadMs' | 'forMs' | 'script'>;

const sampleMs = 500;

/** The clients, in a process of their own. */
export interface Clients extends AsyncDisposable {
  run(target: Target, shape: Shape): Promise<Measured>;
  abort(order: Omit<AbortOrder, 'kind'>): Promise<{ readonly called: number; readonly ended: number }>;
}

/** Starts the clients. */
export async function startClients(): Promise<Clients> {
  const child = await startChild(new URL('./load.ts', import.meta.url).pathname);
  return {
    async run({ server, child: on }, shape) {
      const load: Load = {
        kind: 'streams',
        server,
        url: String(on.ready['url']),
        apiKey: String(on.ready['apiKey'] ?? ''),
        ...shape,
      };
      const before = await on.use();
      let residentBytesMax = before.residentBytes;
      const look = async (): Promise<Use> => {
        const use = await on.use();
        residentBytesMax = Math.max(residentBytesMax, use.residentBytes);
        return use;
      };
      // A look that fails is met when the load is over.
      const sampler = setInterval(() => void look().catch(() => undefined), sampleMs);
      try {
        const result = await child.ask(load);
        if (!isResult(result)) throw new Error('The clients gave no result.');
        const { cpuMicroseconds } = await look();
        return {
          ...result,
          cpuMicroseconds: cpuMicroseconds - before.cpuMicroseconds,
          residentBytesBefore: before.residentBytes,
          residentBytesMax,
        };
      } finally {
        clearInterval(sampler);
      }
    },
    async abort(order) {
      const { called, ended } = await child.ask({ kind: 'abort', ...order });
      return { called: Number(called), ended: Number(ended) };
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

const isResult = (result: object): result is LoadResult => 'elapsedMs' in result;
