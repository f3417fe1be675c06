/** The store: one Kysely over PGlite in a folder or over PostgreSQL. The same SQL and migrations run on both. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { type Dialect, Kysely, type LogEvent, PostgresDialect, sql } from 'kysely';
import { ConfigError, postgresDefaults, type StoreSettings } from '../config.ts';
import { reasonOf } from '../errors.ts';
import type { Changes } from './changes.ts';
import { createEmbeddedDialect } from './embedded-dialect.ts';
import { openPgliteChanges, openPostgresChanges } from './open-changes.ts';
import { preparingPool } from './prepared-statements.ts';
import type { Schema } from './schema.ts';

type PostgresSettings = Extract<StoreSettings, { readonly kind: 'postgres' }>;

/** How long after that the database's word that it was too long may still come. */
const replyMs = 5_000;
/** How long a call waits for a connection, a new one or one that others use. */
const connectTimeoutMs = 10_000;
/** A connection that nobody uses is closed after this, and one in use is replaced by and by: a server that moved is found. */
const idleMs = 60_000;
const connectionLifeSeconds = 3_600;
/**
 * How PGlite runs. What it holds of its tables in memory is resident from the start, and what is not in it the system's cache has.
 * The others are those of {@link connectionSettings}, since here, too, statements are prepared.
 */
const embeddedSettings = ['shared_buffers=32MB', 'enable_seqscan=off', 'plan_cache_mode=force_generic_plan'];

/**
 * Opens the store; with PGlite it makes the database on first use. `destroy()` closes it. One process at a time may have a
 * PGlite folder open: hold the lock of the data folder.
 *
 * What "durable" means: PostgreSQL as its owner set it up. PGlite writes every commit to its files before it answers, so a
 * kill of this process loses nothing; but it never calls fsync, so a power cut may lose the last seconds. `onError` is told
 * of lost idle connections, which are not the failure of any one query; `onStatement` of every statement, once it is done.
 * @throws ConfigError when the store does not open or answer; the URL is not in it.
 */
export async function openDatabase(
  settings: StoreSettings,
  onError: (error: unknown) => void = () => undefined,
  onStatement?: (statement: LogEvent) => void,
): Promise<Kysely<Schema>> {
  return (await open(settings, onError, onStatement)).db;
}

/** The store, and the channel of its changes. Disposing closes both. */
export interface Store extends AsyncDisposable {
  readonly db: Kysely<Schema>;
  readonly changes: Changes;
  /** What the connections of this process do at this moment; null for the embedded store. */
  connections(): StoreConnections | null;
}

/** Connections in use and idle, and how much work waits for one. */
export interface StoreConnections {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
}

/** As {@link openDatabase}, and listens for changes. */
export async function openStore(
  settings: StoreSettings,
  onError: (error: unknown) => void,
  onStatement?: (statement: LogEvent) => void,
): Promise<Store> {
  await using opening = new AsyncDisposableStack();
  const { db, listen, connections } = await open(settings, onError, onStatement);
  opening.defer(() => db.destroy());
  const changes = opening.use(await listen());
  const opened = opening.move();
  return { db, changes, connections, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function open(
  settings: StoreSettings,
  onError: (error: unknown) => void,
  onStatement?: (statement: LogEvent) => void,
): Promise<Omit<Driver, 'dialect'> & { readonly db: Kysely<Schema> }> {
  try {
    const { dialect, ...driver } =
      settings.kind === 'embedded' ? await embedded(settings.folder) : await postgres(settings, onError);
    const db = new Kysely<Schema>({ dialect, ...(onStatement === undefined ? {} : { log: onStatement }) });
    await ping(db).catch(async (error: unknown) => {
      await db.destroy();
      throw error;
    });
    return { db, ...driver };
  } catch (cause) {
    const place = settings.kind === 'embedded' ? `in ${settings.folder}` : 'at DATABASE_URL';
    throw new ConfigError([`The store ${place} does not open: ${reasonOf(cause)}`], { cause });
  }
}

/** How Kysely reaches the store, and how its changes are listened for. */
interface Driver {
  readonly dialect: Dialect;
  readonly listen: () => Promise<Changes>;
  readonly connections: () => StoreConnections | null;
}

// Each driver is loaded only where it is used: PGlite alone costs a tenth of a second.
async function embedded(folder: string): Promise<Driver> {
  const { PGlite } = await import('@electric-sql/pglite');
  if (!existsSync(folder)) {
    // Made beside its place and renamed when whole: a kill in the middle leaves nothing that looks like a database.
    const temporary = `${folder}.new`;
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    await (await PGlite.create(temporary, { relaxedDurability: false })).close();
    await rename(temporary, folder);
  }
  // The last of two equal settings counts.
  const startParams = [...PGlite.defaultStartParams, ...embeddedSettings.flatMap((setting) => ['-c', setting])];
  const pglite = await PGlite.create(folder, { relaxedDurability: false, startParams });
  const { dialect, writes } = createEmbeddedDialect(pglite);
  return { dialect, listen: () => openPgliteChanges(pglite, writes), connections: () => null };
}

async function postgres(
  {
    url,
    connectionsMax = postgresDefaults.connectionsMax,
    statementMs = postgresDefaults.statementMs,
  }: PostgresSettings,
  onError: (error: unknown) => void,
): Promise<Driver> {
  const { Pool } = await import('pg');
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleMs,
    maxLifetimeSeconds: connectionLifeSeconds,
    keepAlive: true,
    application_name: 'inlay',
    // Not as parameters of the connection, which poolers refuse.
    onConnect: (client) => client.query(connectionSettings(statementMs)),
  });
  // Without a listener an idle connection that the server closes would end this process.
  pool.on('error', onError);
  // Nor may one that is in use, between two statements, when the pool does not listen: its next statement fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    dialect: new PostgresDialect({ pool: preparingPool(pool, statementMs + replyMs) }),
    listen: async () => openPostgresChanges(url, { onError }),
    connections: () => ({
      used: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
  };
}

/**
 * What holds on every connection to PostgreSQL. The second one is for a node that vanishes in a transaction. Statements for many
 * calls at once look costly to the planner, but compiling them (`jit`) takes longer than running them. And a connection keeps its
 * plans, also those of foreign keys, while an installation grows: one that reads a table whole because it is small would go on to
 * when it is large, until the next `analyze`; every statement has its index. For the same reason no plan depends on the values
 * (`plan_cache_mode`). Left to choose, the database compares what a plan for any values costs with what those for given values
 * cost while the tables were smaller, and plans the statement of a flight anew each time, which takes longer than running it.
 */
const connectionSettings = (statementMs: number): string => `
  set statement_timeout = ${statementMs};
  set idle_in_transaction_session_timeout = ${statementMs};
  set jit = off;
  set enable_seqscan = off;
  set plan_cache_mode = force_generic_plan`;

/** Resolves when the store answers. @throws the driver's error when it does not. */
export async function ping(db: Kysely<Schema>): Promise<void> {
  await sql`select 1`.execute(db);
}
