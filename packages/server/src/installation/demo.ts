/** The demo data: Parquet files that a DuckDB script makes, once per version of the script. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../errors.ts';

/** Holds the hash of the script that made the folder. */
const stampFile = '.made-by';
const threads = 2;
const silenceMs = 1_000;
/** A half-made folder that old has no living maker. */
const leftoverMs = 3_600_000;

/**
 * Sees to it that `folder` holds what `script` makes. It is made in a folder beside it and renamed when whole: after a kill at
 * any moment there is the old data, the new, or none, never half. Does nothing when the script has not changed.
 * @param demo.script path of SQL for an empty in-memory DuckDB; `${dir}` in it, inside quotes, becomes the folder to write to.
 * @param demo.say told one line when it takes longer than a second.
 * @returns whether data was made.
 */
export async function ensureDemoData(demo: {
  readonly script: string;
  readonly folder: string;
  readonly say?: (line: string) => void;
}): Promise<boolean> {
  const folder = resolve(demo.folder);
  const script = await readFile(demo.script, 'utf8');
  const stamp = createHash('sha256').update(script).digest('hex');
  await removeLeftovers(folder);
  if (await isMade(folder, stamp)) return false;

  const slow = setTimeout(() => demo.say?.('Making the demo data …'), silenceMs);
  const temporary = `${folder}.${randomBytes(6).toString('hex')}.new`;
  try {
    await mkdir(temporary, { recursive: true });
    await runScript(script.replaceAll(/\$\{dir\}/g, () => temporary.replaceAll("'", "''")));
    await writeFile(join(temporary, stampFile), stamp);
    await replaceFolder(folder, temporary, stamp);
  } finally {
    clearTimeout(slow);
    await rm(temporary, { recursive: true, force: true });
  }
  return true;
}

async function isMade(folder: string, stamp: string): Promise<boolean> {
  return (await readFile(join(folder, stampFile), 'utf8').catch(() => undefined)) === stamp;
}

async function runScript(sql: string): Promise<void> {
  // Loaded here: a later start, which has the data, does without.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) });
  try {
    const connection = await instance.connect();
    try {
      await connection.run(sql);
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

async function replaceFolder(folder: string, temporary: string, stamp: string): Promise<void> {
  const old = `${folder}.${randomBytes(6).toString('hex')}.old`;
  await rename(folder, old).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  try {
    await rename(temporary, folder);
  } catch (error) {
    // With PostgreSQL several processes may share a data folder; another one was faster.
    if (!(await isMade(folder, stamp))) throw error;
  }
  await rm(old, { recursive: true, force: true });
}

/** Deletes what kills have left behind beside `folder`. */
async function removeLeftovers(folder: string): Promise<void> {
  const parent = dirname(folder);
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(`${basename(folder)}.`) || !/\.[0-9a-f]{12}\.(new|old)$/.test(name)) continue;
    const { mtimeMs } = await stat(join(parent, name));
    if (Date.now() - mtimeMs > leftoverMs) await rm(join(parent, name), { recursive: true, force: true });
  }
}
