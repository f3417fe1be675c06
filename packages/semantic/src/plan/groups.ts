/**
 * Figures per combination of keys. The measures are taken apart: calculated ones into what they are made of, and the rest by how they
 * are computed, from rows, over windows of time, or in stages. Each of these gives a SELECT with the same keys; they are joined on them,
 * and the calculated measures are computed over the result.
 */
import type { AggregateMeasure, CustomMeasure, Measure, MultiStageMeasure } from '../model/data-model.ts';
import { type FactMeasure, rootOfMeasure } from './fact-rows.ts';
import { emitFacts, emitKeys } from './facts.ts';
import { emitFormula } from './formula.ts';
import type { GroupMeasure, GroupPart, GroupRequest, GroupScope, RollingMeasure, StageMeasure } from './group-scope.ts';
import { type NodePath, rootOf } from './join-tree.ts';
import { measureMask } from './mask-value.ts';
import { referTo } from './measure-reference.ts';
import { emitRolling } from './rolling.ts';
import { prefixBeside } from './short-name.ts';
import { emitStages } from './stages.ts';
import { isMaskedElsewhere } from './view-masks.ts';

/** How a measure is computed. */
type Computed =
  | { readonly kind: 'fact'; readonly measure: AggregateMeasure | CustomMeasure }
  | { readonly kind: 'rolling'; readonly measure: RollingMeasure['measure'] }
  | { readonly kind: 'stage'; readonly measure: MultiStageMeasure };

/** The measures that a request comes to, each once. */
interface Needed {
  readonly facts: FactMeasure[];
  readonly rolling: RollingMeasure[];
  readonly stages: StageMeasure[];
  /** The nodes of what is masked: a mask changes no row, so that the combinations that these have are there all the same. */
  readonly masked: Map<NodePath, string>;
  /** The column of a measure, by its path and name. */
  readonly columns: Map<string, string>;
  /** What the columns of measures that the request does not name begin with, and no name of the request does. */
  readonly prefix: string;
}

/**
 * A SELECT of a request's keys and measures, under the names that the request gives them: one row per combination of keys that any of the
 * measures has rows for. Without keys: one row.
 * @throws SemanticError QUERY_NOT_PLANNABLE when the data model does not allow a right answer
 */
export function emitGroups(request: GroupRequest, scope: GroupScope): string {
  const names = request.measures.map(({ name }) => name);
  const prefix = prefixBeside('n', names);
  const needed: Needed = { facts: [], rolling: [], stages: [], masked: new Map(), columns: new Map(), prefix };
  for (const it of request.measures) take(it, it.name, needed, scope);
  const parts = partsOf(request, needed, scope);
  const [first, second] = parts;
  const isPlain =
    second === undefined &&
    first?.columns.length === names.length &&
    names.every((name) => first.columns.includes(name));
  if (first !== undefined && isPlain) return first.sql;
  const joined = joinParts(request, parts, scope);
  const placeOf = new Map(joined.columns);
  const measures = request.measures.map(
    ({ name, measure, path, reader }) => `${emitMeasure(measure, path, reader, needed, placeOf, scope)} AS ${name}`,
  );
  return `SELECT ${[...joined.keys, ...measures].join(', ') || '1 AS one'} FROM ${joined.from}`;
}

/** What tells a measure at a node from all others. */
const measureId = (path: NodePath, { name }: Measure): string => `${path} ${name}`;

function isMasked(measure: Measure, path: NodePath, scope: GroupScope): boolean {
  const { access, forest } = scope;
  const tree = forest.tree(rootOf(path));
  if (access.cube(tree.cube(path)).masks.has(measure.name)) return true;
  if (access.viewMasks.has(measureId(path, measure))) return true;
  // The view may name it below another root, or outside of the sub-query that this is in.
  const isNamed = [...access.viewMasks.keys()].some((id) => {
    const [named = '', name] = id.split(' ');
    return name === measure.name && scope.locate(tree, named).path === path;
  });
  return isNamed || isMaskedElsewhere(measure, tree, path, scope);
}

/** How a measure is computed; null: from other measures. */
function computed(measure: Measure): Computed | null {
  switch (measure.aggregation) {
    case 'number':
      return null;
    case 'multi_stage':
      return { kind: 'stage', measure };
    case 'number_agg':
      return { kind: 'fact', measure };
    default: {
      const { rollingWindow } = measure;
      return rollingWindow === null
        ? { kind: 'fact', measure }
        : { kind: 'rolling', measure: { ...measure, rollingWindow } };
    }
  }
}

/** Adds a measure, or those that it is calculated from, to what is needed. `name`: the name of its column, if it has one. */
function take({ measure, path, reader }: GroupMeasure, name: string | null, needed: Needed, scope: GroupScope): void {
  // The value of a masked one is not computed at all.
  if (isMasked(measure, path, scope)) {
    needed.masked.set(path, reader);
    return;
  }
  const id = measureId(path, measure);
  if (needed.columns.has(id)) return;
  const how = computed(measure);
  if (how === null) {
    for (const part of measure.aggregation === 'number' ? measure.sql : []) {
      if (part.kind !== 'member') continue;
      const found = referTo(path, part.cube, part.member, reader, scope);
      take({ ...found, reader, name: '' }, null, needed, scope);
    }
    return;
  }
  const column = name ?? `${needed.prefix}${needed.columns.size}`;
  needed.columns.set(id, column);
  const common = { name: column, path, reader };
  if (how.kind === 'fact') needed.facts.push({ ...common, measure: how.measure });
  else if (how.kind === 'rolling') needed.rolling.push({ ...common, measure: how.measure });
  else needed.stages.push({ ...common, measure: how.measure });
}

