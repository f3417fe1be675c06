/** Members as queries name them. */
import type { CubeMember, RelationMember } from './data-model.ts';

/** A member by its own name and words, reached by a path of cube names. */
export function relationMember(member: CubeMember, path: readonly string[]): RelationMember {
  const { name, title, description, synonyms, format, isPublic, meta } = member;
  return { name, title, description, synonyms, format, isPublic, meta, path, member };
}
