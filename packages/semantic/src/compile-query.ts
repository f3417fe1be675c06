/**
 * A resolved query → one SELECT of a dialect with bound parameters.
 *
 * Inner queries compute keys (what rows are grouped by) and measures; an outer one computes the selected expressions,
 * HAVING, ORDER BY and LIMIT from those. Each cube is a leaf that its row filter is part of, so that nothing outside can
 * reach a filtered row. Where a join would repeat the rows of a measure's cube, the measure is computed from the distinct
 * (keys, primary key) of that cube, in an inner query of its own; the inner queries have the same keys and are joined.
 */
import { rowFilter } from './access-policy.ts';
import type { AggregateMeasure, DataModel, Measure } from './data-model.ts';
import type { Dialect } from './dialects/dialect.ts';
import {
  createBinder,
  type EmitScope,
  emitExpression,
  emitRowFilter,
  emitTemplate,
  type Parameter,
} from './emit-expression.ts';
import { baseMeasures, joinTree, type NodePath, pathOf, referToMeasure } from './join-tree.ts';
import type { ResolvedQuery } from './resolve-query.ts';
import { expressionKey, partsOf, type ResolvedExpression } from './resolved-expression.ts';
import { SemanticError } from './semantic-error.ts';
import type { Subject } from './subject.ts';

/** A compiled query: SQL with numbered parameters, and the names of its columns. */
export interface CompiledQuery {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
  readonly columns: readonly string[];
}

