/** A server for benches: the demo in a temporary folder, listening on a free port of the loopback. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newApiKey } from '../packages/server/src/admin/make-api-key.ts';
import type { LanguageModel } from '../packages/server/src/agent/language-models/language-model.ts';
import { readConfig } from '../packages/server/src/config.ts';
import { type Context, openContext } from '../packages/server/src/context.ts';
import { buildApp } from '../packages/server/src/http/app.ts';
import { applyDemo, makeDemoData } from '../packages/server/src/installation/prepare-demo.ts';
import { openLog } from '../packages/server/src/log.ts';
import { migrate } from '../packages/server/src/store/migrate.ts';

/** A server that listens; disposing stops it and deletes its folder. `apiKey` is the demo's. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly context: Context;
  readonly apiKey: string;
}

/** @param options.databaseUrl a PostgreSQL database; PGlite when left out */
export async function openBenchServer(
  options: { databaseUrl?: string; languageModel?: LanguageModel } = {},
): Promise<BenchServer> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const apiKey = newApiKey();
  const config = readConfig({
    INLAY_DATA_DIR: folder,
    INLAY_API_KEY: apiKey,
    INLAY_SECRET: newApiKey(),
    INLAY_DEMO: 'on',
    DATABASE_URL: options.databaseUrl,
    // What is measured is how much it takes, not how much it allows.
    INLAY_KEY_REQUESTS_PER_MINUTE_MAX: '10000000',
    INLAY_USER_REQUESTS_PER_MINUTE_MAX: '10000000',
    INLAY_EXTERNAL_USERS_MAX: '10000000',
  });
  const { languageModel } = options;
  // The log is made as always, and written nowhere: its cost counts, the disk's does not.
  const log = openLog({ write: () => undefined });
  const context = stack.use(
    await openContext(config, { log, ...(languageModel === undefined ? {} : { languageModel }) }),
  );
  await migrate(context.db);
  await makeDemoData(config, () => undefined);
  await applyDemo(context, config);
  const app = await buildApp(context);
  stack.defer(() => app.close());
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, context, apiKey, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
