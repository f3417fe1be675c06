/** Builds the dimensions and segments of a cube from their YAML. */
import { parseTime } from '../parse-time.ts';
import { buildGranularities } from './build-granularities.ts';
import type { Dimension, DimensionSource, Mask, MemberType, Segment, SqlPart } from './data-model.ts';
import type { Fragments } from './fragments.ts';
import { synonymsOf } from './meta.ts';
import { readShape } from './read-shape.ts';
import { type DimensionFile, fragmentShape, type SegmentFile } from './shapes.ts';
import { titleFromName } from './title.ts';
import { isRecord } from './yaml-source.ts';

/** Keys that say where the value comes from; a dimension has one of these sets. */
const sourceKeys = ['sql', 'case', 'latitude', 'longitude', 'values'] as const;

/** Builds a dimension; null when it is wrong, which was reported then. */
export function buildDimension(file: DimensionFile, fragments: Fragments): Dimension | null {
  const { report, cube } = fragments;
  const source = sourceOf(file, fragments);
  const isTime = file.type === 'time';
  if (file.granularities !== undefined && !isTime) {
    report.error(['granularities'], 'granularities are for dimensions of type time', 'key');
  }
  if (file.local_time !== undefined && !isTime) {
    report.error(['local_time'], 'local_time is for dimensions of type time', 'key');
  }
  if (file.propagate_filters_to_sub_query !== undefined && file.sub_query !== true) {
    report.error(['propagate_filters_to_sub_query'], 'propagate_filters_to_sub_query needs sub_query: true', 'key');
  }
  const isPrimaryKey = file.primary_key ?? false;
  if (isPrimaryKey && source !== null && (source.kind === 'sub-query' || source.kind === 'switch')) {
    report.error(['primary_key'], `a primary key is a column, or made of columns; ${file.name} is not`, 'key');
  }
  const type: MemberType = file.type === 'geo' || file.type === 'switch' ? 'string' : file.type;
  const mask = maskOf(file.mask, type, true, fragments);
  const granularities = isTime
    ? buildGranularities(file.granularities ?? [], report.under('granularities'))
    : new Map();
  if (source === null) return null;
  return {
    ...describe(file, cube),
    kind: 'dimension',
    type,
    format: file.format ?? null,
    synonyms: synonymsOf(file.meta, report),
    mask,
    source,
    isPrimaryKey,
    granularities,
    isLocalTime: file.local_time ?? false,
  };
}

/** What all members have in common. */
export function describe(
  file: Pick<SegmentFile, 'name' | 'title' | 'description' | 'public' | 'shown' | 'meta'>,
  cube: string,
): Pick<Segment, 'cube' | 'name' | 'title' | 'description' | 'isPublic' | 'meta'> {
  return {
    cube,
    name: file.name,
    title: file.title ?? titleFromName(file.name),
    description: file.description ?? '',
    isPublic: file.public ?? file.shown ?? true,
    meta: file.meta ?? {},
  };
}

/** Builds a segment; null when it is wrong. */
export function buildSegment(file: SegmentFile, fragments: Fragments): Segment | null {
  const sql = fragments.read(file.sql, ['sql'], 'rows');
  const synonyms = synonymsOf(file.meta, fragments.report);
  if (sql === null) return null;
  return {
    ...describe(file, fragments.cube),
    kind: 'segment',
    type: 'boolean',
    format: null,
    synonyms,
    mask: null,
    sql,
  };
}

function sourceOf(file: DimensionFile, fragments: Fragments): DimensionSource | null {
  const { report } = fragments;
  const wanted: readonly (typeof sourceKeys)[number][] =
    file.type === 'geo'
      ? ['latitude', 'longitude']
      : file.type === 'switch'
        ? ['values']
        : [file.case !== undefined && file.sql === undefined ? 'case' : 'sql'];
  for (const key of sourceKeys) {
    if (wanted.includes(key) === (file[key] !== undefined)) continue;
    if (!wanted.includes(key))
      report.error([key], `a dimension of type ${file.type} with ${wanted.join(' and ')} has no ${key}`, 'key');
    else
      report.error([], `dimension ${file.name} of type ${file.type} needs ${key}${key === 'sql' ? ', or case' : ''}`);
  }
  if (file.sub_query === true) return subQueryOf(file, fragments);
  if (file.type === 'geo') {
    const latitude = fragments.read(file.latitude?.sql ?? '', ['latitude', 'sql'], 'rows');
    const longitude = fragments.read(file.longitude?.sql ?? '', ['longitude', 'sql'], 'rows');
    return latitude === null || longitude === null ? null : { kind: 'geo', latitude, longitude };
  }
  if (file.type === 'switch') {
    const values = new Set(file.values);
    if (values.size < (file.values ?? []).length) report.error(['values'], 'a value of a switch stands here twice');
    return { kind: 'switch', values: [...values] };
  }
  if (file.case !== undefined) return caseOf(file.case, fragments);
  const sql = file.sql === undefined ? null : fragments.read(file.sql, ['sql'], 'rows');
  return sql === null ? null : { kind: 'sql', sql };
}

