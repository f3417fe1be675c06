/** Expressions and SQL fragments of the model → SQL text of a dialect. Values are bound, never written into the text. */

import type { Dialect, ParameterType } from '../dialects/dialect.ts';
import type { Dimension, MemberType, SqlTemplate } from '../model/data-model.ts';
import type { BoundValue } from '../policy/access-policy.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import type { JoinTree, NodePath } from './join-tree.ts';

/** A bound value of a compiled query. Integers are bigints, times are texts. */
export type Parameter = string | number | bigint | boolean;

/** Collects the bound values of one query. Parameters are numbered, so pieces of SQL may be put together in any order. */
export interface Binder {
  readonly parameters: readonly Parameter[];
  /** The placeholder of a value that stands for, or is compared with, a value of `type`. */
  bind(value: BoundValue, type: MemberType): string;
}

/** A binder without values. */
export function createBinder(dialect: Dialect): Binder {
  const parameters: Parameter[] = [];
  const placeholders = new Map<string, string>();
  return {
    parameters,
    bind(value, type) {
      const parameterType = parameterTypeOf(value, type);
      // The same value bound twice is one parameter: the text of an expression is then the same wherever it stands.
      const key = `${parameterType} ${value}`;
      const known = placeholders.get(key);
      if (known !== undefined) return known;
      parameters.push(parameterType === 'integer' ? BigInt(value) : value);
      const placeholder = dialect.placeholder(parameters.length, parameterType);
      placeholders.set(key, placeholder);
      return placeholder;
    },
  };
}

function parameterTypeOf(value: BoundValue, type: MemberType): ParameterType {
  switch (typeof value) {
    case 'bigint':
      return 'integer';
    case 'number':
      return Number.isSafeInteger(value) ? 'integer' : 'double';
    case 'boolean':
      return 'boolean';
    case 'string':
      return type === 'time' ? 'time' : 'string';
  }
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
