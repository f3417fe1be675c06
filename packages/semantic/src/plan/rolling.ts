/**
 * Measures over windows of time. The query's buckets are written out as a series; each reads the rows of its window, also those that
 * WHERE leaves out: conditions on the time dimension choose buckets, all others choose rows.
 */
import { asWritten } from '../closest-names.ts';
import type { DataModel, RollingWindow } from '../model/data-model.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { widened } from './buckets.ts';
import { emitDistinct, emitEachRow, emitTogether, type WindowPlace } from './emit-windows.ts';
import { type BlockMeasure, type FactBlock, planFacts } from './fact-rows.ts';
import { type Grain, grainNamed } from './grain.ts';
import type { GroupKey, GroupPart, GroupRequest, GroupScope, RollingMeasure } from './group-scope.ts';
import type { NodePath } from './join-tree.ts';
import { readBounds } from './time-bounds.ts';
import { derivedFrom, dimensionsIn, reads, type TimeForm, timeFormOf } from './time-form.ts';
import { fineGrain, reachOf, type Window } from './window-ends.ts';

/** A request for rolling measures. */
interface RollingRequest extends GroupRequest {
  readonly measures: readonly RollingMeasure[];
}

/**
 * The rolling measures of a request: a part for each window and for each set of rows. A combination of keys has a row where its window
 * has rows.
 * @throws SemanticError QUERY_NOT_PLANNABLE where it is not clear which rows a window holds
 */
export function emitRolling(request: RollingRequest, scope: GroupScope): readonly GroupPart[] {
  const windows = new Map<string, RollingMeasure[]>();
  for (const it of request.measures) {
    const key = JSON.stringify(it.measure.rollingWindow);
    windows.set(key, [...(windows.get(key) ?? []), it]);
  }
  return [...windows.values()].flatMap((measures) => emitWindow({ ...request, measures }, scope));
}

/** Measures of one window. */
function emitWindow(request: RollingRequest, scope: GroupScope): readonly GroupPart[] {
  const [first] = request.measures;
  if (first === undefined) return [];
  const { reader } = first;
  const { rollingWindow } = first.measure;
  const axisKeys = request.keys.flatMap((key) => {
    const form = timeFormOf(key.expression);
    return form === null || form.grain === null ? [] : [{ key, form, grain: form.grain }];
  });
  const [found, second] = axisKeys;
  if (found === undefined) return [plainTotal(request, rollingWindow, reader, scope)];
  if (second !== undefined) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${reader} is computed over windows of time, and the query has two units of time.`,
      'Group by one of them.',
    );
  }
  const { key: axisKey, form, grain } = found;
  const window = windowOf(rollingWindow, form, reader);
  const others = request.keys.filter((key) => key !== axisKey);
  const bounds = readBounds(request.where, form.axis, grain, reader);
  for (const { expression } of others) requireApart(expression, form, reader, scope.context.model);
  if (bounds.rest !== null) requireApart(bounds.rest, form, reader, scope.context.model);

  const time: GroupKey = { name: 't0', expression: fineTime(form, window, grain) };
  const reach = reachOf(window, grain);
  const where = widened(bounds, grain, reach.before, reach.behind);
  const buckets = { axis: form.axis, grain, timezone: form.timezone };
  const place: WindowPlace = { keys: request.keys, axisKey, others, buckets, bounds, window, scope };
  const { asked = request.where } = request;
  const facts = { ...request, keys: [...others, time], where, asked };
  return planFacts(facts, scope).flatMap((block) => emitBlock(block, place));
}

/** A measure without end before, asked without a unit of time: everything there is. */
function plainTotal(request: RollingRequest, window: RollingWindow, reader: string, scope: GroupScope): GroupPart {
  const asked = [
    ...request.keys.map(({ expression }) => expression),
    ...(request.where === null ? [] : [request.where]),
  ];
  const isTotal = window.kind === 'fixed' && window.trailing === 'unbounded';
  if (!isTotal || asked.flatMap(dimensionsIn).some(({ member }) => member.type === 'time')) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${reader} is computed over windows of time: the query has to group by one time dimension, truncated to a unit.`,
      "Group by date_trunc('month', …), say.",
    );
  }
  const measures = request.measures.map((it) => ({ ...it, measure: { ...it.measure, rollingWindow: null } }));
  const sql = scope.groups({ ...request, measures }, scope);
  return { sql, columns: measures.map(({ name }) => name), keysOf: null, isPartial: false };
}

/** The window with its larger unit as the time dimension knows it. */
function windowOf(window: RollingWindow, { axis, name }: TimeForm, reader: string): Window {
  if (window.kind === 'fixed') return window;
  const grain = grainNamed(window.granularity, axis.dimension);
  if (grain !== null) return { kind: 'to_date', grain };
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `${reader} is computed from the beginning of a unit that ${asWritten(name)} does not have.`,
  );
}

/**
 * A window holds rows of many buckets: of what else the query says, nothing may depend on the time of a row, or each row would bring
 * its own.
 */
function requireApart(expression: ResolvedExpression, form: TimeForm, reader: string, model: DataModel): void {
  const { axis } = form;
  const derived = derivedFrom(expression, axis, model)?.name ?? (reads(expression, axis) ? form.name : null);
  if (derived === null) return;
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `${reader} is computed over windows of ${asWritten(form.name)}: the query cannot depend on ${asWritten(derived)} beside its unit of time.`,
    `Filter and group by ${asWritten(form.name)} itself.`,
  );
}

/** The time of a row, as coarse as no end of a window tells apart: rows are put together by it before windows are made. */
function fineTime(form: TimeForm, window: Window, grain: Grain): ResolvedExpression {
  const granularity = fineGrain(window, grain);
  // A unit of the model's own of that name would come before the built-in one.
  if (form.axis.dimension.granularities.has(granularity)) return form.untruncated;
  return { kind: 'date-trunc', granularity, operand: form.untruncated, location: 0 };
}

/** The parts of one block: its measures from rows put together, or from each row where that would count rows twice. */
function emitBlock(block: FactBlock, place: WindowPlace): readonly GroupPart[] {
  const { axis } = place.buckets;
  const { tree } = block.source.request;
  const at = place.scope.locate(tree, axis.path).path;
  const isEachOnce = block.repeated === null || at === null || !manyTimes(block.repeated.path, at, block);
  const parts: GroupPart[] = [];
  const distinct = block.measures.filter(({ measure }) => measure.aggregation.startsWith('count_distinct'));
  const others = block.measures.filter((it) => !distinct.includes(it));
  const keysOf = `${block.root} ${JSON.stringify(place.window)}`;
  const add = (measures: readonly BlockMeasure[], sql: string) =>
    parts.push({ sql, columns: measures.map(({ name }) => name), keysOf, isPartial: false });
  if (others.length > 0)
    add(others, isEachOnce ? emitTogether(block, others, place) : emitEachRow(block, others, place));
  for (const measure of distinct) add([measure], emitDistinct(block, measure, place));
  return parts;
}

const manyTimes = (of: NodePath, at: NodePath, { source }: FactBlock): boolean => {
  const { tree } = source.request;
  return tree.isMultiplied(of, tree.between(new Set([of, at])));
};
