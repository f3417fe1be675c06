/**
 * Measures over measures that are computed first: at fewer or more dimensions than the query's, at another time, or one of several by
 * the value of a `switch` dimension.
 */
import type {
  CalculatedMeasure,
  DataModel,
  DimensionReference,
  Measure,
  MeasureSwitch,
  MultiStageMeasure,
  SqlTemplate,
} from '../model/data-model.ts';
import { relationMember } from '../model/relation-member.ts';
import { memberReads } from '../policy/member-reads.ts';
import { SemanticError } from '../semantic-error.ts';
import type { GroupKey, GroupMeasure, GroupPart, GroupRequest, GroupScope, StageMeasure } from './group-scope.ts';
import { cubeAt, pathOf, rootOf } from './join-tree.ts';
import { prefixBeside } from './short-name.ts';
import { switchUses } from './switch-dimension.ts';
import { dimensionsIn } from './time-form.ts';
import { emitShifted } from './time-shift.ts';
import { ofOneKind } from './value-kind.ts';

/** A request for multi-stage measures. */
interface StageRequest extends GroupRequest {
  readonly measures: readonly StageMeasure[];
}

/** A measure with what it is made of. */
interface Stage {
  readonly it: StageMeasure;
  /** The inner measures, under the names of their columns. */
  readonly values: readonly GroupMeasure[];
  /** The value over a table of keys and inner measures. */
  emit(alias: string, keys: readonly GroupKey[]): string;
}

/**
 * The multi-stage measures of a request: a part for those that are computed at the same dimensions and the same time, from the same rows.
 * @throws SemanticError QUERY_NOT_PLANNABLE
 */
export function emitStages(request: StageRequest, scope: GroupScope): readonly GroupPart[] {
  const groups = new Map<string, StageMeasure[]>();
  for (const it of request.measures) {
    const { grain, timeShifts } = it.measure;
    const key = JSON.stringify([
      it.path,
      grain,
      timeShifts,
      isDirect(it.measure),
      rowsOf(it.measure, scope.context.model),
    ]);
    groups.set(key, [...(groups.get(key) ?? []), it]);
  }
  return [...groups.values()].map((measures) => ({
    sql: emitGroup({ ...request, measures }, scope),
    columns: measures.map(({ name }) => name),
    keysOf: null,
    isPartial: false,
  }));
}

/**
 * Names the rows that a measure has combinations of keys from: those of cubes, or of windows over them. Beside a measure with others it would
 * be there for the combinations of these too. What holds further stages has rows of its own.
 */
function rowsOf(measure: MultiStageMeasure, model: DataModel): string {
  const rows = new Set<string>();
  for (const inner of measuresIn(measure, model)) {
    if (inner.aggregation === 'multi_stage') return `${measure.cube} ${measure.name}`;
    if (inner.aggregation === 'number') continue;
    rows.add(JSON.stringify([inner.cube, 'rollingWindow' in inner ? inner.rollingWindow : null]));
  }
  return [...rows].sort().join(' ');
}

/** Whether the value at fewer dimensions is the inner measure there: a sum of all rows, never a sum of sums. */
const isDirect = ({ outer }: MultiStageMeasure): boolean => outer === 'sum' || outer === 'number';

/** Measures of one cube, grain and time. */
function emitGroup(request: StageRequest, scope: GroupScope): string {
  const [first] = request.measures;
  if (first === undefined) return '';
  const { grain } = first.measure;
  const stages = request.measures.map((it) => stageOf(it, request, scope));
  const values = (keys: readonly GroupKey[]) => emitValues(keys, stages, request, scope);
  switch (grain.kind) {
    case 'query':
      return project(values(request.keys), request.keys, stages);
    case 'add_group_by': {
      const keys = [...request.keys, ...addedKeys(grain.dimensions, request, first, scope)];
      return aggregate(values(keys), request.keys, keys, stages, scope);
    }
    case 'group_by':
    case 'reduce_by': {
      const dropped = grain.kind === 'group_by' ? 'unlisted' : 'listed';
      const kept = request.keys.filter((key) => listing(key, grain.dimensions, first) !== dropped);
      if (kept.length === request.keys.length) return project(values(request.keys), request.keys, stages);
      const rows = values(request.keys);
      const coarse = isDirect(first.measure)
        ? project(values(kept), kept, stages)
        : aggregate(rows, kept, request.keys, stages, scope);
      return spread(rows, coarse, kept, request, scope);
    }
  }
}

