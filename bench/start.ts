/** From the start of the process to the first 200 of /readyz: on an empty data folder, and later; against bare Fastify. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../packages/server/test/postgres.ts';
import { type Figure, median, ms } from './report.ts';

const rounds = 3;
const giveUpMs = 60_000;
const root = fileURLToPath(new URL('..', import.meta.url));
const server = [join(root, 'packages/server/src/main.ts')];
const bare = [
  '--input-type=module',
  '-e',
  "const { fastify } = await import('fastify'); const app = fastify(); app.get('/readyz', async () => ({})); await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });",
];

/** Starts, waits until ready, stops. @returns the milliseconds until it was ready */
async function startOnce(args: readonly string[], dataFolder: string): Promise<number> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], PORT: String(port), INLAY_DATA_DIR: dataFolder },
  });
  try {
    while (performance.now() - started < giveUpMs) {
      const reply = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      if (reply?.status === 200) return performance.now() - started;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error('the server did not become ready');
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
}

/** On an empty folder and later, each until ready. */
export async function benchStart(): Promise<Figure[]> {
  const first: number[] = [];
  const later: number[] = [];
  const floor: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const folder = await mkdtemp(join(tmpdir(), 'inlay-start-'));
    first.push(await startOnce(server, folder));
    later.push(await startOnce(server, folder));
    floor.push(await startOnce(bare, folder));
    await rm(folder, { recursive: true });
  }
  const bareMs = median(floor);
  const figure = (claim: string, ours: number): Figure => ({
    claim,
    ours: ms(ours),
    floor: ms(bareMs),
    ratio: ours / bareMs,
  });
  return [
    figure('start on an empty folder, until ready (floor: bare Fastify)', median(first)),
    figure('later start, until ready', median(later)),
  ];
}
