/** Fresh, migrated databases for test files: copies of the templates that the global setup makes once. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely, LogEvent } from 'kysely';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { Config } from '../src/config.ts';
import type { Changes } from '../src/store/changes.ts';
import { openDatabase, openStore } from '../src/store/database.ts';
import { openPostgresChanges } from '../src/store/open-changes.ts';
import type { Schema } from '../src/store/schema.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL that runs for the tests; append a database name. */
    postgresBaseUrl: string;
    /** A PGlite folder, migrated and closed, to copy. */
    pgliteTemplateFolder: string;
    /** The Parquet files of the storefront example. Read only. */
    demoDataFolder: string;
    /** A copy of its data model that lies in no git repository. Read only. */
    demoModelFolder: string;
  }
}

/** The PostgreSQL database that new ones are copied from. */
export const templateDatabase = 'inlay_template';

/** Both kinds of store, for `describe.each`. */
export const databaseKinds = ['pglite', 'postgres'] as const;
/** One of {@link databaseKinds}. */
export type DatabaseKind = (typeof databaseKinds)[number];

/** A database of one's own. */
export interface TestDatabase {
  readonly db: Kysely<Schema>;
  /** Opens the same database from elsewhere (PGlite: only after `db.destroy()`). */
  readonly store: Config['store'];
  /** Listens for changes; with PostgreSQL on one more connection. Closed with the database, or before. */
  openChanges(): Promise<Changes>;
  /** Closes `db` and deletes the database. */
  close(): Promise<void>;
}

/**
 * A fresh, migrated, empty database. With PGlite all queries share one connection: inside a transaction use the transaction
 * only, a query on `db` there would wait for ever. `onStatement` is told of every statement once it is done.
 */
export async function openTestDatabase(
  kind: DatabaseKind,
  onStatement?: (statement: LogEvent) => void,
): Promise<TestDatabase> {
  return kind === 'pglite' ? openPglite(onStatement) : openPostgres(onStatement);
}

async function openPglite(onStatement?: (statement: LogEvent) => void): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-pglite-'));
  await cp(inject('pgliteTemplateFolder'), folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const store: Config['store'] = { kind: 'embedded', folder };
  const opened = await openStore(store, () => undefined, onStatement);
  const { db, changes } = opened;
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  return { db, store, openChanges: async () => changes, close };
}

async function openPostgres(onStatement?: (statement: LogEvent) => void): Promise<TestDatabase> {
  const baseUrl = inject('postgresBaseUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runStatement(`${baseUrl}postgres`, `create database ${name} template ${templateDatabase} strategy file_copy`);
  const store = { kind: 'postgres', url: baseUrl + name } as const;
  const db = await openDatabase(store, undefined, onStatement);
  const listening = new AsyncDisposableStack();
  const openChanges = async (): Promise<Changes> => listening.use(openPostgresChanges(store.url));
  const close = async (): Promise<void> => {
    await listening.disposeAsync();
    await db.destroy();
    await runStatement(`${baseUrl}postgres`, `drop database ${name} with (force)`);
  };
  return { db, store, openChanges, close };
}

/** Runs one statement of the tests' own on a connection of its own. */
export async function runStatement(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
