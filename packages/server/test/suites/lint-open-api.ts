/**
 * `npm run check:openapi`: the description that the server serves, checked by Redocly's linter with its recommended rules. The
 * linter is fetched for the occasion, at a version that is pinned here: it is large, and nothing else needs it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callHttp } from './http-check.ts';
import { startServer } from './server-process.ts';

const linter = '@redocly/cli@2.77.0';
/** Fetching it may fail for a moment. Once it runs, its verdict stands. */
const attempts = 3;
const attemptMs = 300_000;

/** Runs npx. @returns its exit code, and whether the linter itself has come to run. */
function lint(file: string, cwd: string): { readonly code: number; readonly hasRun: boolean; readonly text: string } {
  const run = spawnSync('npx', ['--yes', linter, 'lint', '--format=stylish', file], {
    cwd,
    encoding: 'utf8',
    timeout: attemptMs,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    shell: process.platform === 'win32',
  });
  const text = `${run.stdout ?? ''}${run.stderr ?? ''}`;
  return { code: run.status ?? 1, hasRun: /validat/i.test(text), text };
}

async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-lint-'));
  try {
    const server = await startServer({ INLAY_DATA_DIR: join(folder, 'data') });
    const reply = await callHttp(server.url, { method: 'GET', path: '/api/openapi.json' }).finally(() =>
      server.end('SIGKILL'),
    );
    if (reply.status !== 200) throw new Error(`no description: ${reply.status}`);
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(reply.json, null, 2));
    for (let attempt = 1; ; attempt++) {
      const { code, hasRun, text } = lint(file, folder);
      if (hasRun || attempt === attempts) {
        process.stdout.write(`${text}\n`);
        return code;
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exitCode = await main();
