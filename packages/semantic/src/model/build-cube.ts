/** Builds a cube of the data model from its YAML. */
import { buildPolicy } from './build-policy.ts';
import type { Cube, CubeMember, Dimension, Join, SqlTemplate } from './data-model.ts';
import type { CubeFile } from './model-file.ts';
import type { Report } from './report.ts';
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
    if (item.name === file.name) report(['joins', index, 'name'], `cube ${file.name} cannot join itself`);
    if (joins.has(item.name)) report(['joins', index, 'name'], `cube ${file.name} joins ${item.name} twice`);
    const sql = template(item.sql, ['joins', index, 'sql']);
    joins.set(item.name, { target: item.name, relationship: item.relationship, sql });
  }

  const dimensions = [...members.values()].filter((member) => member.kind === 'dimension');
  return {
    name: file.name,
    source: file.sql_table ?? parenthesised(file.sql ?? '', report),
    joins,
    members,
    primaryKey: dimensions.filter((dimension) => dimension.isPrimaryKey),
    policy: buildPolicy(
      file.name,
      file.access_policy,
      new Map(dimensions.map((it) => [it.name, it.type])),
      members.keys(),
      report,
    ),
  };
}

/** A cube's `sql` as a query in parentheses. It may end with a semicolon or in a comment. */
function parenthesised(sql: string, report: Report): string {
  const reference = /\{\s*[A-Za-z_][\w.]*\s*(\}|\()/.exec(sql)?.[0];
  if (reference !== undefined) {
    report(['sql'], `the sql of a cube is plain SQL: references such as "${reference}" are not supported here`);
  }
  return `(${sql.trim().replace(/;$/, '')}\n)`;
}
