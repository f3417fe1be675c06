/** What was asked and what was answered, and what the store may therefore hold. */
import type { KillCall, StoredParts } from './calls.ts';

/** A call that went out. Instants in milliseconds of one clock. */
interface Entry {
  readonly mark: number;
  readonly startedAt: number;
  /** Whether it was acknowledged; if not it may have happened or not, until `endedAt`. */
  isAcknowledged: boolean;
  endedAt: number;
}

/** The calls of a run, by the parts that they write. */
export interface History {
  /** Notes that a call goes out. @returns what notes that it was acknowledged. */
  begin(call: KillCall): () => void;
  /** From now on no call that is not acknowledged can still happen: whoever was to answer it is gone. */
  settle(): void;
  /** What cannot be, given the calls: lost, half-applied, or overwritten by an earlier one. */
  problemsOf(stored: StoredParts): readonly string[];
  /** Calls that were acknowledged. */
  readonly acknowledged: number;
}

/** Begins without any call. @param clock milliseconds; it never goes back. */
export function createHistory(clock: () => number = () => performance.now()): History {
  const parts = new Map<string, Entry[]>();
  const calls = new Map<number, KillCall>();
  let open: Entry[] = [];
  let acknowledged = 0;

  return {
    begin(call) {
      const entry: Entry = {
        mark: call.mark,
        startedAt: clock(),
        isAcknowledged: false,
        endedAt: Number.POSITIVE_INFINITY,
      };
      for (const part of call.parts) parts.set(part, [...(parts.get(part) ?? []), entry]);
      open.push(entry);
      calls.set(call.mark, call);
      return () => {
        entry.isAcknowledged = true;
        entry.endedAt = clock();
        acknowledged += 1;
      };
    },
    settle() {
      const now = clock();
      for (const entry of open) if (!entry.isAcknowledged) entry.endedAt = now;
      open = [];
    },
    problemsOf(stored) {
      const problems: string[] = [];
      for (const [part, entries] of parts) {
        const problem = problemOf(stored.get(part), entries);
        if (problem !== undefined) problems.push(`${part}: ${problem}`);
      }
      for (const part of stored.keys()) if (!parts.has(part)) problems.push(`${part}: nobody asked for it`);
      return [...problems, ...halfCalls(stored, calls)];
    },
    get acknowledged() {
      return acknowledged;
    },
  };
}

function problemOf(marks: readonly number[] | undefined, entries: readonly Entry[]): string | undefined {
  if (marks === undefined)
    return entries.some(({ isAcknowledged }) => isAcknowledged) ? 'an acknowledged call is lost' : undefined;
  const [mark, ...others] = new Set(marks);
  if (mark === undefined || others.length > 0 || mark < 0) return `half-applied: ${marks.join(' ')}`;
  const own = entries.filter((entry) => entry.mark === mark);
  if (own.length === 0) return `nobody wrote ${mark}`;
  // The last of the calls that wrote this: if even that one was followed by another, the other one is lost.
  const endedAt = Math.max(...own.map((entry) => entry.endedAt));
  const later = entries.find((entry) => entry.isAcknowledged && entry.mark !== mark && entry.startedAt > endedAt);
  return later === undefined ? undefined : `holds ${mark}, but ${later.mark} came after it and was acknowledged`;
}

/**
 * A profile is written by every call for its user. So the call whose mark it carries was the last one for the user, and the
 * rights that it wrote carry the same mark; the definitions beside them may be a later call's, of another user, but they are
 * there. And where rights or definitions are, there is the user of the call that wrote them.
 */
function halfCalls(stored: StoredParts, calls: ReadonlyMap<number, KillCall>): string[] {
  const problems: string[] = [];
  for (const [part, [mark = -1]] of stored) {
    const own = calls.get(mark)?.parts ?? [];
    const isProfile = part.startsWith('user ');
    for (const other of own) {
      const found = stored.get(other)?.[0];
      const isRight = isProfile && other.startsWith('rights ') ? found === mark : found !== undefined;
      if (!isRight) problems.push(`call ${mark} is half-applied: ${part}, but ${other}: ${found ?? 'missing'}`);
    }
  }
  return problems;
}
