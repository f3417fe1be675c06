/** A thread as it stands at one moment, with the run that goes on in it: what a reader begins with. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { type Message, messageFrame, toHistory } from './frames.ts';
import { messageColumns, toMessage } from './thread-store.ts';

/** A message, and the run that it is of. */
export interface ThreadMessage extends Message {
  readonly runId: string;
}

/** The run that goes on in a thread. */
export interface RunningRun {
  readonly id: string;
  /** Whose credential began it; it ends with that one. */
  readonly sessionId: string | null;
  readonly apiKeyId: number | null;
  /** Its messages that are not closed yet, each whole as its content so far. */
  readonly open: readonly Frame[];
  /** The place in its log up to which its messages are in the snapshot. Control lines stand after it: they are never history. */
  readonly upTo: number;
}

/** All of it as of one instant. */
export interface ThreadSnapshot {
  /** The closed messages, in order. */
  readonly messages: readonly ThreadMessage[];
  readonly running: RunningRun | null;
}

type MessageRow = Pick<Schema['messages'], 'run_id'> & Parameters<typeof toMessage>[0];

interface Row {
  readonly messages: readonly MessageRow[];
  readonly run_id: string | null;
  readonly session_id: string | null;
  readonly api_key_id: number | null;
  readonly open_lines: readonly string[];
  readonly up_to: number | null;
}

const columns = sql.join(messageColumns.map((column) => sql.ref(column)));

/** One statement, so that nothing is missed or seen twice between its parts. @throws InlayError NOT_FOUND */
export async function readThread(db: Kysely<Schema>, threadId: string): Promise<ThreadSnapshot> {
  const { rows } = await sql<Row>`
    select r.id as run_id, r.session_id, r.api_key_id,
      (
        select coalesce(json_agg(m order by m.sort), '[]'::json)
        from (select run_id, ${columns} from messages where thread_id = t.id) m
      ) as messages,
      (
        select coalesce(json_agg(l.line order by l.seq), '[]'::json)
        from run_log l
        where l.run_id = r.id and l.line is not null and not starts_with(l.line, '{"id":"__')
          and not exists (select 1 from messages m where m.thread_id = t.id and m.sort = l.sort)
      ) as open_lines,
      (
        select l.seq from run_log l
        where l.run_id = r.id and l.line is not null and not starts_with(l.line, '{"id":"__')
        order by l.seq desc limit 1
      ) as up_to
    from threads t left join runs r on r.thread_id = t.id and r.state = 'running'
    where t.id = ${threadId}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new InlayError('NOT_FOUND', 'Chat thread not found.');
  const messages = row.messages.map((message) => ({ ...toMessage(message), runId: message.run_id }));
  if (row.run_id === null) return { messages, running: null };
  const open = toHistory(row.open_lines.map((line) => frameSchema.parse(JSON.parse(line))));
  const running = {
    id: row.run_id,
    sessionId: row.session_id,
    apiKeyId: row.api_key_id,
    open,
    upTo: row.up_to ?? 0,
  };
  return { messages, running };
}

/** The thread as history: each message once, whole, in order; one that is still being written as its content so far. */
export function historyOf({ messages, running }: ThreadSnapshot): Frame[] {
  return [...messages.map(messageFrame), ...(running?.open ?? [])].sort((one, other) => one.sort - other.sort);
}
