/** A run that is over, as the store holds it: its messages, and the lines that ended it. */
import type { Frame, Usage } from '@inlay/contract/chat.ts';
import type { Kysely, Selectable } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { abortedFrame, errorFrame, messageFrame, noUsage, type RunFailure, usageFrame } from './frames.ts';
import { messageColumns, toMessage } from './thread-store.ts';

/** How a run ended, or that it goes on. */
export type RunEnding = Pick<Selectable<Schema['runs']>, 'state' | 'usage' | 'error'>;

/** The control lines that ended a run, from this sort number up. */
export function endFrames({ state, error, usage }: RunEnding, sort: number): Frame[] {
  const end = usage ?? noUsage;
  if (state === 'aborted') return [abortedFrame(sort), usageFrame(end, sort + 1)];
  if (error !== null) return [errorFrame(error, sort), usageFrame(end, sort + 1)];
  return [usageFrame(end, sort)];
}

/** The lines that end a stream whose reader may not read on, or whose run is deleted. `usage` null: nothing is known of it. */
export function brokenOffFrames(failure: RunFailure, usage: Usage | null, sort: number): Frame[] {
  return [errorFrame(failure, sort), usageFrame(usage ?? noUsage, sort + 1)];
}

/** How the run ended, or that it goes on; undefined when it is deleted. */
export async function readEnding(db: Kysely<Schema>, runId: string): Promise<RunEnding | undefined> {
  return db.selectFrom('runs').select(['state', 'usage', 'error']).where('id', '=', runId).executeTakeFirst();
}

/** The messages of the run as whole lines, in order. */
export async function readRunMessages(db: Kysely<Schema>, runId: string): Promise<Frame[]> {
  const rows = await db
    .selectFrom('messages')
    .select(messageColumns)
    .where('run_id', '=', runId)
    .orderBy('sort')
    .execute();
  return rows.map((row) => messageFrame(toMessage(row)));
}
