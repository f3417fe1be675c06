/**
 * A parsed query + the data model as one subject sees it → a resolved query: every name a member, every type checked.
 * A member that the subject may not see is told exactly as one that does not exist.
 */

import { asWritten, closestNames } from '../closest-names.ts';
import type { DataModel, Relation, RelationMember } from '../model/data-model.ts';
import { visibleMembers } from '../policy/access-policy.ts';
import type { Subject } from '../policy/subject.ts';
import { stemsOf } from '../search/words.ts';
import { SemanticError } from '../semantic-error.ts';
import { checkExpression, requireBoolean } from './check-expression.ts';
import { contains, numberExpressions, partsOf, type ResolvedExpression } from './resolved-expression.ts';
import type { AggregateFunction, NamedExpression, SemanticQuery } from './semantic-query.ts';

/** A query over one relation, of which every name is a member that the asking user may see. */
export interface ResolvedQuery {
  readonly relation: Relation;
  /** The members that the query takes, by name. */
  readonly taken: ReadonlyMap<string, RelationMember>;
  readonly select: readonly { readonly name: string; readonly expression: ResolvedExpression }[];
  readonly isDistinct: boolean;
  readonly where: ResolvedExpression | null;
  /** The expressions that rows are grouped by; null: rows are not grouped. */
  readonly groupBy: readonly ResolvedExpression[] | null;
  readonly having: ResolvedExpression | null;
  readonly orderBy: readonly {
    readonly expression: ResolvedExpression;
    readonly isDescending: boolean;
    readonly nullsFirst: boolean;
  }[];
  readonly limit: number | null;
  readonly offset: number | null;
}

/**
 * Resolves the names of a query and checks its types and clauses.
 * @throws SemanticError that says what cannot be resolved, with the closest names as hint
 */
export function resolveQuery(query: SemanticQuery, model: DataModel, subject: Subject): ResolvedQuery {
  const { relation, visible } = findRelation(query, model, subject);
  const taken = new Map<string, RelationMember>();
  const scope: Scope = { relation, visible, taken, tableName: query.relation.alias ?? query.relation.name };
  const resolve = (expression: NamedExpression) => checkExpression(resolveNames(expression, scope));

  const items =
    query.select === '*'
      ? [...visible.values()]
          .filter(({ member }) => member.kind === 'dimension')
          .map(({ name }) => ({
            alias: null,
            expression: { kind: 'column', qualifier: null, name, location: 0 } as const,
          }))
      : query.select;
  if (items.length === 0) throw new SemanticError('MEMBER_NOT_FOUND', `${relation.name} has no dimension to select.`);
  const select = items.map(({ alias, expression }) => ({
    alias,
    name: alias ?? columnName(expression),
    expression: resolve(expression),
  }));

  const byOrdinal = (expression: NamedExpression, clause: string) => {
    if (expression.kind !== 'number') return undefined;
    const item = /^\d+$/.test(expression.text) ? select[Number(expression.text) - 1] : undefined;
    if (item !== undefined) return item.expression;
    throw new SemanticError('SQL_INVALID', `${clause} ${expression.text} is not the position of a selected column.`);
  };
  const byAlias = (expression: NamedExpression) =>
    expression.kind === 'column' && expression.qualifier === null
      ? select.find(({ alias }) => alias === expression.name)?.expression
      : undefined;

  const where = query.where === null ? null : resolve(query.where);
  if (where !== null && contains(where, 'measure')) {
    throw new SemanticError('MEASURE_MISUSED', 'A measure cannot stand in WHERE.', 'Filter groups with HAVING.');
  }
  // GROUP BY prefers a member over an alias of the same name, ORDER BY the alias: PostgreSQL's rules.
  const groupBy = query.groupBy.map((expression) => {
    const isMember = expression.kind === 'column' && visible.has(expression.name);
    const key =
      byOrdinal(expression, 'GROUP BY') ?? (isMember ? undefined : byAlias(expression)) ?? resolve(expression);
    if (contains(key, 'measure')) throw new SemanticError('MEASURE_MISUSED', 'A measure cannot be grouped by.');
    return key;
  });
  const having = query.having === null ? null : resolve(query.having);
  const orderBy = query.orderBy.map(({ expression, isDescending, nullsFirst }) => ({
    expression: byOrdinal(expression, 'ORDER BY') ?? byAlias(expression) ?? resolve(expression),
    isDescending,
    nullsFirst,
  }));

  const outputs = [...select, ...orderBy].map(({ expression }) => expression);
  const isGrouped =
    groupBy.length > 0 || having !== null || outputs.some((expression) => contains(expression, 'measure'));
  const numberOf = numberExpressions();
  if (isGrouped) {
    const keys = new Set(groupBy.map(numberOf));
    const isKey = (expression: ResolvedExpression) => keys.has(numberOf(expression));
    for (const expression of having === null ? outputs : [...outputs, having]) requireGrouped(expression, isKey);
  }
  const selected = new Set(select.map(({ expression }) => numberOf(expression)));
  if (query.isDistinct && !orderBy.every(({ expression }) => selected.has(numberOf(expression)))) {
    throw new SemanticError('SQL_INVALID', 'With SELECT DISTINCT, ORDER BY may name selected columns only.');
  }
  if (where !== null) requireBoolean(where, 'WHERE');
  if (having !== null) requireBoolean(having, 'HAVING');
  const { isDistinct, limit, offset } = query;
  return {
    relation,
    taken,
    select,
    isDistinct,
    where,
    groupBy: isGrouped ? groupBy : null,
    having,
    orderBy,
    limit,
    offset,
  };
}