function partsOf(request: GroupRequest, needed: Needed, scope: GroupScope): readonly GroupPart[] {
  const found: GroupPart[] = [];
  if (needed.facts.length > 0) found.push(...emitFacts({ ...request, measures: needed.facts }, scope));
  if (needed.rolling.length > 0) found.push(...emitRolling({ ...request, measures: needed.rolling }, scope));
  if (needed.stages.length > 0) found.push(...emitStages({ ...request, measures: needed.stages }, scope));
  if (request.keys.length > 0 || found.length === 0) {
    for (const [path, reader] of needed.masked) {
      const root = rootOfMeasure(path, request, scope);
      if (!found.some(({ keysOf }) => keysOf === root)) found.push(emitKeys(request, root, scope, reader));
    }
  }
  if (found.length === 0) return emitFacts({ ...request, measures: [] }, scope);
  const sets = [...new Set(found.flatMap(({ keysOf }) => keysOf ?? []))];
  const inSets = sets.flatMap((set) => {
    const parts = found.filter(({ keysOf }) => keysOf === set);
    const whole = parts.filter(({ isPartial }) => !isPartial);
    const reader = request.measures[0]?.reader ?? 'This query';
    // Without keys there is one row, and every part has it.
    const base = whole.length > 0 || request.keys.length === 0 ? [] : [emitKeys(request, set, scope, reader)];
    return [...base, ...whole, ...parts.filter(({ isPartial }) => isPartial)];
  });
  return [...inSets, ...found.filter(({ keysOf }) => keysOf === null)];
}

/**
 * FROM over the parts, and the keys of the whole. Parts with the same combinations hang from the first of them; sets of combinations are
 * joined by FULL JOIN: a combination that only one has keeps its row.
 */
function joinParts(request: GroupRequest, parts: readonly GroupPart[], scope: GroupScope) {
  const { dialect } = scope.context;
  const keys = request.keys.map(({ name }) => name);
  const aliased = parts.map((part, at) => ({ ...part, alias: `b${at}` }));
  if (keys.length === 0) {
    return {
      from: aliased.map(({ sql, alias }) => `(${sql}) AS ${alias}`).join(' CROSS JOIN '),
      keys: [],
      columns: columnsOf(aliased),
    };
  }
  const same = (left: readonly string[], right: string) =>
    keys.map((key) => dialect.isNotDistinct(together(left, key), `${right}.${key}`)).join(' AND ');
  const sets: (typeof aliased)[] = [];
  for (const part of aliased) {
    const set = part.keysOf === null ? undefined : sets.find(([first]) => first?.keysOf === part.keysOf);
    if (set === undefined) sets.push([part]);
    else set.push(part);
  }
  const hang = (set: typeof aliased) =>
    set
      .map(({ sql, alias }, at) =>
        at === 0 ? `(${sql}) AS ${alias}` : `LEFT JOIN (${sql}) AS ${alias} ON ${same([set[0]?.alias ?? ''], alias)}`,
      )
      .join(' ');
  const [only = [], second] = sets;
  if (second === undefined) {
    return {
      from: hang(only),
      keys: keys.map((key) => `${only[0]?.alias}.${key} AS ${key}`),
      columns: columnsOf(aliased),
    };
  }
  // Each set is one table: a row that another set gave would look like one of its null keys.
  const tables = sets.map((set, at) => {
    const [first, more] = set;
    if (first === undefined || more === undefined)
      return { alias: `s${at}`, sql: first?.sql ?? '', columns: first?.columns ?? [] };
    const columns = [
      ...keys.map((key) => `${first.alias}.${key} AS ${key}`),
      ...columnsOf(set).map(([column, place]) => `${place} AS ${column}`),
    ];
    return {
      alias: `s${at}`,
      sql: `SELECT ${columns.join(', ')} FROM ${hang(set)}`,
      columns: set.flatMap((part) => part.columns),
    };
  });
  const known: string[] = [];
  const items = tables.map(({ alias, sql }) => {
    const item = `(${sql}) AS ${alias}`;
    const joined = known.length === 0 ? item : `FULL JOIN ${item} ON ${same(known, alias)}`;
    known.push(alias);
    return joined;
  });
  return {
    from: items.join(' '),
    keys: keys.map((key) => `${together(known, key)} AS ${key}`),
    columns: columnsOf(tables),
  };
}

/** Where each column of some tables is found. */
const columnsOf = (tables: readonly { readonly alias: string; readonly columns: readonly string[] }[]) =>
  tables.flatMap(({ alias, columns }) => columns.map((column) => [column, `${alias}.${column}`] as const));

/** A key of whichever of these has one. */
const together = (aliases: readonly string[], key: string): string =>
  aliases.length === 1 ? `${aliases[0]}.${key}` : `COALESCE(${aliases.map((alias) => `${alias}.${key}`).join(', ')})`;

/** The SQL of a measure over the joined parts. */
function emitMeasure(
  measure: Measure,
  path: NodePath,
  reader: string,
  needed: Needed,
  placeOf: ReadonlyMap<string, string>,
  scope: GroupScope,
): string {
  const { context } = scope;
  if (isMasked(measure, path, scope)) return measureMask(measure, context.dialect);
  if (measure.aggregation !== 'number') {
    const place = placeOf.get(needed.columns.get(measureId(path, measure)) ?? '');
    if (place === undefined) throw new Error(`${measure.name} was not computed`);
    return place;
  }
  return emitFormula(measure.sql, measure.type, context, (cube, member) => {
    const target = referTo(path, cube, member, reader, scope);
    return emitMeasure(target.measure, target.path, reader, needed, placeOf, scope);
  });
}
