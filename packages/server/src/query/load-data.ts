/** JSON queries through the one door: parsed and compiled as one user may ask them, then run one after the other. */
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { type Rights, rightsOf } from '@inlay/semantic/policy/rights.ts';
import { visibleRelation } from '@inlay/semantic/policy/visible-metadata.ts';
import { type LoadQuery, parseLoadQuery } from '@inlay/semantic/query/load-query.ts';
import type { LoadLimits } from '@inlay/semantic/query/load-shape.ts';
import { type LoadColumn, type LoadPlan, planLoad } from '@inlay/semantic/query/load-statement.ts';
import { InlayError } from '../errors.ts';
import type { WarehouseResult } from '../warehouse/warehouse.ts';
import { queryKey } from './query-key.ts';
import { type Door, openDoor, type QueryDependencies, type QueryScope } from './run-query.ts';

/** One query, ready to run. */
export interface LoadedQuery {
  readonly query: LoadQuery;
  readonly columns: readonly LoadColumn[];
  readonly segments: LoadPlan['segments'];
  readonly compiled: CompiledQuery;
  /** Gives the number of rows without limit and offset; null: not asked for. */
  readonly total: CompiledQuery | null;
}

/** The queries of one call, as one user may ask them at this moment. */
export interface Load {
  readonly queries: readonly LoadedQuery[];
  /** The views and cubes that they name, by name, as this user sees them. */
  readonly relations: ReadonlyMap<string, RelationMetadata>;
  /** Equal for two loads exactly where they ask the warehouse the same. */
  readonly identity: string;
  /**
   * Runs them, one at a time.
   * @throws as `Door.run`; RESULT_TOO_LARGE also where they are too large together
   */
  run(signal: AbortSignal): Promise<readonly LoadedResult[]>;
}

/** What a query gave. */
export interface LoadedResult {
  readonly result: WarehouseResult;
  readonly total: number | null;
}

/** JSON queries as a call sends them. */
export interface LoadsAsked {
  /** As they were parsed from JSON. */
  readonly queries: readonly unknown[];
  /** What phrases such as `last 7 days` are read by. */
  readonly now: Date;
  readonly limits: LoadLimits;
}

/**
 * Parses and compiles JSON queries.
 * @throws SemanticError; InlayError as `openDoor`
 */
export async function openLoad(dependencies: QueryDependencies, scope: QueryScope, asked: LoadsAsked): Promise<Load> {
  const door = await openDoor(dependencies, scope);
  const { dataModel, version } = door.deployment;
  const rights = rightsOf(dataModel, door.subject);
  const queries = compileLoads(door, asked, rights);
  const relations = new Map<string, RelationMetadata>();
  for (const { relation: name } of queries.flatMap(({ columns, segments }) => [...columns, ...segments])) {
    const relation = dataModel.relations.get(name);
    const seen = relation === undefined || relations.has(name) ? null : visibleRelation(relation, rights);
    if (seen !== null) relations.set(name, seen);
  }
  const identity = JSON.stringify([
    version,
    ...queries.flatMap(({ compiled, total }) => [compiled, total].map((it) => it && queryKey(it))),
  ]);
  return { queries, relations, identity, run: (signal) => runAll(door, queries, dependencies.queryBytesMax, signal) };
}

/** The same for a door that is open already. @throws SemanticError */
export function compileLoads(
  door: Door,
  { queries, now, limits }: LoadsAsked,
  rights: Rights = rightsOf(door.deployment.dataModel, door.subject),
): readonly LoadedQuery[] {
  const { dataModel } = door.deployment;
  return queries
    .flatMap((json) => parseLoadQuery(json, { now, timezone: door.timezone, limits }))
    .map((query): LoadedQuery => {
      const { statement, total, columns, segments } = planLoad(query, dataModel, rights);
      return {
        query,
        columns,
        segments,
        compiled: door.compile(statement, query.timezone),
        total: total === null ? null : door.compile(total, query.timezone),
      };
    });
}

async function runAll(
  door: Door,
  queries: readonly LoadedQuery[],
  bytesMax: number | undefined,
  signal: AbortSignal,
): Promise<readonly LoadedResult[]> {
  const results: LoadedResult[] = [];
  let bytes = 0;
  for (const { compiled, total } of queries) {
    const result = await door.run(compiled, signal);
    bytes += result.bytes;
    if (bytesMax !== undefined && bytes > bytesMax) {
      throw new InlayError('RESULT_TOO_LARGE', `The results have more than ${bytesMax} bytes together`);
    }
    results.push({ result, total: total === null ? null : await countOf(await door.run(total, signal)) });
  }
  return results;
}

/** The one number of a count. */
async function countOf(result: WarehouseResult): Promise<number> {
  for await (const [row] of result.rows()) return Number(row?.[0] ?? 0);
  return 0;
}
