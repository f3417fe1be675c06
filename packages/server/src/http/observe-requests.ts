/** What the operator sees of each request: a line of the log, a duration, a span. No header, body or query of it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import type { OpenSpan, Telemetry } from '../telemetry/telemetry.ts';
import type { App } from './route.ts';

/** Adds the hooks; to be called before any other hook is added, so that all happens within the span. */
export function observeRequests(
  app: App,
  { log, telemetry }: { readonly log: Log; readonly telemetry: Telemetry },
): void {
  const { metrics, traces } = telemetry;
  // Looking for keys with secrets at every depth takes as long as all else of the line, which has none of them. What is in the
  // texts is hidden as always.
  const lines = log.child({}, { redact: [] });
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  // With a callback: what is called within it, the rest of the request, belongs to the span.
  app.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? null;
    const span = traces.isOn
      ? traces.request({ method: request.method, route, traceparent: traceparentOf(request) })
      : null;
    whenOver(reply, (status, seconds, isComplete) => {
      const { id, method } = request;
      lines.info(
        {
          requestId: id,
          method,
          route,
          status,
          ms: Math.round(seconds * 1000),
          accountId: request.caller?.accountId ?? null,
          ...(isComplete ? {} : { clientGone: true }),
        },
        'request',
      );
      metrics.requestEnded({ method, route, status, seconds });
      span?.end({ 'http.response.status_code': status, 'inlay.request.id': id }, status >= 500);
    });
    if (span === null) return done();
    spans.set(request, span);
    span.run(done);
  });
  if (!traces.isOn) return;
  // The body arrives in events of the connection, which know nothing of the span.
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) done();
    else span.run(done);
  });
}

/** Calls `tell` once the reply is over, complete or not. */
function whenOver({ raw }: FastifyReply, tell: (status: number, seconds: number, isComplete: boolean) => void): void {
  const startedMs = performance.now();
  raw.once('close', () => tell(raw.statusCode, (performance.now() - startedMs) / 1000, raw.writableFinished));
}

function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
