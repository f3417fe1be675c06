/** The peer of the chat's bench, from its package registry into a temporary folder. */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from './child.ts';

const versions = {
  '@langchain/langgraph-api': '1.4.5',
  '@langchain/langgraph': '1.4.0',
  '@langchain/core': '1.2.13',
};

/** The name of the peer with its version, for the report. */
export const peerName = `langgraph-api ${versions['@langchain/langgraph-api']}`;
const installMs = 300_000;

/** The peer's server; disposing ends it and deletes its folder. */
export interface Peer extends AsyncDisposable {
  readonly child: Child;
}

/**
 * Installs and starts the peer; null, with a line that says so, where that does not work, as without the registry.
 * @param options.runs how many it works on at a time
 */
export async function openPeer({ runs }: { readonly runs: number }): Promise<Peer | null> {
  // Everything goes when it is not handed over at the end.
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-bench-peer-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const description = { name: 'peer', private: true, type: 'module', dependencies: versions };
  await writeFile(join(folder, 'package.json'), JSON.stringify(description));
  const npm = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], {
    cwd: folder,
    timeout: installMs,
    encoding: 'utf8',
  });
  if (npm.status !== 0) {
    console.error(`bench: no figures of ${peerName}: npm install failed (${(npm.stderr ?? '').trim().split('\n')[0]})`);
    return null;
  }
  const here = import.meta.dirname;
  await mkdir(join(folder, 'peer'));
  for (const file of ['peer/graph.mjs', 'peer/graph-server.mjs', 'child.ts', 'script.ts']) {
    await copyFile(join(here, file), join(folder, file));
  }
  try {
    const child = stack.use(
      await startChild(join(folder, 'peer', 'graph-server.mjs'), [String(runs)], { cwd: folder }),
    );
    const parts = stack.move();
    return { child, [Symbol.asyncDispose]: () => parts.disposeAsync() };
  } catch (error) {
    console.error(`bench: no figures of ${peerName}: it does not start (${String(error)})`);
    return null;
  }
}
