/**
 * The copy that an answer has to be equal to: the model without policies, in which each cube holds only the rows that the rules admit
 * for this query, masked values are replaced and hidden members are gone. Which rows these are comes from the rules written a second
 * time (policy-reference.ts), by their ids; none of the library's own policies has a part in it.
 */
import type {
  Cube,
  CubeMember,
  DataModel,
  Dimension,
  Measure,
  Relation,
  RelationMember,
  Segment,
  SqlPart,
  SqlTemplate,
} from '../../../src/model/data-model.ts';
import type { World } from './world.ts';

/** What the rules leave of a cube for one block. */
export interface CubeRows {
  readonly ids: readonly number[];
  /** Of masked members, the ids of the rows in which the mask is shown. */
  readonly masked: ReadonlyMap<string, readonly number[]>;
  /** Measures and choices. */
  readonly maskedMeasures: ReadonlySet<string>;
}

/** What one block's copy is made of. */
export interface CopyRequest {
  readonly model: DataModel;
  readonly world: World;
  /** Put before every name, so that copies stand side by side. */
  readonly prefix: string;
  readonly rows: ReadonlyMap<string, CubeRows>;
  /** Whether the user may name a member of a relation. */
  isVisible(relation: string, member: string): boolean;
  /** Members of the block's relation that are wanted unmasked as `real_<name>`, and as their mask alone as `mask_<name>`. */
  readonly extras: {
    readonly relation: string;
    readonly real: readonly string[];
    readonly masks: readonly string[];
    /** Members that are their mask by this name of the relation, and as they are by others. */
    readonly replaced: ReadonlySet<string>;
  };
}

const text = (sql: string): SqlPart => ({ kind: 'text', text: sql });
const idList = (ids: readonly number[], alias: string): string =>
  ids.length === 0 ? '1 = 0' : `${alias}.id IN (${ids.join(', ')})`;

/** The cubes and relations of a copy. */
export function copyOf(request: CopyRequest): DataModel {
  const { model, prefix } = request;
  const cubes = new Map<string, Cube>();
  for (const cube of model.cubes.values()) {
    const copy = copyCube(cube, request);
    cubes.set(`${prefix}${cube.name}`, copy);
  }
  const relations = new Map<string, Relation>();
  for (const relation of model.relations.values()) {
    relations.set(`${prefix}${relation.name}`, copyRelation(relation, cubes, request));
  }
  return { cubes, relations };
}

/** Several copies as one model. */
export const together = (copies: readonly DataModel[]): DataModel => ({
  cubes: new Map(copies.flatMap(({ cubes }) => [...cubes])),
  relations: new Map(copies.flatMap(({ relations }) => [...relations])),
});

const renamed = (sql: SqlTemplate, prefix: string): SqlTemplate =>
  sql.map((part) =>
    part.kind === 'cube' || part.kind === 'member' ? { ...part, cube: `${prefix}${part.cube}` } : part,
  );

/** A template of joins, keys and filters, which read what is there. */
const realTemplate = (sql: SqlTemplate, prefix: string): SqlTemplate =>
  renamed(sql, prefix).map((part) => (part.kind === 'member' ? { ...part, member: `real_${part.member}` } : part));

function copyCube(cube: Cube, { prefix, rows }: CopyRequest): Cube {
  const left = rows.get(cube.name) ?? { ids: [], masked: new Map(), maskedMeasures: new Set() };
  const flags = [...left.masked].map(
    ([name, ids]) => `CASE WHEN ${idList(ids, 't')} THEN 1 ELSE 0 END AS hides_${name}`,
  );
  const members = new Map<string, CubeMember>();
  for (const member of cube.members.values()) {
    for (const made of copyMember(member, left, prefix)) members.set(made.name, made);
  }
  const primaryKey = cube.primaryKey.flatMap(({ name }) => {
    const key = members.get(`real_${name}`);
    return key?.kind === 'dimension' ? [key] : [];
  });
  return {
    ...cube,
    name: `${prefix}${cube.name}`,
    source: `(SELECT ${['t.*', ...flags].join(', ')} FROM ${cube.source} AS t WHERE ${idList(left.ids, 't')})`,
    joins: new Map(
      [...cube.joins].map(([target, join]) => [
        `${prefix}${target}`,
        { ...join, target: `${prefix}${join.target}`, sql: realTemplate(join.sql, prefix) },
      ]),
    ),
    members,
    primaryKey,
    policy: null,
  };
}

