/**
 * ClickHouse for the tests: its real engine (chDB) in a process of its own, behind a shim that speaks ClickHouse's HTTP
 * interface on the loopback. What that does not cover stands in docs/adding-a-warehouse.md.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { freePort } from '../postgres.ts';
import { isChdbInstalled } from './chdb.ts';
import type { FailureStyle } from './shim.ts';

/** What the shim tells its parent: that it listens, or that it was asked to kill a query. */
const messageSchema = z.union([z.object({ listening: z.literal(true) }), z.object({ killed: z.string() })]);

/** A running ClickHouse that holds nothing but what the tests put into it. */
export interface TestClickHouse {
  /** `http://127.0.0.1:<port>`. Users: `default` without a password, who may write, and `readerOfClickHouse` (shim.ts), who may not. */
  readonly url: string;
  /** The ids of queries that somebody sent a KILL QUERY for. */
  readonly kills: readonly string[];
  /** Runs one statement, or several with `;` and a line end between them, as `default`. @throws with ClickHouse's words */
  exec(sql: string): Promise<void>;
  /** How failures after the first row look from now on; `tagged` until it is said. */
  failAs(style: FailureStyle): void;
  /** Ends the process, by SIGKILL, which keeps the data; `resume` starts it again on the same port. */
  halt(): Promise<void>;
  resume(): Promise<void>;
  /** Ends the process and deletes the data. */
  stop(): Promise<void>;
}

/** Whether `startClickHouse` can work: for `describe.skipIf(!hasClickHouse)`. `npm run test:clickhouse` makes it so. */
export const hasClickHouse = isChdbInstalled();

const startTimeoutMs = 60_000;

/** Starts it on a free port. @throws Error when chDB is not installed */
export async function startClickHouse(): Promise<TestClickHouse> {
  if (!hasClickHouse) throw new Error('chDB is not installed: npm run test:clickhouse');
  const folder = await mkdtemp(join(tmpdir(), 'inlay-clickhouse-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const kills: string[] = [];
  let engine: ChildProcess | undefined;
  process.once('exit', () => engine?.kill('SIGKILL'));

  const resume = async (): Promise<void> => {
    const shim = fileURLToPath(new URL('shim-process.ts', import.meta.url));
    const started = fork(shim, [join(folder, 'data'), String(port)], {
      // Each query holds one of the threads; four, as Node has them by default, would make queries wait for each other.
      env: { ...process.env, UV_THREADPOOL_SIZE: '24' },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    engine = started;
    let log = '';
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-5_000);
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    started.on('message', (message: unknown) => {
      const told = messageSchema.parse(message);
      if ('killed' in told) kills.push(told.killed);
      else resolve();
    });
    started.once('exit', (code, signal) => reject(new Error(`ClickHouse ended (${code ?? signal}): ${log}`)));
    const timer = setTimeout(() => reject(new Error(`ClickHouse did not start: ${log}`)), startTimeoutMs);
    await promise.finally(() => clearTimeout(timer));
  };
  const halt = async (): Promise<void> => {
    if (engine === undefined || engine.exitCode !== null || engine.signalCode !== null) return;
    const exited = once(engine, 'exit');
    engine.kill('SIGKILL');
    await exited;
  };
  const stop = async (): Promise<void> => {
    await halt();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };

  try {
    await resume();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    kills,
    async exec(sql) {
      for (const statement of sql.split(/;\s*\n/)) {
        if (statement.trim() === '') continue;
        const reply = await fetch(url, { method: 'POST', body: statement.replace(/;\s*$/, '') });
        const text = await reply.text();
        if (!reply.ok) throw new Error(text);
      }
    },
    failAs: (style) => engine?.send({ failAs: style }),
    halt,
    resume,
    stop,
  };
}
