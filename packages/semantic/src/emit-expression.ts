/** Expressions and SQL fragments of the model → SQL text of a dialect. Values are bound, never written into the text. */
import type { BoundValue, RowFilter } from './access-policy.ts';
import type { CubeMember, Dimension, MemberType, SqlTemplate } from './data-model.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { JoinTree, NodePath } from './join-tree.ts';
import type { ResolvedExpression } from './resolved-expression.ts';
import { SemanticError } from './semantic-error.ts';

/** A bound value of a compiled query. Integers are bigints, times are texts. */
export type Parameter = string | number | bigint | boolean;

/** Collects the bound values of one query. Parameters are numbered, so pieces of SQL may be put together in any order. */
export interface Binder {
  readonly parameters: readonly Parameter[];
  bind(value: BoundValue, type: MemberType): string;
}

export function createBinder(dialect: Dialect): Binder {
  const parameters: Parameter[] = [];
  const placeholders = new Map<string, string>();
  return {
    parameters,
    bind(value, type) {
      const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value);
      const kind = isInteger
        ? 'integer'
        : typeof value === 'number'
          ? 'double'
          : typeof value === 'boolean'
            ? 'boolean'
            : type === 'time'
              ? 'time'
              : 'string';
      // The same value bound twice is one parameter: the text of an expression is then the same wherever it stands.
      const key = `${kind} ${value}`;
      const known = placeholders.get(key);
      if (known !== undefined) return known;
      parameters.push(isInteger ? BigInt(value) : value);
      const placeholder = dialect.placeholder(parameters.length, kind);
      placeholders.set(key, placeholder);
      return placeholder;
    },
  };
}

/** Where SQL is being emitted: over which tree, for whom, and which nodes it has come to need. */
export interface EmitScope {
  readonly tree: JoinTree;
  readonly dialect: Dialect;
  readonly binder: Binder;
  readonly nodes: Set<NodePath>;
  /** What reads, as the asking user knows it, for messages: a member's name, say. */
  readonly reader: string;
  /** Told of each member that is read in another cube than the one that the reference stands in. */
  readonly onRead: (cube: string, member: string) => void;
}

/**
 * The SQL of a fragment that stands in the cube at `path`. The nodes that it reads are added to the scope.
 * References end and stay few: loading a model checks that.
 */
export function emitTemplate(sql: SqlTemplate, path: NodePath, scope: EmitScope): string {
  scope.nodes.add(path);
  return sql
    .map((part) => {
      if (part.kind === 'text') return part.text;
      const target = scope.tree.refer(path, part.cube, scope.reader);
      scope.nodes.add(target);
      if (part.kind === 'cube') return scope.dialect.quote(scope.tree.alias(target));
      const member = scope.tree.cube(target).members.get(part.member);
      if (member?.kind !== 'dimension') throw new Error(`${part.cube}.${part.member} is no dimension`);
      if (target !== path) scope.onRead(part.cube, part.member);
      return `(${emitTemplate(member.sql, target, scope)})`;
    })
    .join('');
}

/** The SQL of a dimension of the cube at `path`. A string is made one: a column may be a UUID or a number. */
export function emitDimension(dimension: Dimension, path: NodePath, scope: EmitScope): string {
  const sql = `(${emitTemplate(dimension.sql, path, scope)})`;
  return dimension.type === 'string' ? scope.dialect.text(sql) : sql;
}

/**
 * The SQL of an expression. `leaf` may give the SQL of a whole subexpression, such as the column it was computed into;
 * where it gives null, the expression is emitted from its parts.
 */
