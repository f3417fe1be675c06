/** The metrics and traces of a process, as its settings ask for them. What they do not ask for is not even loaded. */
import manifest from '../../package.json' with { type: 'json' };
import { noMetrics, noTraces, type Telemetry } from './telemetry.ts';

/** What of the settings concerns them; undefined: not wanted. */
export interface TelemetrySettings {
  readonly metrics: object | undefined;
  readonly traces: { readonly url: string; readonly serviceName: string; readonly ratio: number } | undefined;
}

/** Builds both. Close the traces to send the last ones. */
export async function openTelemetry(
  { metrics, traces }: TelemetrySettings,
  log: { warn(fields: object, message: string): void },
): Promise<Telemetry> {
  const { version } = manifest;
  return {
    metrics:
      metrics === undefined ? noMetrics : (await import('./prometheus-metrics.ts')).createPrometheusMetrics(version),
    traces:
      traces === undefined ? noTraces : (await import('./otlp-traces.ts')).openOtlpTraces({ ...traces, version, log }),
  };
}
