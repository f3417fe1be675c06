import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestServer, type TestServer } from '../test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await openTestServer();
});
afterAll(() => server.close());

const path = '/api/v1/embed/generate-session';
const json = { 'content-type': 'application/json' };

async function send(
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Record<string, string> = json,
  to = path,
) {
  const reply = await fetch(server.url + to, {
    method: 'POST',
    headers: { authorization: `Api-Key ${server.apiKey}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, body: JSON.parse(text) };
}

test.each<{ name: string; body: string | Uint8Array<ArrayBuffer>; type?: string; status: number; code: string }>([
  { name: 'half a JSON', body: '{"deploymentId": 1, "exter', status: 400, code: 'INVALID_JSON' },
  { name: 'no JSON', body: 'hello', status: 400, code: 'INVALID_JSON' },
  { name: 'two JSONs', body: '{}{}', status: 400, code: 'INVALID_JSON' },
  { name: '__proto__', body: '{"__proto__":{"a":1}}', status: 400, code: 'INVALID_JSON' },
  { name: 'constructor.prototype', body: '{"constructor":{"prototype":{}}}', status: 400, code: 'INVALID_JSON' },
  { name: 'a number', body: '7', status: 400, code: 'INVALID_REQUEST' },
  { name: 'a bomb of brackets', body: '['.repeat(500_000), status: 400, code: 'INVALID_JSON' },
  {
    name: 'a balanced bomb of brackets',
    body: `{"deploymentId":1,"externalId":"a","securityContext":{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}}`,
    status: 400,
    code: 'INVALID_REQUEST',
  },
  { name: 'NUL bytes', body: '\0\0\0', status: 400, code: 'INVALID_JSON' },
  { name: 'bytes that are no text', body: new Uint8Array([0x7b, 0xff, 0xfe]), status: 400, code: 'INVALID_JSON' },
  { name: 'an empty body', body: '', status: 400, code: 'INVALID_REQUEST' },
  { name: '2 MB', body: JSON.stringify({ a: 'x'.repeat(2_000_000) }), status: 413, code: 'PAYLOAD_TOO_LARGE' },
  { name: 'text', body: '{}', type: 'text/plain', status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
  {
    name: 'a form',
    body: 'a=1',
    type: 'application/x-www-form-urlencoded',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
  },
  { name: 'an unknown type', body: '{}', type: 'application/x-thing', status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
  { name: 'a type that is none', body: '{}', type: ';;;', status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
])('$name is $status $code', async ({ body, type, status, code }) => {
  const reply = await send(body, { 'content-type': type ?? 'application/json' });
  expect(reply).toMatchObject({ status, body: { statusCode: status, code } });
  expect(reply.body.requestId).toBe(reply.headers.get('x-request-id'));
  // The server goes on.
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
});

test('a body just within the limit is read', async () => {
  const body = JSON.stringify({ deploymentId: 1, externalId: 'large', padding: '' });
  const padded = body.replace('""', `"${'x'.repeat(1_048_576 - body.length)}"`);
  expect(Buffer.byteLength(padded)).toBe(1_048_576);
  expect(await send(padded)).toMatchObject({ status: 200 });
  expect(await send(`${padded} `)).toMatchObject({ status: 413 });
});

test.each(['/', '/nothing', '/api/v1/embed', `${path}/x`, '/%', '/%ff', '/livez%00', '/__proto__', '//livez'])(
  '%s is no path, whatever is sent to it',
  async (to) => {
    for (const body of ['{}', '{"half', undefined]) {
      const reply = await send(body, json, to);
      expect(reply).toMatchObject({ status: 404, body: { code: 'ROUTE_NOT_FOUND' } });
      expect(reply.headers.get('x-request-id')).toBe(reply.body.requestId);
    }
  },
);

test('a method that a path does not have is no path either', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    expect((await fetch(server.url + path, { method })).status).toBe(404);
  }
});

test('a trailing slash is accepted', async () => {
  expect(await send('{}', json, `${path}/`)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  expect((await fetch(`${server.url}/livez/`)).status).toBe(200);
});

test.each([
  { sent: 'my-id_7', kept: true },
  { sent: 'a'.repeat(64), kept: true },
  { sent: 'a'.repeat(65), kept: false },
  { sent: 'a b', kept: false },
  { sent: '"><script>', kept: false },
])('the request id $sent is kept: $kept', async ({ sent, kept }) => {
  const reply = await send('{}', { ...json, 'x-request-id': sent });
  expect(reply.body.requestId).toMatch(/^[\w-]{1,64}$/);
  expect(reply.body.requestId === sent).toBe(kept);
  expect(reply.headers.get('x-request-id')).toBe(reply.body.requestId);
});

test('what is not HTTP gets an error body, and the server goes on', async () => {
  const { port } = new URL(server.url);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write('HELLO\r\n\r\n'));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('end', () => resolve(received));
    socket.on('error', reject);
  });
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ statusCode: 400, code: 'INVALID_REQUEST' });
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
});

test('headers hold sessionSettings with a security context as large as it may be; larger ones are said', async () => {
  const cubesql = '/api/v1/deployments/1/cubesql';
  const settings = (characters: number) => ({
    ...json,
    'x-inlay-session-settings': Buffer.from(
      JSON.stringify({ externalId: 'large', securityContext: { text: 'x'.repeat(characters) } }),
    ).toString('base64url'),
  });
  const query = JSON.stringify({ query: 'not sql' });
  expect((await send(query, settings(16_000), cubesql)).body.code).toMatch(/^SQL_/);
  expect(await send(query, settings(17_000), cubesql)).toMatchObject({
    status: 400,
    body: { code: 'SECURITY_CONTEXT_TOO_LARGE', issues: [{ path: 'sessionSettings.securityContext' }] },
  });
  const { port } = new URL(server.url);
  const received = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(`GET /livez HTTP/1.1\r\nHost: inlay\r\nX-Large: ${'x'.repeat(70_000)}\r\n\r\n`);
    });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text)).on('error', reject);
  });
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received).toContain('The headers are larger than 64 KiB');
});

test('a client that hangs up in the middle of its body is no failure of the server', async () => {
  const { hostname: host, port } = new URL(server.url);
  const socket = connect({ host, port: Number(port) });
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: inlay',
    `Authorization: Api-Key ${server.apiKey}`,
    'Content-Type: application/json',
    'X-Request-Id: cut-body',
    'Content-Length: 500',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n{"deploymentId":`);
  // An answer to another call: the server has read what was sent before it.
  await send('{}');
  socket.destroy();
  const lines = () =>
    server
      .logText()
      .split('\n')
      .filter((line) => line.includes('"cut-body"'));
  await expect.poll(lines, { timeout: 10_000 }).toHaveLength(1);
  expect(lines()[0]).toContain('"clientGone":true');
  expect(lines()[0]).not.toMatch(/"status":5|"level":"error"/);
});
