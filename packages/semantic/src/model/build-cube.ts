/** Builds a cube of the data model from its YAML. */
import { buildDimension, buildSegment } from './build-dimension.ts';
import { buildMeasure } from './build-measure.ts';
import { buildPolicy } from './build-policy.ts';
import type { Cube, CubeMember, Dimension, Join, MemberType } from './data-model.ts';
import { fragmentsOf } from './fragments.ts';
import { parseSeconds } from './interval.ts';
import { synonymsOf } from './meta.ts';
import type { ModelNames, NamedMember } from './names.ts';
import type { CubeSource } from './read-sources.ts';
import type { Reporter } from './report.ts';
import { relationships } from './shapes.ts';
import { parseCubeSql } from './sql-template.ts';
import { isRecord } from './yaml-source.ts';

/** The members of a cube by name, as far as its own lines tell. Names that stand there twice are reported. */
export function nameMembers(source: CubeSource): ReadonlyMap<string, NamedMember> {
  const members = new Map<string, NamedMember>();
  const add = (name: string, member: NamedMember, report: Reporter): void => {
    if (members.has(name)) report.error(['name'], `cube ${source.file.name} has two members named ${name}`);
    else members.set(name, member);
  };
  for (const { file, report } of source.dimensions) add(file.name, { kind: 'dimension', file }, report);
  for (const { file, report } of source.measures) add(file.name, { kind: 'measure', file }, report);
  for (const { file, report } of source.segments) add(file.name, { kind: 'segment' }, report);
  return members;
}

/** Builds a cube. What is wrong is reported; the cube returned is then incomplete and must not be used. */
export function buildCube(source: CubeSource, names: ModelNames): Cube {
  const { file, report } = source;
  const members = new Map<string, CubeMember>();
  const add = (member: CubeMember | null): void => {
    if (member !== null && !members.has(member.name)) members.set(member.name, member);
  };
  for (const { file: item, report: here } of source.dimensions) {
    add(buildDimension(item, fragmentsOf(file.name, `dimension ${item.name}`, names, here)));
  }
  for (const { file: item, report: here } of source.measures) {
    add(buildMeasure(item, fragmentsOf(file.name, `measure ${item.name}`, names, here)));
  }
  for (const { file: item, report: here } of source.segments) {
    add(buildSegment(item, fragmentsOf(file.name, `segment ${item.name}`, names, here)));
  }
  synonymsOf(file.meta, report);
  warnOfIgnored(source);
  const dimensions = [...members.values()].filter((member) => member.kind === 'dimension');
  return {
    name: file.name,
    source: sourceOf(source),
    joins: joinsOf(source, names),
    members,
    primaryKey: dimensions.filter((dimension) => dimension.isPrimaryKey),
    refreshEverySeconds: refreshOf(file.refresh_key, report),
    policy: buildPolicy(
      source.policy,
      {
        names: source.names,
        dimensions: new Map(dimensions.map((it) => [it.name, filterTypeOf(it)])),
        members: new Set([...source.dimensions, ...source.measures, ...source.segments].map((it) => it.file.name)),
        isLost: (name) =>
          names.member(file.name, name) === 'lost' || (names.find(file.name, name) !== undefined && !members.has(name)),
      },
      report,
    ),
  };
}

/** The type of a dimension for filters of a policy; null: it has no value of a row. */
export const filterTypeOf = (dimension: Dimension): MemberType | null =>
  dimension.source.kind === 'switch' || dimension.source.kind === 'sub-query' ? null : dimension.type;

function sourceOf({ file, report }: CubeSource): string {
  const { sql_table: table, sql } = file;
  if ((table === undefined) === (sql === undefined)) {
    const both = table === undefined ? '' : ', and has both';
    report.error([], `cube ${file.name} needs either sql_table or sql${both}`);
    return '';
  }
  const parsed = parseCubeSql(table ?? sql ?? '');
  if ('problem' in parsed) {
    report.error([table === undefined ? 'sql' : 'sql_table'], parsed.problem);
    return '';
  }
  // A query may end with a semicolon or in a comment.
  return table === undefined ? `(${parsed.sql.trim().replace(/;$/, '')}\n)` : parsed.sql;
}

function joinsOf(source: CubeSource, names: ModelNames): ReadonlyMap<string, Join> {
  const own = source.file.name;
  const joins = new Map<string, Join>();
  for (const { file, report } of source.joins) {
    const { name } = file;
    if (names.cube(name) === 'missing') {
      report.error(['name'], `no cube "${name}" to join${names.suggest(name, names.cubes())}`);
    }
    if (name === own)
      report.error(['name'], `cube ${own} cannot join itself: extend it by a cube of another name, and join that`);
    if (joins.has(name)) report.error(['name'], `cube ${own} joins ${name} twice`);
    const sql = fragmentsOf(own, `the join to ${name}`, names, report).read(file.sql, ['sql'], 'rows');
    // One that is wrong is there all the same: paths that lead along it are not wrong for it.
    joins.set(name, { target: name, relationship: relationships[file.relationship], sql: sql ?? [] });
  }
  return joins;
}

/** The seconds of `refresh_key.every`; what else a refresh key may hold is ignored, with a warning. */
function refreshOf(key: unknown, report: Reporter): number | null {
  if (key === undefined || key === null) return null;
  if (!isRecord(key)) {
    report.error(['refresh_key'], 'refresh_key has to be a map of keys, such as every: 1 hour');
    return null;
  }
  for (const name of Object.keys(key)) {
    if (name === 'every') continue;
    const why = name === 'sql' ? 'whether an answer is kept is not asked of the warehouse' : 'only every is used';
    report.warn(['refresh_key', name], `refresh_key.${name} is ignored: ${why}`, 'key');
  }
  const every = key['every'];
  if (every === undefined) return null;
  const seconds = typeof every === 'string' ? parseSeconds(every) : null;
  if (seconds !== null) return seconds;
  if (typeof every === 'string' && every.trim().split(/\s+/).length >= 5) {
    report.warn(
      ['refresh_key', 'every'],
      'refresh_key.every is ignored: times of day (cron) are not supported; write a length of time, such as 1 hour',
    );
  } else
    report.error(['refresh_key', 'every'], 'every has to be a length of time, such as 30 seconds, 1 hour or 1 day');
  return null;
}

function warnOfIgnored({ file, report }: CubeSource): void {
  if (file.pre_aggregations !== undefined) {
    report.warn(
      ['pre_aggregations'],
      'pre_aggregations are ignored: every question goes to the warehouse, or to the cache of answers',
      'key',
    );
  }
  if (file.data_source === 'default') {
    report.warn(['data_source'], 'data_source is ignored: a deployment has one warehouse', 'key');
  } else if (file.data_source !== undefined) {
    report.error(['data_source'], `the data source "${file.data_source}" is not known: a deployment has one warehouse`);
  }
}
