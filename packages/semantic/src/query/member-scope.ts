/** What names mean in a SELECT over a view, a cube, or cubes joined as the model declares: members, as one user sees them. */
import { asWritten, closestNames } from '../closest-names.ts';
import type { DataModel, Relation, RelationMember } from '../model/data-model.ts';
import type { Rights } from '../policy/rights.ts';
import { SemanticError } from '../semantic-error.ts';
import { stemsOf } from '../words.ts';
import type { NamedAggregate, Scope } from './resolve-expression.ts';
import type { ResolvedExpression } from './resolved-expression.ts';
import type { Location, NamedExpression, TableName } from './semantic-query.ts';

/** The relation that a name in FROM stands for, for this user. */
export interface Found {
  readonly relation: Relation;
  /** The members that the user may name, by name. At least one. */
  readonly visible: ReadonlyMap<string, RelationMember>;
}

/**
 * Finds a view or cube. One without a member that the user may see is told exactly as one that does not exist.
 * @param others further names that FROM could hold, for the hint
 * @throws SemanticError RELATION_NOT_FOUND
 */
export function findRelation(
  { name, location }: Pick<TableName, 'name' | 'location'>,
  model: DataModel,
  rights: Pick<Rights, 'visible'>,
  others: readonly string[] = [],
): Found {
  const relation = model.relations.get(name);
  const found = relation === undefined ? null : asFound(relation, rights);
  if (found !== null) return found;
  const visible = [...model.relations.values()].filter((other) => rights.visible(other).size > 0);
  throw new SemanticError(
    'RELATION_NOT_FOUND',
    `No view or cube "${name}".`,
    closestNames(name, [...others, ...visible.map((it) => it.name)]),
    location,
  );
}

/** A relation with what the user may see of it; null when that is nothing. */
export function asFound(relation: Relation, rights: Pick<Rights, 'visible'>): Found | null {
  const visible = new Map([...rights.visible(relation)].map(([name, { member }]) => [name, member]));
  return visible.size === 0 ? null : { relation, visible };
}

/** Names over members. `taken` is filled with those that are used. */
export function memberScope(
  found: Found,
  tables: readonly TableName[],
  taken: Map<string, RelationMember>,
  rest: Pick<Scope, 'timezone' | 'now' | 'subquery'>,
): Scope {
  const { relation, visible } = found;
  const find = (qualifier: string | null, name: string, location: Location): RelationMember => {
    const full = fullName(found, tables, qualifier, name, location);
    const member = full === null ? undefined : visible.get(full);
    if (member === undefined) {
      const names = [...visible.keys()];
      throw new SemanticError(
        'MEMBER_NOT_FOUND',
        relation.type === 'joined'
          ? `No member "${qualifier ?? ''}${qualifier === null ? '' : '.'}${name}" in FROM.`
          : `No member "${name}" in ${relation.name}.`,
        calledNames(name, visible) || closestNames(name, names),
        location,
      );
    }
    taken.set(member.name, member);
    return member;
  };
  return {
    ...rest,
    column(qualifier, name, location) {
      const member = find(qualifier, name, location);
      if (member.member.kind === 'measure') {
        throw new SemanticError('MEASURE_MISUSED', `${member.name} is a measure.`, writeMeasure(member), location);
      }
      return { kind: 'dimension', member, location };
    },
    has: (name) =>
      relation.type === 'joined' ? tables.some((it) => visible.has(`${it.name}.${name}`)) : visible.has(name),
    star(qualifier, location) {
      const table = tables.find((it) => (it.alias ?? it.name) === qualifier);
      if (qualifier !== null && table === undefined) noTable(qualifier, tables, location);
      const columns = [...visible.values()].filter(
        ({ member }) =>
          member.kind === 'dimension' &&
          (table === undefined || relation.type !== 'joined' || member.cube === table.name) &&
          // A switch has no value of its own: it would only multiply the rows.
          member.source.kind !== 'switch',
      );
      if (columns.length === 0) {
        throw new SemanticError('MEMBER_NOT_FOUND', `${relation.name} has no dimension to select.`, '', location);
      }
      return columns.map((member) => {
        taken.set(member.name, member);
        return { name: member.name, expression: { kind: 'dimension', member, location } };
      });
    },
    aggregate: (aggregate, resolve) => resolveAggregate(aggregate, visible, find, resolve),
  };
}

