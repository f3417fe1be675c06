/** Names for hints: what was meant, and how to write it. */
import { reservedWords } from './reserved-words.ts';

/** The names most like a name that was not found, the nearest first; at most three, none when none is like it. */
export function nearNames(name: string, candidates: readonly string[]): readonly string[] {
  const wanted = name.toLowerCase().slice(0, 64);
  return (
    candidates
      .map((candidate) => ({ candidate, distance: nearness(wanted, candidate.toLowerCase()) }))
      // A name that shares nothing with what was written is no hint.
      .filter(({ distance }) => distance <= Math.max(2, wanted.length / 3) && distance < wanted.length)
      .sort((one, other) => one.distance - other.distance || one.candidate.localeCompare(other.candidate, 'en'))
      .slice(0, 3)
      .map(({ candidate }) => candidate)
  );
}

/** A hint such as `Closest: channel, channels`: the names most like a name that was not found; empty when none is. */
export function closestNames(name: string, candidates: readonly string[]): string {
  const near = nearNames(name, candidates);
  return near.length === 0 ? '' : `Closest: ${near.map(asWritten).join(', ')}`;
}

/** A name as it has to be written in SQL: one with capitals needs quotes, or it is read in small letters, and so does a word of SQL. */
export const asWritten = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reservedWords.has(name) ? name : `"${name}"`;

/** The number of edits from one to the other; a name that holds the other is nearly as near as one that is an edit away. */
function nearness(wanted: string, candidate: string): number {
  const isHeld =
    (wanted.length > 3 && candidate.includes(wanted)) || (candidate.length > 3 && wanted.includes(candidate));
  let row = Array.from({ length: candidate.length + 1 }, (_, index) => index);
  for (let i = 1; i <= wanted.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= candidate.length; j += 1) {
      const substitution = (row[j - 1] ?? 0) + (wanted[i - 1] === candidate[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  const edits = row.at(-1) ?? candidate.length;
  return isHeld ? Math.min(edits, 1.5) : edits;
}
