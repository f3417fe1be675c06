/** The one door to data. Nothing else in the server may call a warehouse; a test holds every import to that. */
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import { explainLoad, explainSql, type QueryExplanation } from '@inlay/semantic/explain-sql.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import type { Statement } from '@inlay/semantic/query/statement.ts';
import type { SqlLimits } from '@inlay/semantic/sql/sql-size.ts';
import { InlayError } from '../errors.ts';
import { noTelemetry, type Outcome, type Telemetry } from '../telemetry/telemetry.ts';
import type { Principal } from '../users/principal.ts';
import type { Askers } from '../users/subject.ts';
import type { WarehouseResult, WarehouseStream } from '../warehouse/warehouse.ts';
import type { Deployment, Deployments } from './deployments.ts';
import type { KeptResults } from './kept-results.ts';

/** What the door to data needs. */
export interface QueryDependencies {
  readonly askers: Askers;
  readonly deployments: Deployments;
  readonly clock: () => Date;
  readonly queryTimeoutMs: number;
  /** Bytes of a result that is held in memory whole, about; left out: as many as there are. */
  readonly queryBytesMax?: number;
  /** Left out: every query is run. */
  readonly results?: KeptResults;
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
  /** In which days begin and end; a name of the zone database. Left out: that of the session, else UTC. */
  readonly timezone?: string | undefined;
  readonly signal: AbortSignal;
}

/** As whom, of which data model, and in which time zone something is asked. */
export type QueryScope = Pick<Query, 'principal' | 'deploymentId' | 'branch' | 'timezone'>;

/** The door, open for one user: what may be seen was read when it opened. Not to be kept longer than a moment. */
export interface Door {
  readonly deployment: Deployment;
  readonly subject: Subject;
  /** That it was opened with, else that of the session, else `UTC`. */
  readonly timezone: string;
  /** Compiles a text, or what was parsed already. @param timezone left out: that of the door. @throws SemanticError */
  compile(asked: string | Statement, timezone?: string): CompiledQuery;
  /** How the query is answered for this user, or why not. For operators only: it names what the user may not see. */
  explain(sql: string): QueryExplanation;
  /** The same for a query of the JSON form, as it was parsed. */
  explainLoad(json: unknown): QueryExplanation;
  /**
   * The whole result: kept from a moment ago, or asked for now.
   * @throws InlayError QUERY_FAILED, QUERY_TIMEOUT, RESULT_TOO_LARGE, WAREHOUSE_BUSY or WAREHOUSE_UNAVAILABLE; the signal's reason
   */
  run(compiled: CompiledQuery, signal: AbortSignal): Promise<WarehouseResult>;
  /** The result as the engine makes it, of any size, never kept. @throws as `run`, without RESULT_TOO_LARGE */
  stream(compiled: CompiledQuery, signal: AbortSignal): Promise<WarehouseStream>;
}

/**
 * Asks the store for the user's rights.
 * @throws InlayError UNAUTHENTICATED (the user or session has ended), NOT_FOUND, or what a deployment fails to open with
 */
export async function openDoor(dependencies: QueryDependencies, scope: QueryScope): Promise<Door> {
  const { askers, deployments, clock, sqlLimits, telemetry = noTelemetry } = dependencies;
  const { principal, deploymentId, branch, timezone: ofQuery } = scope;
  const [deployment, { subject, timezone: ofSession }] = await Promise.all([
    deployments.get(principal.accountId, deploymentId, branch),
    askers.load(principal, clock()),
  ]);
  const { compiler, dataModel, dialect, warehouse } = deployment;
  const { queryTimeoutMs: timeoutMs, queryBytesMax: bytesMax, results } = dependencies;
  const limits = sqlLimits === undefined ? {} : { limits: sqlLimits };
  const timezone = ofQuery ?? ofSession ?? 'UTC';
  const observe = <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> =>
    observed(telemetry, dialect.name, signal, ask);
  return {
    deployment,
    subject,
    timezone,
    compile: (asked, ofStatement) =>
      telemetry.traces.spanSync('compile', {}, () => {
        const options = { ...limits, now: clock(), timezone: ofStatement ?? timezone };
        return typeof asked === 'string'
          ? compiler.compile(asked, subject, options)
          : compiler.compileParsed(asked, subject, options);
      }),
    explain: (sql) => explainSql(sql, dataModel, subject, dialect, { ...limits, now: clock(), timezone }),
    explainLoad: (json) => explainLoad(json, dataModel, subject, dialect, { now: clock(), timezone }),
    async run(compiled, signal) {
      signal.throwIfAborted();
      const read = (stop: AbortSignal): Promise<WarehouseResult> =>
        observe(stop, () => warehouse.query(compiled, { signal: stop, timeoutMs, bytesMax }));
      const result = await (results === undefined ? read(signal) : results.get(deployment, compiled, signal, read));
      return { ...result, columns: named(result.columns, compiled) };
    },
    async stream(compiled, signal) {
      signal.throwIfAborted();
      const stream = await observe(signal, () => warehouse.stream(compiled, { signal, timeoutMs }));
      return { ...stream, columns: named(stream.columns, compiled) };
    },
  };
}

/** The names are the query's own: an engine may change the case or the uniqueness of what it is given. */
function named<C extends { readonly name: string }>(columns: readonly C[], compiled: CompiledQuery): readonly C[] {
  return columns.map((column, index) => ({ ...column, name: compiled.columns[index] ?? column.name }));
}

/** Tells how long the warehouse took, and how it ended. */
async function observed<T>(
  { metrics, traces }: Telemetry,
  system: string,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  const startedMs = performance.now();
  const end = (outcome: Outcome): void => metrics.queryEnded(outcome, (performance.now() - startedMs) / 1000);
  try {
    const result = await traces.span('warehouse query', { 'db.system.name': system }, ask);
    end('OK');
    return result;
  } catch (error) {
    end(signal.aborted ? 'ABORTED' : error instanceof InlayError ? error.code : 'INTERNAL');
    throw error;
  }
}

/**
 * Asks for the user's rights, compiles the query with the policies in it, and runs it.
 * @throws SemanticError, and InlayError as {@link openDoor} and {@link Door.run}; the signal's reason when aborted
 */
export async function runQuery(dependencies: QueryDependencies, query: Query): Promise<WarehouseResult> {
  const door = await openDoor(dependencies, query);
  return door.run(door.compile(query.sql), query.signal);
}

/** The same for a result of any size, on its way. @throws as {@link runQuery}, without RESULT_TOO_LARGE */
export async function streamQuery(dependencies: QueryDependencies, query: Query): Promise<WarehouseStream> {
  const door = await openDoor(dependencies, query);
  return door.stream(door.compile(query.sql), query.signal);
}