function subQueryOf(file: DimensionFile, { cube, names, report, read }: Fragments): DimensionSource | null {
  if (file.type === 'geo' || file.type === 'switch' || file.sql === undefined) {
    report.error(['sub_query'], 'a dimension with sub_query: true has sql that is one measure: "{users.count}"', 'key');
    return null;
  }
  const sql = read(file.sql, ['sql'], 'any');
  if (sql === null) return null;
  const [part, more] = sql.filter((one) => one.kind !== 'text' || one.text.trim() !== '');
  const measure = part?.kind === 'member' && names.find(part.cube, part.member)?.kind === 'measure' ? part : null;
  if (measure === null || more !== undefined || measure.cube === cube) {
    report.error(
      ['sql'],
      'a dimension with sub_query: true has sql that is one measure of another cube: "{users.count}"',
    );
    return null;
  }
  const propagatesFilters = file.propagate_filters_to_sub_query ?? false;
  return { kind: 'sub-query', cube: measure.cube, measure: measure.member, propagatesFilters };
}

/** `CASE WHEN (…) THEN 'label' … ELSE … END`, the labels as literals. */
function caseOf(file: NonNullable<DimensionFile['case']>, { read }: Fragments): DimensionSource | null {
  const parts: SqlPart[] = [];
  let isWhole = true;
  const push = (text: string, path: (string | number)[]): void => {
    const read1 = read(text, path, 'rows');
    if (read1 === null) isWhole = false;
    else parts.push(...read1);
  };
  const label = (given: string | { readonly sql: string }, path: (string | number)[]): void => {
    if (typeof given === 'string') parts.push({ kind: 'literal', value: given });
    else push(given.sql, [...path, 'sql']);
  };
  const text = (it: string): void => void parts.push({ kind: 'text', text: it });
  text('CASE');
  for (const [index, when] of file.when.entries()) {
    text(' WHEN (');
    push(when.sql, ['case', 'when', index, 'sql']);
    text(') THEN ');
    label(when.label, ['case', 'when', index, 'label']);
  }
  if (file.else !== undefined) {
    text(' ELSE ');
    label(file.else.label, ['case', 'else', 'label']);
  }
  text(' END');
  return isWhole ? { kind: 'sql', sql: parts } : null;
}

/**
 * The mask of a member: a literal of its type, or SQL over columns of its cube.
 * @param takesSql whether there are rows that SQL could read
 */
export function maskOf(given: unknown, type: MemberType, takesSql: boolean, fragments: Fragments): Mask | null {
  if (given === undefined) return null;
  const { report } = fragments;
  if (isRecord(given)) {
    if (!takesSql) {
      report.error(['mask'], 'the mask of a measure is a literal: there is no row that SQL could read');
      return null;
    }
    const file = readShape(fragmentShape, given, report.under('mask'), 'mask');
    const sql = file === null ? null : fragments.read(file.sql, ['mask', 'sql'], 'columns');
    return sql === null ? null : { kind: 'sql', sql };
  }
  const isRight =
    given === null ||
    (type === 'time' ? typeof given === 'string' && parseTime(given) !== null : typeof given === type);
  if (
    isRight &&
    (given === null || typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean')
  ) {
    if (typeof given !== 'number' || (Number.isFinite(given) && Math.abs(given) <= Number.MAX_SAFE_INTEGER)) {
      return { kind: 'literal', value: given };
    }
  }
  report.error(['mask'], `the mask has to be null, a ${type} as its member is, or a map with sql`);
  return null;
}
