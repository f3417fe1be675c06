/** What the server consists of while it runs. The only place where things are built and put together. */
import { join } from 'node:path';
import { createOperations, type Operations } from '@inlay/contract/admin/operations.ts';
import { createShapes, type Shapes } from '@inlay/contract/shapes.ts';
import type { Kysely } from 'kysely';
import { createAgent } from './agent/create-agent.ts';
import type { LanguageModel } from './agent/language-models/language-model.ts';
import { openLanguageModels } from './agent/language-models/registry.ts';
import { createRunTails, type RunTails } from './chat/run-tails.ts';
import { createRuns, type Runs } from './chat/runs.ts';
import type { Config } from './config.ts';
import { deriveEmbedTokenKeys, type EmbedTokenKeys } from './embed/embed-token.ts';
import { createSessionMinter, type SessionMinter } from './embed/session-minter.ts';
import { type ApiKeyLookup, createApiKeyLookup } from './http/api-key-lookup.ts';
import { createRateLimits, type RateLimits } from './http/rate-limits.ts';
import { type Log, openLog } from './log.ts';
import { type Deployments, openDeployments } from './query/deployments.ts';
import { createKeptResults } from './query/kept-results.ts';
import type { QueryDependencies } from './query/run-query.ts';
import { type Changes, noChanges } from './store/changes.ts';
import { makeDataFolder, readOrCreateSecretFile } from './store/data-folder.ts';
import { openStore } from './store/database.ts';
import { createNode, type Node } from './store/node.ts';
import type { Schema } from './store/schema.ts';
import { newSecret } from './store/secret.ts';
import { traceStatements } from './store/trace-statements.ts';
import { openTelemetry } from './telemetry/open-telemetry.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { createPrincipalWatches, type PrincipalWatches } from './users/principal-watch.ts';
import { createAskers } from './users/subject.ts';
import { readConnections } from './warehouse/connections-file.ts';

/** The parts of a running server. Disposing closes each once, the last built first; runs that go on are stopped. */
export interface Context extends AsyncDisposable {
  readonly config: Config;
  /** The shapes of requests under the limits of this process. */
  readonly shapes: Shapes;
  /** The operations of the management API, under the same limits. */
  readonly operations: Operations;
  readonly log: Log;
  readonly db: Kysely<Schema>;
  readonly changes: Changes;
  readonly clock: () => Date;
  readonly apiKeys: ApiKeyLookup;
  readonly tokenKeys: EmbedTokenKeys;
  readonly watches: PrincipalWatches;
  readonly node: Node;
  readonly deployments: Deployments;
  /** What the door to data needs. */
  readonly query: QueryDependencies;
  readonly minter: SessionMinter;
  readonly runs: Runs;
  readonly tails: RunTails;
  readonly rateLimits: RateLimits;
  readonly telemetry: Telemetry;
  /** Aborted when the server is told to stop: from then on it says that it is not ready. */
  readonly draining: AbortController;
}

/** Parts that tests bring along. They stay open when the context is disposed. Without `changes` a `db` hears of none. */
export type Overrides = Partial<Pick<Context, 'log' | 'db' | 'changes' | 'clock'>> & {
  /** In the place of the built-in analyst. */
  readonly languageModel?: LanguageModel;
};

/**
 * Builds the parts. With the embedded store, hold the lock of the data folder. The store is not migrated yet.
 * @throws ConfigError, also when the store does not open; what was built until then is closed.
 */
export async function openContext(config: Config, overrides: Overrides = {}): Promise<Context> {
  await using building = new AsyncDisposableStack();
  const log = overrides.log ?? openLog();
  const clock = overrides.clock ?? (() => new Date());
  const telemetry = await openTelemetry(config, log);
  building.defer(() => telemetry.traces.close());
  const languageModels = await openLanguageModels({
    source: config.languageModels,
    silenceMs: config.languageModelSilenceMs,
    log,
    builtin: overrides.languageModel,
  });
  const connections = await readConnections(config.warehouses);
  const tokenKeys = deriveEmbedTokenKeys(await readSigningSecrets(config));
  const {
    db,
    changes,
    connections: storeConnections,
  } = overrides.db === undefined
    ? building.use(
        await openStore(
          config.store,
          (err) => log.warn({ err }, 'a connection to the store was lost'),
          traceStatements(telemetry.traces),
        ),
      )
    : { db: overrides.db, changes: overrides.changes ?? noChanges, connections: () => null };
  const apiKeys = building.use(createApiKeyLookup({ db, changes }));
  const watches = building.use(createPrincipalWatches({ db, changes, clock, log }));
  const node = building.use(createNode({ db, log, leaseMs: config.runLeaseMs }));
  const deployments = building.use(
    openDeployments({ db, log, changes, connections, reloadsModels: config.reloadsModels }),
  );
  const { queryTimeoutMs, queryBytesMax, unprotectedRelations, brand, sessionExchangeMs, sessionLifetimeMs } = config;
  const query: QueryDependencies = {
    askers: createAskers({ db, changes, unprotectedRelations }),
    ...{ deployments, clock, telemetry, queryTimeoutMs, queryBytesMax, sqlLimits: config },
    results: createKeptResults(config),
  };
  const minter = building.use(
    createSessionMinter({ db, clock, limits: config, sessionExchangeMs, sessionLifetimeMs, telemetry }),
  );
  const runAgent = createAgent({ db, query, languageModels, log }, config);
  const tails = building.adopt(createRunTails({ db, log }), (open) => open.close());
  const runs = building.adopt(
    createRuns({
      db,
      clock,
      log,
      metrics: telemetry.metrics,
      brand,
      runAgent,
      limits: config,
      changes,
      watches,
      nodeId: node.id,
      readers: tails,
    }),
    (open) => open.close(0),
  );
  telemetry.metrics.watch({
    storeConnections,
    changesLagSeconds: () => (performance.now() - changes.heardUntil()) / 1000,
    runs: runs.counts,
  });
  const shapes = createShapes(config);
  const parts = building.move();
  return {
    config,
    shapes,
    operations: createOperations(shapes.user),
    rateLimits: createRateLimits(config, () => performance.now()),
    telemetry,
    draining: new AbortController(),
    log,
    db,
    changes,
    clock,
    apiKeys,
    tokenKeys,
    watches,
    node,
    deployments,
    query,
    minter,
    runs,
    tails,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** The signing secrets: those of the settings, or one that is made once and kept in the data folder. */
async function readSigningSecrets({
  secrets: [first, ...others],
  dataFolder,
}: Config): Promise<readonly [string, ...string[]]> {
  if (first !== undefined) return [first, ...others];
  await makeDataFolder(dataFolder);
  return [await readOrCreateSecretFile(join(dataFolder, 'signing-secret'), () => newSecret(''))];
}