function copyMember(member: CubeMember, left: CubeRows, prefix: string): readonly CubeMember[] {
  const cube = `${prefix}${member.cube}`;
  if (member.kind === 'measure') {
    const mask = maskedMeasure(member, prefix);
    return left.maskedMeasures.has(member.name)
      ? [...mask, ...maskedMeasure(member, prefix, member.name)]
      : [copyMeasure(member, prefix), ...mask];
  }
  const isMasked = left.masked.has(member.name);
  const shown = (inner: SqlTemplate): SqlTemplate => [
    text('CASE WHEN '),
    { kind: 'cube', cube },
    text(`.hides_${member.name} = 1 THEN `),
    ...maskParts(member, prefix),
    text(' ELSE ('),
    ...inner,
    text(') END'),
  ];
  const masksAlone: SqlTemplate = [
    text('CASE WHEN '),
    { kind: 'cube', cube },
    text('.id IS NOT NULL THEN '),
    ...maskParts(member, prefix),
    text(' END'),
  ];
  if (member.kind === 'segment') {
    const sql = renamed(member.sql, prefix);
    const copy: Segment = { ...member, cube, sql: isMasked ? shown(sql) : sql };
    return [copy, { ...copy, name: `mask_${member.name}`, sql: masksAlone }];
  }
  const { source } = member;
  const raw: Dimension = {
    ...member,
    cube,
    name: `raw_${member.name}`,
    isPublic: true,
    mask: null,
    source:
      source.kind === 'sql'
        ? { ...source, sql: renamed(source.sql, prefix) }
        : source.kind === 'sub-query'
          ? { ...source, cube: `${prefix}${source.cube}` }
          : source.kind === 'geo'
            ? { ...source, latitude: renamed(source.latitude, prefix), longitude: renamed(source.longitude, prefix) }
            : source,
  };
  // A choice that is masked is its mask, and no choice any more.
  const isMaskAlone = left.maskedMeasures.has(member.name);
  const reading: SqlTemplate = [{ kind: 'member', cube, member: raw.name }];
  const copy: Dimension = {
    ...raw,
    name: member.name,
    isPrimaryKey: false,
    source: isMasked || isMaskAlone ? { kind: 'sql', sql: isMaskAlone ? masksAlone : shown(reading) } : raw.source,
  };
  const maskOnly: Dimension = {
    ...copy,
    name: `mask_${member.name}`,
    source: { kind: 'sql', sql: masksAlone },
  };
  const real: Dimension = {
    ...raw,
    name: `real_${member.name}`,
    source: source.kind === 'sql' ? { ...source, sql: realTemplate(source.sql, prefix) } : raw.source,
  };
  return [real, raw, copy, maskOnly];
}

/** Nulls that have a type, where nothing beside them gives them one; a masked time always stands beside one. */
const nulls = {
  number: 'NULLIF(1, 1)',
  string: "NULLIF('', '')",
  boolean: 'NULLIF(TRUE, TRUE)',
  time: 'NULL',
} as const;

function maskParts({ mask, type, cube }: Dimension | Segment, prefix: string): SqlTemplate {
  if (mask?.kind === 'sql') return renamed(mask.sql, prefix);
  const value = mask?.value ?? null;
  if (value === null) return [text(nulls[type])];
  if (typeof value === 'string') return [{ kind: 'literal', value }];
  if (cube === '' || type === 'string') throw new Error('a mask of another type');
  return [text(String(value).toUpperCase())];
}

