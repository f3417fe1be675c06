/** Brings the store's tables up to date. The migrations are a list in the code, in the order in which they run. */
import type { Kysely } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import * as firstTables from './migrations/0001-first-tables.ts';
import * as scopesAndOperation from './migrations/0002-scopes-and-operation.ts';
import type { Schema } from './schema.ts';

/** Names sort in the order of the list, begin with a number, and never change once released. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-first-tables': firstTables,
  '0002-scopes-and-operation': scopesAndOperation,
};

/**
 * Runs the migrations that this store has not had, all or none: one transaction, under a lock of the database, so that
 * several processes may call it at once. Does nothing when there are none.
 * @returns the names of those that ran.
 * @throws the database's error; also when the store has had a migration that this version does not know.
 */
export async function migrate(db: Kysely<Schema>): Promise<readonly string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return results.map((result) => result.migrationName);
}
