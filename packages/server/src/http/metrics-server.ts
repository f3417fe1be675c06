/** The metrics on a port of their own, so that what faces the network does not show them. */
import { createServer } from 'node:http';
import type { Metrics } from '../telemetry/telemetry.ts';

/** A server that answers. Disposing closes it at once. */
export interface MetricsServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Answers `GET /metrics`; every other path is 404.
 * @throws the system's error when it does not allow to listen there.
 */
export async function openMetricsServer(
  metrics: Pick<Metrics, 'text'>,
  { host, port }: { readonly host: string; readonly port: number },
  log: { error(fields: object, message: string): void },
): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: 10_000 }, (request, reply) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || request.url?.split('?')[0] !== '/metrics') {
      reply.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Only GET /metrics is here.\n');
      return;
    }
    metrics.text().then(
      ({ contentType, text }) => reply.writeHead(200, { 'content-type': contentType }).end(text),
      (err: unknown) => {
        log.error({ err }, 'the metrics could not be read');
        reply.writeHead(500).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  return {
    port: address === null || typeof address === 'string' ? port : address.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
