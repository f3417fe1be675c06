/**
 * A parsed statement → a resolved one. Each SELECT is semantic, where its FROM is a view, a cube or joined cubes, or plain, where it is made of
 * other queries. A name in FROM is that of a query in WITH first, as in PostgreSQL, and then a view or cube as the asking user sees them.
 */
import { SemanticError } from '../semantic-error.ts';
import { requireBoolean } from './check-expression.ts';
import { columnScope, type Source } from './column-scope.ts';
import { findRelation } from './member-scope.ts';
import { statementOf } from './over-block.ts';
import { resolveClauses, windowOrder } from './resolve-clauses.ts';
import { resolveExpression, type Scope } from './resolve-expression.ts';
import { joinOn } from './resolve-join.ts';
import { type ResolveContext, resolveQuery } from './resolve-query.ts';
import { resolveSet } from './resolve-set.ts';
import { contains, type ResolvedExpression } from './resolved-expression.ts';
import type { OutputColumn, PlainFrom, ResolvedStatement } from './resolved-statement.ts';
import type { Location, TableName } from './semantic-query.ts';
import type { FromItem, SelectBody, Statement } from './statement.ts';
import { typeOf } from './value-type.ts';

/** The queries that WITH names, and those of the statements around; the innermost of a name counts. */
type Environment = ReadonlyMap<
  string,
  { readonly statement: ResolvedStatement; readonly columns: readonly OutputColumn[] }
>;

/**
 * Resolves the names of a statement and checks its types and clauses.
 * @throws SemanticError that says what cannot be resolved, with the closest names as hint
 */
export function resolveStatement(statement: Statement, context: ResolveContext): ResolvedStatement {
  return resolveIn(statement, new Map(), context);
}

function resolveIn(statement: Statement, outside: Environment, context: ResolveContext): ResolvedStatement {
  const environment = new Map(outside);
  const own = new Set<string>();
  for (const { name, columns, statement: query, location } of statement.with) {
    if (own.has(name)) {
      throw new SemanticError('SQL_INVALID', `WITH names "${name}" more than once.`, '', location);
    }
    own.add(name);
    const resolved = resolveIn(query, environment, context);
    environment.set(name, { statement: resolved, columns: renamed(resolved.columns, columns, name, location) });
  }
  const { body } = statement;
  if (body.kind === 'select') return resolveSelect(body, environment, context);
  const branches = body.branches.map((branch) => resolveIn(branch, environment, context));
  return resolveSet(body, branches);
}

function resolveSelect(body: SelectBody, environment: Environment, context: ResolveContext): ResolvedStatement {
  const { timezone, now } = context;
  const subquery: Scope['subquery'] = (statement) => resolveIn(statement, environment, context);
  const relations = semanticTables(body, environment, context);
  if (relations !== null) return statementOf(resolveQuery({ ...body, relations }, context, subquery));

  const sources: Source[] = [];
  const rest = { timezone, now, subquery };
  const [first, ...others] = body.from;
  const fromOf = (item: FromItem): PlainFrom => resolveFrom(item, sources, environment, context, rest);
  const from = others.reduce(
    (left: PlainFrom, item): PlainFrom => ({ kind: 'join', type: 'cross', left, right: fromOf(item), on: null }),
    fromOf(first),
  );
  const clauses = resolveClauses(body, columnScope(sources, rest), 'aggregate');
  const ties = clauses.groupBy ?? sources.flatMap(allColumns);
  const order = windowOrder(ties);
  const select = clauses.select.map((it) => ({ ...it, expression: order(it.expression) }));
  const orderBy = clauses.orderBy.map((it) => ({ ...it, expression: order(it.expression) }));
  const columns = select.map(({ name, expression }) => ({ name, type: typeOf(expression) }));
  return { kind: 'plain', select: { ...clauses, from, select, orderBy }, columns };
}

const allColumns = (source: Source): readonly ResolvedExpression[] =>
  source.columns.map(({ type, name }, column) => ({
    kind: 'column',
    source: source.source,
    column,
    type,
    name,
    location: 0,
  }));

/**
 * The relations of a semantic SELECT: one view or cube, or several cubes with nothing but commas and CROSS JOIN between them. Null: it
 * is a plain one.
 * @throws SemanticError for relations beside each other that nothing declares a join for
 */