/** The name by which the relation knows a member that is written so; null when it may be several. */
function fullName(
  { relation, visible }: Found,
  tables: readonly TableName[],
  qualifier: string | null,
  name: string,
  location: Location,
): string | null {
  if (qualifier === null) {
    if (relation.type !== 'joined') return name;
    const named = tables.map((it) => `${it.name}.${name}`).filter((it) => visible.has(it));
    if (named.length > 1) {
      throw new SemanticError(
        'SQL_INVALID',
        `"${name}" is ambiguous.`,
        `Write ${named.map((it) => it.split('.').map(asWritten).join('.')).join(' or ')}.`,
        location,
      );
    }
    return named[0] ?? null;
  }
  const table = tables.find((it) => (it.alias ?? it.name) === qualifier);
  if (table === undefined) return noTable(qualifier, tables, location);
  return relation.type === 'joined' ? `${table.name}.${name}` : name;
}

/** @throws SemanticError RELATION_NOT_FOUND */
export function noTable(
  qualifier: string,
  tables: readonly Pick<TableName, 'name' | 'alias'>[],
  location: Location,
): never {
  const names = tables.map((it) => asWritten(it.alias ?? it.name));
  throw new SemanticError(
    'RELATION_NOT_FOUND',
    `No table "${qualifier}" in FROM.`,
    names.length === 0 ? '' : `Closest: ${names.slice(0, 3).join(', ')}`,
    location,
  );
}

/** A hint at the members whose title or synonym the name is; empty when there is none. */
function calledNames(name: string, visible: Found['visible']): string {
  const wanted = stemsOf(name);
  const isCalled = ({ title, member }: RelationMember): boolean =>
    [title, ...member.synonyms].some((text) => stemsOf(text) === wanted);
  const called = wanted === '' ? [] : [...visible.values()].filter(isCalled).slice(0, 3);
  return called.length === 0 ? '' : `Closest: ${called.map((member) => asWritten(member.name)).join(', ')}`;
}

function resolveAggregate(
  aggregate: NamedAggregate,
  visible: Found['visible'],
  find: (qualifier: string | null, name: string, location: Location) => RelationMember,
  resolve: (argument: NamedExpression) => ResolvedExpression,
): ResolvedExpression {
  const { function: name, argument, isDistinct, location } = aggregate;
  if (aggregate.filter !== null) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      'Semantic SQL does not allow FILTER.',
      'Use a filtered measure of the data model.',
      location,
    );
  }
  if (argument === null) {
    const count = [...visible.values()].find(
      ({ member }) => member.kind === 'measure' && member.aggregation === 'count',
    );
    const hint = count === undefined ? '' : writeMeasure(count);
    throw new SemanticError('MEASURE_MISUSED', 'COUNT(*) does not say what is counted.', hint, location);
  }
  if (argument.kind !== 'column') {
    if (argument.kind !== 'aggregate') resolve(argument);
    const what =
      argument.kind === 'aggregate' ? 'One aggregate inside another' : `${name.toUpperCase()} of an expression`;
    throw new SemanticError(
      'MEASURE_MISUSED',
      `${what} is not allowed.`,
      argument.kind === 'aggregate'
        ? 'Write MEASURE(name) with the name of a measure.'
        : 'Write MEASURE(name) with the name of a measure, or aggregate the rows of a subquery.',
      location,
    );
  }
  const member = find(argument.qualifier, argument.name, argument.location);
  if (member.member.kind !== 'measure') {
    throw new SemanticError(
      'MEASURE_MISUSED',
      `${argument.name} is a ${member.member.kind}; ${name.toUpperCase()} takes a measure.`,
      'Aggregates are defined as measures in the data model.',
      location,
    );
  }
  const { aggregation } = member.member;
  const isDistinctCount = aggregation === 'count_distinct' || aggregation === 'count_distinct_approx';
  const wanted = isDistinctCount ? 'count' : aggregation;
  const isMatch = name === 'measure' ? !isDistinct : name === wanted && isDistinct === isDistinctCount;
  if (!isMatch) {
    const asked = `${name.toUpperCase()}${isDistinct ? ' DISTINCT' : ''}`;
    throw new SemanticError('MEASURE_MISUSED', `${argument.name} is not a ${asked}.`, writeMeasure(member), location);
  }
  return { kind: 'measure', member, location };
}

const writeMeasure = ({ name }: RelationMember): string =>
  `Write MEASURE(${name.split('.').map(asWritten).join('.')}).`;
