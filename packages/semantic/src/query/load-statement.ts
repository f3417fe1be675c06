/**
 * A JSON query as one user sees the data model → the statement that semantic SQL would be parsed to, and what its columns are. From here
 * on both forms of a query go one way.
 */
import { nearNames } from '../closest-names.ts';
import type { DataModel } from '../model/data-model.ts';
import type { Rights } from '../policy/rights.ts';
import { SemanticError } from '../semantic-error.ts';
import {
  columnOf,
  type FindMember,
  filterCondition,
  isFiltered,
  type LoadMember,
  measureOf,
} from './load-condition.ts';
import type { LoadFilter } from './load-filter.ts';
import type { LoadQuery } from './load-query.ts';
import { loadError, memberName } from './load-shape.ts';
import { type asFound, findRelation } from './member-scope.ts';
import type { NamedExpression, SelectItem, SortItem } from './semantic-query.ts';
import type { SelectBody, Statement } from './statement.ts';

/** A column of the result. */
export interface LoadColumn extends LoadMember {
  /** Under which name rows hold it: `orders.count`, `orders.created_at.month`. */
  readonly key: string;
  /** Of a time dimension that is cut to a unit; else null. */
  readonly granularity: string | null;
}

/** What a JSON query comes to. */
export interface LoadPlan {
  readonly statement: Statement;
  /** Gives the number of rows without `limit` and `offset`, where the query asks for it. */
  readonly total: Statement | null;
  /** The columns of `statement`, in its order. */
  readonly columns: readonly LoadColumn[];
  readonly segments: readonly LoadMember[];
}

/**
 * Finds the members that a query names.
 * @throws SemanticError for a member that the user may not see, as for one that there is not, and for what stands where it cannot
 */
