/** A thread as it stands at one moment, with the run that goes on in it: what a reader begins with. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { messageFrame, toHistory } from './frames.ts';
import { type History, type MessageRow, pageOf, readHistory, toThreadMessage } from './thread-history.ts';
import { messageColumns, toMessage } from './thread-store.ts';

/** The run that goes on in a thread. */
export interface RunningRun {
  readonly id: string;
  /** Its messages that are not closed yet, each whole as its content so far, in order. */
  readonly open: readonly Frame[];
  /** The place in its log up to which its messages are in the snapshot. Control lines stand after it: they are never history. */
  readonly upTo: number;
}

/**
 * All of it as of one instant, but for the closed messages behind the first page, which are read on from the store. They do not
 * change; where a run that is carried on makes one void, its log says so behind `upTo`.
 */
export interface ThreadSnapshot extends History {
  readonly running: RunningRun | null;
}

/** What of the history a reader has been told. Grows while it is told. */
export interface Told {
  /** The messages that the reader has open. */
  readonly open: Frame[];
  /** The sort numbers of closed messages that had been made void when their page was read: told by the log only. */
  readonly missing: number[];
}

interface Row {
  readonly messages: readonly MessageRow[];
  readonly last_sort: number;
  readonly run_id: string | null;
  readonly open_lines: readonly string[];
  readonly open_messages: readonly MessageRow[];
  readonly up_to: number | null;
}

const columns = sql.join(messageColumns.map((column) => sql.ref(column)));

/** One statement, so that nothing is missed or seen twice between its parts. @throws InlayError NOT_FOUND */
export async function readThread(db: Kysely<Schema>, threadId: string): Promise<ThreadSnapshot> {
  // Version 0.1 keeps messages in process beside the others: those of a run without an account.
  const { rows } = await sql<Row>`
    select r.id as run_id, ${pageOf({ threadId, after: 0, upTo: null, part: null })} as messages,
      (select coalesce(max(sort), 0) from messages where thread_id = t.id) as last_sort,
      (
        select coalesce(json_agg(l.line order by l.seq), '[]'::json)
        from run_log l
        where l.run_id = r.id and l.line is not null and not starts_with(l.line, '{"id":"__')
          and not exists (select 1 from messages m where m.thread_id = t.id and m.sort = l.sort)
      ) as open_lines,
      (
        select coalesce(json_agg(m order by m.sort), '[]'::json)
        from (
          select run_id, ${columns} from messages where r.account_id is null and run_id = r.id and is_in_process
        ) m
      ) as open_messages,
      (
        select l.seq from run_log l
        where l.run_id = r.id and l.line is not null and not starts_with(l.line, '{"id":"__')
        order by l.seq desc limit 1
      ) as up_to
    from threads t left join runs r on r.thread_id = t.id and r.state = 'running'
    where t.id = ${threadId}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  const history = { threadId, messages: row.messages.map(toThreadMessage), lastSort: row.last_sort };
  if (row.run_id === null) return { ...history, running: null };
  const lines = toHistory(row.open_lines.map((line) => frameSchema.parse(JSON.parse(line))));
  const open = [...lines, ...row.open_messages.map((message) => messageFrame(toMessage(message)))];
  open.sort((one, other) => one.sort - other.sort);
  return { ...history, running: { id: row.run_id, open, upTo: row.up_to ?? 0 } };
}

/** The highest sort number in the snapshot. */
export function highestSort({ lastSort, running }: ThreadSnapshot): number {
  return Math.max(lastSort, running?.open.at(-1)?.sort ?? 0);
}

/**
 * The thread as history: each message once, whole, in order; one that was still being written as its content at that moment, also
 * where it has been closed since, since its log goes on from there.
 * @param without the run whose messages are left out; null: none is.
 * @throws InlayError NOT_FOUND when the thread has been deleted meanwhile.
 */
export async function* historyOf(
  db: Kysely<Schema>,
  thread: ThreadSnapshot,
  told: Told,
  without: string | null = null,
): AsyncGenerator<Frame, void, undefined> {
  const part = without === null ? null : { runId: without, isOfRun: false };
  const open = thread.running?.open ?? [];
  const openSorts = new Set(open.map(({ sort }) => sort));
  let [place, openPlace] = [0, 0];

  /** What is open before a sort number. */
  function* openBefore(sort: number): Generator<Frame> {
    for (let frame = open[openPlace]; frame !== undefined && frame.sort < sort; frame = open[openPlace]) {
      openPlace += 1;
      told.open.push(frame);
      yield frame;
    }
  }
  const passOver = (upTo: number): void => {
    for (place += 1; place < upTo; place += 1) if (!openSorts.has(place)) told.missing.push(place);
  };

  for await (const message of readHistory(db, thread, part)) {
    if (part === null) passOver(message.sort);
    if (openSorts.has(message.sort)) continue;
    yield* openBefore(message.sort);
    yield messageFrame(message);
  }
  if (part === null) passOver(thread.lastSort + 1);
  yield* openBefore(Number.POSITIVE_INFINITY);
}
