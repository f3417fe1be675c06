/** Reading the logs of runs in the store. Every function is one statement. */
import { type Kysely, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import type { StoredEntry } from './run-tail.ts';
import type { LogLine } from './thread-log.ts';

/** Entries of one run that one statement reads at most, and about how many bytes of them. */
const entriesMax = 200;
const bytesMax = 262_144;

/** Whose log is read, and from where. */
export interface LogQuestion {
  readonly runId: string;
  /** The entries after this place are read. */
  readonly after: number;
  /** Whether to tell of the run where it has no such entries. */
  readonly isDue: boolean;
}

/** What the store holds of a run's log. */
export interface LogNews {
  /** The next entries, without gaps. */
  readonly entries: readonly StoredEntry[];
  /** The log goes no further: the run is deleted, or has ended so long ago that its log is. */
  readonly isOver: boolean;
}

/** The next entries of each log; a run that is not due and has none is left out. */
export async function readRunLogs(
  db: Kysely<Schema>,
  questions: readonly LogQuestion[],
): Promise<ReadonlyMap<string, LogNews>> {
  const asked = questions.map(({ runId, after, isDue }) => ({ id: runId, after, due: isDue }));
  const { rows } = await sql<{
    readonly id: string;
    readonly state: string | null;
    readonly seq: number | null;
    readonly sort: number | null;
    readonly line: string | null;
  }>`
    select f.id, r.state, e.seq, e.sort, e.line
    from jsonb_to_recordset(${json(asked)}) as f(id uuid, after integer, due boolean)
    left join runs r on r.id = f.id
    left join lateral (
      select p.seq, p.sort, p.line, sum(octet_length(p.line)) over (order by p.seq) as bytes
      from (
        select l.seq, l.sort, l.line from run_log l
        where l.run_id = f.id and l.seq > f.after order by l.seq limit ${entriesMax}
      ) p
    ) e on coalesce(e.bytes, 0) - coalesce(octet_length(e.line), 0) < ${bytesMax}
    where e.seq is not null or f.due
    order by f.id, e.seq`.execute(db);
  const afters = new Map(questions.map(({ runId, after }) => [runId, after]));
  const found = new Map<string, { entries: StoredEntry[]; isOver: boolean }>();
  for (const { id, state, seq, sort, line } of rows) {
    const news = found.get(id) ?? { entries: [], isOver: false };
    found.set(id, news);
    const next = (news.entries.at(-1)?.seq ?? afters.get(id) ?? 0) + 1;
    // A log is swept as a whole; should a part of it be left, it is of no use.
    if (seq === null || sort === null) news.isOver = state !== 'running';
    else if (seq !== next) news.isOver = true;
    else news.entries.push(line === null ? { seq, text: null } : toLogLine(seq, sort, line));
  }
  return found;
}

/** A line of the log as readers get it. @param line the frame as JSON, as `chat/frames.ts` writes it: its id comes first. */
function toLogLine(seq: number, sort: number, line: string): LogLine {
  return {
    seq,
    sort,
    text: `${line}\n`,
    isControl: line.startsWith('{"id":"__'),
    isLast: line.startsWith('{"id":"__usage__"'),
  };
}
