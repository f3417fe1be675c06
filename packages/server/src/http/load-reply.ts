/** What `/load` answers with, written piece by piece: rows are never one text in memory. */
import type { Cell } from '@inlay/contract/chat.ts';
import { InlayError } from '../errors.ts';
import type { Load, LoadedQuery, LoadedResult } from '../query/load-data.ts';
import { annotationsOf } from './cube-metadata.ts';

/** How several queries of one call belong together, in the words of Cube's API. */
export type QueryType = 'regularQuery' | 'compareDateRangeQuery' | 'blendingQuery';

/**
 * What a call asks for.
 * @throws InlayError QUERY_INVALID for queries that cannot be blended: they need one unit of time, the same for all
 */
export function queryTypeOf({ queries }: Pick<Load, 'queries'>, asked: number): QueryType {
  const isCompared = queries.some(({ query }) => query.comparedRange !== null);
  if (asked < 2) return isCompared ? 'compareDateRangeQuery' : 'regularQuery';
  if (isCompared) throw new InlayError('QUERY_INVALID', 'A list of queries cannot compare ranges of time.');
  const units = new Set(queries.map((it) => timeKeyOf(it)?.granularity ?? null));
  if (units.size === 1 && !units.has(null)) return 'blendingQuery';
  throw new InlayError('QUERY_INVALID', 'Each of several queries needs a time dimension, all with one granularity.');
}

/** The first unit of time of a query. */
const timeKeyOf = ({ columns }: LoadedQuery) => columns.find(({ granularity }) => granularity !== null);

/**
 * The reply as pieces of JSON.
 * @param form.isMulti whether it is a reply of several queries, also where there is one
 */
export async function* loadReply(
  load: Pick<Load, 'queries' | 'relations'>,
  results: readonly LoadedResult[],
  { type, isMulti }: { readonly type: QueryType; readonly isMulti: boolean },
): AsyncGenerator<string> {
  if (isMulti) {
    yield `{"queryType":"${type}","pivotQuery":${JSON.stringify(pivotQuery(load.queries, type))},"results":[`;
  }
  for (const [at, query] of load.queries.entries()) {
    const found = results[at];
    if (found === undefined) throw new Error('a query without its result');
    const annotation = annotationsOf(query, load.relations);
    const head = {
      query: query.query.normalised,
      annotation,
      ...(found.total === null ? {} : { total: found.total }),
    };
    yield `${at === 0 ? '' : ','}${JSON.stringify(head).slice(0, -1)},"data":`;
    yield* dataOf(query, found, type);
    yield '}';
  }
  if (isMulti) yield ']}';
}

/** The query whose columns are those of all results together. */
function pivotQuery(queries: readonly LoadedQuery[], type: QueryType): Readonly<Record<string, unknown>> {
  const [first] = queries;
  const { normalised, measures, dimensions } = first?.query ?? { normalised: {}, measures: [], dimensions: [] };
  switch (type) {
    case 'regularQuery':
      return { ...normalised, queryType: type };
    case 'compareDateRangeQuery':
      return { ...normalised, measures, dimensions: ['compareDateRange', ...dimensions], queryType: type };
    case 'blendingQuery': {
      const granularity = first === undefined ? undefined : timeKeyOf(first)?.granularity;
      return {
        measures: [...new Set(queries.flatMap(({ query }) => query.measures))],
        dimensions: [...new Set(queries.flatMap(({ query }) => query.dimensions))],
        timeDimensions: [{ dimension: 'time', granularity }],
        queryType: type,
      };
    }
  }
}

/** A value of each row of a result. */
interface Output {
  readonly key: string;
  readonly read: (row: readonly Cell[]) => Cell;
}

function outputsOf(query: LoadedQuery, type: QueryType): readonly Output[] {
  const { columns } = query;
  const readers = columns.map(({ member }, at): Output['read'] =>
    member.member.type === 'time' ? (row) => wholeTime(row[at] ?? null) : (row) => row[at] ?? null,
  );
  const none: Output['read'] = () => null;
  const outputs = columns.map(({ key }, at): Output => ({ key, read: readers[at] ?? none }));
  const keys = new Set(columns.map(({ key }) => key));
  // A unit of time also goes by the name of its dimension.
  for (const [at, { relation, member, granularity }] of columns.entries()) {
    const name = `${relation}.${member.name}`;
    if (granularity === null || keys.has(name)) continue;
    keys.add(name);
    outputs.push({ key: name, read: readers[at] ?? none });
  }
  const { comparedRange } = query.query;
  if (comparedRange !== null) outputs.push({ key: 'compareDateRange', read: () => comparedRange });
  const time = type === 'blendingQuery' ? timeKeyOf(query) : undefined;
  if (time !== undefined) {
    const read = readers[columns.indexOf(time)] ?? none;
    outputs.push({ key: `time.${time.granularity}`, read }, { key: 'time', read });
  }
  return outputs;
}

/** Clients compare times as texts: a day is written as the time at which it begins. */
const wholeTime = (cell: Cell): Cell =>
  typeof cell === 'string' && cell.length === 10 ? `${cell}T00:00:00.000` : cell;

async function* dataOf(query: LoadedQuery, { result }: LoadedResult, type: QueryType): AsyncGenerator<string> {
  const outputs = outputsOf(query, type);
  const members = outputs.map(({ key }) => key);
  const { responseFormat } = query.query;
  switch (responseFormat) {
    case 'default':
      yield* listOf(result, (row) => Object.fromEntries(outputs.map(({ key, read }) => [key, read(row)])));
      return;
    case 'compact':
      yield `{"members":${JSON.stringify(members)},"dataset":`;
      yield* listOf(result, (row) => outputs.map(({ read }) => read(row)));
      yield '}';
      return;
    case 'columnar':
      yield `{"members":${JSON.stringify(members)},"columns":[`;
      for (const [at, { read }] of outputs.entries()) {
        if (at > 0) yield ',';
        yield* listOf(result, read);
      }
      yield ']}';
  }
}

/** What `read` makes of each row, as a JSON list. */
async function* listOf(
  result: LoadedResult['result'],
  read: (row: readonly Cell[]) => unknown,
): AsyncGenerator<string> {
  let before = '[';
  for await (const rows of result.rows()) {
    if (rows.length === 0) continue;
    yield before + JSON.stringify(rows.map(read)).slice(1, -1);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
