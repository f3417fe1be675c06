/** A server as it is operated: a process of its own, on a PostgreSQL that other nodes share. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const startMs = 60_000;

/** A node that listens. */
export interface NodeProcess {
  /** Without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** All of standard output and error so far. */
  output(): string;
  /** Ends the process with `signal` (SIGTERM when left out) and deletes its data folder. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a node on `databaseUrl`; `env` are further settings. The tests' own rate of requests is not limited. */
export async function startNode(databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<NodeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-node-'));
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env['PATH'] ?? '',
      INLAY_DATA_DIR: folder,
      INLAY_SECRET: 'K3v9Qx7Lr2Tn8Wz5Bh1Fd6Ys4Gj0McPq5Vu8Ae',
      DATABASE_URL: databaseUrl,
      INLAY_DEMO: 'off',
      PORT: '0',
      INLAY_KEY_REQUESTS_PER_MINUTE_MAX: '1000000',
      INLAY_USER_REQUESTS_PER_MINUTE_MAX: '1000000',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const exited = once(child, 'close');
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await exited;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const deadline = Date.now() + startMs;
  while (Date.now() < deadline && child.exitCode === null) {
    const url = /^Inlay listens on (http:\S+)$/m.exec(text)?.[1];
    if (url !== undefined) return { url, child, output: () => text, stop };
    await pause(20);
  }
  await stop('SIGKILL');
  throw new Error(`The node did not start:\n${text}`);
}