/** A masked measure is its mask, for the groups that its own rows are in. */
function maskedMeasure(measure: Measure, prefix: string, name = `mask_${measure.name}`): readonly Measure[] {
  const cube = `${prefix}${measure.cube}`;
  const nothing: Measure = {
    ...measure,
    cube,
    name: `nothing_${name}`,
    isPublic: false,
    aggregation: 'max',
    sql: [text('CASE WHEN 1 = 0 THEN 1 END')],
    filters: [],
    rollingWindow: null,
    type: 'number',
  };
  const value = measure.mask?.kind === 'literal' ? measure.mask.value : null;
  const reading: SqlPart = { kind: 'member', cube, member: nothing.name };
  const sql: SqlTemplate = value === null ? [reading] : [text('COALESCE('), reading, text(`, ${String(value)})`)];
  return [nothing, { ...measure, cube, name, aggregation: 'number', sql, type: 'number' }];
}

/** A measure over the copies of what it reads. */
function copyMeasure(measure: Measure, prefix: string): Measure {
  const cube = `${prefix}${measure.cube}`;
  switch (measure.aggregation) {
    case 'number':
      return { ...measure, cube, sql: renamed(measure.sql, prefix) };
    case 'multi_stage': {
      const named = <T extends { readonly cube: string }>(it: T): T => ({ ...it, cube: `${prefix}${it.cube}` });
      const { sql } = measure;
      return {
        ...measure,
        cube,
        sql:
          'cases' in sql
            ? {
                switch: named(sql.switch),
                cases: sql.cases.map((it) => ({ ...it, sql: renamed(it.sql, prefix) })),
                otherwise: renamed(sql.otherwise, prefix),
              }
            : renamed(sql, prefix),
        grain:
          measure.grain.kind === 'query'
            ? measure.grain
            : { ...measure.grain, dimensions: measure.grain.dimensions.map(named) },
        timeShifts: measure.timeShifts.map((shift) => ({
          ...shift,
          timeDimension: shift.timeDimension === null ? null : named(shift.timeDimension),
        })),
      };
    }
    case 'number_agg':
      return { ...measure, cube, sql: renamed(measure.sql, prefix) };
    default:
      return {
        ...measure,
        cube,
        sql: measure.sql === null ? null : renamed(measure.sql, prefix),
        filters: measure.filters.map((sql) => renamed(sql, prefix)),
      };
  }
}

function copyRelation(relation: Relation, cubes: ReadonlyMap<string, Cube>, request: CopyRequest): Relation {
  const { prefix, extras } = request;
  const named = (path: readonly string[]) => path.map((cube) => `${prefix}${cube}`);
  const members = new Map<string, RelationMember>();
  const add = (from: RelationMember, name: string, memberName: string, isPublic: boolean) => {
    const member = cubes.get(`${prefix}${from.member.cube}`)?.members.get(memberName);
    if (member !== undefined) members.set(name, { ...from, name, path: named(from.path), member, isPublic });
  };
  for (const it of relation.members.values()) {
    const isReplaced = relation.name === extras.relation && extras.replaced.has(it.name);
    const shown = isReplaced ? `mask_${it.member.name}` : it.member.name;
    add(it, it.name, shown, it.isPublic && request.isVisible(relation.name, it.name));
  }
  for (const it of relation.members.values()) {
    if (relation.type === 'cube') add(it, `real_${it.name}`, `real_${it.name}`, false);
    if (relation.name !== extras.relation) continue;
    if (extras.real.includes(it.name)) add(it, `real_${it.name}`, `real_${it.member.name}`, true);
    if (extras.masks.includes(it.name)) add(it, `mask_${it.name}`, `mask_${it.member.name}`, true);
  }
  return {
    ...relation,
    name: `${prefix}${relation.name}`,
    rootCube: `${prefix}${relation.rootCube}`,
    paths: relation.paths.map(named),
    members,
    hierarchies: [],
    folders: [],
    policy: null,
  };
}