/** Whether what a key reads is in a list of dimensions; `neither`: it reads none. */
function listing(
  { expression }: GroupKey,
  dimensions: readonly DimensionReference[],
  { reader }: StageMeasure,
): 'listed' | 'unlisted' | 'neither' {
  const read = dimensionsIn(expression);
  const isListed = read.map(({ member }) =>
    dimensions.some((it) => it.cube === member.cube && it.member === member.name),
  );
  if (read.length === 0) return 'neither';
  if (isListed.every((it) => it)) return 'listed';
  if (!isListed.some((it) => it)) return 'unlisted';
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `${reader} is computed at some of the dimensions of the query, and one expression mixes these with others.`,
    'Group by the dimensions themselves.',
  );
}

/** The keys for dimensions that the query does not group by. */
function addedKeys(
  dimensions: readonly DimensionReference[],
  { keys }: StageRequest,
  { path, reader }: StageMeasure,
  { forest }: GroupScope,
): readonly GroupKey[] {
  const tree = forest.tree(rootOf(path));
  const prefix = prefixBeside(
    'x',
    keys.map(({ name }) => name),
  );
  return dimensions.flatMap((reference, at): GroupKey[] => {
    const node = tree.refer(path, reference.cube, reader);
    const member = tree.cube(node).members.get(reference.member);
    if (member?.kind !== 'dimension') throw new Error(`${reference.cube}.${reference.member} is no dimension`);
    const isKey = keys.some(
      ({ expression }) =>
        expression.kind === 'dimension' &&
        expression.member.member.name === member.name &&
        pathOf(expression.member.path) === node,
    );
    if (isKey) return [];
    const named = relationMember(member, node.split('.'));
    return [{ name: `${prefix}${at}`, expression: { kind: 'dimension', member: named, location: 0 } }];
  });
}

/** A measure with what it is made of. */
function stageOf(it: StageMeasure, request: StageRequest, scope: GroupScope): Stage {
  const { name, measure, path, reader } = it;
  const made = (sql: SqlTemplate, as: string): GroupMeasure => {
    const { outer, grain, timeShifts, aggregation, ...rest } = measure;
    const calculated: CalculatedMeasure = { ...rest, name: `${measure.name} ${as}`, aggregation: 'number', sql };
    return { name: as, measure: calculated, path, reader };
  };
  if (!('cases' in measure.sql)) {
    return { it, values: [made(measure.sql, name)], emit: (alias) => `${alias}.${name}` };
  }
  const { cases, otherwise } = measure.sql;
  const chosen = choice(measure.sql, it, request, scope);
  const { dialect } = scope.context;
  const values = [...cases.map(({ sql }) => sql), otherwise].map((sql, at) => made(sql, `${name}_${at}`));
  return {
    it,
    values,
    emit(alias, keys) {
      const value = chosen(alias, keys);
      const columns = values.map((of) => `${alias}.${of.name}`);
      const isNumber = measure.type === 'number' && columns.length > 1;
      const results = isNumber ? ofOneKind(columns, dialect) : columns;
      const branches = cases.map(
        (branch, at) => `WHEN ${value} = ${dialect.text(dialect.literal(branch.value))} THEN ${results[at]}`,
      );
      return `CASE ${branches.join(' ')} ELSE ${results[cases.length]} END`;
    },
  };
}

