/** What the operator is told: metrics over their own port, traces to a collector that really listens; and nothing of anybody. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openMetricsServer } from '../src/http/metrics-server.ts';
import { openDatabase } from '../src/store/database.ts';
import { traceStatements } from '../src/store/trace-statements.ts';
import { openTelemetry } from '../src/telemetry/open-telemetry.ts';
import { openOtlpTraces } from '../src/telemetry/otlp-traces.ts';
import { createPrometheusMetrics } from '../src/telemetry/prometheus-metrics.ts';
import { noTelemetry } from '../src/telemetry/telemetry.ts';
import { openTestDatabase } from './databases.ts';
import { openSession, openTestServer, postJson, type TestServer } from './test-server.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A collector on the loopback that keeps what it gets. */
async function openCollector() {
  const bodies: string[] = [];
  const server = createServer((request, reply) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      bodies.push(text);
      reply.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address === null || typeof address === 'string' ? 0 : address.port;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    text: () => bodies.join('\n'),
    spans: (): Span[] =>
      bodies.flatMap((body) =>
        JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: Span[] }[] }) =>
          resource.scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a server that tells', () => {
  let collector: Awaited<ReturnType<typeof openCollector>>;
  let server: TestServer;
  let metricsText: string;
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  beforeAll(async () => {
    collector = await openCollector();
    server = await openTestServer({
      config: {
        metrics: { host: '127.0.0.1', port: 0 },
        traces: { url: collector.url, serviceName: 'inlay-test', ratio: 1 },
      },
    });
    const bearer = await openSession(server, server.demo, {
      externalId: 'private-person',
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: 7 }],
    });
    const query = "SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE channel = 'private-value' GROUP BY 1";
    const reply = await fetch(`${server.url}/api/v1/deployments/1/cubesql`, {
      method: 'POST',
      headers: {
        authorization: bearer,
        'content-type': 'application/json',
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({ query }),
    });
    expect(reply.status).toBe(200);
    await reply.text();
    const chat = await fetch(`${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, {
      method: 'POST',
      headers: { authorization: bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'revenue by channel in 2024' }),
    });
    expect(await chat.text()).toContain('"final"');
    const missing = await postJson(server, '/api/v1/embed/generate-session', { deploymentId: 1 });
    expect(missing.status).toBe(401);
    expect((await fetch(`${server.url}/private-path`)).status).toBe(404);
    const readMetrics = async () => (await server.context.telemetry.metrics.text()).text;
    // The last line of a stream is out a moment before its run has ended.
    await vi.waitFor(async () => {
      expect(await readMetrics()).toContain('inlay_runs_ended_total{state="completed"} 1');
    });
    metricsText = await readMetrics();
    // Sends what is left.
    await server.close();
  });
  afterAll(() => collector.close());

  const named = (name: string): Span[] => collector.spans().filter((span) => span.name === name);

  test('a request is one trace, in the caller’s own, with the steps within it', () => {
    const [request] = named('POST /api/v1/deployments/:deploymentId/cubesql');
    expect(request).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7' });
    const steps = collector.spans().filter((span) => span.traceId === traceId && span !== request);
    expect(steps.map(({ name }) => name)).toEqual(expect.arrayContaining(['compile', 'warehouse query']));
    for (const name of ['compile', 'warehouse query']) {
      expect(steps.find((span) => span.name === name)?.parentSpanId).toBe(request?.spanId);
    }
  });

  test('a run is within its request, its tool calls within it, and their queries within those', () => {
    const [request] = named('POST /api/v1/public/:accountName/agents/:agentId/chat/stream-chat-state');
    const [run] = named('agent run');
    const calls = named('tool call');
    expect(run?.parentSpanId).toBe(request?.spanId);
    expect(new Set(calls.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([run?.spanId]));
    const asking = new Set(named('warehouse query').map(({ parentSpanId }) => parentSpanId));
    expect(calls.some(({ spanId }) => asking.has(spanId))).toBe(true);
  });

  test('minting is a flight within its request', () => {
    const [flight] = named('store flight');
    const parents = named('POST /api/v1/embed/generate-session').map(({ spanId }) => spanId);
    expect(parents).toContain(flight?.parentSpanId);
  });

  test('what failed says so', () => {
    const refused = named('POST /api/v1/embed/generate-session').find(({ attributes }) =>
      attributes.some(({ key, value }) => key === 'http.response.status_code' && value['intValue'] === 401),
    );
    expect(refused).toBeDefined();
    expect(named('GET unknown path')).toHaveLength(1);
  });

  test('the metrics count it, by patterns and codes', () => {
    const lines = metricsText.split('\n');
    const count = (start: string) =>
      Number(
        lines
          .find((line) => line.startsWith(start))
          ?.split(' ')
          .at(-1),
      );
    const requests = 'inlay_http_request_duration_seconds_count';
    expect(count(`${requests}{method="POST",route="/api/v1/deployments/:deploymentId/cubesql",status="200"}`)).toBe(1);
    expect(count(`${requests}{method="POST",route="/api/v1/embed/generate-session",status="401"}`)).toBe(1);
    expect(count(`${requests}{method="GET",route="none",status="404"}`)).toBe(1);
    expect(count('inlay_warehouse_query_duration_seconds_count{outcome="OK"}')).toBeGreaterThanOrEqual(2);
    expect(count('inlay_runs_started_total')).toBe(1);
    expect(count('inlay_runs_ended_total{state="completed"}')).toBe(1);
    expect(count('inlay_runs_active')).toBe(0);
    expect(count('inlay_runs_waiting')).toBe(0);
    expect(count('inlay_runs_carried_on_total')).toBe(0);
    expect(count('inlay_log_flush_duration_seconds_count')).toBeGreaterThan(0);
    expect(count('inlay_sessions_minted_total{outcome="OK"}')).toBe(1);
    expect(count('inlay_build_info{')).toBe(1);
    expect(count('inlay_changes_lag_seconds')).toBeLessThan(60);
    expect(count('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  test.each(['private', 'merchant', 'sk-', 'es-', 'eyJ', 'revenue by'])('neither holds "%s"', (text) => {
    expect(metricsText).not.toContain(text);
    expect(collector.text()).not.toContain(text);
  });
});

test('statements of the store are spans: their text without the values that are bound', async () => {
  const collector = await openCollector();
  const database = await openTestDatabase('postgres');
  try {
    const log = { warn: (): void => undefined };
    const traces = openOtlpTraces({ url: collector.url, serviceName: 'inlay', version: '1', ratio: 1, log });
    const db = await openDatabase(database.store, undefined, traceStatements(traces));
    const find = () => db.selectFrom('accounts').select('id').where('name', '=', 'private-name').execute();
    await traces.span('step', {}, () => db.transaction().execute(find));
    await db.destroy();
    await traces.close();
    const [step] = collector.spans().filter(({ name }) => name === 'step');
    const [statement] = collector.spans().filter(({ name, parentSpanId }) => name === 'store select' && parentSpanId);
    expect(statement?.parentSpanId).toBe(step?.spanId);
    expect(statement?.attributes).toContainEqual({
      key: 'db.query.text',
      value: { stringValue: 'select "id" from "accounts" where "name" = $1' },
    });
    expect(collector.text()).not.toContain('private');
  } finally {
    await database.close();
    await collector.close();
  }
});

test('the metrics have a port of their own, with nothing else on it', async () => {
  const metrics = createPrometheusMetrics('1.2.3');
  const errors: object[] = [];
  const log = { error: (fields: object) => void errors.push(fields) };
  let isBroken = false;
  const text = () => (isBroken ? Promise.reject(new Error('broken')) : metrics.text());
  await using server = await openMetricsServer({ text }, { host: '127.0.0.1', port: 0 }, log);
  const url = `http://127.0.0.1:${server.port}`;
  const reply = await fetch(`${url}/metrics`);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await reply.text()).toContain('inlay_build_info{version="1.2.3"');
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404);
  isBroken = true;
  expect((await fetch(`${url}/metrics`)).status).toBe(500);
  expect(errors).toHaveLength(1);
});