export function planLoad(query: LoadQuery, model: DataModel, rights: Pick<Rights, 'visible'>): LoadPlan {
  const relations = new Set<string>();
  const find = finder(model, rights, relations);
  const measures = query.measures.map((name, at) => only(find, name, `measures.${at}`, 'measure'));
  const dimensions = query.dimensions.map((name, at) => only(find, name, `dimensions.${at}`, 'dimension'));
  const times = query.timeDimensions.map(({ dimension }, at) => timeMember(find, dimension, `timeDimensions.${at}`));
  const segments = query.segments.map((name, at) => only(find, name, `segments.${at}`, 'segment'));
  if (query.isUngrouped && measures.length > 0) {
    throw loadError('measures', 'cannot be asked for with ungrouped', 'Ungrouped rows have dimensions only.');
  }

  const keys: LoadColumn[] = dimensions.map((it, at) => ({
    ...it,
    key: query.dimensions[at] ?? '',
    granularity: null,
  }));
  for (const [at, { dimension, granularity }] of query.timeDimensions.entries()) {
    const found = times[at];
    const key = `${dimension}.${granularity}`;
    if (found === undefined || granularity === null || keys.some((it) => it.key === key)) continue;
    keys.push({ ...found, key, granularity });
  }
  const columns = [...keys, ...measures.map((it, at) => ({ ...it, key: query.measures[at] ?? '', granularity: null }))];
  if (columns.length === 0) throw loadError('', 'names no measure and no dimension');

  const conditions = query.filters.map((it) => ({ it, kind: kindOf(it, find) }));
  const of = (wanted: 'row' | 'group'): readonly NamedExpression[] =>
    conditions.filter(({ kind }) => kind === wanted).map(({ it }) => filterCondition(it, find));
  const having = of('group');
  if (query.isUngrouped && having.length > 0) throw loadError('filters', 'cannot name a measure with ungrouped');
  const drilled = conditions.find(({ it, kind }) => kind === 'group' && holdsCounted(it));
  if (drilled !== undefined && measures.length > 0) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${drilled.it.path}: the rows behind a measure with filters of its own can be listed, but not measured.`,
      'Leave out measures, or write its condition as filters on dimensions.',
    );
  }
  const ranges = query.timeDimensions.flatMap(({ dimension, range }, at): LoadFilter[] =>
    range === null
      ? []
      : [{ kind: 'time', member: dimension, ...range, isNegated: false, path: `timeDimensions.${at}.dateRange` }],
  );
  const where = [...ranges.map((it) => filterCondition(it, find)), ...of('row'), ...segments.map((it) => columnOf(it))];

  const select = columns.map(
    (column): SelectItem => ({ kind: 'expression', expression: selected(column), alias: column.key }),
  );
  const [first, ...others] = [...relations].map(
    (name) => ({ kind: 'table', name, alias: null, columns: [], location: 0 }) as const,
  );
  if (first === undefined) throw new Error('a query without a relation');
  const unsorted: SelectBody = {
    kind: 'select',
    from: [first, ...others],
    select,
    isDistinct: false,
    where: all(where),
    groupBy: query.isUngrouped ? [] : keys.map((_, at) => ordinal(at)),
    having: all(having),
    orderBy: [],
    limit: null,
    offset: null,
    fill: query.fillMissingDates,
  };
  const { limit, offset } = query;
  const body = { ...unsorted, orderBy: orderOf(query, columns), limit, offset: offset === 0 ? null : offset };
  return {
    statement: { with: [], body },
    total: query.hasTotal ? countOf({ with: [], body: unsorted }) : null,
    columns,
    segments,
  };
}

const ordinal = (at: number): NamedExpression => ({ kind: 'number', text: String(at + 1), location: 0 });

function selected(column: LoadColumn): NamedExpression {
  if (column.member.member.kind === 'measure') return measureOf(column);
  const operand = columnOf(column);
  return column.granularity === null
    ? operand
    : { kind: 'date-trunc', granularity: column.granularity, operand, location: 0 };
}

function all(conditions: readonly NamedExpression[]): NamedExpression | null {
  const [first = null, second] = conditions;
  return second === undefined ? first : { kind: 'and', operands: conditions, location: 0 };
}

function countOf(statement: Statement): Statement {
  const count: NamedExpression = {
    kind: 'aggregate',
    function: 'count',
    isDistinct: false,
    argument: null,
    filter: null,
    location: 0,
  };
  const rest = { isDistinct: false, where: null, groupBy: [], having: null, orderBy: [], limit: null, offset: null };
  const from = [{ kind: 'derived', statement, alias: 'rows', columns: [], location: 0 }] as const;
  return {
    with: [],
    body: { kind: 'select', from, select: [{ kind: 'expression', expression: count, alias: 'total' }], ...rest },
  };
}

/**
 * What rows are sorted by. Where the query does not say: by its first unit of time, else by its first measure, the largest first, else by
 * its first dimension. Rows without a value come last, in either direction.
 */
function orderOf({ order }: LoadQuery, columns: readonly LoadColumn[]): readonly SortItem[] {
  const sort = (at: number, isDescending: boolean): SortItem => ({
    expression: ordinal(at),
    isDescending,
    nullsFirst: false,
  });
  if (order === null) {
    const time = columns.findIndex(({ granularity }) => granularity !== null);
    if (time !== -1) return [sort(time, false)];
    const measure = columns.findIndex(({ member }) => member.member.kind === 'measure');
    return measure === -1 ? [sort(0, false)] : [sort(measure, true)];
  }
  return order.map(({ name, isDescending }, at) => {
    const exact = columns.findIndex(({ key }) => key === name);
    const found = exact === -1 ? columns.findIndex((it) => `${it.relation}.${it.member.name}` === name) : exact;
    if (found !== -1) return sort(found, isDescending);
    throw loadError(
      `order.${at}`,
      `names "${name.slice(0, 80)}", which is not among the columns of the query`,
      closest(
        name,
        columns.map(({ key }) => key),
      ),
    );
  });
}

/** Names of JSON queries stand as they are, without the quotes of SQL. */
function closest(name: string, candidates: readonly string[]): string {
  const near = nearNames(name, candidates);
  return near.length === 0 ? '' : `Closest: ${near.join(', ')}`;
}

function finder(model: DataModel, rights: Pick<Rights, 'visible'>, relations: Set<string>): FindMember {
  const known = new Map<string, ReturnType<typeof asFound>>();
  return (name, path) => {
    const { relation, member } = memberName(name, path);
    const found = known.get(relation) ?? findRelation({ name: relation, location: 0 }, model, rights);
    known.set(relation, found);
    const visible = found.visible.get(member);
    if (visible === undefined) {
      throw new SemanticError(
        'MEMBER_NOT_FOUND',
        `No member "${member}" in ${relation}.`,
        closest(member, [...found.visible.keys()]),
      );
    }
    relations.add(relation);
    return { relation, member: visible };
  };
}

const places = { measure: 'measures', dimension: 'dimensions', segment: 'segments' } as const;

function only(find: FindMember, name: string, path: string, kind: keyof typeof places): LoadMember {
  const found = find(name, path);
  const actual = found.member.member.kind;
  if (actual === kind) return found;
  throw loadError(path, `names the ${actual} ${name}`, `Put it into ${places[actual]}.`);
}

function timeMember(find: FindMember, name: string, path: string): LoadMember {
  const found = only(find, name, path, 'dimension');
  if (found.member.member.type === 'time') return found;
  throw loadError(path, `names ${name}, which is no time but a ${found.member.member.type}`);
}

/** Whether a filter asks for the rows that a measure counts. */
const holdsCounted = (filter: LoadFilter): boolean =>
  'filters' in filter ? filter.filters.some(holdsCounted) : filter.kind === 'counted-by';

/** Whether a filter is on rows or on groups. @throws SemanticError for one that mixes both, or has a member that is not there */
function kindOf(filter: LoadFilter, find: FindMember): 'row' | 'group' {
  if ('filters' in filter) {
    const kinds = new Set(filter.filters.map((it) => kindOf(it, find)));
    if (kinds.size < 2) return kinds.has('group') ? 'group' : 'row';
    throw loadError(
      filter.path,
      'mixes measures and dimensions',
      'Measures filter groups, dimensions rows: write a filter for each.',
    );
  }
  const { member } = find(filter.member, `${filter.path}.member`);
  if (filter.kind === 'counted-by') return isFiltered(member) ? 'group' : 'row';
  return member.member.kind === 'measure' ? 'group' : 'row';
}