interface Scope {
  readonly relation: Relation;
  readonly visible: ReadonlyMap<string, RelationMember>;
  readonly taken: Map<string, RelationMember>;
  readonly tableName: string;
}

function findRelation(query: SemanticQuery, model: DataModel, subject: Subject) {
  const relation = model.relations.get(query.relation.name);
  const members = relation === undefined ? [] : visibleMembers(model, relation, subject);
  if (relation !== undefined && members.length > 0) {
    return { relation, visible: new Map(members.map((member) => [member.name, member])) };
  }
  const others = [...model.relations.values()]
    .filter((other) => visibleMembers(model, other, subject).length > 0)
    .map(({ name }) => name);
  throw new SemanticError(
    'RELATION_NOT_FOUND',
    `No view or cube "${query.relation.name}".`,
    closestNames(query.relation.name, others),
  );
}

function findMember(scope: Scope, qualifier: string | null, name: string): RelationMember {
  if (qualifier !== null && qualifier !== scope.tableName) {
    throw new SemanticError(
      'RELATION_NOT_FOUND',
      `No table "${qualifier}" in FROM.`,
      `Closest: ${asWritten(scope.tableName)}`,
    );
  }
  const member = scope.visible.get(name);
  if (member === undefined) {
    throw new SemanticError(
      'MEMBER_NOT_FOUND',
      `No member "${name}" in ${scope.relation.name}.`,
      calledNames(name, scope) || closestNames(name, [...scope.visible.keys()]),
    );
  }
  scope.taken.set(name, member);
  return member;
}

/** A hint at the members whose title or synonym the name is; empty when there is none. */
function calledNames(name: string, { visible }: Scope): string {
  const wanted = stemsOf(name);
  const isCalled = ({ title, member }: RelationMember): boolean =>
    [title, ...member.synonyms].some((text) => stemsOf(text) === wanted);
  const called = wanted === '' ? [] : [...visible.values()].filter(isCalled).slice(0, 3);
  return called.length === 0 ? '' : `Closest: ${called.map((member) => asWritten(member.name)).join(', ')}`;
}

