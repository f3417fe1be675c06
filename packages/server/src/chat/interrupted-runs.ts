/** Runs that can not be carried on: those of version 0.1, which kept nothing to go on from. */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { json } from '../store/json.ts';
import { nodeIsGone } from '../store/node.ts';
import type { Schema } from '../store/schema.ts';
import { interrupted } from './end-causes.ts';
import type { RunFailure } from './frames.ts';

/**
 * Closes the runs that nodes of version 0.1 have left, of which nothing is known to carry them on: open messages keep what they
 * have, open tool calls get an error, runs are failed. Any node may call it at any time.
 * @returns how many runs were closed.
 */
export async function closeFirstRuns(db: Kysely<Schema>, leaseMs: number, now: Date): Promise<number> {
  const error: RunFailure = { ...interrupted, requestId: `req_${randomUUID()}` };
  const result = JSON.stringify({ error: { ...interrupted, hint: '' } });
  return db.transaction().execute(async (transaction) => {
    // First the runs: from here on nobody writes a message into one of them.
    const { rows } = await sql<{ readonly id: string; readonly thread_id: string }>`
      update runs set state = 'failed', error = ${json(error)}, ended_at = ${now}
      where state = 'running' and account_id is null and (node_id is null or ${nodeIsGone('runs.node_id', leaseMs)})
      returning id, thread_id`.execute(transaction);
    if (rows.length === 0) return 0;
    // By the thread as well, which is what messages are found by. The call of a tool is null on texts, and stays so.
    await sql`
      update messages m
      set is_in_process = false, tool_call = m.tool_call || jsonb_build_object('result', ${result}::text)
      from jsonb_to_recordset(${json(rows)}) as r(id uuid, thread_id uuid)
      where m.thread_id = r.thread_id and m.run_id = r.id and m.is_in_process`.execute(transaction);
    return rows.length;
  });
}
