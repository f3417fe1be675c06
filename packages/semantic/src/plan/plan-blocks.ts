/**
 * The inner queries of a grouped query: which measures are computed together, from which joined rows, and whether those
 * rows have to be made distinct first because a join repeats them.
 */
import type { AggregateMeasure, Measure } from '../model/data-model.ts';
import type { ResolvedQuery } from '../query/resolve-query.ts';
import { partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { type EmitScope, emitTemplate } from './emit-expression.ts';
import { type JoinTree, type NodePath, pathOf } from './join-tree.ts';

/** An aggregate that a query needs. */
export interface NeededMeasure {
  /** The name of its column in the inner query. */
  readonly column: string;
  readonly path: NodePath;
  readonly measure: AggregateMeasure;
  /** The member of the query that needs it: this one, or one that is calculated from it. */
  readonly neededFor: string;
}

/** Makes the scope in which one measure's rows are emitted. */
type MeasureScope = (reader: string) => EmitScope;

/** What tells a measure at a node from all others. */
export const measureId = (path: NodePath, measure: Measure): string => `${path} ${measure.name}`;

/** The measure that `{cube.member}` in a calculated measure at `path` stands for. */
export function referToMeasure(path: NodePath, cubeName: string, name: string, scope: EmitScope) {
  const target = scope.tree.refer(path, cubeName, scope.reader);
  const member = scope.tree.cube(target).members.get(name);
  if (member?.kind !== 'measure') throw new Error(`${cubeName}.${name} is no measure`);
  if (target !== path) scope.onRead(cubeName, name);
  return { path: target, measure: member };
}

/** Every aggregate that the query needs, once, those inside calculated measures included; by {@link measureId}. */
export function neededMeasures(query: ResolvedQuery, scopeFor: MeasureScope): ReadonlyMap<string, NeededMeasure> {
  const needed = new Map<string, NeededMeasure>();
  const add = (path: NodePath, measure: Measure, scope: EmitScope): void => {
    const id = measureId(path, measure);
    if (measure.aggregation === 'number') {
      for (const part of measure.sql) {
        if (part.kind !== 'member') continue;
        const found = referToMeasure(path, part.cube, part.member, scope);
        add(found.path, found.measure, scope);
      }
    } else if (!needed.has(id)) {
      needed.set(id, { column: `m${needed.size}`, path, measure, neededFor: scope.reader });
    }
  };
  const visit = (expression: ResolvedExpression): void => {
    if (expression.kind === 'measure' && expression.member.member.kind === 'measure') {
      const { name, path, member } = expression.member;
      add(pathOf(path), member, scopeFor(name));
    }
    for (const part of partsOf(expression)) visit(part);
  };
  for (const { expression } of [...query.select, ...query.orderBy]) visit(expression);
  if (query.having !== null) visit(query.having);
  return needed;
}

/** A measure within an inner query. */
interface BlockMeasure {
  readonly column: string;
  readonly measure: AggregateMeasure;
  /** The SQL of what is aggregated; null for a count of rows. */
  readonly row: string | null;
  /** The condition under which a row counts; null: always. */
  readonly guard: string | null;
}

/** An inner query. */
export interface Block {
  readonly nodes: readonly NodePath[];
  /** The SQL of the primary key that rows are made distinct by; null: rows are aggregated as they are joined. */
  readonly distinctBy: readonly string[] | null;
  readonly measures: readonly BlockMeasure[];
}

/**
 * Groups measures into inner queries: those that read the same joined rows share one. At least one block.
 * @param sharedNodes the nodes that keys and conditions read, which are part of each
 * @throws SemanticError QUERY_NOT_PLANNABLE
 */
export function planBlocks(
  measures: Iterable<NeededMeasure>,
  sharedNodes: ReadonlySet<NodePath>,
  tree: JoinTree,
  scopeFor: MeasureScope,
): readonly Block[] {
  const blocks = new Map<string, Block>();
  for (const { column, path, measure, neededFor } of measures) {
    const scope = scopeFor(neededFor);
    const row = measure.sql === null ? null : emitTemplate(measure.sql, path, scope);
    const filters = measure.filters.map((filter) => `(${emitTemplate(filter, path, scope)})`);
    const primaryKey = tree.cube(path).primaryKey.map((dimension) => `(${emitTemplate(dimension.sql, path, scope)})`);
    const own = new Set(scope.nodes).add(path);
    if (tree.isMultiplied(path, tree.between(own))) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${neededFor} cannot be computed: it reads data of which one of its rows has many.`,
      );
    }
    const nodes = tree.close([...sharedNodes, ...own]);
    const isRepeatable =
      measure.aggregation === 'count_distinct' || measure.aggregation === 'min' || measure.aggregation === 'max';
    const isDeduplicated = !isRepeatable && tree.isMultiplied(path, nodes);
    // A LEFT JOIN without a match makes a row of nulls, which is no row of the measure's cube.
    const isOptional = path !== tree.root;
    if (primaryKey.length === 0 && (isDeduplicated || isOptional)) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${neededFor} cannot be computed here: its cube has no primary key.`,
      );
    }
    const guards = [...(isOptional ? primaryKey.map((sql) => `${sql} IS NOT NULL`) : []), ...filters];
    const guard = guards.length > 0 ? guards.join(' AND ') : null;
    const key = isDeduplicated ? `distinct ${path} ${nodes.join(' ')}` : nodes.join(' ');
    const others = blocks.get(key)?.measures ?? [];
    blocks.set(key, {
      nodes,
      distinctBy: isDeduplicated ? primaryKey : null,
      measures: [...others, { column, measure, row, guard }],
    });
  }
  if (blocks.size > 0) return [...blocks.values()];
  return [{ nodes: tree.close(sharedNodes), distinctBy: null, measures: [] }];
}

