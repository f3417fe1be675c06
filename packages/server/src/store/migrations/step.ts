/** What migrations are made of. */
import { type RawBuilder, sql } from 'kysely';

/**
 * A part of a migration that commits by itself, so that no lock is held for longer than the part takes. Doing it again does
 * nothing: a migration that a kill interrupted begins again with its first step.
 */
export type MigrationStep =
  /** Statements that are quick however many rows there are, all or none. It is tried again when it does not get its locks. */
  | { readonly kind: 'transaction'; readonly statements: readonly RawBuilder<unknown>[] }
  /** An index, built beside those who read and write the table. */
  | { readonly kind: 'index'; readonly name: string; readonly isUnique: boolean; readonly on: string };

/** A step of {@link MigrationStep}: keep it to one existing table, so that it never waits for one while it holds another. */
export function transaction(...statements: readonly RawBuilder<unknown>[]): MigrationStep {
  return { kind: 'transaction', statements };
}

/** An index on a table that may have many rows. `on` is what follows ON: `users (account_id, id)`. */
export function index(name: string, on: string): MigrationStep {
  return { kind: 'index', name, isUnique: false, on };
}

/** The same, unique. */
export function uniqueIndex(name: string, on: string): MigrationStep {
  return { kind: 'index', name, isUnique: true, on };
}

/** The statement that makes the index; `isBeside`: outside of a transaction, while others write. */
export function createIndex(
  { name, isUnique, on }: Extract<MigrationStep, { kind: 'index' }>,
  isBeside: boolean,
): RawBuilder<unknown> {
  return sql.raw(
    `create ${isUnique ? 'unique ' : ''}index ${isBeside ? 'concurrently ' : ''}if not exists ${name} on ${on}`,
  );
}
