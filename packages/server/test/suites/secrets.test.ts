/**
 * A whole run of the real process, and then a search for every secret that was given to it or issued by it: in all that it
 * printed, in its metrics and traces, in every reply but the one that issued it, and in every row of every table.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startPostgres } from '../postgres.ts';
import { callHttp, type HttpReply, jsonCall } from './http-check.ts';
import { dumpTables, queryPglite, queryPostgres } from './raw-store.ts';
import { routeTable } from './route-table.ts';
import { secretsIn } from './secrets-in.ts';
import { type ServerProcess, startServer, suiteKey } from './server-process.ts';
import { generateSessionPath, memberOf, sessionTokenPath } from './world.ts';

const chatPath = '/api/v1/public/demo/agents/1/chat/stream-chat-state';
const sqlPath = '/api/v1/deployments/1/cubesql';
const key = `Api-Key ${suiteKey}`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-secrets-'));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));

/** Takes traces as a collector would. */
async function openCollector(): Promise<{ readonly url: string; text(): string; close(): Promise<void> }> {
  const parts: Buffer[] = [];
  const server = createServer((request, response) => {
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return {
    url: `http://127.0.0.1:${address.port}`,
    text: () => Buffer.concat(parts).toString('latin1'),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a run has said to its clients, and which secrets it has issued. */
interface Run {
  readonly issued: Set<string>;
  readonly replies: { readonly of: string; readonly text: string }[];
  readonly metrics: string;
}

/** Uses the server in every way that a secret takes part in, right and wrong. */
async function useServer({ url, output }: ServerProcess): Promise<Run> {
  const issued = new Set<string>();
  const replies: { of: string; text: string }[] = [];
  const call = async (method: string, path: string, authorization?: string, body?: unknown): Promise<HttpReply> => {
    const reply = await callHttp(url, jsonCall(method, path, authorization, body));
    replies.push({ of: `${method} ${path}`, text: `${JSON.stringify([...reply.headers])}\n${reply.text}` });
    return reply;
  };
  const issue = (reply: HttpReply, name: string): string => {
    const secret = memberOf(reply.json, name);
    if (typeof secret !== 'string') throw new Error(`no ${name}: ${reply.text}`);
    issued.add(secret);
    // The signature is what makes a token one.
    if (name === 'token') issued.add(secret.slice(secret.lastIndexOf('.') + 1));
    return secret;
  };
  const mint = async (body: object, authorization = key): Promise<string> =>
    issue(await call('POST', generateSessionPath, authorization, { deploymentId: 1, ...body }), 'sessionId');
  const exchange = async (sessionId: string): Promise<string> =>
    issue(await call('POST', sessionTokenPath, undefined, { sessionId }), 'token');

  const made = await call('POST', '/api/v1/api-keys', key, { role: 'admin', label: 'searched for' });
  const own = `Api-Key ${issue(made, 'key')}`;
  const id = memberOf(made.json, 'id');
  const rotated = `Api-Key ${issue(await call('POST', `/api/v1/api-keys/${id}/rotate`, own, { overlapSeconds: 60 }), 'key')}`;
  const doomed = await call('POST', '/api/v1/api-keys', key, { role: 'member', label: 'revoked' });
  const ended = `Api-Key ${issue(doomed, 'key')}`;

  const user = { externalId: 'searcher', groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
  const unused = await mint(user, rotated);
  const sessionId = await mint(user, ended);
  const token = `Bearer ${await exchange(sessionId)}`;
  await mint({ internalId: 'analyst' });
  const inTenant = await mint({
    externalId: 'searcher',
    creatorMode: true,
    embedTenantName: 'searched-tenant',
    isEphemeral: true,
  });
  await exchange(inTenant);
  const renewed = `Bearer ${issue(await call('POST', sessionTokenPath, token), 'token')}`;
  const other = await exchange(await mint(user));

  // Secrets where they do not belong: in addresses, in bodies that do not fit, in other headers' places, cut or doubled.
  for (const secret of [...issued, suiteKey]) {
    const inUrl = encodeURIComponent(secret);
    await call('GET', `/embed/dashboard/x?session=${inUrl}&sessionId=${inUrl}&token=${inUrl}&api_key=${inUrl}`);
    await call('POST', `${generateSessionPath}?session=${inUrl}`, key, {
      deploymentId: 1,
      externalId: secret.toUpperCase(),
    });
    await call('POST', sessionTokenPath, undefined, { sessionId: [secret] });
    await call('POST', sessionTokenPath, undefined, { sessionId: `${secret}x` });
    for (const scheme of ['Basic', 'Bearer', 'Embed-Token', 'Api-Key'])
      await call('GET', '/api/v1/account', `${scheme} ${secret}x`);
    await callHttp(url, {
      method: 'POST',
      path: sessionTokenPath,
      headers: { 'content-type': 'application/json' },
      body: `{"sessionId":"${secret}"`,
    });
    await callHttp(url, {
      method: 'POST',
      path: sessionTokenPath,
      headers: { 'content-type': 'text/plain' },
      body: secret,
    });
  }
  await call('POST', sessionTokenPath, undefined, { sessionId });

  for (const authorization of [renewed, `Embed-Token ${other}`]) {
    await call('POST', chatPath, authorization, { input: 'revenue by month' });
    await call('POST', sqlPath, authorization, { query: 'SELECT MEASURE(revenue) AS revenue FROM sales' });
    await call('POST', sqlPath, authorization, { query: 'SELECT nonsense FROM nowhere' });
  }
  await call('POST', chatPath, rotated, { input: 'How many orders?', sessionSettings: { internalId: 'analyst' } });
  await call('POST', '/api/v1/embed/session/revoke', key, { sessionId: unused });
  await call('POST', '/api/v1/embed/session/revoke', key, { sessionId: 'es-unknown' });
  await call('DELETE', `/api/v1/api-keys/${memberOf(doomed.json, 'id')}`, own);
  await call('POST', chatPath, token, { input: 'revenue by month' });
  await call('GET', '/api/v1/account', ended);
  // Everything that lists what there is.
  for (const name of Object.keys(routeTable).filter((one) => one.startsWith('GET ') && !one.includes(':'))) {
    await call('GET', name.slice('GET '.length), own);
  }
  const port = /"port":(\d+),"msg":"metrics/.exec(output())?.[1];
  const metrics = await callHttp(`http://127.0.0.1:${port}`, { method: 'GET', path: '/metrics' });
  expect(metrics.text).toContain('# TYPE');
  return { issued, replies, metrics: metrics.text };
}

/** The calls whose replies issue a secret. */
const issuing: readonly string[] = [
  `POST ${generateSessionPath}`,
  `POST ${sessionTokenPath}`,
  'POST /api/v1/api-keys',
  'POST /api/v1/api-keys/:id/rotate',
];

/** Searches. `given`: secrets that the operator gave, which no reply issues. */
function search(run: Run, places: Readonly<Record<string, string>>, given: readonly string[]): void {
  const secrets = [...given, ...run.issued];
  expect(run.issued.size).toBeGreaterThan(12);
  for (const [place, text] of Object.entries({ ...places, metrics: run.metrics })) {
    expect(text.length, place).toBeGreaterThan(200);
    expect([place, secretsIn(text, secrets)]).toEqual([place, []]);
  }
  for (const secret of secrets) {
    const of = run.replies.filter(({ text }) => secretsIn(text, [secret]).length > 0).map((reply) => reply.of);
    // Two tokens of one session within a second are the same one, so that an issuer may stand here twice.
    const issuers = new Set(of.map((one) => one.replace(/\/\d+\//, '/:id/')));
    expect([secret.slice(0, 6), [...issuers].filter((one) => !issuing.includes(one))]).toEqual([
      secret.slice(0, 6),
      [],
    ]);
    expect([secret.slice(0, 6), issuers.size]).toEqual([secret.slice(0, 6), given.includes(secret) ? 0 : 1]);
  }
}

/** A data folder with the demo's data, which saves its making. */
async function dataFolderOf(name: string): Promise<string> {
  const path = join(folder, name);
  await cp(inject('demoDataFolder'), join(path, 'storefront'), { recursive: true });
  return path;
}

const secretOf = (): string => randomBytes(36).toString('base64url');

test('the search finds what it searches for, in each form', () => {
  const secret = `sk-${secretOf()}`;
  for (const form of [
    secret,
    `x${secret}y`,
    encodeURIComponent(`${secret}&`),
    Buffer.from(`Bearer ${secret}`).toString('base64'),
  ]) {
    expect(secretsIn(`before ${form} after`, [secret])).toHaveLength(1);
  }
  for (const lead of ['', 'a', 'ab', 'abc']) {
    expect(secretsIn(Buffer.from(`${lead}${secret}z`).toString('base64url'), [secret])).toHaveLength(1);
  }
  expect(secretsIn('nothing', [secret])).toEqual([]);
});

test('with the embedded store no secret is anywhere', async () => {
  const dataFolder = await dataFolderOf('embedded');
  const collector = await openCollector();
  const secret = secretOf();
  const server = await startServer({
    INLAY_DATA_DIR: dataFolder,
    INLAY_SECRET: secret,
    INLAY_METRICS_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  try {
    const run = await useServer(server);
    await server.end('SIGTERM');
    const tables = await queryPglite(join(dataFolder, 'store'), dumpTables);
    expect(tables).toContain('audit_log');
    search(run, { output: server.output(), tables, traces: collector.text() }, [suiteKey, secret]);
  } finally {
    await server.end('SIGKILL');
    await collector.close();
  }
}, 120_000);

test('with PostgreSQL no secret is anywhere, also when it goes away', async () => {
  const postgres = await startPostgres();
  const collector = await openCollector();
  const password = secretOf();
  const secret = secretOf();
  const url = `${postgres.baseUrl.replace('inlay@', `inlay:${password}@`)}postgres`;
  let server: ServerProcess | undefined;
  try {
    server = await startServer({
      INLAY_DATA_DIR: await dataFolderOf('postgres'),
      DATABASE_URL: url,
      INLAY_SECRET: secret,
      INLAY_METRICS_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const run = await useServer(server);
    const tables = await queryPostgres(url, dumpTables);
    await postgres.halt();
    for (const path of [generateSessionPath, sessionTokenPath]) {
      const body = { deploymentId: 1, externalId: 'searcher', sessionId: [...run.issued][0] };
      const reply = await callHttp(server.url, jsonCall('POST', path, key, body));
      expect(reply.status).toBeGreaterThanOrEqual(500);
      run.replies.push({ of: 'without a store', text: reply.text });
    }
    await server.end('SIGTERM');
    search(run, { output: server.output(), tables, traces: collector.text() }, [suiteKey, secret, password]);
    // Nor does a start that finds no database say the password.
    const failed = await startServer({
      INLAY_DATA_DIR: join(folder, 'postgres'),
      DATABASE_URL: url,
      INLAY_SECRET: secret,
    }).catch(String);
    expect(failed).toContain('DATABASE_URL');
    expect(secretsIn(String(failed), [password, secret, suiteKey])).toEqual([]);
  } finally {
    await server?.end('SIGKILL');
    await collector.close();
    await postgres.stop();
  }
}, 120_000);
