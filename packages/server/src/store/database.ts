/** The store: one Kysely over PGlite in a folder or over PostgreSQL. The same SQL and migrations run on both. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { Kysely, PGliteDialect, PostgresDialect, sql } from 'kysely';
import { ConfigError, type StoreSettings } from '../config.ts';
import { reasonOf } from '../errors.ts';
import type { Schema } from './schema.ts';

/** Connections of one process to PostgreSQL; the server's own default limit is 100 for everybody. */
const connectionsMax = 20;
const connectTimeoutMs = 10_000;

/**
 * Opens the store; with PGlite it makes the database on first use. `destroy()` closes it. One process at a time may have a
 * PGlite folder open: hold the lock of the data folder.
 *
 * What "durable" means: PostgreSQL as its owner set it up. PGlite writes every commit to its files before it answers, so a
 * kill of this process loses nothing; but it never calls fsync, so a power cut may lose the last seconds. `onError` is told
 * of lost idle connections, which are not the failure of any one query.
 * @throws ConfigError when the store does not open or answer; the URL is not in it.
 */
export async function openDatabase(
  settings: StoreSettings,
  onError: (error: unknown) => void = () => undefined,
): Promise<Kysely<Schema>> {
  try {
    const dialect =
      settings.kind === 'embedded' ? await embedded(settings.folder) : await postgres(settings.url, onError);
    const db = new Kysely<Schema>({ dialect });
    await ping(db).catch(async (error: unknown) => {
      await db.destroy();
      throw error;
    });
    return db;
  } catch (cause) {
    const place = settings.kind === 'embedded' ? `in ${settings.folder}` : 'at DATABASE_URL';
    throw new ConfigError([`The store ${place} does not open: ${reasonOf(cause)}`], { cause });
  }
}

// Each driver is loaded only where it is used: PGlite alone costs a tenth of a second.
async function embedded(folder: string): Promise<PGliteDialect> {
  const { PGlite } = await import('@electric-sql/pglite');
  if (!existsSync(folder)) {
    // Made beside its place and renamed when whole: a kill in the middle leaves nothing that looks like a database.
    const temporary = `${folder}.new`;
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    await (await PGlite.create(temporary, { relaxedDurability: false })).close();
    await rename(temporary, folder);
  }
  return new PGliteDialect({ pglite: await PGlite.create(folder, { relaxedDurability: false }) });
}

async function postgres(url: string, onError: (error: unknown) => void): Promise<PostgresDialect> {
  const { Pool } = await import('pg');
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'inlay',
  });
  // Without a listener an idle connection that the server closes would end this process.
  pool.on('error', onError);
  return new PostgresDialect({ pool });
}

/** Resolves when the store answers. @throws the driver's error when it does not. */
export async function ping(db: Kysely<Schema>): Promise<void> {
  await sql`select 1`.execute(db);
}
