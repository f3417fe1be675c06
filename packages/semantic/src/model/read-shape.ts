/** A value of a file → typed data, or everything that is wrong with its shape, each at its place and with the key that was meant. */
import { z } from 'zod';
import { nearNames } from '../closest-names.ts';
import type { Path, Reporter } from './report.ts';
import { isRecord, noJinja, snakeCase } from './yaml-source.ts';
import { quotesHint } from './yaml-words.ts';

/** Keys of other versions of this format that change nothing here. Read and left out, with a warning. */
const ignoredKeys: Readonly<Record<string, string>> = {
  aliases: 'other names of a member are not supported; meta.synonyms are other words for it',
  suggest_filter_values: 'values are suggested from what the user may see',
  enable_suggestions: 'values are suggested from what the user may see',
  field_type: 'there is nothing to choose here',
  values_as_segments: 'write a segment for each value',
  order: 'the order of values is chosen in the query',
  links: 'links are made where results are shown',
  cumulative: 'use rolling_window: { trailing: unbounded }',
  currency: 'a figure is shown as its format says',
  drill_filters: 'a drill-down has the filters of its query',
  pre_aggregations: 'nothing is aggregated beforehand here',
  refresh_key: 'answers are kept as the cubes say',
  view_group: 'views are not put into groups here',
  view_groups: 'views are not put into groups here',
};

/** Keys that may stand with nothing behind them, as in a file to be filled in later: it means the same as if they were not there. */
const emptyKeys: ReadonlySet<string> = new Set([
  ...['title', 'description', 'meta'],
  ...['joins', 'dimensions', 'measures', 'segments', 'hierarchies', 'folders'],
]);

/**
 * Keys of other versions of this format whose absence would change what is answered, or who sees it. With a kind of thing in front: there
 * alone.
 */
const refusedKeys: Readonly<Record<string, string>> = {
  rewrite_queries: 'queries are never rewritten here',
  calendar: 'calendar cubes are not supported',
  order_by: 'a rank is written as a window function in the query: rank() OVER (ORDER BY …)',
  split: 'a split view is not supported: write one view for each cube',
  visible: 'write public',
  role: 'write group or groups, the names of groups of users',
  roles: 'write group or groups, the names of groups of users',
  drill_member_references: 'write drill_members',
  includes_members: 'write includes',
  excludes_members: 'write excludes',
  query_rewrite: 'write access_policy',
  synonyms: 'write it below meta',
  ai_context: 'write it below meta',
  default_filters: 'what always holds is a filter of access_policy',
  indexes: 'nothing is aggregated beforehand here',
  'join.alias': 'for a second join of one cube make a cube that extends it, and join that',
  'measure.filter': 'the filters of a measure are a list, filters: [{ sql }]; those of a stage are not supported',
  'measure.grain': 'write group_by, reduce_by or add_group_by',
  'dimension.multi_stage': 'only a measure is computed in stages',
  'dimension.time_shift': 'shifts of a dimension belong to calendar cubes, which are not supported',
  'dimension.switch':
    'a measure with multi_stage: true has a case by switch; that of a dimension is when: [{ sql, label }]',
};

/** Values that other versions of this format know. */
const refusedValues: Readonly<Record<string, string>> = {
  running_total: 'write type: sum with rolling_window: { trailing: unbounded }',
  rank: 'a rank is written as a window function in the query: rank() OVER (ORDER BY …)',
};

