/** What names mean in a plain SELECT: columns of the queries in its FROM. */
import { asWritten, closestNames } from '../closest-names.ts';
import { SemanticError } from '../semantic-error.ts';
import { requireType } from './check-expression.ts';
import { noTable } from './member-scope.ts';
import type { NamedAggregate, Scope } from './resolve-expression.ts';
import { contains, type PlainAggregate, type ResolvedExpression } from './resolved-expression.ts';
import type { OutputColumn, ResolvedStatement } from './resolved-statement.ts';
import type { Location, NamedExpression } from './semantic-query.ts';
import { typeOf } from './value-type.ts';

/** A query in FROM. */
export interface Source {
  /** Its number among all of the SELECT's. */
  readonly source: number;
  /** Null: its columns can be named without a qualifier only. */
  readonly alias: string | null;
  readonly statement: ResolvedStatement;
  /** As they are called outside. */
  readonly columns: readonly OutputColumn[];
}

/** A column of a source as an expression. What is always null is a text to those who read it, as in PostgreSQL. */
export function columnOf({ source, columns }: Source, column: number, location: Location): ResolvedExpression {
  const { name, type } = columns[column] ?? { name: '', type: 'null' };
  return { kind: 'column', source, column, type: type === 'null' ? 'string' : type, name, location };
}

/** Names over the columns of sources. */
export function columnScope(sources: readonly Source[], rest: Pick<Scope, 'timezone' | 'now' | 'subquery'>): Scope {
  /** Asked for each name: all columns are looked through once. */
  const byName = new Map<string, { readonly of: Source; readonly column: number }[]>();
  for (const of of sources) {
    for (const [column, { name }] of of.columns.entries()) {
      const known = byName.get(name);
      if (known === undefined) byName.set(name, [{ of, column }]);
      else known.push({ of, column });
    }
  }
  const tables = sources.flatMap(({ alias }) => (alias === null ? [] : [{ name: alias, alias }]));
  return {
    ...rest,
    column(qualifier, name, location) {
      if (qualifier !== null && !sources.some(({ alias }) => alias === qualifier)) noTable(qualifier, tables, location);
      const found = (byName.get(name) ?? []).filter(({ of }) => qualifier === null || of.alias === qualifier);
      const [only, second] = found;
      if (second !== undefined) {
        const owners = found.flatMap(({ of }) =>
          of.alias === null ? [] : [`${asWritten(of.alias)}.${asWritten(name)}`],
        );
        const hint =
          new Set(owners).size > 1
            ? `Write ${[...new Set(owners)].slice(0, 3).join(' or ')}.`
            : 'Give the columns names of their own with AS.';
        throw new SemanticError('SQL_INVALID', `Column "${name}" is ambiguous.`, hint, location);
      }
      if (only !== undefined) return columnOf(only.of, only.column, location);
      throw new SemanticError(
        'MEMBER_NOT_FOUND',
        `No column "${name}" in ${qualifier === null ? 'FROM' : qualifier}.`,
        closestNames(name, [...byName.keys()]),
        location,
      );
    },
    has: (name) => byName.has(name),
    star(qualifier, location) {
      const starred = sources.filter(({ alias }) => qualifier === null || alias === qualifier);
      if (starred.length === 0) noTable(qualifier ?? '', tables, location);
      return starred.flatMap((source) =>
        source.columns.map(({ name }, column) => ({ name, expression: columnOf(source, column, location) })),
      );
    },
    aggregate: (aggregate, resolve) => resolveAggregate(aggregate, resolve),
  };
}

function resolveAggregate(
  { function: name, isDistinct, argument, filter, location }: NamedAggregate,
  resolve: (argument: NamedExpression) => ResolvedExpression,
): ResolvedExpression {
  if (name === 'measure') {
    throw new SemanticError(
      'MEASURE_MISUSED',
      'MEASURE stands only where FROM is a view or cube.',
      'Its value is a column of the subquery; aggregate that, with SUM or AVG.',
      location,
    );
  }
  const value = argument === null ? null : resolve(argument);
  const condition = filter === null ? null : resolve(filter);
  for (const part of [value, condition]) {
    if (part === null) continue;
    for (const kind of ['aggregate', 'window'] as const) {
      if (!contains(part, kind)) continue;
      const what = kind === 'aggregate' ? 'One aggregate' : 'A window function';
      throw new SemanticError(
        'MEASURE_MISUSED',
        `${what} inside another is not allowed.`.replace('function inside another', 'function inside an aggregate'),
        'Use a subquery.',
        location,
      );
    }
  }
  if (condition !== null) requireType(condition, 'boolean', 'FILTER');
  if (value !== null && (name === 'sum' || name === 'avg')) requireType(value, 'number', name.toUpperCase());
  if (isDistinct && (name === 'sum' || name === 'avg')) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      `Semantic SQL does not allow ${name.toUpperCase()} DISTINCT.`,
      'Aggregate the distinct rows of a subquery.',
      location,
    );
  }
  if (value !== null && typeOf(value) === 'null') {
    throw new SemanticError('TYPE_MISMATCH', `${name.toUpperCase()} of NULL has no type.`, '', location);
  }
  const counted: ResolvedExpression | null =
    condition === null
      ? value
      : {
          kind: 'case',
          branches: [{ when: condition, result: value ?? { kind: 'number', text: '1', location } }],
          otherwise: null,
          location,
        };
  const aggregate: PlainAggregate = name === 'count' && isDistinct ? 'count_distinct' : name;
  return { kind: 'aggregate', function: aggregate, argument: counted, location };
}
