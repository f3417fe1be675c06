/** A server for benches: the demo in a temporary folder, listening on a free port of the loopback. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newApiKey } from '../packages/server/src/admin/make-api-key.ts';
import type { LanguageModel } from '../packages/server/src/agent/language-models/language-model.ts';
import { keepNode } from '../packages/server/src/chat/keep-node.ts';
import { readConfig } from '../packages/server/src/config.ts';
import { type Context, openContext } from '../packages/server/src/context.ts';
import { buildApp } from '../packages/server/src/http/app.ts';
import { applyDemo } from '../packages/server/src/installation/prepare-demo.ts';
import { openLog } from '../packages/server/src/log.ts';
import { migrate } from '../packages/server/src/store/migrate.ts';

/** A server that listens; disposing stops it and deletes its folder. `apiKey` is the demo's. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly context: Context;
  readonly apiKey: string;
}

/**
 * @param options.databaseUrl a PostgreSQL database; PGlite when left out
 * @param options.apiKey the demo's, for a second node on one database
 * @param options.environment settings beside those of every bench
 */
export async function openBenchServer(
  options: {
    databaseUrl?: string;
    languageModel?: LanguageModel;
    apiKey?: string;
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<BenchServer> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const apiKey = options.apiKey ?? newApiKey();
  const config = readConfig({
    INLAY_DATA_DIR: folder,
    INLAY_API_KEY: apiKey,
    // The nodes of one database sign with one secret.
    INLAY_SECRET: createHash('sha256').update(apiKey).digest('hex'),
    INLAY_DEMO: 'on',
    DATABASE_URL: options.databaseUrl,
    // What is measured is how much it takes, not how much it allows.
    INLAY_KEY_REQUESTS_PER_MINUTE_MAX: '10000000',
    INLAY_USER_REQUESTS_PER_MINUTE_MAX: '10000000',
    INLAY_EXTERNAL_USERS_MAX: '10000000',
    ...options.environment,
  });
  const maker = fileURLToPath(new URL('./make-demo-data.ts', import.meta.url));
  const made = spawnSync(process.execPath, [maker, folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (made.status !== 0) throw new Error('The demo data could not be made.');
  const { languageModel } = options;
  // The log is made as always, and written nowhere: its cost counts, the disk's does not. But what goes wrong is shown.
  const log = openLog({
    write(line) {
      if (line.startsWith('{"level":"error"')) process.stderr.write(`${line.slice(0, 500).trimEnd()}\n`);
    },
  });
  const context = stack.use(
    await openContext(config, { log, ...(languageModel === undefined ? {} : { languageModel }) }),
  );
  await migrate(context.db);
  const { db, clock, node, runs } = context;
  const isAlone = options.databaseUrl === undefined;
  stack.use(await keepNode({ db, clock, log, node, runs, isAlone, leaseMs: config.runLeaseMs }));
  await applyDemo(context, config);
  const app = await buildApp(context);
  stack.defer(() => app.close());
  const url = await app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 });
  return { url, context, apiKey, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