const hintOf = (hints: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(hints, key) ? hints[key] : undefined;

/** `; did you mean "x"?`, or nothing when no candidate is like it. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const all = [...candidates];
  const initial = name.charAt(0).toLowerCase();
  // Of very many only those that begin alike are looked at.
  const some = all.length <= 500 ? all : all.filter((one) => one.charAt(0).toLowerCase() === initial).slice(0, 2000);
  const [near] = nearNames(name, some);
  return near === undefined ? '' : `; did you mean "${near}"?`;
}

/**
 * Parses a value. Keys that are ignored are warned of and left out. Keys that are not known, and described ones that are wrong, are
 * reported and left out, so that the rest is still looked at.
 * @param what what the value is, for messages: `dimension`
 * @returns null when it has not that shape, which was reported then
 */
export function readShape<T extends z.ZodObject>(
  shape: T,
  value: unknown,
  report: Reporter,
  what: string,
): z.output<T> | null {
  if (!isRecord(value)) {
    report.error(
      [],
      `a ${what} has to be a map of keys${typeof value === 'string' && value.includes('{{') ? `; ${noJinja}` : ''}`,
    );
    return null;
  }
  let taken = value;
  for (const key of Object.keys(value)) {
    if (value[key] === null && emptyKeys.has(key)) {
      taken = Object.fromEntries(Object.entries(taken).filter(([name]) => name !== key));
      continue;
    }
    const why = hintOf(ignoredKeys, key);
    if (why === undefined || Object.hasOwn(shape.shape, key)) continue;
    report.warn([key], `"${key}" is ignored: ${why}`, 'key');
    taken = Object.fromEntries(Object.entries(taken).filter(([name]) => name !== key));
  }
  const result = shape.safeParse(taken);
  if (result.success) return result.data;
  for (const issue of result.error.issues) reportIssue(issue, shape, taken, report, what);
  const broken = new Set(result.error.issues.flatMap(keysOf));
  if (![...broken].every((key) => isSpare(key, shape))) return null;
  const mended = shape.safeParse(Object.fromEntries(Object.entries(taken).filter(([key]) => !broken.has(key))));
  return mended.success ? mended.data : null;
}

/** Keys that only describe: whether they are there changes nothing else. */
const describing: ReadonlySet<string> = new Set([
  'title',
  'description',
  'public',
  'shown',
  'meta',
  'format',
  'sql_alias',
]);

/** Whether nothing is missed without the key: it only describes, or is like none that is known. */
function isSpare(key: string, shape: z.ZodObject): boolean {
  if (Object.hasOwn(shape.shape, key)) return describing.has(key);
  const [meant] = nearNames(key, Object.keys(shape.shape));
  return meant === undefined || describing.has(meant);
}

/** The keys of the value itself that an issue is about. */
function keysOf(issue: z.core.$ZodIssue): readonly string[] {
  const [first] = issue.path;
  return first === undefined && issue.code === 'unrecognized_keys' ? issue.keys : [String(first)];
}

function reportIssue(issue: z.core.$ZodIssue, shape: z.ZodObject, root: unknown, report: Reporter, what: string): void {
  const path: Path = issue.path.filter((key) => typeof key !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(shape, path);
    for (const key of issue.keys) {
      const why = hintOf(refusedKeys, `${what}.${key}`) ?? hintOf(refusedKeys, key);
      const hint = why === undefined ? didYouMean(key, known) : `: ${why}`;
      report.error([...path, key], `"${key}" is not known here${hint}`, 'key');
    }
    return;
  }
  report.error(path, messageOf(issue, valueAt(root, path), path, what));
}

function messageOf(issue: z.core.$ZodIssue, value: unknown, path: Path, what: string): string {
  const name = path.findLast((key) => typeof key === 'string') ?? what;
  if (value === undefined && issue.code !== 'custom') {
    return `${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what} needs ${path.join('.')}`;
  }
  if (typeof value === 'string' && value.includes('{{')) return noJinja;
  if (typeof value === 'string' && value.includes('COMPILE_CONTEXT')) return noCompileContext;
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String);
    const given = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    const plain = snakeCase(given);
    const why = hintOf(refusedValues, plain);
    const hint = why === undefined ? didYouMean(given, known) : `: ${why}`;
    const list = known.length === 1 ? known.join() : `one of ${known.join(', ')}`;
    return `${name} has to be ${list}, not "${given.slice(0, 80)}"${hint}`;
  }
  // What the shapes say themselves is said; the library's own words are not.
  const isOwn = issue.code === 'custom' || !/^Invalid|^Too/.test(issue.message);
  return `${name} ${isOwn ? issue.message : expectation(issue)}${quotesHint(value)}`;
}

/** Why COMPILE_CONTEXT is refused. */
export const noCompileContext =
  'COMPILE_CONTEXT is not supported: a model is the same for every user; what differs by user is said in access_policy';

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small') return 'must not be empty';
  const expected = issue.code === 'invalid_type' ? issue.expected : '';
  const words: Readonly<Record<string, string>> = {
    string: 'must be a text',
    boolean: 'must be true or false',
    array: 'must be a list',
    object: 'must be a map of keys',
    record: 'must be a map of keys',
  };
  return words[expected] ?? 'is not what is expected here';
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const key of path) {
    if (Array.isArray(value) && typeof key === 'number') value = value[key];
    else if (isRecord(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}

/** The keys that the shape knows at a path. */
function keysAt(shape: z.ZodType, path: Path): readonly string[] {
  let at: unknown = shape;
  for (const key of [...path, null]) {
    while (at instanceof z.ZodOptional) at = at.unwrap();
    if (key === null) break;
    if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodObject) at = at.shape[String(key)];
    else return [];
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}
