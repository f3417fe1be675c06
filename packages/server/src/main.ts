/** The server's process: settings, lock, parts, tables, demo, listening; and on a signal the same way back. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Config, ConfigError, failureLines, publicUrlOf, readConfig } from './config.ts';
import type { Context } from './context.ts';
import { codeOf } from './errors.ts';
import type { App } from './http/route.ts';
import { lockDataFolder, makeDataFolder } from './store/data-folder.ts';

/** How long requests and answers that go on may take to end after a signal. */
const drainMs = 10_000;
/** Thereafter, how long the last lines of a stream may take, and the whole rest. */
const flushMs = 1_000;
const exitMs = 5_000;
const closeIdleEveryMs = 100;
/** How long what has ended may lie in the store, where nothing reaches them. */
const sweepEveryMs = 60_000;
/** Connections that wait until they are accepted, one in each turn of the event loop. Beyond what the system allows, that counts. */
const backlog = 4096;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function serve(config: Config): Promise<void> {
  await using stack = new AsyncDisposableStack();
  if (config.store.kind === 'embedded') {
    await makeDataFolder(config.dataFolder);
    stack.use(await lockDataFolder(config.dataFolder));
  }

  // Only now, so that a second process on the folder is told so at once.
  const [
    { openContext },
    { buildApp },
    { migrate },
    { keepNode },
    { startSweeper },
    { hasApiKey },
    { applyDemo, makeDemoData },
    { welcomeText },
  ] = await Promise.all([
    import('./context.ts'),
    import('./http/app.ts'),
    import('./store/migrate.ts'),
    import('./chat/keep-node.ts'),
    import('./store/sweeper.ts'),
    import('./admin/make-api-key.ts'),
    import('./installation/prepare-demo.ts'),
    import('./installation/welcome.ts'),
  ]);
  // DuckDB makes the demo's data on threads of its own while the store opens. Its failure is met where it is awaited.
  const demoData = config.isDemo ? makeDemoData(config, say) : Promise.resolve();
  demoData.catch(() => undefined);
  const context = stack.use(await openContext(config));
  const { db, clock, log, runs, telemetry } = context;
  await migrate(db, { onWait: (what) => log.info({ waitsFor: what }, 'the store is being brought up to date') });
  // Who holds the lock of the data folder has the store alone.
  const isAlone = config.store.kind === 'embedded';
  stack.use(await keepNode({ db, clock, log, node: context.node, runs, isAlone, leaseMs: config.runLeaseMs }));
  await demoData;
  const demo = config.isDemo ? await applyDemo(context, config) : null;
  if (demo === null && config.apiKey !== undefined) say('INLAY_API_KEY has no effect: the demo is off.');

  const app = await buildApp(context);
  stack.defer(() => app.close());
  const stopped = nextSignal();
  const port = await listen(app, config);
  if (config.metrics !== undefined) {
    const { host, port: asked } = config.metrics;
    const { openMetricsServer } = await import('./http/metrics-server.ts');
    const opening = openMetricsServer(telemetry.metrics, config.metrics, log);
    const metrics = stack.use(
      await opening.catch((error: unknown) => refuseAddress(error, 'INLAY_METRICS_', host, asked)),
    );
    log.info({ host, port: metrics.port }, 'metrics are at /metrics');
  }
  stack.use(startSweeper({ db, clock, log, metrics: telemetry.metrics, settings: config }, sweepEveryMs));
  process.stdout.write(welcomeText({ publicUrl: publicUrlOf(config, port), demo, hasApiKey: await hasApiKey(db) }));

  log.info({ signal: await stopped }, 'stopping');
  context.draining.abort();
  // A load balancer asks /readyz now and then, and sends requests until it has heard.
  if (config.drainDelayMs > 0) await pause(config.drainDelayMs);
  await drain(app, context);
}

/** Takes no new request, and gives those that go on, and the answers being written, their time to end. */
async function drain(app: App, { runs, tails }: Pick<Context, 'runs' | 'tails'>): Promise<void> {
  const closing = app.close();
  // A connection that is kept alive becomes idle when its last request ends, and nobody else closes it then.
  const idle = setInterval(() => app.server.closeIdleConnections(), closeIdleEveryMs);
  const force = setTimeout(() => app.server.closeAllConnections(), drainMs + flushMs);
  setTimeout(() => process.exit(1), drainMs + exitMs).unref();
  try {
    // The stream of an answer ends with its run. Where another node carries that on, its clients are cut off and find it there;
    // those that are a little behind get the last lines first.
    const closed = runs.close(drainMs).then(() => void setTimeout(() => tails.close(), flushMs).unref());
    await Promise.all([closing, closed]);
  } finally {
    clearInterval(idle);
    clearTimeout(force);
  }
}

/** Begins to listen. @returns the port. @throws ConfigError when the system does not allow it. */
async function listen(app: App, { host, port }: Config): Promise<number> {
  try {
    await app.listen({ host, port, backlog });
  } catch (error) {
    refuseAddress(error, '', host, port);
  }
  const address = app.server.address();
  return address === null || typeof address === 'string' ? port : address.port;
}

/** Says what to do about an address that the system does not give. `prefix` of the variables PORT and HOST. */
function refuseAddress(error: unknown, prefix: string, host: string, port: number): never {
  const code = String(codeOf(error));
  const reason: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} on ${host} is taken. Stop what uses it, or set ${prefix}PORT to another.`,
    EACCES: `This user may not listen on port ${port}. Set ${prefix}PORT to one above 1023.`,
    EADDRNOTAVAIL: `This machine has no address ${host}. Set ${prefix}HOST to one that it has.`,
    ENOTFOUND: `This machine has no address ${host}. Set ${prefix}HOST to one that it has.`,
  };
  throw reason[code] === undefined ? error : new ConfigError([reason[code]]);
}

/** Resolves with the first signal to stop; a second one ends the process at once. */
function nextSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(130);
      isStopping = true;
      resolve(signal);
    });
  }
  return promise;
}

try {
  await serve(readConfig(process.env));
} catch (error) {
  for (const line of failureLines(error)) process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