/** @throws SemanticError QUERY_NOT_PLANNABLE when the data model does not allow a right answer */
export function compileQuery(
  query: ResolvedQuery,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
): CompiledQuery {
  const tree = joinTree(model, query.relation);
  const binder = createBinder(dialect);
  const newScope = (): EmitScope => ({ tree, dialect, binder, nodes: new Set() });

  /** Dimensions in a row expression are emitted where they stand; the nodes that they need go to the scope. */
  const emitRow = (expression: ResolvedExpression, scope: EmitScope) =>
    emitExpression(expression, scope, (it) => {
      if (it.kind !== 'dimension' || it.member.member.kind !== 'dimension') return null;
      return `(${emitTemplate(it.member.member.sql, pathOf(it.member.path), scope)})`;
    });

  const shared = newScope();
  const keys = keyExpressions(query).map((expression, index) => ({
    id: expressionKey(expression),
    name: `k${index}`,
    sql: emitRow(expression, shared),
  }));
  const conditions = query.where === null ? [] : [emitRow(query.where, shared)];
  const viewFilter = relationFilter(query, subject, shared);
  if (viewFilter !== null) conditions.push(viewFilter);

  const leaves = leafEmitter(query, subject, newScope);
  const from = (nodes: Iterable<NodePath>) => {
    const closed = tree.close(nodes);
    const sources = closed.map((path) => {
      const edge = tree.join(path);
      if (edge === null) return leaves(path);
      const scope = newScope();
      const on = emitTemplate(edge.join.sql, edge.parent, scope);
      if (![...scope.nodes].every((node) => node === path || node === edge.parent)) {
        throw new SemanticError('QUERY_NOT_PLANNABLE', `The join from ${edge.parent} to ${path} reads another cube.`);
      }
      return `LEFT JOIN ${leaves(path)} ON (${on})`;
    });
    return `FROM ${sources.join(' ')}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}`;
  };
  const keyList = keys.map(({ sql, name }) => `${sql} AS ${name}`);

  const measures = collectMeasures(query, tree);
  const blocks = planBlocks([...measures.values()], shared.nodes, newScope, tree).map((block) => {
    const groupBy =
      keys.length > 0 && query.groupBy !== null ? ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}` : '';
    if (!block.isDeduplicated) {
      const columns = [
        ...keyList,
        ...block.measures.map((it) => `${aggregate(it.measure, it.row, it.guard)} AS ${it.name}`),
      ];
      return `SELECT ${columns.length > 0 ? columns.join(', ') : '1 AS one'} ${from(block.nodes)}${groupBy}`;
    }
    const inputs = block.measures.map((it) => {
      const value = it.row ?? '1';
      return `${it.guard === null ? value : `CASE WHEN ${it.guard} THEN ${value} END`} AS ${it.name}`;
    });
    const distinct = `SELECT DISTINCT ${[...keyList, ...block.primaryKey.map((sql, at) => `${sql} AS p${at}`), ...inputs].join(', ')} ${from(block.nodes)}`;
    const columns = [
      ...keys.map(({ name }) => name),
      ...block.measures.map((it) => `${aggregate(it.measure, it.name, null)} AS ${it.name}`),
    ];
    return `SELECT ${columns.join(', ')} FROM (${distinct}) AS d${groupBy}`;
  });
  if (query.groupBy === null) requireOneGrain(query, tree, shared.nodes);

  const blockOf = new Map<string, string>();
  for (const { name, block } of measures.values()) blockOf.set(name, `b${block}`);
  const emitMeasure = (measure: Measure, path: NodePath): string => {
    if (measure.aggregation !== 'number') {
      const name = measures.get(measureId(path, measure))?.name ?? '';
      return `${blockOf.get(name)}.${name}`;
    }
    const parts = measure.sql.map((part) => {
      if (part.kind === 'text') return part.text;
      const target = part.kind === 'member' ? referToMeasure(tree, path, part.cube, part.member) : null;
      if (target === null) throw new SemanticError('QUERY_NOT_PLANNABLE', `Measure ${measure.name} reads a column.`);
      return emitMeasure(target.measure, target.path);
    });
    return `(${parts.join('')})`;
  };
  const emitOuter = (expression: ResolvedExpression) =>
    emitExpression(expression, newScope(), (it) => {
      const key = isKeyLike(it) ? keys.find(({ id }) => id === expressionKey(it)) : undefined;
      if (key !== undefined) return `b0.${key.name}`;
      if (it.kind !== 'measure' || it.member.member.kind !== 'measure') return null;
      return emitMeasure(it.member.member, pathOf(it.member.path));
    });

  const select = query.select.map(({ name, expression }) => `${emitOuter(expression)} AS ${dialect.quote(name)}`);
  const joined = blocks.map((sql, index) => {
    if (index === 0) return `(${sql}) AS b0`;
    if (keys.length === 0) return `CROSS JOIN (${sql}) AS b${index}`;
    const on = keys.map(({ name }) => dialect.isNotDistinct(`b0.${name}`, `b${index}.${name}`)).join(' AND ');
    return `LEFT JOIN (${sql}) AS b${index} ON ${on}`;
  });
  const orderBy = query.orderBy.map(({ expression, isDescending, nullsFirst }) => {
    // With DISTINCT an expression may only be sorted by as the column that it is.
    const position = query.select.findIndex((item) => expressionKey(item.expression) === expressionKey(expression));
    const column = position >= 0 ? String(position + 1) : emitOuter(expression);
    return `${column} ${isDescending ? 'DESC' : 'ASC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`;
  });
  const sql = [
    `SELECT ${query.isDistinct ? 'DISTINCT ' : ''}${select.join(', ')} FROM ${joined.join(' ')}`,
    ...(query.having === null ? [] : [`WHERE ${emitOuter(query.having)}`]),
    ...(orderBy.length === 0 ? [] : [`ORDER BY ${orderBy.join(', ')}`]),
    ...(query.limit === null ? [] : [`LIMIT ${query.limit}`]),
    ...(query.offset === null ? [] : [`OFFSET ${query.offset}`]),
  ].join(' ');
  return { sql, parameters: binder.parameters, columns: query.select.map(({ name }) => name) };
}

/** A literal is never a key: it would be a parameter in GROUP BY, and means the same outside. */
const isKeyLike = ({ kind }: ResolvedExpression) => kind !== 'literal' && kind !== 'number' && kind !== 'time';