test('operations.md lists exactly these metrics, with their labels', async () => {
  const metrics = createPrometheusMetrics('1.2.3');
  const { text } = await metrics.text();
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `(inlay_\w+)` \|/gm)].map(([, name]) => name);
  const given = [...text.matchAll(/^# TYPE (inlay_\w+) /gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual(given.sort());
});

test('labels cannot be made up from outside', async () => {
  const metrics = createPrometheusMetrics('1.2.3');
  metrics.requestEnded({ method: 'BREW', route: null, status: 404, seconds: 0.1 });
  expect((await metrics.text()).text).toContain('{method="other",route="none",status="404"} 1');
});

test('gauges are asked when the metrics are, and a lost channel is infinitely late', async () => {
  const metrics = createPrometheusMetrics('1.2.3');
  let lag = 0.2;
  metrics.watch({
    storeConnections: () => ({ used: 3, idle: 2, waiting: 1 }),
    changesLagSeconds: () => lag,
    runs: () => ({ active: 4, waiting: 5 }),
  });
  expect((await metrics.text()).text).toMatch(/^inlay_changes_lag_seconds 0\.2$/m);
  lag = Number.POSITIVE_INFINITY;
  const { text } = await metrics.text();
  expect(text).toMatch(/^inlay_changes_lag_seconds \+Inf$/m);
  expect(text).toMatch(/^inlay_store_connections\{state="used"\} 3$/m);
  expect(text).toMatch(/^inlay_store_connections\{state="waiting"\} 1$/m);
  expect(text).toMatch(/^inlay_runs_active 4$/m);
  expect(text).toMatch(/^inlay_runs_waiting 5$/m);
});

test('what nobody asked for is not there', async () => {
  const warn = (): void => undefined;
  expect(await openTelemetry({ metrics: undefined, traces: undefined }, { warn })).toStrictEqual(noTelemetry);
});

test('a collector that is away costs nobody an answer, and the operator hears of it', async () => {
  const warnings: string[] = [];
  const traces = openOtlpTraces({
    url: 'http://127.0.0.1:1/v1/traces',
    serviceName: 'inlay',
    version: '1',
    ratio: 1,
    log: { warn: (_fields, text) => void warnings.push(text) },
  });
  expect(await traces.span('step', {}, async () => 7)).toBe(7);
  await expect(traces.span('step', {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await traces.close();
  expect(warnings).toContain('traces could not be exported');
});

test.each([
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', 0],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 1],
  ['00-00000000000000000000000000000000-00f067aa0ba902b7-00', 1],
  ['nonsense', 1],
  [undefined, 1],
])('traceparent %s: %i spans', async (traceparent, spans) => {
  const collector = await openCollector();
  try {
    const log = { warn: (): void => undefined };
    const traces = openOtlpTraces({ url: collector.url, serviceName: 'inlay', version: '1', ratio: 1, log });
    traces.request({ method: 'GET', route: '/livez', traceparent }).end({}, false);
    await traces.close();
    expect(collector.spans()).toHaveLength(spans);
  } finally {
    await collector.close();
  }
});
