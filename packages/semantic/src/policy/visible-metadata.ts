/**
 * What one user may see of a data model, for people, agents and search. A member that is hidden from the user stands nowhere in it, in no
 * hierarchy, folder or list either.
 */
import type { DataModel, Folder, Hierarchy, Meta, Relation } from '../model/data-model.ts';
import type { FolderMetadata, HierarchyMetadata, MemberMetadata, RelationMetadata } from './metadata.ts';
import { type Rights, rightsOf } from './rights.ts';
import type { Subject } from './subject.ts';
import type { VisibleMember, VisibleMembers } from './visible-members.ts';

/** The data model as one subject may see it: views first, then cubes, in the order of the model's files. */
export function visibleMetadata(model: DataModel, subject: Subject): readonly RelationMetadata[] {
  const rights = rightsOf(model, subject);
  return [...model.relations.values()].flatMap((relation) => visibleRelation(relation, rights) ?? []);
}

/** One view or cube as it may be seen; null when nothing of it may. */
export function visibleRelation(relation: Relation, rights: Pick<Rights, 'visible'>): RelationMetadata | null {
  const visible = rights.visible(relation);
  if (visible.size === 0 || relation.type === 'joined') return null;
  const { name, type, title, description, synonyms } = relation;
  const memberNames = namesByMember(relation, visible);
  const hierarchies = relation.hierarchies.flatMap((it) => visibleLevels(it, relation, visible));
  const folders = relation.folders.flatMap((it) => visibleFolder(it, relation, visible));
  return {
    name,
    type,
    title,
    description,
    synonyms,
    members: [...visible.values()].map((member) => describeMember(relation, member, memberNames)),
    ...(hasEntries(relation.meta) ? { meta: relation.meta } : {}),
    ...(hierarchies.length > 0 ? { hierarchies } : {}),
    ...(folders.length > 0 ? { folders } : {}),
  };
}

function describeMember(
  relation: Relation,
  { member: shown, access }: VisibleMember,
  memberNames: ReadonlyMap<string, string>,
): MemberMetadata {
  const { member } = shown;
  const granularities = member.kind === 'dimension' ? [...member.granularities.values()] : [];
  const drillMembers = (member.kind === 'measure' ? member.drillMembers : []).flatMap(
    (it) => memberNames.get(`${it.cube}.${it.member}`) ?? [],
  );
  return {
    name: `${relation.name}.${shown.name}`,
    title: shown.title,
    description: shown.description,
    type: member.type,
    kind: member.kind,
    // What is made in several stages is a number to whoever asks for it.
    ...(member.kind === 'measure'
      ? { aggType: member.aggregation === 'multi_stage' ? 'number' : member.aggregation }
      : {}),
    synonyms: shown.synonyms,
    ...(shown.format === null ? {} : { format: shown.format }),
    ...(hasEntries(shown.meta) ? { meta: shown.meta } : {}),
    ...(access === 'masked' ? { isMasked: true } : {}),
    ...(member.kind === 'dimension' && member.isPrimaryKey ? { isPrimaryKey: true } : {}),
    ...(granularities.length > 0 ? { granularities } : {}),
    ...(drillMembers.length > 0 ? { drillMembers } : {}),
  };
}

/** By what name of the relation a member of a cube goes: the first, where a view has it twice. */
function namesByMember(relation: Relation, visible: VisibleMembers): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { member: shown } of visible.values()) {
    const key = `${shown.member.cube}.${shown.member.name}`;
    if (!names.has(key)) names.set(key, `${relation.name}.${shown.name}`);
  }
  return names;
}

function visibleLevels(
  { name, title, levels }: Hierarchy,
  relation: Relation,
  visible: VisibleMembers,
): HierarchyMetadata[] {
  const left = levels.filter((level) => visible.has(level)).map((level) => `${relation.name}.${level}`);
  return left.length === 0 ? [] : [{ name, title, levels: left }];
}

function visibleFolder({ name, members }: Folder, relation: Relation, visible: VisibleMembers): FolderMetadata[] {
  const left = members.flatMap((it): (string | FolderMetadata)[] => {
    if (typeof it !== 'string') return visibleFolder(it, relation, visible);
    return visible.has(it) ? [`${relation.name}.${it}`] : [];
  });
  return left.length === 0 ? [] : [{ name, members: left }];
}

const hasEntries = (meta: Meta): boolean => Object.keys(meta).length > 0;
