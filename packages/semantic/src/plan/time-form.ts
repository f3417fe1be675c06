/** Which expressions read a time dimension itself, or truncated to a unit: the axis of windows, shifts and filled gaps. */
import type { DataModel, Dimension, RelationMember } from '../model/data-model.ts';
import { memberReads } from '../policy/member-reads.ts';
import { partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { beginsAt, type Grain, grainNamed } from './grain.ts';
import { type NodePath, pathOf } from './join-tree.ts';

/** A time dimension at its node. */
export interface TimeAxis {
  readonly path: NodePath;
  readonly dimension: Dimension;
}

/** A time dimension as an expression reads it. */
export interface TimeForm {
  readonly axis: TimeAxis;
  /** The name by which the query knows it. */
  readonly name: string;
  /** The zone whose wall clock it is turned to; null: its value as it is. */
  readonly timezone: string | null;
  /** The unit that it is truncated to; null: none. */
  readonly grain: Grain | null;
  /** The dimension within, turned to the wall clock where the expression does that. */
  readonly untruncated: ResolvedExpression;
}

/** What names an axis: the same dimension reached by another path is another one. */
export const axisId = ({ path, dimension }: TimeAxis): string => `${path} ${dimension.name}`;

/**
 * An expression as a time dimension, truncated or not: `t`, its local time, `date_trunc(…, t)`, `CAST(t AS date)`. Null: it is
 * something else.
 */
export function timeFormOf(expression: ResolvedExpression): TimeForm | null {
  switch (expression.kind) {
    case 'dimension': {
      const { member, name, path } = expression.member;
      if (member.kind !== 'dimension' || member.type !== 'time') return null;
      const axis = { path: pathOf(path), dimension: member };
      return { axis, name, timezone: null, grain: null, untruncated: expression };
    }
    case 'local-time': {
      const form = timeFormOf(expression.operand);
      if (form === null || form.timezone !== null || form.grain !== null) return null;
      return { ...form, timezone: expression.timezone, untruncated: expression };
    }
    case 'date-trunc': {
      const form = timeFormOf(expression.operand);
      if (form === null || form.grain !== null) return null;
      const grain = grainNamed(expression.granularity, form.axis.dimension);
      return grain === null ? null : { ...form, grain };
    }
    case 'cast': {
      if (expression.type !== 'date' && expression.type !== 'timestamp') return null;
      const form = timeFormOf(expression.operand);
      if (form === null || expression.type === 'timestamp') return form;
      if (form.grain === null) return { ...form, grain: { kind: 'built-in', granularity: 'day' } };
      return beginsAt(form.grain).midnight ? form : null;
    }
    default:
      return null;
  }
}

/** Whether an expression is the axis, truncated or not. */
export function isAxis(form: TimeForm | null, axis: TimeAxis): form is TimeForm {
  return form !== null && axisId(form.axis) === axisId(axis);
}

/** The dimensions that an expression reads by themselves. */
export function dimensionsIn(expression: ResolvedExpression): readonly RelationMember[] {
  if (expression.kind === 'dimension') return [expression.member];
  return partsOf(expression).flatMap(dimensionsIn);
}

/** The dimension in an expression that is made of the axis, as a text of its month is; null: there is none. */
export function derivedFrom(expression: ResolvedExpression, axis: TimeAxis, model: DataModel): RelationMember | null {
  const id = `${axis.dimension.cube}.${axis.dimension.name}`;
  const reads = memberReads(model);
  return dimensionsIn(expression).find(({ member }) => reads(member.cube, member.name).has(id)) ?? null;
}

/** Whether an expression reads the axis, wherever. */
export const reads = (expression: ResolvedExpression, { path, dimension }: TimeAxis): boolean =>
  dimensionsIn(expression).some((it) => it.member.name === dimension.name && pathOf(it.path) === path);
