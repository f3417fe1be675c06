/** Peers that are measured beside us: from their package registry into a temporary folder, never into the project. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const installMs = 300_000;

/** Packages by name, with their versions. */
export type Versions = Readonly<Record<string, string>>;

/** An installed peer; disposing deletes it. */
export interface InstalledPeer extends AsyncDisposable {
  readonly folder: string;
  /** A module of it. It is somebody else's code: what comes is not typed. */
  load(specifier: string): Promise<Record<string, unknown>>;
}

/**
 * Installs packages without running their scripts; null, with a line that says so, where that does not work, as without the registry.
 * @param overrides versions of packages further in, where the newest do not fit
 */
export async function installPeer(
  name: string,
  versions: Versions,
  overrides: Versions = {},
): Promise<InstalledPeer | null> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-bench-peer-'));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const description = { name: 'peer', private: true, type: 'module', dependencies: versions, overrides };
  await writeFile(join(folder, 'package.json'), JSON.stringify(description));
  const flags = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts', '--legacy-peer-deps'];
  const npm = spawnSync('npm', ['install', ...flags], { cwd: folder, timeout: installMs, encoding: 'utf8' });
  if (npm.status !== 0) {
    console.error(`bench: no figures of ${name}: npm install failed (${(npm.stderr ?? '').trim().split('\n')[0]})`);
    await dispose();
    return null;
  }
  const require = createRequire(join(folder, 'package.json'));
  return {
    folder,
    load: (specifier) => import(pathToFileURL(require.resolve(specifier)).href),
    [Symbol.asyncDispose]: dispose,
  };
}
