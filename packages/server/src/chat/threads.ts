/** The threads of a user with an agent: listed, deleted. */
import type { Thread } from '@inlay/contract/chat.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { type KeysetSource, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import type { Agent } from './find-agent.ts';
import type { Runs } from './runs.ts';
import { type Asker, requireOwnThread } from './thread-store.ts';

interface Row {
  readonly id: string;
  readonly title: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Which threads are listed: of the asker in their scope with the agent. */
export interface ThreadsCall {
  readonly agent: Pick<Agent, 'id'>;
  readonly asker: Asker;
  readonly page: { readonly first: number; readonly after?: string | undefined };
}

/** One page, those written in last first. @throws InlayError INVALID_CURSOR */
export async function listThreads(
  { db }: { readonly db: Kysely<Schema> },
  { agent, asker, page }: ThreadsCall,
): Promise<Page<Thread>> {
  // Nobody has a thread: asked all the same, so that a bad cursor is told.
  const source = threadSource({ agentId: agent.id, userId: asker?.userId ?? 0, scopeId: asker?.scopeId ?? null });
  return keysetPage<Row, Thread, 'updatedAt'>(db, source, { ...page, sort: '-updatedAt' }, (row) => ({
    chatId: row.id,
    title: row.title,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }));
}

/** The rows of the list, in the order of the index `threads_listed`. */
function threadSource(of: {
  readonly agentId: number;
  readonly userId: number;
  readonly scopeId: number | null;
}): KeysetSource<'updatedAt'> {
  return {
    columns: sql`t.id, t.title, t.created_at, t.updated_at`,
    from: sql`threads t`,
    where: [
      sql`t.user_id = ${of.userId}`,
      sql`t.agent_id = ${of.agentId}`,
      sql`coalesce(t.embed_tenant_id, 0) = ${of.scopeId ?? 0}`,
    ],
    sorts: { updatedAt: { expression: sql`t.updated_at`, type: 'timestamp' } },
    id: { expression: sql`t.id`, type: 'uuid' },
  };
}

/** Which thread is deleted. */
export interface DeleteCall {
  readonly agent: Agent;
  readonly asker: Asker;
  readonly chatId: string;
}

/**
 * Deletes a thread with all that was said in it. A run in it is stopped first, so that who reads it sees that; one that does not
 * stop within a second finds its thread gone.
 * @throws InlayError NOT_FOUND unless it is the asker's thread, in their scope, with this agent.
 */
export async function deleteThread(
  { db, runs }: { readonly db: Kysely<Schema>; readonly runs: Pick<Runs, 'abort'> },
  { agent, asker, chatId }: DeleteCall,
): Promise<void> {
  const id = await requireOwnThread(db, agent, asker, chatId);
  await runs.abort(id);
  await db.deleteFrom('threads').where('id', '=', id).execute();
}
