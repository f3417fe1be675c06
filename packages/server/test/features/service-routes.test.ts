import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestServer, type TestServer } from '../test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await openTestServer();
});
afterAll(() => server.close());

async function getJson(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const reply = await fetch(server.url + path);
  return { status: reply.status, body: JSON.parse(await reply.text()) };
}

test('the process is alive and ready', async () => {
  expect(await getJson('/livez')).toEqual({ status: 200, body: { status: 'ok' } });
  const parts = ['store', 'changes', 'warehouses'].map((name) => ({ name, ok: true }));
  await expect.poll(() => getJson('/readyz')).toEqual({ status: 200, body: { status: 'ready', parts } });
});

test('the description is OpenAPI 3.1 and has every route, its credential, and every error', async () => {
  const { status, body } = await getJson('/api/openapi.json');
  expect(status).toBe(200);
  expect(body['openapi']).toMatch(/^3\.1\./);
  const paths = new Map(Object.entries(body['paths'] ?? {}));
  for (const { method, path, credential } of server.routes) {
    if (method === 'HEAD' || path.startsWith('/:cloudRegion') || path.endsWith('/chat/abort')) continue;
    const operation = paths.get(path.replaceAll(/:(\w+)/g, '{$1}'))?.[method.toLowerCase()];
    expect(operation, path).toMatchObject({ operationId: expect.any(String), summary: expect.any(String) });
    if (credential === 'none') continue;
    expect(operation.security).toContainEqual({ apiKey: [] });
    const ofBody = operation.requestBody === undefined ? [] : ['400', '413', '415'];
    const ofPath = path.includes(':') ? ['404'] : [];
    for (const error of ['401', '403', '429', '500', ...ofBody, ...ofPath]) {
      expect(operation.responses[error], `${path} ${error}`).toMatchObject({
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      });
    }
  }
  const { schemas, securitySchemes } = Object(body['components']);
  expect(Object.keys(securitySchemes).sort()).toEqual(['apiKey', 'embedToken', 'embedTokenScheme']);
  expect(schemas.Error.required).toEqual(
    expect.arrayContaining(['statusCode', 'error', 'message', 'code', 'requestId']),
  );
  // Every reference leads somewhere.
  const text = JSON.stringify(body);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    expect(Object.keys(schemas)).toContain(name);
  // Written out where the next person reads it: what generate-session takes.
  expect(Object.keys(schemas.GenerateSessionRequest?.properties ?? {})).toContain('deploymentId');
});

test('a connection that has asked nothing does not hold up the closing', async () => {
  const closing = await openTestServer();
  const { port } = new URL(closing.url);
  const socket = connect(Number(port), '127.0.0.1');
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  // A request on another connection shows that the server has taken the first one.
  expect((await fetch(`${closing.url}/livez`)).status).toBe(200);
  await closing.close();
  await ended;
});

test('not ready while stopping: a request under way is still answered', async () => {
  const stopping = await openTestServer();
  const { port, host } = new URL(stopping.url);
  const socket = connect(Number(port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString();
  });
  const ended = new Promise((resolve) => socket.once('close', resolve));
  const head = `Host: ${host}\r\n`;
  socket.write(`GET /livez HTTP/1.1\r\n${head}\r\n`);
  await expect.poll(() => received).toContain('"ok"');
  socket.write(`GET /readyz HTTP/1.1\r\n${head}`);
  // By the time that this one is answered, the half request has been read.
  for (let index = 0; index < 3; index++) await fetch(`${stopping.url}/livez`);
  const closed = stopping.close();
  await expect
    .poll(() =>
      fetch(`${stopping.url}/livez`).then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed');
  socket.write('\r\n');
  await Promise.all([closed, ended]);
  expect(received).toContain('HTTP/1.1 503 Service Unavailable');
  expect(received).toContain('"code":"NOT_READY"');
});

test('not ready when the store does not answer, and the reason stays inside', async () => {
  const broken = await openTestServer();
  try {
    await broken.context.db.destroy();
    const reply = await fetch(`${broken.url}/readyz`);
    expect(reply.status).toBe(503);
    const body = JSON.parse(await reply.text());
    expect(body).toMatchObject({ statusCode: 503, code: 'NOT_READY', error: 'Service Unavailable' });
    expect(body.parts).toContainEqual({ name: 'store', ok: false });
    expect(body.parts).toContainEqual({ name: 'warehouses', ok: true });
    const failed = await fetch(`${broken.url}/api/v1/embed/generate-session`, {
      method: 'POST',
      headers: { authorization: `Api-Key ${broken.apiKey}`, 'x-request-id': 'find-me' },
    });
    expect(failed.status).toBe(500);
    expect(JSON.parse(await failed.text())).toEqual({
      statusCode: 500,
      error: 'Internal Server Error',
      message: 'Something failed inside; the request id leads to the log',
      code: 'INTERNAL',
      requestId: 'find-me',
    });
    const line = broken
      .logText()
      .split('\n')
      .find((one) => one.includes('find-me') && one.includes('request failed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      requestId: 'find-me',
      err: { stack: expect.stringContaining('at ') },
    });
  } finally {
    await broken.close();
  }
});
