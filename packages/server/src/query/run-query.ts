/** The one door to data. Nothing else in the server may call a warehouse; a test holds every import to that. */

import { compileSql } from '@inlay/semantic/compile-sql.ts';
import { duckdb } from '@inlay/semantic/dialects/duckdb.ts';
import type { CompiledQuery } from '@inlay/semantic/plan/compile-query.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import type { SqlLimits } from '@inlay/semantic/sql/sql-size.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { noTelemetry, type Outcome, type Telemetry } from '../telemetry/telemetry.ts';
import type { Principal } from '../users/principal.ts';
import { loadSubject } from '../users/subject.ts';
import type { WarehouseResult } from '../warehouse/warehouse.ts';
import type { Deployment, Deployments } from './deployments.ts';

/** What the door to data needs. */
export interface QueryDependencies {
  readonly db: Kysely<Schema>;
  readonly deployments: Deployments;
  readonly clock: () => Date;
  readonly queryTimeoutMs: number;
  /** Of the semantic SQL; left out: the largest. */
  readonly sqlLimits?: SqlLimits;
  /** Left out: nobody is told. */
  readonly telemetry?: Telemetry;
}

/** A question to the data of a deployment, asked as one user. */
export interface Query {
  readonly principal: Principal;
  readonly deploymentId: number;
  /** The branch of its data model; null: the default one. */
  readonly branch: string | null;
  /** Semantic SQL. */
  readonly sql: string;
  readonly signal: AbortSignal;
}

/** As whom, and of which data model, something is asked. */
export type QueryScope = Pick<Query, 'principal' | 'deploymentId' | 'branch'>;

/** The door, open for one user: what may be seen was read when it opened. Not to be kept longer than a moment. */
export interface Door {
  readonly deployment: Deployment;
  readonly subject: Subject;
  /** @throws SemanticError */
  compile(sql: string): CompiledQuery;
  /** @throws InlayError QUERY_FAILED or QUERY_TIMEOUT; the signal's reason when aborted */
  run(compiled: CompiledQuery, signal: AbortSignal): Promise<WarehouseResult>;
}

/**
 * Reads the user's rights from the store.
 * @throws InlayError UNAUTHENTICATED (the user or session has ended), NOT_FOUND, or what a deployment fails to open with
 */
export async function openDoor(
  { db, deployments, clock, queryTimeoutMs, sqlLimits, telemetry = noTelemetry }: QueryDependencies,
  { principal, deploymentId, branch }: QueryScope,
): Promise<Door> {
  const [deployment, subject] = await Promise.all([
    deployments.get(principal.accountId, deploymentId, branch),
    loadSubject(db, principal, clock()),
  ]);
  const { dataModel, warehouse } = deployment;
  return {
    deployment,
    subject,
    compile: (sql) =>
      telemetry.traces.spanSync('compile', {}, () => compileSql(sql, dataModel, subject, duckdb, sqlLimits)),
    async run(compiled, signal) {
      signal.throwIfAborted();
      const result = await observed(telemetry, signal, () =>
        warehouse.query(compiled, { signal, timeoutMs: queryTimeoutMs }),
      );
      // The names are the query's own: an engine may change the case or the uniqueness of what it is given.
      const columns = result.columns.map((column, index) => ({
        ...column,
        name: compiled.columns[index] ?? column.name,
      }));
      return { ...result, columns };
    },
  };
}

/** Tells how long the warehouse took, and how it ended. */
async function observed<T>({ metrics, traces }: Telemetry, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const end = (outcome: Outcome): void => metrics.queryEnded(outcome, (performance.now() - startedMs) / 1000);
  try {
    const result = await traces.span('warehouse query', { 'db.system.name': 'duckdb' }, ask);
    end('OK');
    return result;
  } catch (error) {
    end(signal.aborted ? 'ABORTED' : error instanceof InlayError ? error.code : 'INTERNAL');
    throw error;
  }
}

/**
 * Reads the user's rights, compiles the query with the policies in it, and runs it.
 * @throws SemanticError, and InlayError as {@link openDoor} and {@link Door.run}; the signal's reason when aborted
 */
export async function runQuery(dependencies: QueryDependencies, query: Query): Promise<WarehouseResult> {
  const door = await openDoor(dependencies, query);
  return door.run(door.compile(query.sql), query.signal);
}
