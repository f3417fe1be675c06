/** The one door to data. Nothing else in the server may call a warehouse; a test holds every import to that. */
import { compileSql } from '@inlay/semantic/compile-sql.ts';
import { duckdb } from '@inlay/semantic/dialects/duckdb.ts';
import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Principal } from '../users/principal.ts';
import { loadSubject } from '../users/subject.ts';
import type { WarehouseResult } from '../warehouse/warehouse.ts';
import type { Deployments } from './deployments.ts';

/** What the door to data needs. */
export interface QueryDependencies {
  readonly db: Kysely<Schema>;
  readonly deployments: Deployments;
  readonly clock: () => Date;
  readonly queryTimeoutMs: number;
}

/** A question to the data of a deployment, asked as one user. */
export interface Query {
  readonly principal: Principal;
  readonly deploymentId: number;
  /** Semantic SQL. */
  readonly sql: string;
  readonly signal: AbortSignal;
}

/**
 * Reads the user's rights from the store, compiles the query with the policies in it, and runs it.
 * @throws SemanticError, or InlayError QUERY_FAILED, QUERY_TIMEOUT, UNAUTHENTICATED (the user or session has ended) or
 * NOT_FOUND; the signal's reason when aborted
 */
export async function runQuery(dependencies: QueryDependencies, query: Query): Promise<WarehouseResult> {
  const { db, deployments, clock, queryTimeoutMs } = dependencies;
  const { principal, deploymentId, sql, signal } = query;
  const [{ model, warehouse }, subject] = await Promise.all([
    deployments.get(principal.accountId, deploymentId),
    loadSubject(db, principal, clock()),
  ]);
  signal.throwIfAborted();
  const compiled = compileSql(sql, model, subject, duckdb);
  const result = await warehouse.query(compiled, { signal, timeoutMs: queryTimeoutMs });
  // The names are the query's own: an engine may change the case or the uniqueness of what it is given.
  const columns = result.columns.map((column, index) => ({ ...column, name: compiled.columns[index] ?? column.name }));
  return { ...result, columns };
}
