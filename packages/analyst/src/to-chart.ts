/** Draws an intent as a Vega-Lite v5 spec without data: marks and encodings only, no expressions, transforms or URLs. */

import type { Json } from '@inlay/semantic/policy/subject.ts';
import type { Grain } from './calendar.ts';
import type { Intent } from './intent.ts';
import { type QueryColumn, queryColumns } from './to-sql.ts';

type Channel = { readonly [key: string]: Json };

// The formats of a time axis (d3-time-format); a week is named by its Monday.
const axisFormats: Readonly<Record<Grain, string>> = {
  day: '%d %b %Y',
  week: '%d %b %Y',
  month: '%b %Y',
  quarter: 'Q%q %Y',
  year: '%Y',
};

// Two measures are told apart by the colour of mark and axis title.
const layerColours = ['#4c78a8', '#f58518'] as const;

/**
 * The spec as a JSON string, or undefined where a chart says no more than words: for single numbers, and for more than
 * two columns to group by. One group and more than one measure: the first two, each on a scale of its own. Two groups
 * and more than one measure: the first (or ranked) measure.
 */
export function toChart(intent: Intent): string | undefined {
  const columns = queryColumns(intent);
  const [group, second, third] = columns.filter(({ role }) => role !== 'measure');
  const measures = columns.filter(({ role }) => role === 'measure');
  const measure = measures.find(({ member }) => member === intent.ranking?.measure) ?? measures[0];
  if (group === undefined || third !== undefined || measure === undefined) return undefined;
  const other = measures.find((column) => column !== measure);
  if (second !== undefined) return JSON.stringify(twoGroups(intent, group, second, measure));
  if (other !== undefined) return JSON.stringify(twoMeasures(intent, group, measure, other));
  return JSON.stringify(oneGroup(intent, group, measure));
}

function oneGroup(intent: Intent, group: QueryColumn, measure: QueryColumn): Json {
  return isCourse(intent, group)
    ? { mark: 'line', encoding: { x: timeAxis(intent, group), y: quantity(measure) } }
    : { mark: 'bar', encoding: { y: category(intent, group), x: quantity(measure) } };
}

function twoGroups(intent: Intent, group: QueryColumn, second: QueryColumn, measure: QueryColumn): Json {
  const color: Channel = { field: fieldOf(second), type: 'nominal', title: columnTitle(second) };
  if (isCourse(intent, group)) {
    return { mark: 'line', encoding: { x: timeAxis(intent, group), y: quantity(measure), color } };
  }
  const yOffset: Channel = { field: fieldOf(second), type: 'nominal' };
  return { mark: 'bar', encoding: { y: category(intent, group), x: quantity(measure), color, yOffset } };
}

// Two layers over one shared axis. The order of the rows stands, since layers cannot sort by each other's values.
function twoMeasures(intent: Intent, group: QueryColumn, first: QueryColumn, second: QueryColumn): Json {
  const hasCourse = isCourse(intent, group);
  const shared = hasCourse ? { x: timeAxis(intent, group) } : { y: { ...category(intent, group), sort: null } };
  const layer = [first, second].map((measure, index): Json => {
    const color = layerColours[index === 0 ? 0 : 1];
    const axis: Channel = { ...quantity(measure), axis: { ...axisOf(measure), titleColor: color } };
    const type = hasCourse ? 'line' : index === 0 ? 'bar' : 'point';
    return { mark: { type, color }, encoding: hasCourse ? { y: axis } : { x: axis } };
  });
  return { encoding: shared, layer, resolve: { scale: { [hasCourse ? 'y' : 'x']: 'independent' } } };
}

// A ranking of months is a list of bars; without ranking time runs along a line.
function isCourse(intent: Intent, group: QueryColumn): boolean {
  return group.role === 'time' && intent.ranking === undefined;
}

function timeAxis(intent: Intent, column: QueryColumn): Channel {
  const format = axisFormats[intent.time?.grain ?? 'day'];
  return { field: fieldOf(column), type: 'temporal', title: columnTitle(column), axis: { format } };
}

function category(intent: Intent, column: QueryColumn): Channel {
  const sort = intent.ranking?.direction === 'lowest' ? 'x' : '-x';
  return { field: fieldOf(column), type: 'nominal', sort, title: columnTitle(column) };
}

function quantity(column: QueryColumn): Channel {
  const axis = axisOf(column);
  const channel: Channel = { field: fieldOf(column), type: 'quantitative', title: columnTitle(column) };
  return Object.keys(axis).length > 0 ? { ...channel, axis } : channel;
}

function axisOf(column: QueryColumn): Channel {
  return column.member.format === 'percent' ? { format: '.1%' } : {};
}

// The column of a time is named by its unit, which is what its values are.
function columnTitle(column: QueryColumn): string {
  if (column.role !== 'time') return column.member.title;
  const unit = column.name.slice(column.name.lastIndexOf('_') + 1);
  return unit.charAt(0).toUpperCase() + unit.slice(1);
}

// In a field name Vega-Lite reads dots and brackets as paths into objects.
function fieldOf(column: QueryColumn): string {
  return column.name.replace(/[\\.[\]'"]/g, '\\$&');
}
