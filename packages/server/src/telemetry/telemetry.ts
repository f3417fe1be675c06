/**
 * What the server tells its operator while it works: counts and durations (metrics), and which step of a request took how
 * long (traces). Parts are given these; nothing is global. Labels and attributes hold names out of fixed sets, numbers, and
 * SQL without its values: never an id, a name, a text or a credential of anybody.
 */
import type { ErrorCode } from '@inlay/contract/error.ts';

/** How something ended: well, or with one of the codes that a client gets to see. */
export type Outcome = 'OK' | ErrorCode;

/** What the sweeper removes. */
export type SweptKind = 'users' | 'sessions' | 'audit entries' | 'threads' | 'run logs' | 'nodes';

/** What is read at the moment of asking. */
export interface Gauges {
  /** Connections of this process to the store, and the work that waits for one; null for the embedded store. */
  storeConnections(): { readonly used: number; readonly idle: number; readonly waiting: number } | null;
  /** Seconds since the last instant up to which every change was heard; Infinity while the channel is lost. */
  changesLagSeconds(): number;
  /** Runs that this process works on, and those that wait until it does. */
  runs(): { readonly active: number; readonly waiting: number };
}

/** Counts and durations. None of these throws or waits. Durations are in seconds. */
export interface Metrics {
  /** `route`: the pattern of the route, null for a path that does not exist. */
  requestEnded(request: {
    readonly method: string;
    readonly route: string | null;
    readonly status: number;
    readonly seconds: number;
  }): void;
  /** A request that got 429. */
  requestLimited(code: ErrorCode): void;
  sessionMinted(outcome: Outcome): void;
  /** Calls of generate-session that went to the store together. */
  flightEnded(flight: { readonly calls: number; readonly seconds: number }): void;
  /** A user's message has begun a run. */
  runStarted(): void;
  /** The end of a run, whoever began it, is durable. */
  runEnded(state: 'completed' | 'aborted' | 'failed'): void;
  /** This process goes on with a run that another, or an earlier one, has left. */
  runCarriedOn(): void;
  /** This process leaves a run to others: it stops, could not write, or another has taken it. */
  runLeft(): void;
  /** What the runs of this process had to say is durable; so long after the first attempt to write it. */
  logFlushed(seconds: number): void;
  queryEnded(outcome: Outcome, seconds: number): void;
  swept(kind: SweptKind, rows: number): void;
  /** `elsewhere`: another node does it. */
  sweepEnded(outcome: 'done' | 'elsewhere' | 'failed'): void;
  /** From now on these are asked whenever the metrics are. */
  watch(gauges: Gauges): void;
  /** All of it in the text format of Prometheus. */
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** What a span says of its step. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A request as a trace sees it. */
export interface TracedRequest {
  readonly method: string;
  /** The pattern of the route; null for a path that does not exist. */
  readonly route: string | null;
  /** The header `traceparent` (W3C trace context) as it came: the span continues that trace if it is well-formed. */
  readonly traceparent: string | undefined;
}

/** A span that is under way. */
export interface OpenSpan {
  /** Calls `work`; spans that begin in it, also later and asynchronously, are children of this one. */
  run<T>(work: () => T): T;
  /** Ends it, once. `isError`: the step failed for a reason of ours. */
  end(attributes: SpanAttributes, isError: boolean): void;
}

/** The steps of a request, each a span within the one under way. Closing sends what is not sent yet. */
export interface Traces {
  readonly isOn: boolean;
  request(request: TracedRequest): OpenSpan;
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** The same around a step without waiting. */
  spanSync<T>(name: string, attributes: SpanAttributes, work: () => T): T;
  /** The same around a sequence: from its first item until it ends or nobody reads on. */
  stream<T>(name: string, attributes: SpanAttributes, source: () => AsyncGenerator<T>): AsyncGenerator<T>;
  /** A step that has just ended. */
  ended(name: string, attributes: SpanAttributes, durationMs: number): void;
  close(): Promise<void>;
}

/** Both. */
export interface Telemetry {
  readonly metrics: Metrics;
  readonly traces: Traces;
}

const nothing = (): void => undefined;

/** Metrics of a process that nobody asks. */
export const noMetrics: Metrics = {
  requestEnded: nothing,
  requestLimited: nothing,
  sessionMinted: nothing,
  flightEnded: nothing,
  runStarted: nothing,
  runEnded: nothing,
  runCarriedOn: nothing,
  runLeft: nothing,
  logFlushed: nothing,
  queryEnded: nothing,
  swept: nothing,
  sweepEnded: nothing,
  watch: nothing,
  text: async () => ({ contentType: 'text/plain; charset=utf-8', text: '' }),
};

/** Traces of a process without an exporter: the work is done, and nothing else. */
export const noTraces: Traces = {
  isOn: false,
  request: () => ({ run: (work) => work(), end: nothing }),
  span: (_name, _attributes, work) => work(),
  spanSync: (_name, _attributes, work) => work(),
  stream: (_name, _attributes, source) => source(),
  ended: nothing,
  close: async () => undefined,
};

/** For parts that are used without an operator: tools and tests. */
export const noTelemetry: Telemetry = { metrics: noMetrics, traces: noTraces };
