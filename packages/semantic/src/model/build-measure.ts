/** Builds the measures of a cube from their YAML. */

import { describe, maskOf } from './build-dimension.ts';
import { multiStageOf } from './build-stages.ts';
import type {
  AggregateMeasure,
  CalculatedMeasure,
  CustomMeasure,
  DimensionReference,
  Measure,
  MemberType,
  RollingWindow,
  SqlTemplate,
} from './data-model.ts';
import { aggregations } from './data-model.ts';
import type { Fragments } from './fragments.ts';
import { intervalOf, isBuiltInUnit, parseQuantities } from './interval.ts';
import { synonymsOf } from './meta.ts';
import { didYouMean } from './read-shape.ts';
import type { MeasureFile } from './shapes.ts';
import { parseMemberName } from './sql-template.ts';

/** What all measures have in common. */
export type MeasureCommon = Pick<
  Measure,
  | 'kind'
  | 'cube'
  | 'name'
  | 'title'
  | 'description'
  | 'isPublic'
  | 'meta'
  | 'format'
  | 'synonyms'
  | 'type'
  | 'mask'
  | 'drillMembers'
>;

/** Builds a measure; null when it is wrong, which was reported then. */
export function buildMeasure(file: MeasureFile, fragments: Fragments): Measure | null {
  const { report } = fragments;
  const type = typeOf(file, fragments);
  const common: MeasureCommon = {
    ...describe(file, fragments.cube),
    kind: 'measure',
    type,
    format: file.format ?? null,
    synonyms: synonymsOf(file.meta, report),
    mask: maskOf(file.mask, type, false, fragments),
    drillMembers: drillMembersOf(file, fragments),
  };
  if (file.multi_stage === true) return multiStageOf(file, common, fragments);
  for (const key of ['group_by', 'reduce_by', 'add_group_by', 'time_shift', 'case'] as const) {
    if (file[key] === undefined) continue;
    report.error([key], `${key} needs multi_stage: true`, 'key');
    return null;
  }
  const aggregation = aggregations.find((one) => one === file.type);
  if (aggregation === undefined) return expressionOf(file, common, fragments);
  if (file.sql === undefined && aggregation !== 'count') {
    report.error([], `measure ${file.name} of type ${file.type} needs sql`);
    return null;
  }
  const sql = file.sql === undefined ? null : fragments.read(file.sql, ['sql'], 'rows');
  const filters = filtersOf(file, fragments);
  const rollingWindow = file.rolling_window === undefined ? null : rollingWindowOf(file.rolling_window, fragments);
  if (filters === null || (sql === null && file.sql !== undefined)) return null;
  return { ...common, aggregation, sql, filters, rollingWindow } satisfies AggregateMeasure;
}

/** The type of what a measure gives. The largest of one dimension is of that dimension's type. */
function typeOf(file: MeasureFile, { cube, names }: Fragments): MemberType {
  if (file.type === 'string' || file.type === 'time' || file.type === 'boolean') return file.type;
  if (file.type !== 'min' && file.type !== 'max') return 'number';
  const reference = /^\s*\{[^{}]+\}\s*$/.test(file.sql ?? '')
    ? parseMemberName((file.sql ?? '').trim(), cube, names)
    : null;
  if (reference === null || !('member' in reference)) return 'number';
  const found = names.find(reference.cube, reference.member);
  if (found?.kind !== 'dimension') return 'number';
  return found.file.type === 'geo' || found.file.type === 'switch' ? 'string' : found.file.type;
}

/** A measure over measures, or an aggregate in the warehouse's own SQL: what it refers to decides. */
function expressionOf(
  file: MeasureFile,
  common: MeasureCommon,
  fragments: Fragments,
): CalculatedMeasure | CustomMeasure | null {
  const { report, names } = fragments;
  if (file.rolling_window !== undefined) {
    report.error(
      ['rolling_window'],
      `a measure of type ${file.type} has no rolling_window: give one to the measures that it uses`,
      'key',
    );
    return null;
  }
  if (file.sql === undefined) {
    report.error([], `measure ${file.name} of type ${file.type} needs sql`);
    return null;
  }
  const sql = fragments.read(file.sql, ['sql'], 'any');
  const filters = filtersOf(file, fragments);
  if (sql === null || filters === null) return null;
  const references = sql.filter((part) => part.kind === 'member' || part.kind === 'cube');
  const kinds = references.map((part) => (part.kind === 'member' ? names.find(part.cube, part.member)?.kind : 'cube'));
  if (kinds.includes('segment')) {
    report.error(['sql'], `measure ${file.name} cannot refer to a segment`);
    return null;
  }
  if (!kinds.includes('measure')) return customOf(file, common, sql, filters, fragments);
  if (kinds.some((kind) => kind !== 'measure')) {
    report.error(
      ['sql'],
      `${file.type} measure ${file.name} refers to measures, and so may refer to measures only: make the aggregate over columns a measure of its own`,
    );
    return null;
  }
  if (file.type === 'number_agg') {
    report.error(['sql'], `measure ${file.name} of type number_agg aggregates columns, not measures; use type number`);
    return null;
  }
  if (filters.length > 0) {
    report.error(['filters'], `a ${file.type} measure has no filters: filter the measures it uses`, 'key');
    return null;
  }
  return { ...common, aggregation: 'number', sql };
}