/** What the inner queries compute per row or group: the grouping keys, or for ungrouped rows every output expression. */
function keyExpressions(query: ResolvedQuery): readonly ResolvedExpression[] {
  const candidates = query.groupBy ?? [...query.select, ...query.orderBy].map(({ expression }) => expression);
  const byKey = new Map(candidates.filter(isKeyLike).map((expression) => [expressionKey(expression), expression]));
  return [...byKey.values()];
}

/** The leaf of a node: its table, or its table with the row filter that the cube's policy gives this subject. */
function leafEmitter(query: ResolvedQuery, subject: Subject, newScope: () => EmitScope) {
  const taken = new Map<string, Set<string>>();
  for (const { member } of query.taken.values()) {
    taken.set(member.cube, (taken.get(member.cube) ?? new Set()).add(member.name));
  }
  return (path: NodePath): string => {
    const scope = newScope();
    const cube = scope.tree.cube(path);
    const alias = scope.dialect.quote(scope.tree.alias(path));
    const filter = rowFilter(cube.policy, taken.get(cube.name) ?? new Set(), (name) => cube.members.get(name), subject);
    if (filter === null) return `${cube.source} AS ${alias}`;
    const condition = emitRowFilter(filter, scope.binder, (name) => {
      const member = cube.members.get(name);
      if (member?.kind !== 'dimension')
        throw new SemanticError('QUERY_NOT_PLANNABLE', `The policy of ${cube.name} cannot be applied.`);
      return { sql: `(${emitTemplate(member.sql, path, scope)})`, type: member.type };
    });
    if (![...scope.nodes].every((node) => node === path)) {
      throw new SemanticError('QUERY_NOT_PLANNABLE', `The policy of ${cube.name} filters by a member of another cube.`);
    }
    return `(SELECT * FROM ${cube.source} AS ${alias} WHERE ${condition}) AS ${alias}`;
  };
}

/** The row filter of a view's own policy, on the joined row. A cube's own filter stands in its leaf already. */
function relationFilter(query: ResolvedQuery, subject: Subject, scope: EmitScope): string | null {
  const { relation } = query;
  if (relation.type === 'cube') return null;
  const filter = rowFilter(
    relation.policy,
    new Set(query.taken.keys()),
    (name) => relation.members.get(name)?.member,
    subject,
  );
  if (filter === null) return null;
  return emitRowFilter(filter, scope.binder, (name) => {
    const member = relation.members.get(name);
    if (member?.member.kind !== 'dimension')
      throw new SemanticError('QUERY_NOT_PLANNABLE', `The policy of ${relation.name} cannot be applied.`);
    return { sql: `(${emitTemplate(member.member.sql, pathOf(member.path), scope)})`, type: member.member.type };
  });
}

interface CollectedMeasure {
  readonly name: string;
  readonly path: NodePath;
  readonly measure: AggregateMeasure;
  /** The number of the inner query that computes it. */
  block: number;
}

const measureId = (path: NodePath, measure: Measure) => `${path} ${measure.name}`;

/** Every aggregate that the query needs, once, those inside calculated measures included. */
function collectMeasures(query: ResolvedQuery, tree: ReturnType<typeof joinTree>): Map<string, CollectedMeasure> {
  const collected = new Map<string, CollectedMeasure>();
  const visit = (expression: ResolvedExpression) => {
    if (expression.kind === 'measure' && expression.member.member.kind === 'measure') {
      for (const { path, measure } of baseMeasures(tree, pathOf(expression.member.path), expression.member.member)) {
        const id = measureId(path, measure);
        if (measure.aggregation !== 'number' && !collected.has(id)) {
          collected.set(id, { name: `m${collected.size}`, path, measure, block: 0 });
        }
      }
    }
    for (const part of partsOf(expression)) visit(part);
  };
  for (const { expression } of [...query.select, ...query.orderBy]) visit(expression);
  if (query.having !== null) visit(query.having);
  return collected;
}