/** A column that an inner query groups by. */
export interface KeyColumn {
  readonly name: string;
  readonly sql: string;
}

/**
 * The SQL of an inner query.
 * @param keys what it is grouped by; none makes one group of all rows
 * @param from its FROM and WHERE
 * @param isGrouped false for rows as they are, one for one
 */
export function emitBlock(block: Block, keys: readonly KeyColumn[], from: string, isGrouped: boolean): string {
  const groupBy = isGrouped && keys.length > 0 ? ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}` : '';
  const keyList = keys.map(({ sql, name }) => `${sql} AS ${name}`);
  if (block.distinctBy === null) {
    const measures = block.measures.map(
      (it) =>
        `${aggregate(it.measure, it.row ?? '*')}${it.guard === null ? '' : ` FILTER (WHERE ${it.guard})`} AS ${it.column}`,
    );
    const columns = [...keyList, ...measures];
    // A SELECT needs a column, and one group of all rows an aggregate.
    if (columns.length === 0) columns.push(`${isGrouped ? 'COUNT(*)' : '1'} AS one`);
    return `SELECT ${columns.join(', ')} ${from}${groupBy}`;
  }
  const inputs = block.measures.map(({ row, guard, column }) => {
    const value = row ?? '1';
    return `${guard === null ? value : `CASE WHEN ${guard} THEN ${value} END`} AS ${column}`;
  });
  const distinct = [...keyList, ...block.distinctBy.map((sql, at) => `${sql} AS p${at}`), ...inputs];
  const columns = [
    ...keys.map(({ name }) => name),
    ...block.measures.map(({ measure, column }) => `${aggregate(measure, column)} AS ${column}`),
  ];
  return `SELECT ${columns.join(', ')} FROM (SELECT DISTINCT ${distinct.join(', ')} ${from}) AS d${groupBy}`;
}

const aggregate = ({ aggregation }: AggregateMeasure, value: string): string =>
  aggregation === 'count_distinct' ? `COUNT(DISTINCT ${value})` : `${aggregation.toUpperCase()}(${value})`;
