/** What one user may see of a data model, for people, agents and search. */

import type { DataModel } from '../model/data-model.ts';
import { visibleMembers } from './access-policy.ts';
import type { RelationMetadata } from './metadata.ts';
import type { Subject } from './subject.ts';

/** The data model as one subject may see it: views first, then cubes, in the order of the model's files. */
export function visibleMetadata(model: DataModel, subject: Subject): readonly RelationMetadata[] {
  return [...model.relations.values()].flatMap((relation): RelationMetadata[] => {
    const members = visibleMembers(model, relation, subject);
    if (members.length === 0) return [];
    const { name, type, title, description, synonyms } = relation;
    return [
      {
        name,
        type,
        title,
        description,
        synonyms,
        members: members.map(({ member, ...shown }) => ({
          name: `${name}.${shown.name}`,
          title: shown.title,
          description: shown.description,
          type: member.type,
          kind: member.kind,
          ...(member.kind === 'measure' ? { aggType: member.aggregation } : {}),
          synonyms: member.synonyms,
          ...(shown.format === null ? {} : { format: shown.format }),
        })),
      },
    ];
  });
}
