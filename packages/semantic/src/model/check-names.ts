/** Names that queries have to write in quotes, since they are words of SQL. */
import { reservedWords } from '../reserved-words.ts';
import type { DataModel } from './data-model.ts';
import type { Sources } from './read-sources.ts';

/** At most as many names of one cube or view are told. */
const toldMax = 10;

/** Warns of each public cube and view that is named by a word of SQL, or has members that are: `SELECT user` means something else. */
export function warnOfNames({ relations }: DataModel, { cubes, views }: Sources): void {
  for (const { name, type, isPublic, members } of relations.values()) {
    if (!isPublic) continue;
    const found = [name, ...members.keys()].filter((it) => reservedWords.has(it));
    if (found.length === 0) continue;
    const list =
      found
        .slice(0, toldMax)
        .map((it) => `"${it}"`)
        .join(', ') + (found.length > toldMax ? ' …' : '');
    const told = `queries of ${type} ${name} write ${list} in quotes, as shown: ${found.length === 1 ? 'it is a word' : 'they are words'} of SQL`;
    (type === 'view' ? views : cubes).get(name)?.report.warn(['name'], told);
  }
}
