/** What the loader reads of `meta`, which is free otherwise. */
import type { Meta } from './data-model.ts';
import type { Reporter } from './report.ts';

/** `meta.synonyms`: a list of other words for a thing, or one of them. */
export function synonymsOf(meta: Meta | undefined, report: Reporter): readonly string[] {
  const given = meta?.['synonyms'];
  if (given === undefined || given === null) return [];
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  return list.flatMap((word, index) => {
    if (typeof word === 'string') return [word];
    if (typeof word === 'number') return [String(word)];
    report.error(['meta', 'synonyms', ...(Array.isArray(given) ? [index] : [])], 'synonyms are texts');
    return [];
  });
}