function semanticTables(
  body: SelectBody,
  environment: Environment,
  context: ResolveContext,
): readonly TableName[] | null {
  const items = body.from.flatMap(flatten);
  const tables = items.filter((it) => it.kind === 'table');
  const relations = tables.filter(({ name }) => !environment.has(name));
  const [relation] = relations;
  if (relation === undefined) return null;
  const { rights, model } = context;
  const found = relations.map((it) => findRelation(it, model, rights, [...environment.keys()]));
  const columns = relations.find((it) => it.columns.length > 0);
  if (columns !== undefined) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      'Semantic SQL does not allow other names for the columns of a view.',
      'Rename columns with AS.',
      columns.location,
    );
  }
  if (items.length === 1) return relations;
  const isCubes = relations.length === items.length && found.every((it) => it.relation.type === 'cube');
  const isCross = body.from.every(isCrossJoined);
  if (isCubes && isCross) return relations;
  throw new SemanticError(
    'SQL_NOT_SUPPORTED',
    `Semantic SQL does not allow the ${found[0]?.relation.type} ${relation.name} beside other tables.`,
    isCubes
      ? `Write CROSS JOIN without ON: cubes are joined as the data model declares.`
      : `Write (SELECT … FROM ${relation.name} …) AS ${relation.alias ?? relation.name}; views join their cubes already.`,
    relation.location,
  );
}

const flatten = (item: FromItem): readonly (FromItem & { kind: 'table' | 'derived' })[] =>
  item.kind === 'join' ? [...flatten(item.left), ...flatten(item.right)] : [item];

const isCrossJoined = (item: FromItem): boolean =>
  item.kind !== 'join' || (item.type === 'cross' && isCrossJoined(item.left) && isCrossJoined(item.right));

function resolveFrom(
  item: FromItem,
  sources: Source[],
  environment: Environment,
  context: ResolveContext,
  rest: Pick<Scope, 'timezone' | 'now' | 'subquery'>,
): PlainFrom {
  if (item.kind === 'join') {
    const before = sources.length;
    const left = resolveFrom(item.left, sources, environment, context, rest);
    const middle = sources.length;
    const right = resolveFrom(item.right, sources, environment, context, rest);
    if (item.on === null) return { kind: 'join', type: 'cross', left, right, on: null };
    // ON sees the tables that it joins, and no others.
    const on = resolveExpression(item.on, columnScope(sources.slice(before), rest));
    requireBoolean(on, 'ON');
    if (contains(on, 'subquery') || contains(on, 'in-subquery')) {
      throw new SemanticError(
        'SQL_NOT_SUPPORTED',
        'Semantic SQL does not allow a subquery in ON.',
        'Put it in WHERE.',
        item.location,
      );
    }
    return joinOn(item.type, left, right, on, middle);
  }
  const add = (statement: ResolvedStatement, columns: readonly OutputColumn[], alias: string | null): PlainFrom => {
    if (alias !== null && sources.some((it) => it.alias === alias)) {
      throw new SemanticError(
        'SQL_INVALID',
        `FROM names "${alias}" more than once.`,
        'Write AS with another name.',
        item.location,
      );
    }
    const source = sources.length;
    sources.push({ source, alias, statement, columns });
    return { kind: 'source', source, statement };
  };
  if (item.kind === 'derived') {
    const statement = resolveIn(item.statement, environment, context);
    return add(statement, renamed(statement.columns, item.columns, item.alias ?? '', item.location), item.alias);
  }
  const common = environment.get(item.name);
  if (common === undefined) throw new Error(`no query ${item.name}`);
  return add(
    common.statement,
    renamed(common.columns, item.columns, item.name, item.location),
    item.alias ?? item.name,
  );
}

/** Names for columns, as many as are written. @throws SemanticError SQL_INVALID for more than there are */
function renamed(
  columns: readonly OutputColumn[],
  names: readonly string[],
  table: string,
  location: Location,
): readonly OutputColumn[] {
  if (names.length === 0) return columns;
  if (names.length > columns.length) {
    throw new SemanticError(
      'SQL_INVALID',
      `"${table}" has ${columns.length} columns, not ${names.length}.`,
      '',
      location,
    );
  }
  return columns.map((column, at) => ({ ...column, name: names[at] ?? column.name }));
}
