/**
 * chDB, ClickHouse's engine as a library, in a folder of its own: it has half a gigabyte, so it is no dependency of the
 * project, only of the tests that ask ClickHouse.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** The version that the tests are known to pass with; it pins that of the engine. */
const chdbVersion = '3.4.0';
const folder = fileURLToPath(new URL(`../../../../node_modules/.cache/inlay-chdb-${chdbVersion}`, import.meta.url));
const installTimeoutMs = 240_000;

/** What the tests use of chDB: a connection with settings of its own to the one engine of the process. */
export interface ChdbSession {
  queryAsync(sql: string, options: { format: string }): Promise<{ bytes(): Uint8Array }>;
  queryStream(sql: string, options: { format: string }): AsyncIterable<{ raw(): Uint8Array }> & { cancel(): void };
  close(): void;
}

const moduleSchema = z.object({
  Session: z.custom<new (path: string) => ChdbSession>((value) => typeof value === 'function'),
});

/** Whether it is installed, whole. */
export function isChdbInstalled(): boolean {
  return existsSync(join(folder, 'installed'));
}

/** Installs it where it is missing. Returns what went wrong, for people; null when it is there now. */
export function installChdb(): string | null {
  if (isChdbInstalled()) return null;
  if (process.platform === 'win32') return 'chDB does not run on Windows';
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // A package of its own, or npm would take the project around it for the one to install into.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = '--no-save --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1';
  const npm = spawnSync('npm', ['install', `chdb@${chdbVersion}`, ...flags.split(' ')], {
    cwd: folder,
    encoding: 'utf8',
    timeout: installTimeoutMs,
  });
  if (npm.status !== 0) return `npm could not install chdb ${chdbVersion}: ${npm.error?.message ?? npm.stderr.trim()}`;
  // It may be there and not run: another processor, another libc.
  const tried = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(modulePath())}).query('SELECT 1')`], {
    encoding: 'utf8',
    timeout: installTimeoutMs,
  });
  if (tried.status !== 0) return `chdb ${chdbVersion} does not run here: ${tried.stderr.trim().slice(-500)}`;
  writeFileSync(join(folder, 'installed'), `${chdbVersion}\n`);
  return null;
}

/** Loads the engine into this process, which it may take down with it: for the process of the shim only. */
export function loadChdb(): z.infer<typeof moduleSchema> {
  return moduleSchema.parse(createRequire(import.meta.url)(modulePath()));
}

const modulePath = (): string => join(folder, 'node_modules', 'chdb', 'index.js');
