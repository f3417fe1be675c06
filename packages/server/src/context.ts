/** What the server consists of while it runs. The only place where things are built and put together. */
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { createAgent } from './agent/create-agent.ts';
import { createBuiltinAnalyst } from './agent/language-models/builtin-analyst.ts';
import type { LanguageModel } from './agent/language-models/language-model.ts';
import { createRuns, type Runs } from './chat/runs.ts';
import type { Config } from './config.ts';
import { type Log, openLog } from './log.ts';
import { type Deployments, openDeployments } from './query/deployments.ts';
import { makeDataFolder, readOrCreateSecretFile } from './store/data-folder.ts';
import { openDatabase } from './store/database.ts';
import type { Schema } from './store/schema.ts';
import { newSecret } from './store/secret.ts';

/** The parts of a running server. Disposing closes each once, the last built first; runs that go on are stopped. */
export interface Context extends AsyncDisposable {
  readonly config: Config;
  readonly log: Log;
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly deployments: Deployments;
  readonly runs: Runs;
  /** At least 32 characters; what is signed with it is valid for every process that has it. */
  readonly signingSecret: string;
}

/** Parts that tests bring along. They stay open when the context is disposed. */
export type Overrides = Partial<Pick<Context, 'log' | 'db' | 'clock'>> & { readonly languageModel?: LanguageModel };

/**
 * Builds the parts. With the embedded store, hold the lock of the data folder. The store is not migrated yet.
 * @throws ConfigError, also when the store does not open; what was built until then is closed.
 */
export async function openContext(config: Config, overrides: Overrides = {}): Promise<Context> {
  await using building = new AsyncDisposableStack();
  const log = overrides.log ?? openLog();
  const clock = overrides.clock ?? (() => new Date());
  const signingSecret = await readSigningSecret(config);
  const db =
    overrides.db ??
    building.adopt(
      await openDatabase(config.store, (err) => log.warn({ err }, 'a connection to the store was lost')),
      (database) => database.destroy(),
    );
  const deployments = building.use(openDeployments({ db, log }));
  const { queryTimeoutMs, brand, runsPerUserMax, runsMax } = config;
  const runAgent = createAgent(
    {
      query: { db, deployments, clock, queryTimeoutMs },
      languageModel: overrides.languageModel ?? createBuiltinAnalyst(),
      log,
    },
    config,
  );
  const runs = building.adopt(createRuns({ db, clock, log, brand, runAgent, runsPerUserMax, runsMax }), (open) =>
    open.close(0),
  );
  const parts = building.move();
  return {
    config,
    log,
    db,
    clock,
    deployments,
    runs,
    signingSecret,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** The signing secret: INLAY_SECRET, or one that is made once and kept in the data folder. */
async function readSigningSecret({ secret, dataFolder }: Config): Promise<string> {
  if (secret !== undefined) return secret;
  await makeDataFolder(dataFolder);
  return readOrCreateSecretFile(join(dataFolder, 'signing-secret'), () => newSecret(''));
}
