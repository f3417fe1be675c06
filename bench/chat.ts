/**
 * Chat streams on the embedded store: how soon they begin and end, how much goes through, and what it costs, beside two floors in the
 * same run: `node:http` that writes the same lines, and the open server of LangGraph (in memory) that says the same words. Each server,
 * and the clients, are processes of their own on the loopback. The language model is scripted, inside each server's process. Under
 * load a first frame is that of a stream that begins while so many others are open, each with ten deltas a second.
 */
import { readFileSync } from 'node:fs';
import { startChild } from './chat/child.ts';
import { type Clients, type Measured, type Shape, startClients, type Target } from './chat/measure.ts';
import { openPeer, peerName } from './chat/open-peer.ts';
import { type Figure, median, ms, perSecond, quantile } from './report.ts';

/** Runs that the peer works on at a time: as many as there are streams, to its advantage. */
const peerRuns = 500;
const rounds = 3;

const fast = (deltas: number) => ({ deltas, everyMs: 0 });
/** Ten deltas a second. */
const steady = (seconds: number) => ({ deltas: seconds * 10, everyMs: 100 });

/** What is read of a measurement, and how it is told. */
interface Reading {
  readonly claim: string;
  readonly of: (measured: Measured) => number;
  readonly tell: (value: number) => string;
}
const p50 = (values: readonly number[]): number => median(values);
const p95 = (values: readonly number[]): number => quantile(values, 0.95);
const mebibytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;
const us = (value: number): string => `${value.toFixed(1)} µs`;

const cpuPerDelta: Reading = {
  claim: 'processor time per delta (less is better)',
  of: ({ cpuMicroseconds, deltas }) => cpuMicroseconds / deltas,
  tell: us,
};
const rate: Reading = {
  claim: 'deltas delivered (more is better)',
  of: ({ deltas, elapsedMs }) => (deltas * 1000) / elapsedMs,
  tell: perSecond,
};
const firstP50: Reading = { claim: 'first frame p50', of: ({ firstMs }) => p50(firstMs), tell: ms };
const firstP95: Reading = { claim: 'first frame p95', of: ({ firstMs }) => p95(firstMs), tell: ms };
const deltaP95: Reading = { claim: 'delta, said to read, p95', of: ({ deltaMs }) => p95(deltaMs), tell: ms };
const tailP50: Reading = { claim: 'last token to last byte p50', of: ({ tailMs }) => p50(tailMs), tell: ms };
const tailP95: Reading = { claim: 'last token to last byte p95', of: ({ tailMs }) => p95(tailMs), tell: ms };
const memory: Reading = {
  claim: 'resident memory at most',
  of: ({ residentBytesMax }) => residentBytesMax,
  tell: mebibytes,
};
const memoryPerStream: Reading = {
  claim: 'resident memory that each stream adds',
  of: ({ residentBytesBefore, residentBytesMax, streams }) => (residentBytesMax - residentBytesBefore) / streams,
  tell: (bytes) => `${(bytes / 1024).toFixed(1)} KiB`,
};

/** A load, what is read of it, how often it is taken, and whether the peer is to bear it too. */
interface Case {
  readonly name: string;
  readonly shape: Shape;
  readonly readings: readonly Reading[];
  readonly rounds: number;
  readonly isForPeer: boolean;
}

/** Streams that begin one after the other beside so many that go on: each is followed by another when it ends. */
const open = (streams: number): Case => ({
  name: `a new stream beside ${streams} open ones`,
  shape: { streams, spreadMs: 4000, forMs: 8000, script: steady(4) },
  readings: [firstP50, firstP95, deltaP95, tailP50, tailP95, cpuPerDelta],
  rounds: 1,
  isForPeer: true,
});

