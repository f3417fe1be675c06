import { sql } from 'kysely';
import { type MigrationStep, transaction } from './step.ts';

/** The size of each message beside it, so that a thread is measured, and cut into pages, without reading what it holds. */
export const messageBytes: readonly MigrationStep[] = [
  transaction(sql`alter table messages add column if not exists bytes integer`),
];
