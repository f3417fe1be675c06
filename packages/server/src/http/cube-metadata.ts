/**
 * Metadata as clients of Cube's API read them (`@cubejs-client/core`): what a user may see → the cubes of `/meta`, and what describes the
 * columns of a result.
 */
import type { CustomGranularity } from '@inlay/semantic/model/data-model.ts';
import type { FolderMetadata, MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import type { LoadedQuery } from '../query/load-data.ts';

/** A view or cube of `/meta`. */
export function cubeOf(relation: RelationMetadata) {
  const { name, type, title, description, meta, members, hierarchies = [], folders = [] } = relation;
  const of = (kind: MemberMetadata['kind']): readonly MemberMetadata[] => members.filter((it) => it.kind === kind);
  const base = (member: MemberMetadata) => ({ ...memberOf(relation, member), ...seen });
  return {
    name,
    type,
    title,
    ...(description === '' ? {} : { description }),
    ...seen,
    ...(meta === undefined ? {} : { meta }),
    measures: of('measure').map((it) => ({
      ...base(it),
      aggType: it.aggType ?? 'number',
      cumulative: false,
      cumulativeTotal: false,
      ...drillOf(relation, it),
    })),
    dimensions: of('dimension').map((it) => ({
      ...base(it),
      suggestFilterValues: it.isMasked !== true,
      ...(it.isPrimaryKey === true ? { primaryKey: true } : {}),
      ...(it.granularities === undefined ? {} : { granularities: it.granularities.map(granularityOf) }),
    })),
    segments: of('segment').map(base),
    hierarchies: hierarchies.map((it) => ({ ...it, public: true })),
    folders: folders.map((it) => ({ name: it.name, members: flat(it) })),
    nestedFolders: folders,
  };
}

const seen = { isVisible: true, public: true } as const;

const flat = ({ members }: FolderMetadata): readonly string[] =>
  members.flatMap((it) => (typeof it === 'string' ? [it] : flat(it)));

function memberOf(relation: RelationMetadata, member: MemberMetadata) {
  const { name, title, description, type, format, meta, isMasked } = member;
  return {
    name,
    title: `${relation.title} ${title}`,
    shortTitle: title,
    ...(description === '' ? {} : { description }),
    type,
    ...(format === undefined ? {} : { format }),
    ...(meta === undefined ? {} : { meta }),
    ...(isMasked === true ? { isMasked } : {}),
  };
}

function drillOf(relation: RelationMetadata, { drillMembers = [] }: MemberMetadata) {
  const kinds = new Map(relation.members.map(({ name, kind }) => [name, kind]));
  const of = (kind: MemberMetadata['kind']) => drillMembers.filter((name) => kinds.get(name) === kind);
  return { drillMembers, drillMembersGrouped: { measures: of('measure'), dimensions: of('dimension') } };
}

function granularityOf({ name, title, interval: { months, days, seconds }, origin }: CustomGranularity) {
  const parts = [
    ...(months === 0 ? [] : [`${months} months`]),
    ...(days === 0 ? [] : [`${days} days`]),
    ...(seconds === 0 ? [] : [`${seconds} seconds`]),
  ];
  return { name, title, interval: parts.join(' '), origin };
}

/** What describes one member in a result. */
interface Annotation {
  readonly title: string;
  readonly shortTitle: string;
  readonly type: string;
  readonly [more: string]: unknown;
}

/** What describes the columns and segments of a result, by their names in it. */
export interface Annotations {
  readonly measures: Readonly<Record<string, Annotation>>;
  readonly dimensions: Readonly<Record<string, Annotation>>;
  readonly segments: Readonly<Record<string, Annotation>>;
  readonly timeDimensions: Readonly<Record<string, Annotation>>;
}

/** Describes the columns of a query. @param relations the views and cubes that it names, as the user sees them */
export function annotationsOf(
  { columns, segments }: Pick<LoadedQuery, 'columns' | 'segments'>,
  relations: ReadonlyMap<string, RelationMetadata>,
): Annotations {
  const annotations: Record<keyof Annotations, Record<string, Annotation>> = {
    measures: {},
    dimensions: {},
    segments: {},
    timeDimensions: {},
  };
  const find = (relationName: string, name: string) => {
    const relation = relations.get(relationName);
    const member = relation?.members.find((it) => it.name === `${relationName}.${name}`);
    return relation === undefined || member === undefined ? null : { relation, member };
  };
  for (const { key, relation: relationName, member: shown, granularity } of columns) {
    const found = find(relationName, shown.name);
    if (found === null) continue;
    const { relation, member } = found;
    const { name, ...described } = memberOf(relation, member);
    if (member.kind === 'measure') annotations.measures[key] = { ...described, ...drillOf(relation, member) };
    else if (granularity === null) annotations.dimensions[key] = described;
    else {
      const declared = member.granularities?.find((it) => it.name === granularity);
      const unit =
        declared === undefined
          ? { name: granularity, title: granularity, interval: `1 ${granularity}` }
          : granularityOf(declared);
      annotations.timeDimensions[key] = { ...described, granularity: unit };
      annotations.timeDimensions[name] ??= described;
    }
  }
  for (const { relation: relationName, member: shown } of segments) {
    const found = find(relationName, shown.name);
    if (found === null) continue;
    const { name, ...described } = memberOf(found.relation, found.member);
    annotations.segments[name] = described;
  }
  return annotations;
}
