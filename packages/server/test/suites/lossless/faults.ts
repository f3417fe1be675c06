/** Nodes and a PostgreSQL that are killed while others go on: what breaks, and how it comes back. */
import { setTimeout as pause } from 'node:timers/promises';
import type { TestPostgres } from '../../postgres.ts';
import { killAll } from '../kill/postgres-processes.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import type { Addresses } from './readers.ts';

/** How long a node may be tried to be started, again and again, in milliseconds. */
const startDeadlineMs = 180_000;
/** How long what was killed lies still, at most. */
const downMsMax = 1500;

/** How long a node stands still: longer than a lease of two seconds, so that others take its runs before it goes on. */
const stillMs = { min: 2200, max: 4500 };

/** What has been done to a world. */
export interface FaultCounts {
  nodesKilled: number;
  nodesStopped: number;
  /** Nodes that stood still for longer than a lease, and went on. */
  nodesStill: number;
  postgresKilled: number;
}

/** The nodes of one store. */
export interface Nodes extends Addresses, AsyncDisposable {
  readonly counts: FaultCounts;
  /** When something was broken or mended the last time, in milliseconds since 1970. */
  readonly quietSince: number;
  /** Breaks something by chance; resolves, with what it was, when all of it is back. */
  breakOne(random: () => number): Promise<string>;
  /** Ends all nodes. */
  stop(): Promise<void>;
  /** What all nodes have printed, those that are gone too. */
  output(): string;
}

/** Starts a node for each of the environments. @param postgres on which they are; null: they have a store of their own. */
export async function startNodes(
  envs: readonly Readonly<Record<string, string>>[],
  postgres: TestPostgres | null,
): Promise<Nodes> {
  const counts: FaultCounts = { nodesKilled: 0, nodesStopped: 0, nodesStill: 0, postgresKilled: 0 };
  const outputs: string[] = [];
  let quietSince = Date.now();
  let isStopping = false;

  /** As a supervisor does it: again, as long as it does not come up. */
  async function start(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const deadline = Date.now() + startDeadlineMs;
    while (true) {
      try {
        return await startServer(env);
      } catch (error) {
        outputs.push(String(error));
        if (Date.now() > deadline) throw error;
        await pause(200);
      }
    }
  }
  const nodes: { readonly env: Readonly<Record<string, string>>; process: ServerProcess | null }[] = [];
  for (const env of envs) nodes.push({ env, process: await start(env) });

  async function endNode(index: number, signal: 'SIGKILL' | 'SIGTERM', downMs: number): Promise<void> {
    const node = nodes[index];
    if (node?.process == null) return;
    const { process } = node;
    node.process = null;
    await process.end(signal);
    outputs.push(process.output());
    if (signal === 'SIGKILL') counts.nodesKilled += 1;
    else counts.nodesStopped += 1;
    await pause(downMs);
    if (!isStopping) node.process = await start(node.env);
  }

  async function holdNode(index: number, ms: number): Promise<void> {
    const child = nodes[index]?.process?.child;
    child?.kill('SIGSTOP');
    await pause(ms);
    child?.kill('SIGCONT');
    counts.nodesStill += 1;
  }

  async function endPostgres(server: TestPostgres, downMs: number): Promise<void> {
    await killAll(server);
    counts.postgresKilled += 1;
    await pause(downMs);
    await server.resume();
  }

  return {
    counts,
    get quietSince() {
      return quietSince;
    },
    list: () => nodes.flatMap(({ process }) => (process === null ? [] : [process.url])),
    async breakOne(random) {
      const index = Math.floor(random() * nodes.length);
      const kind = random();
      const [downMs, otherMs] = [random() * downMsMax, random() * downMsMax];
      const everyNode = (): Promise<void>[] => nodes.map((_, other) => endNode(other, 'SIGKILL', downMs));
      quietSince = Date.now();
      try {
        if (kind < 0.08) {
          await endNode(index, 'SIGTERM', 0);
          return `node ${index} stopped`;
        }
        if (kind < 0.18) {
          await holdNode(index, stillMs.min + random() * (stillMs.max - stillMs.min));
          return `node ${index} stood still`;
        }
        if (postgres === null || kind < 0.5) {
          await endNode(index, 'SIGKILL', downMs);
          return `node ${index} killed`;
        }
        if (kind < 0.6) {
          await Promise.all(everyNode());
          return 'all nodes killed';
        }
        if (kind < 0.82) {
          await endPostgres(postgres, downMs);
          return 'PostgreSQL killed';
        }
        await Promise.all([endPostgres(postgres, downMs), endNode(index, 'SIGKILL', otherMs)]);
        return `PostgreSQL and node ${index} killed`;
      } finally {
        quietSince = Date.now();
      }
    },
    async stop() {
      isStopping = true;
      await Promise.all(nodes.map((_, index) => endNode(index, 'SIGTERM', 0)));
    },
    output: () => [...outputs, ...nodes.map(({ process }) => process?.output() ?? '')].join('\n'),
    async [Symbol.asyncDispose]() {
      isStopping = true;
      await Promise.all(nodes.map(({ process }) => process?.end('SIGKILL')));
    },
  };
}