interface Block {
  readonly nodes: readonly NodePath[];
  readonly isDeduplicated: boolean;
  readonly primaryKey: readonly string[];
  readonly measures: readonly {
    readonly name: string;
    readonly measure: AggregateMeasure;
    /** The SQL of what is aggregated; null for a count of rows. */
    readonly row: string | null;
    /** The condition under which a row counts; null: always. */
    readonly guard: string | null;
  }[];
}

/** Groups measures into inner queries: those that read the same joined rows share one. At least one block. */
function planBlocks(
  measures: readonly CollectedMeasure[],
  sharedNodes: ReadonlySet<NodePath>,
  newScope: () => EmitScope,
  tree: ReturnType<typeof joinTree>,
): Block[] {
  const blocks = new Map<string, { -readonly [K in keyof Block]: Block[K] }>();
  for (const collected of measures) {
    const { path, measure } = collected;
    const cube = tree.cube(path);
    const scope = newScope();
    const row = measure.sql === null ? null : emitTemplate(measure.sql, path, scope);
    const filters = measure.filters.map((filter) => `(${emitTemplate(filter, path, scope)})`);
    const own = new Set(scope.nodes).add(path);
    if (tree.isMultiplied(path, tree.between(own))) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `Measure ${measure.name} reads a cube of which one row of ${cube.name} has many.`,
      );
    }
    const nodes = tree.close([...sharedNodes, ...own]);
    const isRepeatable =
      measure.aggregation === 'count_distinct' || measure.aggregation === 'min' || measure.aggregation === 'max';
    const isDeduplicated = !isRepeatable && tree.isMultiplied(path, nodes);
    const primaryKey = cube.primaryKey.map((dimension) => `(${emitTemplate(dimension.sql, path, scope)})`);
    // A LEFT JOIN without a match makes a row of nulls, which is no row of the measure's cube.
    const isOptional = path !== tree.root;
    if (primaryKey.length === 0 && (isDeduplicated || isOptional)) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `Cube ${cube.name} needs a primary key for its measure ${measure.name} here.`,
      );
    }
    const guards = [...(isOptional ? primaryKey.map((sql) => `${sql} IS NOT NULL`) : []), ...filters];
    const key = isDeduplicated ? `distinct ${path} ${nodes.join(' ')}` : nodes.join(' ');
    const block = blocks.get(key) ?? {
      nodes,
      isDeduplicated,
      primaryKey: isDeduplicated ? primaryKey : [],
      measures: [],
    };
    block.measures = [
      ...block.measures,
      { name: collected.name, measure, row, guard: guards.length > 0 ? guards.join(' AND ') : null },
    ];
    blocks.set(key, block);
    collected.block = [...blocks.keys()].indexOf(key);
  }
  if (blocks.size > 0) return [...blocks.values()];
  return [{ nodes: tree.close(sharedNodes), isDeduplicated: false, primaryKey: [], measures: [] }];
}

/** The aggregate of a measure over `row`, the SQL of its value in a joined row. */
function aggregate(measure: AggregateMeasure, row: string | null, guard: string | null): string {
  const value = row ?? '*';
  const call =
    measure.aggregation === 'count_distinct'
      ? `COUNT(DISTINCT ${value})`
      : `${measure.aggregation.toUpperCase()}(${value})`;
  return guard === null ? call : `${call} FILTER (WHERE ${guard})`;
}

/** Rows without grouping need one cube whose rows they are: two branches of many rows each would be a cross product. */
function requireOneGrain(query: ResolvedQuery, tree: ReturnType<typeof joinTree>, nodes: ReadonlySet<NodePath>): void {
  const closed = tree.close(nodes);
  if (closed.some((path) => !tree.isMultiplied(path, closed))) return;
  throw new SemanticError(
    'QUERY_NOT_PLANNABLE',
    `Rows of ${query.relation.name} with these members would be every combination of unrelated rows.`,
    'Group by dimensions and select measures, or select members of fewer cubes.',
  );
}
