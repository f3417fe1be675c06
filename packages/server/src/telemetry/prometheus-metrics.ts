/** The metrics of a process for Prometheus, in a registry of its own. What each means is listed in docs/operations.md. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Gauges, Metrics } from './telemetry.ts';

const httpMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const secondsBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const callsBuckets = [1, 2, 4, 8, 16, 32, 64, 128];

/** @param version of the server, as its build info. Includes the process's own: memory, CPU, event loop. */
export function createPrometheusMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  let gauges: Gauges | null = null;

  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    buckets = secondsBuckets,
  ) => new Histogram<Label>({ name, help, labelNames, buckets, registers });

  const requests = histogram('inlay_http_request_duration_seconds', 'Requests, from the first byte to the last.', [
    'method',
    'route',
    'status',
  ]);
  const limited = counter('inlay_http_requests_limited_total', 'Requests that got 429, by error code.', ['code']);
  const minted = counter('inlay_sessions_minted_total', 'Calls of generate-session, by OK or error code.', ['outcome']);
  const flightCalls = histogram('inlay_mint_flight_calls', 'Calls that went to the store together.', [], callsBuckets);
  const flightSeconds = histogram('inlay_mint_flight_duration_seconds', 'How long they took together.');
  const runsStarted = counter('inlay_runs_started_total', 'Answers begun.');
  const runsEnded = counter('inlay_runs_ended_total', 'Answers ended, by state.', ['state']);
  const runsCarriedOn = counter(
    'inlay_runs_carried_on_total',
    'Answers that others had left, and that were carried on.',
  );
  const runsLeft = counter('inlay_runs_left_total', 'Answers left to others.');
  const flushes = histogram('inlay_log_flush_duration_seconds', 'Until what answers say was durable, per statement.');
  const queries = histogram('inlay_warehouse_query_duration_seconds', 'Warehouse queries, by OK or error code.', [
    'outcome',
  ]);
  const swept = counter('inlay_swept_rows_total', 'Rows removed because their time was over, by kind.', ['kind']);
  const sweeps = counter('inlay_sweeps_total', 'Rounds of the sweeper, by outcome.', ['outcome']);

  new Gauge({
    name: 'inlay_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: 'inlay_store_connections',
    help: 'Connections to PostgreSQL, and work that waits for one, by state.',
    labelNames: ['state'],
    registers,
    collect() {
      const now = gauges?.storeConnections() ?? null;
      if (now === null) return;
      for (const state of ['used', 'idle', 'waiting'] as const) this.set({ state }, now[state]);
    },
  });
  for (const [state, help] of [
    ['active', 'Answers being written by this process.'],
    ['waiting', 'Answers begun that wait until this process has a place for them.'],
  ] as const) {
    new Gauge({
      name: `inlay_runs_${state}`,
      help,
      registers,
      collect() {
        if (gauges !== null) this.set(gauges.runs()[state]);
      },
    });
  }
  new Gauge({
    name: 'inlay_changes_lag_seconds',
    help: 'Age of what this node has heard of the changes of others; +Inf while the channel is lost.',
    registers,
    collect() {
      if (gauges !== null) this.set(gauges.changesLagSeconds());
    },
  });

  return {
    requestEnded({ method, route, status, seconds }) {
      const known = httpMethods.has(method) ? method : 'other';
      requests.observe({ method: known, route: route ?? 'none', status }, seconds);
    },
    requestLimited: (code) => limited.inc({ code }),
    sessionMinted: (outcome) => minted.inc({ outcome }),
    flightEnded({ calls, seconds }) {
      flightCalls.observe(calls);
      flightSeconds.observe(seconds);
    },
    runStarted: () => runsStarted.inc(),
    runEnded: (state) => runsEnded.inc({ state }),
    runCarriedOn: () => runsCarriedOn.inc(),
    runLeft: () => runsLeft.inc(),
    logFlushed: (seconds) => flushes.observe(seconds),
    queryEnded: (outcome, seconds) => queries.observe({ outcome }, seconds),
    swept: (kind, rows) => swept.inc({ kind }, rows),
    sweepEnded: (outcome) => sweeps.inc({ outcome }),
    watch(asked) {
      gauges = asked;
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