function resolveNames(expression: NamedExpression, scope: Scope): ResolvedExpression {
  const resolve = (it: NamedExpression) => resolveNames(it, scope);
  switch (expression.kind) {
    case 'column': {
      const member = findMember(scope, expression.qualifier, expression.name);
      if (member.member.kind === 'measure') {
        throw new SemanticError('MEASURE_MISUSED', `${member.name} is a measure.`, writeMeasure(member));
      }
      return { kind: 'dimension', member, location: expression.location };
    }
    case 'aggregate':
      return resolveAggregate(expression, scope);
    case 'literal':
    case 'number':
      return expression;
    case 'compare':
    case 'arithmetic':
      return { ...expression, left: resolve(expression.left), right: resolve(expression.right) };
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(resolve) };
    case 'in':
      return { ...expression, operand: resolve(expression.operand), items: expression.items.map(resolve) };
    case 'between':
      return {
        ...expression,
        operand: resolve(expression.operand),
        low: resolve(expression.low),
        high: resolve(expression.high),
      };
    case 'case':
      return {
        ...expression,
        branches: expression.branches.map(({ when, result }) => ({ when: resolve(when), result: resolve(result) })),
        otherwise: expression.otherwise === null ? null : resolve(expression.otherwise),
      };
    case 'call':
      return { ...expression, args: expression.args.map(resolve) };
    case 'not':
    case 'negate':
    case 'is-null':
    case 'like':
    case 'date-trunc':
      return { ...expression, operand: resolve(expression.operand) };
  }
}

function resolveAggregate(aggregate: NamedExpression & { kind: 'aggregate' }, scope: Scope): ResolvedExpression {
  const { function: name, column, isDistinct, location } = aggregate;
  if (column === null) {
    const count = [...scope.visible.values()].find(
      ({ member }) => member.kind === 'measure' && member.aggregation === 'count',
    );
    const hint = count === undefined ? '' : writeMeasure(count);
    throw new SemanticError('MEASURE_MISUSED', 'COUNT(*) does not say what is counted.', hint);
  }
  const member = findMember(scope, column.qualifier, column.name);
  if (member.member.kind !== 'measure') {
    throw new SemanticError(
      'MEASURE_MISUSED',
      `${column.name} is a dimension; ${name.toUpperCase()} takes a measure.`,
      'Aggregates are defined as measures in the data model.',
    );
  }
  const { aggregation } = member.member;
  const wanted: AggregateFunction | null =
    aggregation === 'number' ? null : aggregation === 'count_distinct' ? 'count' : aggregation;
  const isMatch =
    name === 'measure' ? !isDistinct : name === wanted && isDistinct === (aggregation === 'count_distinct');
  if (!isMatch) {
    const asked = `${name.toUpperCase()}${isDistinct ? ' DISTINCT' : ''}`;
    throw new SemanticError('MEASURE_MISUSED', `${column.name} is not a ${asked}.`, writeMeasure(member));
  }
  return { kind: 'measure', member, location };
}

const writeMeasure = ({ name }: RelationMember): string => `Write MEASURE(${asWritten(name)}).`;

/** Every dimension of a grouped query stands within an expression that is grouped by. */
function requireGrouped(expression: ResolvedExpression, isKey: (part: ResolvedExpression) => boolean): void {
  if (isKey(expression)) return;
  if (expression.kind === 'dimension') {
    const { name } = expression.member;
    throw new SemanticError(
      'GROUP_BY_REQUIRED',
      `${name} has to be grouped by.`,
      `Add ${asWritten(name)} to GROUP BY.`,
    );
  }
  for (const part of partsOf(expression)) requireGrouped(part, isKey);
}

/** The name of a column without AS: as PostgreSQL names it, and a measure by its own name. */
function columnName(expression: NamedExpression): string {
  switch (expression.kind) {
    case 'column':
      return expression.name;
    case 'aggregate':
      return expression.column?.name ?? 'count';
    case 'call':
      return expression.name;
    case 'date-trunc':
      return 'date_trunc';
    case 'case':
      return 'case';
    default:
      return '?column?';
  }
}