export function emitExpression(
  expression: ResolvedExpression,
  scope: Pick<EmitScope, 'dialect' | 'binder'>,
  leaf: (expression: ResolvedExpression) => string | null,
): string {
  const given = leaf(expression);
  if (given !== null) return given;
  const emit = (it: ResolvedExpression) => emitExpression(it, scope, leaf);
  const { binder, dialect } = scope;
  switch (expression.kind) {
    case 'literal':
      if (expression.value === null) return 'NULL';
      return binder.bind(expression.value, typeof expression.value === 'boolean' ? 'boolean' : 'string');
    case 'number':
      // Decimal notation, checked by the parser.
      return expression.text;
    case 'time':
      return binder.bind(expression.value, 'time');
    case 'compare':
      return `(${emit(expression.left)} ${expression.operator} ${emit(expression.right)})`;
    case 'arithmetic':
      if (expression.operator === '/') return dialect.divide(emit(expression.left), emit(expression.right));
      return `(${emit(expression.left)} ${expression.operator} ${emit(expression.right)})`;
    case 'and':
    case 'or':
      return `(${expression.operands.map(emit).join(expression.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'not':
      return `(NOT ${emit(expression.operand)})`;
    case 'negate':
      return `(- ${emit(expression.operand)})`;
    case 'is-null':
      return `(${emit(expression.operand)} IS ${expression.isNegated ? 'NOT ' : ''}NULL)`;
    case 'in':
      return `(${emit(expression.operand)} ${expression.isNegated ? 'NOT ' : ''}IN (${expression.items.map(emit).join(', ')}))`;
    case 'between':
      return `(${emit(expression.operand)} ${expression.isNegated ? 'NOT ' : ''}BETWEEN ${emit(expression.low)} AND ${emit(expression.high)})`;
    case 'like': {
      const operator = `${expression.isNegated ? 'NOT ' : ''}${expression.isCaseSensitive ? 'LIKE' : 'ILIKE'}`;
      return `(${emit(expression.operand)} ${operator} ${binder.bind(expression.pattern, 'string')} ESCAPE '\\')`;
    }
    case 'case': {
      const branches = expression.branches
        .map(({ when, result }) => `WHEN ${emit(when)} THEN ${emit(result)}`)
        .join(' ');
      return `(CASE ${branches}${expression.otherwise === null ? '' : ` ELSE ${emit(expression.otherwise)}`} END)`;
    }
    case 'call':
      return `${expression.name}(${expression.args.map(emit).join(', ')})`;
    case 'date-trunc':
      return dialect.dateTrunc(expression.granularity, emit(expression.operand));
    case 'dimension':
    case 'measure':
      throw new SemanticError('QUERY_NOT_PLANNABLE', `${expression.member.name} cannot stand here.`);
  }
}

/** The SQL of a row filter. `column` gives the SQL and type of the dimension that a condition names. */
export function emitRowFilter(
  filter: RowFilter,
  binder: Binder,
  column: (member: string) => { readonly sql: string; readonly type: CubeMember['type'] },
): string {
  if (filter.kind !== 'compare') {
    if (filter.filters.length === 0) return filter.kind === 'and' ? 'TRUE' : 'FALSE';
    const parts = filter.filters.map((it) => emitRowFilter(it, binder, column));
    if (parts.length === 1) return parts.join('');
    return `(${parts.join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
  const { sql, type } = column(filter.member);
  // Bound only where it is used: a parameter that the text does not name is an error.
  const values = () => filter.values.map((value) => binder.bind(value, type)).join(', ');
  const like = (pattern: (value: string) => string) =>
    filter.values.map((value) => {
      const escaped = String(value).replaceAll(/[\\%_]/g, (character) => `\\${character}`);
      return `CAST(${sql} AS VARCHAR) ILIKE ${binder.bind(pattern(escaped), 'string')} ESCAPE '\\'`;
    });
  switch (filter.operator) {
    case 'equals':
      return `(${sql} IN (${values()}))`;
    case 'notEquals':
      return `(${sql} NOT IN (${values()}) OR ${sql} IS NULL)`;
    case 'contains':
      return `(${like((value) => `%${value}%`).join(' OR ')})`;
    case 'notContains':
      return `(NOT (${like((value) => `%${value}%`).join(' OR ')}) OR ${sql} IS NULL)`;
    case 'startsWith':
      return `(${like((value) => `${value}%`).join(' OR ')})`;
    case 'endsWith':
      return `(${like((value) => `%${value}`).join(' OR ')})`;
    case 'gt':
      return `(${sql} > ${values()})`;
    case 'gte':
      return `(${sql} >= ${values()})`;
    case 'lt':
      return `(${sql} < ${values()})`;
    case 'lte':
      return `(${sql} <= ${values()})`;
    case 'set':
      return `(${sql} IS NOT NULL)`;
    case 'notSet':
      return `(${sql} IS NULL)`;
  }
}
