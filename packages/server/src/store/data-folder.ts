/** The data folder: its lock, which keeps a second process out, and the files in it that hold a secret. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';
import { codeOf, reasonOf } from '../errors.ts';

/** Makes the folder, open to its owner only, unless it is there. @throws ConfigError when it cannot be made. */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new ConfigError([`The data folder ${folder} cannot be made: ${reasonOf(cause)}`]);
  }
}

/**
 * Takes the folder for this process; disposing gives it back. Nothing in the folder is touched when it is taken already.
 *
 * How: an exclusive transaction on an empty SQLite file. SQLite locks the file by the operating system (fcntl or LockFileEx),
 * and it is the one part of Node that can: the kernel decides between two processes, and frees the lock when its holder
 * ends, by kill -9 too. So there is nothing stale to detect and no pid to mistake. It holds between containers of one
 * kernel that share the folder, which a socket in a temporary folder, or a pid, would not. It does not hold between hosts on a
 * network file system without locks; PGlite is not for those.
 * @throws ConfigError when another process has the folder, or its file system has no locks.
 */
export async function lockDataFolder(folder: string): Promise<Disposable> {
  // Loaded here, since only the embedded store needs a lock.
  const { DatabaseSync } = await import('node:sqlite');
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
    // No journal file: the transaction never writes.
    database.exec('pragma journal_mode = memory');
    database.exec('begin exclusive');
  } catch (cause) {
    database?.close();
    const isBusy = cause instanceof Error && 'errcode' in cause && cause.errcode === 5;
    throw new ConfigError([
      isBusy
        ? `Another Inlay process uses the data folder ${folder}. Stop it first, or set INLAY_DATA_DIR to another folder.`
        : `The data folder ${folder} cannot be locked: ${reasonOf(cause)}`,
    ]);
  }
  const held = database;
  return { [Symbol.dispose]: () => held.close() };
}

/**
 * The secret in `path`; when there is no such file, one with what `make` gives (mode 0600). The file appears whole or not at
 * all, and when two processes make it at once, both get the same secret.
 * @throws ConfigError when the file cannot be read or written, or holds fewer than 32 characters.
 */
export async function readOrCreateSecretFile(path: string, make: () => string): Promise<string> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const existing = await readIfThere(path);
    if (existing !== undefined) return checked(path, existing);
    try {
      await writeDurably(temporary, `${make()}\n`);
      // A link, unlike a rename, never replaces a file that another process made in the meantime.
      await link(temporary, path).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
    } finally {
      await rm(temporary, { force: true });
    }
    return checked(path, await readFile(path, 'utf8'));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError([`The secret file ${path} cannot be read or written: ${reasonOf(cause)}`]);
  }
}

function checked(path: string, text: string): string {
  const secret = text.trim();
  if (secret.length < 32) throw new ConfigError([`${path} holds no secret. Delete it to have a new one made.`]);
  return secret;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
