/** Full-text search over metadata. What is searched is what the subject may see, so nothing hidden shapes the result. */
import MiniSearch from 'minisearch';
import type { RelationMetadata } from '../policy/metadata.ts';
import { stem, wordsOf } from './words.ts';

/** Relations in a search result. */
const relationsMax = 5;

/**
 * The relations that hold a match, best first, each with all its members, so that the reader can combine them.
 * @returns an empty list when nothing matches
 */
export function searchRelations(
  relations: readonly RelationMetadata[],
  searchQuery: string,
): readonly RelationMetadata[] {
  const index = new MiniSearch<{ id: number; words: string; description: string; relation: number }>({
    fields: ['words', 'description'],
    storeFields: ['relation'],
    tokenize: wordsOf,
    processTerm: stem,
    searchOptions: {
      boost: { words: 3 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    },
  });
  let id = 0;
  for (const [relation, it] of relations.entries()) {
    for (const item of [it, ...it.members]) {
      const name = item.name.split('.').at(-1) ?? '';
      index.add({
        id: id++,
        relation,
        words: [name, item.title, ...item.synonyms].join(' '),
        description: item.description,
      });
    }
  }
  const scores = new Map<number, number>();
  for (const { relation, score } of index.search(searchQuery.slice(0, 1000))) {
    if (typeof relation === 'number') scores.set(relation, (scores.get(relation) ?? 0) + score);
  }
  return [...scores]
    .sort(([, one], [, other]) => other - one)
    .slice(0, relationsMax)
    .flatMap(([relation]) => relations[relation] ?? []);
}
