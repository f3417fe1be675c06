import { sql } from 'kysely';
import { type MigrationStep, transaction } from './step.ts';

/**
 * What runs say is not compressed in their logs: they are swept minutes after the end of the run, and of a long answer compressing
 * took more time than all the rest of writing it. What is there already stays as it is.
 */
export const logStorage: readonly MigrationStep[] = [
  transaction(sql`alter table run_log alter column line set storage external, alter column step set storage external`),
];
