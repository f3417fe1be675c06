/**
 * Traces for a collector that speaks OTLP over HTTP. The context of a span is kept by a manager of our own, not by
 * OpenTelemetry's global one, so that a process may have several servers, and loading this changes nothing.
 */
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { SpanAttributes, Traces } from './telemetry.ts';

/** Where traces go. Headers, compression and certificates of the export: the standard OTEL_EXPORTER_OTLP_* variables. */
export interface OtlpTracesSettings {
  /** The address that takes traces: `http://collector:4318/v1/traces`. */
  readonly url: string;
  readonly serviceName: string;
  readonly version: string;
  /** Share of traces that are kept, 0–1, where the caller's `traceparent` does not decide it. */
  readonly ratio: number;
  readonly log: { warn(fields: object, message: string): void };
}

/** How long closing may wait for a collector that does not answer. */
const closeMs = 2_000;
/** The longest text of an attribute. */
const attributeCharactersMax = 2_000;

/** Begins to collect; nothing is sent before there is a span. A collector that is away costs spans, never a request. */
export function openOtlpTraces({ url, serviceName, version, ratio, log }: OtlpTracesSettings): Traces {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: attributeCharactersMax },
    spanProcessors: [
      new BatchSpanProcessor({ exporter: withWarnings(new OTLPTraceExporter({ url, timeoutMillis: closeMs }), log) }),
    ],
  });
  const tracer = provider.getTracer('inlay', version);
  const contexts = new AsyncLocalStorageContextManager();

  const begin = (name: string, attributes: SpanAttributes, kind = SpanKind.INTERNAL, parent = contexts.active()) => {
    const span = tracer.startSpan(name, { kind, attributes: { ...attributes } }, parent);
    return { span, context: trace.setSpan(parent, span) };
  };

  return {
    isOn: true,
    request({ method, route, traceparent }) {
      const { span, context } = begin(
        `${method} ${route ?? 'unknown path'}`,
        { 'http.request.method': method, ...(route === null ? {} : { 'http.route': route }) },
        SpanKind.SERVER,
        parentOf(traceparent),
      );
      return {
        run: (work) => contexts.with(context, work),
        end(attributes, isError) {
          span.setAttributes({ ...attributes });
          if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    async span(name, attributes, work) {
      const { span, context } = begin(name, attributes);
      try {
        return await contexts.with(context, work);
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    spanSync(name, attributes, work) {
      const { span, context } = begin(name, attributes);
      try {
        return contexts.with(context, work);
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    async *stream(name, attributes, source) {
      const { span, context } = begin(name, attributes);
      // A generator runs in the context of whoever asks for its next item, so each step is called in that of the span.
      const items = contexts.with(context, source);
      try {
        while (true) {
          const step = await contexts.with(context, () => items.next());
          if (step.done === true) return;
          yield step.value;
        }
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        await items.return(undefined);
        span.end();
      }
    },
    ended(name, attributes, durationMs) {
      const endMs = Date.now();
      const span = tracer.startSpan(
        name,
        { kind: SpanKind.CLIENT, attributes: { ...attributes }, startTime: endMs - durationMs },
        contexts.active(),
      );
      span.end(endMs);
    },
    async close() {
      await provider.shutdown().catch((err: unknown) => log.warn({ err }, 'the last traces could not be exported'));
    },
  };
}

/** Says that it failed and with which code; its message may hold what a user wrote. */
function fail(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') span.setAttribute('error.type', code);
}

/** The context that a `traceparent` names (W3C trace context, version 00); the root for any other text. */
function parentOf(traceparent: string | undefined): Context {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '');
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const isSampled = (Number.parseInt(flags, 16) & TraceFlags.SAMPLED) !== 0;
  const spanContext = {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

/** OpenTelemetry says nothing of what it could not send; the operator wants to know. */
function withWarnings(exporter: SpanExporter, log: OtlpTracesSettings['log']): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined)
          log.warn({ err: result.error, spans: spans.length }, 'traces could not be exported');
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush === undefined ? {} : { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}