/** The SQL of the value that a `switch` dimension has in the query: a key's, or the one that WHERE fixes. */
function choice(
  { switch: dimension }: MeasureSwitch,
  { reader }: StageMeasure,
  { keys, where }: StageRequest,
  { context }: GroupScope,
): (alias: string, keys: readonly GroupKey[]) => string {
  const isIt = (path: string, name: string) => cubeAt(path) === dimension.cube && name === dimension.member;
  for (const [id, use] of switchUses(keys, where)) {
    const [path = '', name = ''] = id.split(' ');
    if (use !== 'key' && isIt(path, name)) return () => context.binder.bind(use.fixed, 'string');
  }
  return (alias, of) => {
    const key = of.find(
      ({ expression }) =>
        expression.kind === 'dimension' && isIt(pathOf(expression.member.path), expression.member.member.name),
    );
    if (key !== undefined) return `${alias}.${key.name}`;
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${reader} depends on a choice that the query does not make.`,
      'Group by the dimension itself, or fix it by = in WHERE.',
    );
  };
}

/** A SELECT of keys and of the inner measures of all stages, which have one grain and one time. */
function emitValues(
  keys: readonly GroupKey[],
  stages: readonly Stage[],
  { where, shifts }: StageRequest,
  scope: GroupScope,
): string {
  const request = { keys, measures: stages.flatMap(({ values }) => values), where, shifts };
  const [first] = stages;
  if (first === undefined || first.it.measure.timeShifts.length === 0) return scope.groups(request, scope);
  const { path, reader, measure } = first.it;
  const inner = stages.flatMap(({ it }) => measuresIn(it.measure, scope.context.model));
  return emitShifted(request, measure.timeShifts, { path, reader, inner }, scope);
}

/** The measures that a measure is made of. */
function measuresIn({ cube, name }: MultiStageMeasure, model: DataModel): readonly Measure[] {
  return [...memberReads(model)(cube, name).values()].flatMap((reference) => {
    const member = model.cubes.get(reference.cube)?.members.get(reference.member);
    return member?.kind === 'measure' ? [member] : [];
  });
}

/** The values as they are. */
function project(sql: string, keys: readonly GroupKey[], stages: readonly Stage[]): string {
  if (stages.every(({ it, values }) => values.length === 1 && values[0]?.name === it.name)) return sql;
  const columns = [
    ...keys.map(({ name }) => `s.${name} AS ${name}`),
    ...stages.map(({ it, emit }) => `${emit('s', keys)} AS ${it.name}`),
  ];
  return `SELECT ${columns.join(', ')} FROM (${sql}) AS s`;
}

/** The values of rows with the keys `from`, aggregated to the keys `to`. */
function aggregate(
  sql: string,
  to: readonly GroupKey[],
  from: readonly GroupKey[],
  stages: readonly Stage[],
  { context }: GroupScope,
): string {
  const columns = stages.map(({ it, emit }) => {
    const { outer, type } = it.measure;
    if (outer === 'number') {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${it.reader} is computed at more dimensions than the query's, and does not say what is made of these values.`,
        'In the data model it has to be a sum, avg, min or max.',
      );
    }
    return `${context.dialect.aggregate(outer, emit('s', from), null, type)} AS ${it.name}`;
  });
  const keys = to.map(({ name }) => `s.${name} AS ${name}`);
  const groupBy = to.length === 0 ? '' : ` GROUP BY ${to.map((_, at) => at + 1).join(', ')}`;
  return `SELECT ${[...keys, ...columns].join(', ')} FROM (${sql}) AS s${groupBy}`;
}

/** The values at fewer keys beside each combination of all of them. */
function spread(
  rows: string,
  coarse: string,
  kept: readonly GroupKey[],
  { keys, measures }: StageRequest,
  { context }: GroupScope,
): string {
  const columns = [
    ...keys.map(({ name }) => `a.${name} AS ${name}`),
    ...measures.map(({ name }) => `c.${name} AS ${name}`),
  ];
  const on = kept.map(({ name }) => context.dialect.isNotDistinct(`a.${name}`, `c.${name}`)).join(' AND ');
  const join = kept.length === 0 ? `CROSS JOIN (${coarse}) AS c` : `LEFT JOIN (${coarse}) AS c ON ${on}`;
  return `SELECT ${columns.join(', ')} FROM (${rows}) AS a ${join}`;
}
