/**
 * The rows that measures are made of. A measure is made of the rows of its cube, each once per combination of keys: where a join
 * repeats them, they are made distinct by the cube's primary key. Measures that read the same joined rows share one block.
 */
import type { AggregateMeasure, Cube, CustomMeasure, MemberType, SqlTemplate } from '../model/data-model.ts';
import { partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { emitFrom, type RowsSource, viewFilterOf } from './emit-from.ts';
import { emitTemplate, emitTyped } from './emit-member.ts';
import { emitRowExpression } from './emit-row-expression.ts';
import type { GroupMeasure, GroupRequest, GroupScope } from './group-scope.ts';
import { type JoinTree, type NodePath, pathOf, rootOf } from './join-tree.ts';
import { addNeeds, askedScope, type Needs, newNeeds, realScope, type TreeRequest, treeRequest } from './row-scope.ts';
import { asType } from './typed-value.ts';

/** A measure that is an aggregate of rows. */
export interface FactMeasure extends GroupMeasure {
  readonly measure: AggregateMeasure | CustomMeasure;
}

/** Keys, conditions, and the measures that are made of rows. */
export interface FactRequest extends GroupRequest {
  readonly measures: readonly FactMeasure[];
}

/** A measure within a block. */
export interface BlockMeasure {
  readonly name: string;
  readonly measure: AggregateMeasure | CustomMeasure;
  /** The SQL of what is aggregated, of a custom measure the aggregate itself; null for a count of rows. */
  readonly value: string | null;
  readonly valueType: MemberType;
  /** The condition under which a row counts; null: always. */
  readonly guard: string | null;
  /** A count of rows that come many times, computed as the number of their different keys: `value`. */
  readonly countsKeys: boolean;
}

/** Measures that are computed from the same joined rows, and these rows. */
export interface FactBlock {
  readonly root: string;
  readonly source: RowsSource;
  readonly keys: readonly { readonly name: string; readonly sql: string }[];
  readonly measures: readonly BlockMeasure[];
  /** The node whose rows a join repeats, and the SQL of its primary key, by which they are made distinct; null: none is repeated. */
  readonly repeated: { readonly path: NodePath; readonly primaryKey: readonly string[] } | null;
  /** What a custom measure by itself reads, where the rows have to be chosen for it; null: it is computed with others. */
  readonly own: { readonly nodes: readonly NodePath[]; readonly needs: Needs } | null;
}

/** What keys and conditions come to over one tree. */
interface Shared {
  readonly request: TreeRequest;
  readonly needs: Needs;
  readonly keys: FactBlock['keys'];
  readonly conditions: readonly string[];
}

/**
 * The blocks of a request, in the order of its measures. Without measures: one, over the first root from which keys and conditions
 * are reached.
 * @param countsKeys whether rows that come many times may be counted by their keys, which saves making them distinct
 * @throws SemanticError QUERY_NOT_PLANNABLE where a measure cannot be asked by a key, or its rows cannot be told from each other
 */
export function planFacts(request: FactRequest, scope: GroupScope, countsKeys = false): readonly FactBlock[] {
  const dimensions = dimensionsOf(request);
  const known = new Map<string, Shared>();
  const sharedAt = (tree: JoinTree, reader: string): Shared => {
    const shared = known.get(tree.root) ?? share(request, tree, scope, reader);
    known.set(tree.root, shared);
    return shared;
  };
  const blocks = new Map<string, FactBlock>();
  for (const it of request.measures) {
    const tree = treeOf(it.path, dimensions, scope);
    const shared = sharedAt(tree, it.reader);
    const block = blockOf(it, shared, countsKeys);
    const shape = `${tree.root} ${block.source.nodes?.join(' ')} ${[...block.source.needs.extras.keys()].join(' ')}`;
    const key = block.own !== null ? it.name : `${block.repeated?.path ?? ''} ${shape}`;
    const same = blocks.get(key);
    if (same !== undefined) addNeeds(same.source.needs, block.source.needs);
    blocks.set(key, same === undefined ? block : { ...same, measures: [...same.measures, ...block.measures] });
  }
  if (blocks.size > 0) return [...blocks.values()];
  return [keyBlock(sharedAt(treeOf(null, dimensions, scope), 'This query'))];
}

/** The root that a measure at `path` is computed from. */
export const rootOfMeasure = (path: NodePath, request: GroupRequest, scope: GroupScope): string =>
  treeOf(path, dimensionsOf(request), scope).root;

/** A block without measures: the combinations of keys that a root has. */
export function keysOfRoot(request: GroupRequest, root: string, scope: GroupScope, reader: string): FactBlock {
  return keyBlock(share(request, scope.forest.tree(root), scope, reader));
}

function keyBlock({ request, needs, keys, conditions }: Shared): FactBlock {
  const source = { request, needs, conditions };
  return { root: request.tree.root, source, keys, measures: [], repeated: null, own: null };
}

/** The paths of the dimensions that keys and conditions read. */
function dimensionsOf({ keys, where }: GroupRequest): readonly NodePath[] {
  const found = new Set<NodePath>();
  const visit = (expression: ResolvedExpression): void => {
    if (expression.kind === 'dimension') found.add(pathOf(expression.member.path));
    for (const part of partsOf(expression)) visit(part);
  };
  for (const { expression } of keys) visit(expression);
  if (where !== null) visit(where);
  return [...found];
}

/**
 * The tree that a measure is computed over: that of its own root. Of cubes that a query joins, where that root does not reach the
 * dimensions, the first that reaches them and the measure. Without a measure: the first that reaches all, those of the dimensions
 * before others. None: the first of these, which then says what it does not reach.
 */
function treeOf(path: NodePath | null, dimensions: readonly NodePath[], scope: GroupScope): JoinTree {
  const { forest } = scope;
  const others = path === null || forest.relation.type === 'joined' ? forest.roots : [];
  const own = (path === null ? dimensions : [path]).map(rootOf).filter((root) => forest.roots.includes(root));
  const roots = [...new Set([...own, ...others])];
  const wanted = path === null ? dimensions : [path, ...dimensions];
  for (const root of roots) {
    const tree = forest.tree(root);
    const ways = wanted.map((node) => scope.locate(tree, node));
    if (ways.every((way) => way.path !== null)) return tree;
    // Two ways are not one more reason to look for a third: the author has to say which is meant.
    if (ways.some((way) => way.path === null && way.why === 'several')) return tree;
  }
  return forest.tree(roots[0] ?? forest.relation.rootCube);
}

function share(request: GroupRequest, tree: JoinTree, scope: GroupScope, reader: string): Shared {
  const own = treeRequest(tree, scope, request);
  const needs = newNeeds();
  const place = { request: own, needs, reader };
  return {
    request: own,
    needs,
    keys: request.keys.map(({ name, expression, isReal }) => ({
      name,
      sql: emitRowExpression(expression, place, isReal === true ? 'real' : 'asked'),
    })),
    conditions: [
      viewFilterOf(own, needs, reader),
      request.where === null ? null : emitRowExpression(request.where, place),
    ].filter((it) => it !== null),
  };
}

function blockOf(it: FactMeasure, shared: Shared, countsKeys: boolean): FactBlock {
  const { name, measure, reader } = it;
  const { request, keys, conditions } = shared;
  const { tree, groups } = request;
  const located = groups.locate(tree, it.path);
  if (located.path === null) {
    const how = located.why === 'none' ? 'no join leads there' : 'joins lead there in more than one way';
    throw new SemanticError('QUERY_NOT_PLANNABLE', `${reader} cannot be asked by these members: ${how}.`);
  }
  const { path } = located;
  const scope = askedScope(request, reader);
  const value = measure.sql === null ? null : asInput(measure, emitTemplate(measure.sql, path, scope), groups);
  const filters = measure.filters.map((filter) => `(${emitTemplate(filter, path, scope)})`);
  scope.needs.nodes.add(path);
  // Its rows are the rows of its cube: what it reads beside them may not have several for one of these.
  const ownNodes = tree.between(new Set(scope.needs.nodes));
  if (tree.isMultiplied(path, ownNodes)) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${reader} cannot be computed: it reads data of which one of its rows has many.`,
    );
  }
  const keyNeeds = newNeeds();
  const primaryKey = tree
    .cube(path)
    .primaryKey.map((key) => emitTyped(key, path, { ...realScope(scope), needs: keyNeeds }));
  const needs = newNeeds();
  for (const part of [shared.needs, scope.needs, keyNeeds]) addNeeds(needs, part);
  const nodes = tree.close(needs.nodes);
  const isMultiplied = tree.isMultiplied(path, nodes);
  const [onlyKey, secondKey] = primaryKey;
  const isRowCount = countsKeys && measure.aggregation === 'count' && value === null && secondKey === undefined;
  const counted = isMultiplied && isRowCount && onlyKey !== undefined ? onlyKey : null;
  const isDeduplicated = isMultiplied && counted === null && !isIdempotent(measure);
  // A LEFT JOIN without a match makes a row of nulls, which is no row of the measure's cube.
  const isOptional = path !== tree.root;
  if (primaryKey.length === 0 && (isDeduplicated || isOptional)) throw missingKey(it, tree.cube(path).name, groups);
  // A column is null there by itself, and nulls count for nothing.
  const isGuarded = isOptional && !(measure.aggregation !== 'number_agg' && isColumn(measure.sql, tree.cube(path)));
  const guards = [...(isGuarded ? primaryKey.map((sql) => `${sql} IS NOT NULL`) : []), ...filters];
  const guard = guards.length > 0 ? guards.join(' AND ') : null;
  const isCustom = measure.aggregation === 'number_agg';
  return {
    root: tree.root,
    source: { request, needs, conditions, nodes },
    keys,
    measures: [
      {
        name,
        measure,
        value: counted ?? value,
        valueType: valueType(measure, tree, path),
        guard,
        countsKeys: counted !== null,
      },
    ],
    repeated: isDeduplicated ? { path, primaryKey } : null,
    // The warehouse's own aggregate takes no condition and no column of ours: it is computed over rows that are chosen for it.
    own: isCustom && (isDeduplicated || guard !== null) ? { nodes: ownNodes, needs: scope.needs } : null,
  };
}

/** What is aggregated, or a custom aggregate, as the type of the figure where that is the value's own. */
const asInput = ({ aggregation, type }: FactMeasure['measure'], sql: string, { context }: GroupScope): string =>
  aggregation === 'number_agg' || aggregation === 'min' || aggregation === 'max'
    ? asType(sql, type, context.dialect)
    : sql;

/** Whether a fragment of a cube is one of its columns, perhaps by the name of a dimension. */
function isColumn(sql: SqlTemplate | null, cube: Cube): boolean {
  const [first, second, third] = sql ?? [];
  if (first === undefined || third !== undefined) return false;
  if (first.kind === 'cube') {
    return first.cube === cube.name && second?.kind === 'text' && /^\.(\w+|"[^"]+")\s*$/.test(second.text);
  }
  if (first.kind !== 'member' || first.cube !== cube.name || second !== undefined) return false;
  const member = cube.members.get(first.member);
  return member?.kind === 'dimension' && member.source.kind === 'sql' && isColumn(member.source.sql, cube);
}

/** Whether a row that comes twice makes no difference. */
const isIdempotent = ({ aggregation }: AggregateMeasure | CustomMeasure): boolean =>
  aggregation === 'min' ||
  aggregation === 'max' ||
  aggregation === 'count_distinct' ||
  aggregation === 'count_distinct_approx';

/** The type of what is aggregated, as far as the model tells. */
function valueType(measure: AggregateMeasure | CustomMeasure, tree: JoinTree, path: NodePath): MemberType {
  const [only, second] = measure.sql ?? [];
  if (only?.kind === 'member' && second === undefined && only.cube === tree.cube(path).name) {
    return tree.cube(path).members.get(only.member)?.type ?? measure.type;
  }
  const isCounted = measure.aggregation.startsWith('count');
  return isCounted ? 'string' : measure.type;
}

/** Says which cube needs a primary key to those who may see something of it. */
function missingKey({ reader }: FactMeasure, cube: string, { context }: GroupScope): SemanticError {
  const relation = context.model.relations.get(cube);
  const isVisible = relation !== undefined && context.rights.visible(relation).size > 0;
  return new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `${reader} cannot be computed here: its cube${isVisible ? ` ${cube}` : ''} has no primary key.`,
    isVisible ? `The data model has to mark the dimensions that tell rows of ${cube} apart with primary_key.` : '',
  );
}

/** The inputs of a block's measures as columns. */
const inputsOf = ({ measures }: FactBlock): readonly string[] =>
  measures.map(({ value, guard, name }) => {
    const input = value ?? '1';
    return `${guard === null ? input : `CASE WHEN ${guard} THEN ${input} END`} AS ${name}`;
  });

/**
 * A SELECT of the rows of a block: its keys, where rows are repeated the primary key (`p0`, …), and what each measure takes from the
 * row under the measure's name: null where the row does not count, 1 for a count of rows. One row per combination of keys and row of
 * the measures' cube. Not for custom measures.
 */
export function emitFactRows(block: FactBlock): string {
  const keys = block.keys.map(({ sql, name }) => `${sql} AS ${name}`);
  const primaryKey = (block.repeated?.primaryKey ?? []).map((sql, at) => `${sql} AS p${at}`);
  const columns = [...keys, ...primaryKey, ...inputsOf(block)];
  return `SELECT ${block.repeated === null ? '' : 'DISTINCT '}${columns.join(', ')} ${emitFrom(block.source)}`;
}
