/** Builds a cube of the data model from its YAML. */
import { buildPolicy } from './build-policy.ts';
import type { Cube, CubeMember, Dimension, Join, Measure, SqlTemplate } from './data-model.ts';
import type { CubeFile } from './model-file.ts';
import { type Report, reportUnder } from './report.ts';
import { parseSqlTemplate, type TemplateScope } from './sql-template.ts';

/** The member names of every cube, known before any cube is built, since cubes refer to each other. */
export type CubeNames = ReadonlyMap<string, ReadonlySet<string>>;

/** Turns `order_items` into `Order items`. */
export const titleFromName = (name: string): string => {
  const words = name.replaceAll('_', ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Builds a cube. What is wrong goes to `report`; the cube returned is then incomplete and must not be used. */
export function buildCube(file: CubeFile, names: CubeNames, report: Report): Cube {
  const scope: TemplateScope = {
    cube: file.name,
    hasCube: (cube) => names.has(cube),
    hasMember: (cube, member) => names.get(cube)?.has(member) ?? false,
  };
  const template = (text: string, path: (string | number)[]): SqlTemplate => {
    const parsed = parseSqlTemplate(text, scope);
    if (typeof parsed !== 'string') return parsed;
    report(path, parsed);
    return [];
  };

  const members = new Map<string, CubeMember>();
  const add = (member: CubeMember, path: (string | number)[]) => {
    if (members.has(member.name)) report([...path, 'name'], `cube ${file.name} has two members named ${member.name}`);
    members.set(member.name, member);
  };
  const common = (item: NonNullable<CubeFile['dimensions']>[number] | NonNullable<CubeFile['measures']>[number]) => ({
    cube: file.name,
    name: item.name,
    title: item.title ?? titleFromName(item.name),
    description: item.description ?? '',
    synonyms: item.meta?.synonyms ?? [],
    format: item.format ?? null,
    isPublic: item.public ?? true,
  });

  for (const [index, item] of (file.dimensions ?? []).entries()) {
    const dimension: Dimension = {
      ...common(item),
      kind: 'dimension',
      type: item.type,
      sql: template(item.sql, ['dimensions', index, 'sql']),
      isPrimaryKey: item.primary_key ?? false,
    };
    add(dimension, ['dimensions', index]);
  }
  for (const [index, item] of (file.measures ?? []).entries()) {
    const path = ['measures', index];
    const sql = item.sql === undefined ? null : template(item.sql, [...path, 'sql']);
    const filters = (item.filters ?? []).map((filter, at) => template(filter.sql, [...path, 'filters', at, 'sql']));
    if (item.type === 'number') {
      if (filters.length > 0)
        report([...path, 'filters'], 'a number measure has no filters: filter the measures it uses');
      if (sql === null) report(path, `measure ${item.name} of type number needs sql`);
      else add({ ...common(item), kind: 'measure', type: 'number', aggregation: 'number', sql }, path);
    } else {
      if (sql === null && item.type !== 'count') report(path, `measure ${item.name} of type ${item.type} needs sql`);
      add({ ...common(item), kind: 'measure', type: 'number', aggregation: item.type, sql, filters }, path);
    }
  }

  const joins = new Map<string, Join>();
  for (const [index, item] of (file.joins ?? []).entries()) {
    if (!names.has(item.name)) report(['joins', index, 'name'], `no cube "${item.name}" to join`);
    const sql = template(item.sql, ['joins', index, 'sql']);
    joins.set(item.name, { target: item.name, relationship: item.relationship, sql });
  }

  for (const [index, item] of (file.measures ?? []).entries()) {
    const member = members.get(item.name);
    if (member?.kind === 'measure') checkMeasure(member, members, reportUnder(report, 'measures', index));
  }
  const dimensions = [...members.values()].filter((member) => member.kind === 'dimension');
  return {
    name: file.name,
    source: file.sql_table ?? `(${file.sql})`,
    joins,
    members,
    primaryKey: dimensions.filter((dimension) => dimension.isPrimaryKey),
    policy: buildPolicy(
      file.access_policy,
      new Map(dimensions.map((it) => [it.name, it.type])),
      members.keys(),
      report,
    ),
  };
}

/** A calculated measure is over measures only; an aggregate is over dimensions and columns only; no cycles. */
function checkMeasure(measure: Measure, members: ReadonlyMap<string, CubeMember>, report: Report) {
  const refersToMeasure = (sql: SqlTemplate) =>
    sql.some((part) => part.kind === 'member' && members.get(part.member)?.kind === 'measure');
  if (measure.aggregation !== 'number') {
    if ([measure.sql ?? [], ...measure.filters].some(refersToMeasure)) {
      report(['sql'], `measure ${measure.name} aggregates and cannot refer to another measure; use type number`);
    }
    return;
  }
  if (
    !measure.sql.every(
      (part) => part.kind === 'text' || (part.kind === 'member' && isMeasureOrElsewhere(part, measure, members)),
    )
  ) {
    report(['sql'], `number measure ${measure.name} may refer to measures only`);
  }
  const walk = (name: string, seen: ReadonlySet<string>): boolean => {
    if (seen.has(name)) return true;
    const next = members.get(name);
    if (next?.kind !== 'measure' || next.aggregation !== 'number') return false;
    return next.sql.some(
      (part) => part.kind === 'member' && part.cube === measure.cube && walk(part.member, new Set([...seen, name])),
    );
  };
  if (walk(measure.name, new Set())) report(['sql'], `measure ${measure.name} refers to itself`);
}

/** References to other cubes are checked when the view is built or the query is planned. */
const isMeasureOrElsewhere = (
  part: { readonly cube: string; readonly member: string },
  measure: Measure,
  members: ReadonlyMap<string, CubeMember>,
): boolean => part.cube !== measure.cube || members.get(part.member)?.kind === 'measure';
