/**
 * A parsed query + the data model as one subject sees it → a resolved query: every name a member, every type checked.
 * A member that the subject may not see is told exactly as one that does not exist.
 */
import type { DataModel, Relation, RelationMember } from '../model/data-model.ts';
import type { Rights } from '../policy/rights.ts';
import { SemanticError } from '../semantic-error.ts';
import { joinCubes } from './join-cubes.ts';
import { asFound, type Found, findRelation, memberScope } from './member-scope.ts';
import { type ResolvedClauses, resolveClauses } from './resolve-clauses.ts';
import type { Scope } from './resolve-expression.ts';
import type { SemanticQuery, TableName } from './semantic-query.ts';

/** A query over one relation, of which every name is a member that the asking user may see. */
export interface ResolvedQuery extends ResolvedClauses {
  readonly relation: Relation;
  /** The members that the query takes, by name. */
  readonly taken: ReadonlyMap<string, RelationMember>;
  /** Whether the units of time between the bounds of WHERE that have no rows come, too. */
  readonly fill: boolean;
}

/** What names are resolved with. */
export interface ResolveContext {
  readonly model: DataModel;
  readonly rights: Pick<Rights, 'visible'>;
  /** `UTC`, or a name of the zone database. */
  readonly timezone: string;
  /** What `now()` is. */
  readonly now: Date;
}

/**
 * Resolves the names of a query and checks its types and clauses. Window functions come out as they are: the planner takes none.
 * @throws SemanticError that says what cannot be resolved, with the closest names as hint
 */
export function resolveQuery(
  query: SemanticQuery,
  context: ResolveContext,
  subquery: Scope['subquery'] = () => {
    throw new Error('no subquery can stand here');
  },
): ResolvedQuery {
  const found = findRelations(query.relations, context);
  const taken = new Map<string, RelationMember>();
  const { timezone, now } = context;
  const scope = memberScope(found, query.relations, taken, { timezone, now, subquery });
  return { ...resolveClauses(query, scope, 'measure'), relation: found.relation, taken, fill: query.fill === true };
}

function findRelations(tables: readonly TableName[], { model, rights }: ResolveContext): Found {
  const [first, second] = tables;
  if (first === undefined) throw new Error('a query without a relation');
  const found = findRelation(first, model, rights);
  if (second === undefined) return found;
  const cubes = tables.map((it) => findRelation(it, model, rights).relation);
  const called = new Set(tables.map((it) => it.alias ?? it.name));
  if (new Set(cubes).size < cubes.length || called.size < cubes.length) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      'Semantic SQL does not allow a cube joined with itself.',
      'Write subqueries, or a view with two join paths.',
      second.location,
    );
  }
  const view = cubes.find((it) => it.type !== 'cube');
  if (view !== undefined)
    throw new SemanticError('QUERY_NOT_PLANNABLE', `${view.name} is a view; only cubes are joined.`);
  return (
    asFound(
      joinCubes(
        model,
        cubes.map((it) => it.name),
      ),
      rights,
    ) ?? found
  );
}
