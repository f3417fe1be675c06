/**
 * Strips a chart of what is not allowed in one but does not make it: data, configuration, parameters, links, expressions in its
 * looks. What would change the meaning when it were left out (a transform, an image mark, a field that is none) stays, so that
 * the check after this refuses it. Pure.
 */
import type { z } from 'zod';
import { chartParts } from './chart-schema.ts';

type Json = Readonly<Record<string, unknown>>;

/** A part of a chart: the keys it may have, and what becomes of the others. */
interface Part {
  readonly shape: Readonly<Record<string, z.ZodType>>;
  /** Known keys that make the chart: one that does not fit is left in, and refused. */
  readonly makes: readonly string[];
  /** Unknown keys: `none` may be left out; all but those listed may be left out; only those listed may be left out. */
  readonly unknown: { readonly kept: readonly string[] } | { readonly dropped: readonly string[] };
  /** Keys whose values are parts (or lists of parts) themselves. */
  readonly parts: Readonly<Record<string, Part>>;
}

/** Composition and computing: without them the chart is another one. */
const compositions = ['transform', 'layer', 'facet', 'repeat', 'concat', 'hconcat', 'vconcat', 'spec', 'projection'];
const looks = (shape: Part['shape']): Part => ({ shape, makes: [], unknown: { kept: [] }, parts: {} });

const channel: Part = {
  shape: chartParts.channel,
  makes: ['field', 'type', 'aggregate', 'timeUnit', 'bin', 'datum', 'stack'],
  unknown: { kept: ['impute'] },
  parts: {
    scale: looks(chartParts.scale),
    axis: looks(chartParts.axis),
    legend: looks(chartParts.legend),
    header: looks(chartParts.header),
  },
};
const encoding: Part = {
  shape: chartParts.encoding,
  makes: Object.keys(chartParts.encoding),
  unknown: { dropped: ['href', 'url', 'description', 'key'] },
  parts: Object.fromEntries(Object.keys(chartParts.encoding).map((name) => [name, channel])),
};
const mark: Part = { ...looks(chartParts.mark), makes: ['type'] };
const unit: Part = {
  shape: chartParts.unit,
  makes: ['mark', 'encoding'],
  unknown: { kept: compositions },
  parts: { mark, encoding },
};
const chart: Part = {
  shape: chartParts.chart,
  makes: ['mark', 'encoding', 'layer'],
  unknown: { kept: compositions },
  parts: { mark, encoding, layer: unit },
};

/** The chart without what can be left out; what is no object is given back as it is. The result is not checked yet. */
export function cleanChart(value: unknown): unknown {
  return clean(value, chart);
}

function clean(value: unknown, part: Part): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => clean(item, part));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const schema = Object.hasOwn(part.shape, key) ? part.shape[key] : undefined;
    if (schema === undefined) return isDropped(key, part) ? [] : [[key, member]];
    const inner = Object.hasOwn(part.parts, key) ? part.parts[key] : undefined;
    const cleaned = inner === undefined ? member : clean(member, inner);
    // A channel that had nothing but a condition, or a value that is not allowed, is none any more.
    if (inner === channel && isEmpty(cleaned) && !isEmpty(member)) return [];
    return part.makes.includes(key) || schema.safeParse(cleaned).success ? [[key, cleaned]] : [];
  });
  return Object.fromEntries(kept);
}

function isDropped(key: string, { unknown }: Part): boolean {
  return 'kept' in unknown ? !unknown.kept.includes(key) : unknown.dropped.includes(key);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
