/**
 * Units of time that have no rows, added to groups: each between the bounds of WHERE, for each combination of the other keys that there
 * is. Their measures are null. What HAVING drops later stays dropped: it drops these, too.
 */
import { SemanticError } from '../semantic-error.ts';
import { emitChosen, emitSeries, endsOf } from './buckets.ts';
import type { GroupRequest, GroupScope } from './group-scope.ts';
import { readBounds } from './time-bounds.ts';
import { reads, timeFormOf } from './time-form.ts';

/**
 * @param groups the SELECT of the request's keys and measures
 * @throws SemanticError QUERY_NOT_PLANNABLE where it is not clear which units there are
 */
export function emitFilled(groups: string, { keys, measures, where }: GroupRequest, scope: GroupScope): string {
  const { dialect } = scope.context;
  const [found, second] = keys.flatMap((key) => {
    const form = timeFormOf(key.expression);
    return form === null || form.grain === null ? [] : [{ key, form, grain: form.grain }];
  });
  if (found === undefined || second !== undefined) throw refusal('the query has not one unit of time');
  const { key, form, grain } = found;
  const others = keys.filter((it) => it !== key);
  if (others.some(({ expression }) => reads(expression, form.axis))) throw refusal('it groups by the time in two ways');
  const bounds = readBounds(where, form.axis, grain, 'Filling gaps');
  if (endsOf(bounds) === null) throw refusal('the range of time has no two ends');

  const buckets = { axis: form.axis, grain, timezone: form.timezone };
  const bucket = `s.${dialect.quote('bucket')}`;
  const series = emitSeries(buckets, bounds, null, 's', scope.context);
  const chosen = emitChosen(bucket, buckets, bounds, scope.context);
  const select = [`${bucket} AS ${key.name}`, ...others.map(({ name }) => `o.${name} AS ${name}`)].join(', ');
  const combinations = others.map(({ name }) => `f.${name} AS ${name}`).join(', ');
  const other = others.length === 0 ? '' : ` CROSS JOIN (SELECT DISTINCT ${combinations} FROM filled AS f) AS o`;
  const wanted = `SELECT ${select} FROM ${series}${other} WHERE ${chosen.join(' AND ')}`;
  const on = keys.map(({ name }) => dialect.isNotDistinct(`w.${name}`, `g.${name}`)).join(' AND ');
  const columns = [
    ...keys.map(({ name }) => `COALESCE(w.${name}, g.${name}) AS ${name}`),
    ...measures.map(({ name }) => `g.${name} AS ${name}`),
  ];
  // Groups of no unit that is wanted stay: a measure at another time has some.
  return `WITH filled AS (${groups}) SELECT ${columns.join(', ')} FROM (${wanted}) AS w FULL JOIN filled AS g ON ${on}`;
}

const refusal = (why: string): SemanticError =>
  new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `Missing times cannot be filled in: ${why}.`,
    'Give one time dimension a granularity and a range with two ends.',
  );
