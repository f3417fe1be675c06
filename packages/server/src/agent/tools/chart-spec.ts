/** Checks charts: a language model writes them, so they are hostile text until proven otherwise. */
import type { z } from 'zod';
import { InlayError } from '../../errors.ts';
import { isDeeperThan, jsonDepthMax } from '../../json-depth.ts';
import { chartSchema } from './chart-schema.ts';
import { cleanChart } from './clean-chart.ts';

const charactersMax = 16_384;

const hint =
  'A chart is one unit (mark, encoding) or a layer of units over the columns of the result. Compute in SQL instead of in a transform; no data, image, map, URL or expression.';

/**
 * Checks a chart written by a language model against the allow-list of chart-schema.ts. What is not allowed is left out where the
 * chart is the same without it (data, config, params, links, looks by expression), and refused where it is not.
 * @param spec Vega-Lite as JSON text.
 * @returns the chart, written anew, so that nothing that a JSON parser skips is passed on.
 * @throws InlayError TOOL_INPUT_INVALID that names what is not allowed.
 */
export function parseChartSpec(spec: string): string {
  if (spec.length > charactersMax) throw refusal(`is longer than ${charactersMax} characters`);
  let json: unknown;
  try {
    json = JSON.parse(spec);
  } catch {
    throw refusal('is not JSON');
  }
  // What cleans and checks it calls itself.
  if (isDeeperThan(jsonDepthMax, json)) throw refusal('is nested too deep');
  const chart = cleanChart(json);
  const parsed = chartSchema.safeParse(chart);
  if (!parsed.success) throw refusal(describeIssue(parsed.error.issues, []));
  if (parsed.data.mark === undefined && parsed.data.layer === undefined)
    throw refusal('has neither a mark nor a layer');
  return JSON.stringify(chart);
}

function refusal(what: string): InlayError {
  return new InlayError('TOOL_INPUT_INVALID', `The vegaSpec ${what}.`, { hint });
}

/** The most telling issue in words: a key that is not allowed, wherever it stands, before anything else. */
function describeIssue(issues: readonly z.core.$ZodIssue[], path: readonly PropertyKey[]): string {
  return findUnknownKey(issues, path) ?? `does not fit at "${[...path, ...(issues[0]?.path ?? [])].join('.')}"`;
}

function findUnknownKey(issues: readonly z.core.$ZodIssue[], path: readonly PropertyKey[]): string | undefined {
  for (const issue of issues) {
    const here = [...path, ...issue.path];
    if (issue.code === 'unrecognized_keys') return `may not have "${[...here, issue.keys[0]].join('.').slice(0, 200)}"`;
    if (issue.code !== 'invalid_union') continue;
    for (const branch of issue.errors) {
      const found = findUnknownKey(branch, here);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
