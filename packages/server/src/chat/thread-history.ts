/** The messages of a thread from the store, page by page, as fast as whoever reads them asks for more. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { toldBytesMax, toldMessagesMax } from './conversation.ts';
import type { Message } from './frames.ts';
import { messageColumns, storedBytes, toMessage } from './thread-store.ts';

/** Messages of one page at most, and bytes of them after which it ends; one message may be larger. */
const pageMessagesMax = 200;
const pageBytesMax = 262_144;

/** A message, and the run that it is of. */
export interface ThreadMessage extends Message {
  readonly runId: string;
}

/** Those of one run, or those of all others. */
export interface Part {
  readonly runId: string;
  readonly isOfRun: boolean;
}

/** What is read of a thread. */
export interface History {
  readonly threadId: string;
  /** The first page, where it has been read already. */
  readonly messages: readonly ThreadMessage[];
  /** Sort number up to which to read. What stands up to there may be replaced or go while it is read, but nothing comes in between. */
  readonly lastSort: number;
}

/** A row as a page gives it. */
export type MessageRow = Pick<Schema['messages'], 'run_id'> & Parameters<typeof toMessage>[0];

/** What of a thread a page is of: the messages after one place, up to another (its last one: null). */
interface PageQuestion {
  readonly threadId: string;
  readonly after: number;
  readonly upTo: number | null;
  readonly part: Part | null;
}

const columns = sql.join(messageColumns.map((column) => sql.ref(column)));

/** The next page as a JSON array of rows, in order; at least one where there are any. */
export function pageOf({ threadId, after, upTo, part }: PageQuestion): RawBuilder<readonly MessageRow[]> {
  const end = upTo === null ? sql`` : sql`and sort <= ${upTo}::integer`;
  const ofRun = part === null ? sql`` : sql`and (run_id = ${part.runId}::uuid) = ${part.isOfRun}::boolean`;
  // Summed over the sizes alone: what is too much for the page is not unpacked.
  return sql`(
    select coalesce(json_agg(m order by m.sort), '[]'::json) from (
      select run_id, ${columns} from (
        select n.*, sum(${storedBytes}) over (order by sort) - ${storedBytes} as before
        from (
          select run_id, bytes, ${columns} from messages where thread_id = ${threadId}::uuid and sort > ${after}::integer ${end} ${ofRun}
          order by sort limit ${pageMessagesMax}
        ) n
      ) w where before < ${pageBytesMax}
    ) m
  )`;
}

/**
 * The latest messages, as many as a run is told of (chat/conversation.ts), as a JSON array of rows, in order.
 * @param before only those before this sort number; null: all.
 * @param condition where it does not hold, none are read.
 */
export function latestOf(
  threadId: string,
  before: number | null,
  condition: RawBuilder<unknown>,
): RawBuilder<readonly MessageRow[]> {
  const those = sql`thread_id = ${threadId}::uuid ${before === null ? sql`` : sql`and sort < ${before}::integer`}`;
  return sql`(
    select coalesce(json_agg(m order by m.sort), '[]'::json) from (
      select run_id, ${columns} from (
        select n.*, sum(${storedBytes}) over (order by sort desc) - ${storedBytes} as behind
        from (select run_id, bytes, ${columns} from messages where ${those} and ${condition} order by sort desc limit ${toldMessagesMax}) n
      ) w where behind < ${toldBytesMax} or sort >= (select max(sort) from messages where ${those} and role = 'user')
    ) m
  )`;
}

/** The latest messages before one, as many as a run is told of, in order. */
export async function readLatest(db: Kysely<Schema>, threadId: string, before: number): Promise<Message[]> {
  const { rows } = await sql<{ readonly messages: readonly MessageRow[] }>`
    select ${latestOf(threadId, before, sql`true`)} as messages`.execute(db);
  return (rows[0]?.messages ?? []).map(toMessage);
}

/** The message that a row of a page holds. */
export function toThreadMessage(row: MessageRow): ThreadMessage {
  return { ...toMessage(row), runId: row.run_id };
}

/**
 * The messages in order, each once. A page is read when it is asked for; of the pages before nothing is kept.
 * @param part which of them; null: all.
 * @throws InlayError NOT_FOUND when the thread has been deleted meanwhile.
 */
export async function* readHistory(
  db: Kysely<Schema>,
  { threadId, messages, lastSort }: History,
  part: Part | null = null,
): AsyncGenerator<ThreadMessage, void, undefined> {
  let page = messages;
  let after = 0;
  while (true) {
    for (const message of page) {
      after = message.sort;
      if (part === null || (message.runId === part.runId) === part.isOfRun) yield message;
    }
    if (after >= lastSort) return;
    page = await readPage(db, { threadId, after, upTo: lastSort, part });
    // The last ones may have been made void since.
    if (page.length === 0) return;
  }
}

async function readPage(db: Kysely<Schema>, question: PageQuestion): Promise<readonly ThreadMessage[]> {
  const { rows } = await sql<{ readonly messages: readonly MessageRow[] }>`
    select ${pageOf(question)} as messages from threads t where t.id = ${question.threadId}::uuid`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new InlayError('NOT_FOUND', 'The chat thread has been deleted.');
  return row.messages.map(toThreadMessage);
}
