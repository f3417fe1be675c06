/** Builds multi-stage measures: over measures that are computed first, at another grain or time, or chosen by a switch. */

import type { MeasureCommon } from './build-measure.ts';
import type {
  DimensionReference,
  MeasureSwitch,
  MultiStageMeasure,
  SqlTemplate,
  StageGrain,
  TimeShift,
} from './data-model.ts';
import type { Fragments } from './fragments.ts';
import { intervalOf, parseQuantities } from './interval.ts';
import { didYouMean } from './read-shape.ts';
import type { MeasureFile } from './shapes.ts';

const outerAggregations = ['sum', 'avg', 'min', 'max'] as const;
const grains = ['group_by', 'reduce_by', 'add_group_by'] as const;

/** Builds a multi-stage measure; null when it is wrong, which was reported then. */
export function multiStageOf(file: MeasureFile, common: MeasureCommon, fragments: Fragments): MultiStageMeasure | null {
  const { report } = fragments;
  const outer = outerOf(file);
  if (outer === null) {
    report.error(
      ['type'],
      `a multi-stage measure is of type number, sum, avg, min, max, string, time or boolean, not ${file.type}`,
    );
    return null;
  }
  for (const key of ['filters', 'rolling_window'] as const) {
    if (file[key] === undefined) continue;
    report.error([key], `a multi-stage measure has no ${key}: give it to the measures that it uses`, 'key');
    return null;
  }
  const sql = expressionOf(file, fragments);
  const grain = grainOf(file, fragments);
  const timeShifts = timeShiftsOf(file, fragments);
  if (sql === null || grain === null || timeShifts === null) return null;
  return { ...common, aggregation: 'multi_stage', outer, sql, grain, timeShifts };
}

function outerOf({ type }: MeasureFile): MultiStageMeasure['outer'] | null {
  if (type === 'number' || type === 'string' || type === 'time' || type === 'boolean') return 'number';
  return outerAggregations.find((one) => one === type) ?? null;
}

function expressionOf(file: MeasureFile, fragments: Fragments): SqlTemplate | MeasureSwitch | null {
  const { report } = fragments;
  if (file.case !== undefined) {
    if (file.sql === undefined) return switchOf(file.case, fragments);
    report.error(['sql'], 'a measure has sql or case, not both', 'key');
    return null;
  }
  if (file.sql === undefined) {
    report.error([], `measure ${file.name} of type ${file.type} needs sql, or case`);
    return null;
  }
  return measuresOf(file.sql, ['sql'], fragments);
}

/** A fragment over measures, one at least. */
function measuresOf(text: string, path: (string | number)[], { read, report }: Fragments): SqlTemplate | null {
  const sql = read(text, path, 'measures');
  if (sql === null || sql.some((part) => part.kind === 'member')) return sql;
  report.error(path, 'a multi-stage measure has to refer to one measure or more');
  return null;
}

function switchOf(file: NonNullable<MeasureFile['case']>, fragments: Fragments): MeasureSwitch | null {
  const { report, names } = fragments;
  const [dimension] = fragments.dimensions([file.switch], ['case', 'switch']);
  const found = dimension === undefined ? undefined : names.find(dimension.cube, dimension.member);
  if (found !== undefined && (found.kind !== 'dimension' || found.file.type !== 'switch')) {
    report.error(['case', 'switch'], `${dimension?.member} is not a dimension of type switch`);
    return null;
  }
  const values = found?.kind === 'dimension' ? (found.file.values ?? null) : null;
  const seen = new Set<string>();
  const cases = file.when.flatMap(({ value, sql: text }, index) => {
    const path = ['case', 'when', index];
    if (values !== null && !values.includes(value)) {
      report.error([...path, 'value'], `the switch has no value "${value}"${didYouMean(value, values)}`);
    }
    if (seen.has(value)) report.error([...path, 'value'], `the value "${value}" stands here twice`);
    seen.add(value);
    const sql = measuresOf(text, [...path, 'sql'], fragments);
    return sql === null ? [] : [{ value, sql }];
  });
  const otherwise = measuresOf(file.else.sql, ['case', 'else', 'sql'], fragments);
  if (dimension === undefined || otherwise === null || cases.length < file.when.length) return null;
  return { switch: dimension, cases, otherwise };
}

function grainOf(file: MeasureFile, fragments: Fragments): StageGrain | null {
  const [given, second] = grains.filter((key) => file[key] !== undefined);
  if (given === undefined) return { kind: 'query' };
  if (second !== undefined) {
    fragments.report.error([second], `a measure has one of ${grains.join(', ')}`, 'key');
    return null;
  }
  return { kind: given, dimensions: fragments.dimensions(file[given] ?? [], [given]) };
}

function timeShiftsOf(file: MeasureFile, fragments: Fragments): readonly TimeShift[] | null {
  const { report, names } = fragments;
  const list = file.time_shift ?? [];
  const shifted = new Set<string>();
  const shifts = list.flatMap((shift, index): TimeShift[] => {
    const here = report.under('time_shift', index);
    if (shift.name !== undefined) {
      here.error(
        ['name'],
        'time shifts by name belong to calendar cubes, which are not supported: write interval and type',
        'key',
      );
      return [];
    }
    if (shift.interval === undefined || shift.type === undefined) {
      here.error([], 'a time shift needs interval and type (prior or next)');
      return [];
    }
    const quantities = parseQuantities(shift.interval);
    const interval = quantities?.length === 1 ? intervalOf(quantities) : null;
    if (interval === null) {
      here.error(['interval'], `"${shift.interval}" is no length of time: write "1 year", "7 days" …`);
      return [];
    }
    const sign = shift.type === 'prior' ? 1 : -1;
    // Not minus zero, which is another zero.
    const moved = {
      months: sign * interval.months || 0,
      days: sign * interval.days || 0,
      seconds: sign * interval.seconds || 0,
    };
    if (shift.time_dimension === undefined) {
      if (list.length > 1) here.error([], 'of several time shifts each needs a time_dimension');
      return [{ timeDimension: null, interval: moved }];
    }
    const [dimension] = fragments.dimensions([shift.time_dimension], ['time_shift', index, 'time_dimension']);
    if (dimension === undefined) return [];
    if (!isTime(dimension, names)) {
      here.error(['time_dimension'], `${dimension.member} is not a dimension of type time`);
      return [];
    }
    const id = `${dimension.cube}.${dimension.member}`;
    if (shifted.has(id)) here.error(['time_dimension'], `${dimension.member} is shifted twice`);
    shifted.add(id);
    return [{ timeDimension: dimension, interval: moved }];
  });
  return shifts.length === list.length ? shifts : null;
}

function isTime({ cube, member }: DimensionReference, names: Fragments['names']): boolean {
  const found = names.find(cube, member);
  return found?.kind === 'dimension' && found.file.type === 'time';
}
