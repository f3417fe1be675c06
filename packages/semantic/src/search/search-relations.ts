/** Full-text search over metadata. What is searched is what the subject may see, so nothing hidden shapes the result. */
import MiniSearch from 'minisearch';
import type { RelationMetadata } from '../policy/metadata.ts';
import { stem, wordsOf } from '../words.ts';

/** Relations in a search result. */
const relationsMax = 5;
/** Members of all indexes that are kept: those of a large model once, of a usual one for many kinds of users. */
const membersKeptMax = 50_000;

/**
 * The relations that hold a match, best first, each with all its members, so that the reader can combine them.
 * @returns an empty list when nothing matches
 */
export type SearchRelations = (
  relations: readonly RelationMetadata[],
  searchQuery: string,
) => readonly RelationMetadata[];

/** {@link SearchRelations} once. */
export const searchRelations: SearchRelations = (relations, searchQuery) =>
  find(indexOf(relations), relations, searchQuery);

/**
 * {@link SearchRelations} for many searches of many users in one data model: who sees the same members searches the same index. An
 * index takes some ten microseconds for each member to build, a search a few milliseconds at most.
 */
export function createRelationSearch(): SearchRelations {
  const kept = new Map<string, { readonly index: Index; readonly members: number }>();
  return (relations, searchQuery) => {
    // In one model a name stands for one title and description.
    const key = relations
      .map(({ name, members }) => `${name} ${members.map((member) => member.name).join(' ')}`)
      .join('\n');
    const known = kept.get(key);
    kept.delete(key);
    const members = relations.reduce((sum, relation) => sum + relation.members.length, 0);
    const entry = known ?? { index: indexOf(relations), members };
    kept.set(key, entry);
    let total = 0;
    for (const one of kept.values()) total += one.members;
    for (const [oldest, one] of kept) {
      if (total <= membersKeptMax || kept.size === 1) break;
      kept.delete(oldest);
      total -= one.members;
    }
    return find(entry.index, relations, searchQuery);
  };
}

interface Indexed {
  /** The place in the list of relations. */
  readonly id: number;
  readonly name: string;
  readonly members: string;
  readonly descriptions: string;
}
type Index = MiniSearch<Indexed>;

/** One entry for each relation, not for each member: a word that thousands of members have would make as many results. */
function indexOf(relations: readonly RelationMetadata[]): Index {
  const index: Index = new MiniSearch({
    fields: ['name', 'members', 'descriptions'],
    tokenize: wordsOf,
    processTerm: stem,
    searchOptions: {
      boost: { name: 4, members: 3 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      // A relation with many members is no worse for it.
      bm25: { k: 1.2, b: 0, d: 0.5 },
    },
  });
  for (const [id, relation] of relations.entries()) {
    index.add({
      id,
      name: namesOf(relation),
      members: relation.members.map(namesOf).join(' '),
      descriptions: [relation, ...relation.members].map(({ description }) => description).join(' '),
    });
  }
  return index;
}

const namesOf = ({ name, title, synonyms }: Pick<RelationMetadata, 'name' | 'title' | 'synonyms'>): string =>
  [name.slice(name.lastIndexOf('.') + 1), title, ...synonyms].join(' ');

const find = (index: Index, relations: readonly RelationMetadata[], searchQuery: string): readonly RelationMetadata[] =>
  index
    .search(searchQuery.slice(0, 1000))
    .slice(0, relationsMax)
    .flatMap(({ id }) => relations[Number(id)] ?? []);
