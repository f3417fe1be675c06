/** What waits to be written of one run, and what of it goes into the next statement. Pure. */
import type { Frame } from '@inlay/contract/chat.ts';
import type { AgentStep } from '../agent/agent-step.ts';
import { isControl, type Message } from './frames.ts';
import type { LogLine } from './thread-log.ts';
import type { LogRow, RunEnd, RunEntries } from './write-log.ts';

/** A line of a run, with the message that it closes, or the sort number of the one that it voids, if any. */
interface LineEntry {
  readonly frame: Frame;
  readonly closed: Message | null;
  readonly voided: number | null;
  readonly step: null;
}

/** Something that a run does: a line, or a step of the agent. */
export type LogEntry = LineEntry | { readonly frame: null; readonly step: AgentStep };

/** An entry that waits. */
export interface WaitingEntry {
  readonly entry: LogEntry;
  readonly end: RunEnd | null;
  /** It goes with the entry before, in one statement. */
  readonly isTied: boolean;
  readonly characters: number;
}

/** What of a run goes into one statement. */
export interface LogPart {
  readonly entries: Omit<RunEntries, 'run'>;
  /** For the readers, once it is durable. */
  readonly lines: readonly LogLine[];
  /** The last place in the log. */
  readonly seq: number;
  readonly characters: number;
  /** What waits still. */
  readonly rest: WaitingEntry[];
}

/**
 * Takes from the front of what waits, `charactersMax` of it and at least one entry, with all that are tied together.
 * @param after the place in the log after which it is written.
 */
export function takePart(waiting: readonly WaitingEntry[], after: number, charactersMax: number): LogPart {
  let count = 0;
  let characters = 0;
  for (const next of waiting) {
    if (count > 0 && !next.isTied && characters + next.characters > charactersMax) break;
    count += 1;
    characters += next.characters;
  }
  const rows: LogRow[] = [];
  const lines: LogLine[] = [];
  const closed = new Map<number, Message>();
  const voided = new Set<number>();
  let end: RunEnd | null = null;
  let seq = after;
  for (const { entry, end: own } of waiting.slice(0, count)) {
    seq += 1;
    end ??= own;
    if (entry.frame === null) {
      rows.push({ seq, sort: 0, line: null, step: entry.step });
      continue;
    }
    const { frame } = entry;
    const line = JSON.stringify(frame);
    rows.push({ seq, sort: frame.sort, line, step: null });
    lines.push({ seq, sort: frame.sort, text: `${line}\n`, isControl: isControl(frame), isLast: own !== null });
    if (entry.voided !== null) {
      closed.delete(entry.voided);
      voided.add(entry.voided);
    }
    if (entry.closed !== null) {
      // What is kept of it already is replaced.
      closed.set(entry.closed.sort, entry.closed);
      voided.delete(entry.closed.sort);
    }
  }
  const entries = { rows, closed: [...closed.values()], voided: [...voided], end };
  return { entries, lines, seq, characters, rest: waiting.slice(count) };
}

/** Two increments of one message as one; null when they are not that. */
export function merge(one: LogEntry, next: LogEntry): LogEntry | null {
  if (one.frame === null || next.frame === null || one.frame.id !== next.frame.id) return null;
  if (one.frame.isDelta !== true || next.frame.isDelta !== true) return null;
  if ((one.frame.thinking === undefined) !== (next.frame.thinking === undefined)) return null;
  const content = one.frame.content + next.frame.content;
  const thinking = one.frame.thinking === undefined ? undefined : one.frame.thinking + (next.frame.thinking ?? '');
  return { ...one, frame: { ...one.frame, content, ...(thinking === undefined ? {} : { thinking }) } };
}

/** About as long as it will be in the statement. */
export function charactersOf({ frame, step }: LogEntry): number {
  const envelope = 250;
  if (frame === null) return envelope + JSON.stringify(step).length;
  const { content, thinking = '', toolCall } = frame;
  return envelope + content.length + thinking.length + (toolCall?.input.length ?? 0) + (toolCall?.result?.length ?? 0);
}