const cases: readonly Case[] = [
  {
    name: '1 stream at a time',
    shape: { streams: 1, spreadMs: 0, forMs: 5000, script: { deltas: 10, everyMs: 10 } },
    readings: [firstP50, firstP95, tailP50, tailP95],
    rounds: 1,
    isForPeer: true,
  },
  open(50),
  open(200),
  open(500),
  {
    name: '50 streams begun at one moment',
    shape: { streams: 50, spreadMs: 0, forMs: 0, script: fast(20) },
    readings: [firstP50, firstP95],
    rounds,
    isForPeer: true,
  },
  {
    name: '200 streams begun at one moment',
    shape: { streams: 200, spreadMs: 0, forMs: 0, script: fast(20) },
    readings: [firstP50, firstP95],
    rounds,
    isForPeer: true,
  },
  {
    name: '1 reader, 5,000 deltas at once',
    shape: { streams: 1, spreadMs: 0, forMs: 0, script: fast(5000) },
    readings: [rate, cpuPerDelta],
    rounds,
    isForPeer: true,
  },
  {
    name: '50 readers, 1,000 deltas each at once',
    shape: { streams: 50, spreadMs: 0, forMs: 0, script: fast(1000) },
    readings: [rate, cpuPerDelta],
    rounds,
    isForPeer: true,
  },
  {
    name: '2,000 open streams, 10 deltas/s each',
    // They begin one after the other, since it is open streams that count here, and are all open for ten seconds.
    shape: { streams: 2000, spreadMs: 40_000, forMs: 0, script: steady(50) },
    readings: [memory, memoryPerStream, rate, firstP95, deltaP95, cpuPerDelta],
    rounds: 1,
    isForPeer: false,
  },
];

/** Everything that is told of chat streams. */
export async function benchChat(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const program = (file: string): string => new URL(`./chat/${file}`, import.meta.url).pathname;
  const clients = stack.use(await startClients());
  const ours: Target = {
    name: 'ours',
    server: 'inlay',
    child: stack.use(await startChild(program('inlay-server.ts'), [], { flags: startFlags() })),
  };
  const bare: Target = {
    name: 'node:http',
    server: 'bare',
    child: stack.use(await startChild(program('bare-server.ts'))),
  };
  const opened = await openPeer({ runs: peerRuns });
  const peer: Target | null =
    opened === null ? null : { name: peerName, server: 'graph', child: stack.use(opened).child };

  const warmUp: Shape = { streams: 100, spreadMs: 3000, forMs: 0, script: fast(200) };
  for (const target of [ours, bare, peer]) if (target !== null) await clients.run(target, warmUp);
  const figures: Figure[] = [];
  for (const one of cases) {
    console.error(`bench: chat: ${one.name} …`);
    const floors = [bare, ...(peer !== null && one.isForPeer ? [peer] : [])];
    figures.push(...(await compare(clients, one, ours, floors)));
  }
  return figures;
}

/** The flags of Node that `npm start` sets. */
function startFlags(): string[] {
  const { scripts }: { scripts?: { start?: string } } = Object(
    JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')),
  );
  return (scripts?.start ?? '').split(' ').filter((word) => word.startsWith('--'));
}

/** Takes a case on each server in turn, as often as it says, and holds the medians beside each other. */
async function compare(clients: Clients, one: Case, ours: Target, floors: readonly Target[]): Promise<Figure[]> {
  const taken = new Map<Target, Measured[]>([ours, ...floors].map((target) => [target, []]));
  for (let round = 0; round < one.rounds; round += 1) {
    for (const [target, results] of taken) {
      const measured = await clients.run(target, one.shape).catch((error: unknown) => {
        // Of a server that does not bear the load there are no figures, but of the other loads there are.
        console.error(`bench: chat: ${one.name}: ${target.name}: ${String(error)}`);
        return null;
      });
      if (measured !== null) results.push(measured);
    }
  }
  return one.readings.flatMap(({ claim, of, tell }) =>
    floors.map((floor): Figure => {
      const middle = (target: Target): number => median((taken.get(target) ?? []).map(of));
      const [our, their] = [middle(ours), middle(floor)];
      return {
        claim: `chat: ${one.name}: ${claim}; floor: ${floor.name}`,
        ours: Number.isNaN(our) ? 'failed' : tell(our),
        floor: Number.isNaN(their) ? 'failed' : tell(their),
        ratio: our / their,
      };
    }),
  );
}