function customOf(
  file: MeasureFile,
  common: MeasureCommon,
  sql: SqlTemplate,
  filters: readonly SqlTemplate[],
  { report, cube, names }: Fragments,
): CustomMeasure | null {
  const isForeign = [...sql, ...filters.flat()].some(
    (part) => (part.kind === 'cube' || part.kind === 'member') && part.cube !== cube,
  );
  if (isForeign) {
    report.error(['sql'], `measure ${file.name} aggregates in SQL of its own, and may read its own cube only`);
    return null;
  }
  const hasSwitch = sql.some((part) => {
    const found = part.kind === 'member' ? names.find(part.cube, part.member) : undefined;
    return found?.kind === 'dimension' && (found.file.type === 'switch' || found.file.sub_query === true);
  });
  if (hasSwitch) {
    report.error(['sql'], `measure ${file.name} aggregates in SQL of its own, and may read columns of its cube only`);
    return null;
  }
  const text = sql.map((part) => (part.kind === 'text' ? part.text : '{}')).join('');
  // An aggregate is a function: what has none would be a value of one row.
  if (!/[A-Za-z_]\w*"?\s*\(/.test(text)) {
    const reads = sql.some((part) => part.kind === 'cube' || part.kind === 'member');
    report.error(
      ['sql'],
      `${file.type} measure ${file.name} ${reads ? 'may refer to measures only' : 'has to refer to one measure or more'}, or has to be an aggregate of columns: SUM({CUBE}.x)`,
    );
    return null;
  }
  return { ...common, aggregation: 'number_agg', sql, filters };
}

function filtersOf(file: MeasureFile, { read }: Fragments): readonly SqlTemplate[] | null {
  const filters = (file.filters ?? []).map((filter, index) => read(filter.sql, ['filters', index, 'sql'], 'rows'));
  const whole = filters.filter((filter) => filter !== null);
  return whole.length === filters.length ? whole : null;
}

function drillMembersOf(file: MeasureFile, { cube, names, report }: Fragments): readonly DimensionReference[] {
  return (file.drill_members ?? []).flatMap((text, index) => {
    const found = parseMemberName(text, cube, names);
    if ('isLost' in found) return [];
    if ('problem' in found) {
      report.error(['drill_members', index], found.problem);
      return [];
    }
    if (names.find(found.cube, found.member)?.kind === 'dimension') return [{ cube: found.cube, member: found.member }];
    report.warn(
      ['drill_members', index],
      `${found.member} is not a dimension and is left out: drill_members are dimensions`,
    );
    return [];
  });
}

function rollingWindowOf(
  file: NonNullable<MeasureFile['rolling_window']>,
  { report, cube, names }: Fragments,
): RollingWindow | null {
  const here = report.under('rolling_window');
  const { type = file.granularity === undefined ? 'fixed' : 'to_date' } = file;
  if (type !== 'fixed') {
    for (const key of ['trailing', 'leading', 'offset'] as const) {
      if (file[key] !== undefined) here.error([key], `a rolling window of type ${type} has no ${key}`, 'key');
    }
    const granularity = type === 'to_date' ? file.granularity : type.replace(/_to_date$/, '');
    if (granularity === undefined) {
      here.error([], 'a rolling window of type to_date needs granularity');
      return null;
    }
    if (!isBuiltInUnit(granularity) && !isDeclaredUnit(granularity, cube, names)) {
      const hint = didYouMean(granularity, ['day', 'week', 'month', 'quarter', 'year']);
      here.error(['granularity'], `"${granularity}" is neither a unit of time nor a granularity of this cube${hint}`);
      return null;
    }
    return { kind: 'to_date', granularity };
  }
  if (file.granularity !== undefined) {
    here.error(['granularity'], 'granularity is for a rolling window of type to_date', 'key');
    return null;
  }
  if (file.trailing === undefined && file.leading === undefined) {
    here.error([], 'a rolling window needs trailing, leading, or type: to_date');
    return null;
  }
  const length = (key: 'trailing' | 'leading') => {
    const text = file[key];
    if (text === undefined) return null;
    if (text === 'unbounded') return 'unbounded';
    const quantities = parseQuantities(text);
    const interval = quantities?.length === 1 ? intervalOf(quantities) : null;
    if (interval === null)
      here.error([key], `"${text}" is no length of time: write "1 month", "7 days" … or unbounded`);
    return interval;
  };
  return { kind: 'fixed', trailing: length('trailing'), leading: length('leading'), offset: file.offset ?? 'end' };
}

/** Whether a time dimension of the cube declares a granularity of that name. */
function isDeclaredUnit(name: string, cube: string, names: Fragments['names']): boolean {
  return [...names.membersOf(cube)].some((member) => {
    const found = names.find(cube, member);
    if (found?.kind !== 'dimension') return false;
    return (found.file.granularities ?? []).some(
      (one) => typeof one === 'object' && one !== null && 'name' in one && one.name === name,
    );
  });
}
