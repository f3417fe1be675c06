/** The server as its own process, for suites that kill it or drive it for long: started, awaited, killed, with all it printed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const startDeadlineMs = 120_000;

/** The admin key of the demo's account in every process that a suite starts. Made for the suites; it opens nothing else. */
export const suiteKey = `sk-${'Q7vK2mXw9RtB4nHs'.repeat(2)}cDpLzEyGuJa`;

/** A process that listens. */
export interface ServerProcess {
  /** Without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** All that it has printed. */
  output(): string;
  /** Ends it by a signal and waits until it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** Limits of rates that a suite does not stop at. */
const noRates = {
  INLAY_KEY_REQUESTS_PER_MINUTE_MAX: '10000000',
  INLAY_USER_REQUESTS_PER_MINUTE_MAX: '10000000',
  INLAY_FAILED_AUTHENTICATIONS_PER_MINUTE_MAX: '10000000',
};

/**
 * Starts the server with the demo, on a port that the system chooses, and waits until it listens.
 * @param env on top of that; `INLAY_DATA_DIR` belongs into it. Nothing else of this process's environment is passed on.
 * @throws Error with what it printed when it ends before, or takes more than two minutes.
 */
export async function startServer(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [mainFile], {
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: '0',
      INLAY_DEMO: 'on',
      INLAY_API_KEY: suiteKey,
      ...noRates,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => void parts.push(part));
  }
  const gone = once(child, 'close');
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
    process.off('exit', killWithUs);
  };
  const deadline = Date.now() + startDeadlineMs;
  while (Date.now() < deadline) {
    const url = /^Inlay listens on (http:\S+)$/m.exec(parts.join(''))?.[1];
    if (url !== undefined) return { url, child, output: () => parts.join(''), end };
    if (child.exitCode !== null || child.signalCode !== null) break;
    await pause(20);
  }
  await end('SIGKILL');
  throw new Error(`The server did not start:\n${parts.join('')}`);
}
