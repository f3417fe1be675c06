/** Deployments and agents over HTTP, and what becomes of an opened deployment that is changed or deleted. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { applyInstallation } from '../../src/installation/apply-installation.ts';
import type { InstallationAccount } from '../../src/installation/installation-file.ts';
import { type AdminApi, adminApiOf, allOf, askData, auditOf } from '../admin-api.ts';
import { databaseKinds } from '../databases.ts';
import { openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

describe.each(databaseKinds)('on %s', (kind) => {
  let server: TestServer;
  let demo: AdminApi;
  let other: AdminApi;
  let folder: string;
  beforeAll(async () => {
    server = await openTestServer({ kind });
    demo = adminApiOf(server, server.demo);
    other = adminApiOf(server, server.other);
    folder = await mkdtemp(join(tmpdir(), 'inlay-model-'));
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  /** Declares deployment 7 of `demo`, with a model of one cube that has one measure. */
  const declare = async (measure: string, agentId = 7): Promise<void> => {
    await writeFile(
      join(folder, 'model.yml'),
      `
cubes:
  - name: sold
    sql_table: orders
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: ${measure}, type: count }]
    access_policy: [{ group: platform_team, row_level: { allow_all: true } }]
`,
    );
    const account: InstallationAccount = {
      name: 'demo',
      plan: 'enterprise',
      useCreatorMode: true,
      userAttributes: [],
      groups: [],
      internalUsers: [],
      deployments: [
        { id: 7, name: 'seventh', model: folder, warehouse: { type: 'duckdb', folder: inject('demoDataFolder') } },
      ],
      agents: [{ id: agentId, deployment: 7, name: 'seven' }],
    };
    await applyInstallation(server.context.db, { accounts: [account] });
  };

  describe('deployments', () => {
    test('are listed and read without any path', async () => {
      const deployment = { id: 1, name: 'storefront', warehouseType: 'duckdb', agentCount: 1 };
      expect((await demo('GET', '/deployments')).body.items).toEqual([deployment]);
      expect(await demo('GET', '/deployments/1')).toEqual({ status: 200, body: deployment });
    });

    test('are renamed, and nothing else of them is taken from a body', async () => {
      const { db } = server.context;
      const read = () => db.selectFrom('deployments').selectAll().where('id', '=', 1).executeTakeFirstOrThrow();
      const before = await read();
      const body = {
        name: 'shop',
        modelFolder: '/etc',
        model_folder: '/etc',
        warehouse: { type: 'duckdb', folder: '/' },
      };
      const renamed = await demo('PATCH', '/deployments/1', body);
      expect(renamed.body).toEqual({ id: 1, name: 'shop', warehouseType: 'duckdb', agentCount: 1 });
      expect(await read()).toEqual({ ...before, name: 'shop' });
      expect((await demo('PATCH', '/deployments/1', { name: 'storefront' })).status).toBe(200);
      expect((await demo('POST', '/deployments', body)).status).toBe(404);
      expect((await demo('PATCH', '/deployments/1', { name: '' })).status).toBe(400);
    });

    test('of another account are not there', async () => {
      for (const id of [2, 2147483647, 'x']) {
        expect((await demo('GET', `/deployments/${id}`)).status).toBe(404);
        expect((await demo('PATCH', `/deployments/${id}`, { name: 'mine' })).status).toBe(404);
        expect((await demo('DELETE', `/deployments/${id}`)).status).toBe(404);
      }
      expect((await other('GET', '/deployments/2')).status).toBe(200);
    });

    test('an apply has their data model read anew; deleting ends everything on them, for good', async () => {
      await declare('lines');
      const seventh = { ...server.demo, deploymentId: 7 };
      const ask = (authorization: string, measure: string) =>
        askData(server, authorization, { deploymentId: 7, query: `SELECT MEASURE(${measure}) FROM sold` });
      const authorization = await openSession(server, seventh, { internalId: 'analyst' });
      expect(await ask(authorization, 'lines')).toBe(200);

      await declare('items');
      await expect.poll(() => ask(authorization, 'items'), { timeout: 10_000 }).toBe(200);
      expect(await ask(authorization, 'lines')).toBe('MEMBER_NOT_FOUND');

      const key = await demo('POST', '/api-keys', { role: 'member', deploymentIds: [1, 7], label: 'two' });
      expect(await demo('DELETE', '/deployments/7')).toEqual({ status: 204, body: undefined });
      expect((await demo('GET', '/deployments/7')).status).toBe(404);
      expect((await demo('GET', '/agents/7')).status).toBe(404);
      expect(await ask(authorization, 'items')).toBe('UNAUTHENTICATED');
      expect((await demo('GET', `/api-keys/${key.body.id}`)).body.deploymentIds).toEqual([1]);

      // The same number again: neither the old session nor the old key opens it.
      await declare('items');
      expect(await ask(authorization, 'items')).toBe('UNAUTHENTICATED');
      const minted = await postJson(
        server,
        '/api/v1/embed/generate-session',
        { deploymentId: 7, internalId: 'analyst' },
        `Api-Key ${key.body.key}`,
      );
      expect(minted.status).toBe(403);
      await demo('DELETE', '/deployments/7');
      expect(await auditOf(server.context.db, server.accountId, 'deployment')).toContainEqual([
        'deployment.delete',
        'seventh',
        'OK',
      ]);
    });
  });

  describe('agents', () => {
    test('are made with a number of their own, read with their address, renamed and deleted, each audited', async () => {
      const made = await demo('POST', '/agents', { deploymentId: 1, name: 'helper' });
      const theirs = await other('POST', '/agents', { deploymentId: 2, name: 'helper' });
      expect([made.status, theirs.status]).toEqual([201, 201]);
      const { id } = made.body;
      expect(theirs.body.id).toBe(id + 1);
      expect(made.body).toEqual({
        id: expect.any(Number),
        name: 'helper',
        deploymentId: 1,
        chatApiUrl: `${server.url}/api/v1/public/demo/agents/${id}/chat/stream-chat-state`,
      });
      expect(theirs.body.chatApiUrl).toContain('/public/other/agents/');
      // The address is one that answers.
      const reply = await fetch(made.body.chatApiUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Api-Key ${server.apiKey}` },
        body: JSON.stringify({ sessionSettings: { internalId: 'analyst' } }),
      });
      expect(reply.status).toBe(200);
      expect(await reply.text()).toContain('"chatId"');

      expect(await demo('GET', `/agents/${id}`)).toEqual({ status: 200, body: made.body });
      expect((await demo('PATCH', `/agents/${id}`, { name: 'aide' })).body).toEqual({ ...made.body, name: 'aide' });
      expect((await demo('DELETE', `/agents/${id}`)).status).toBe(204);
      expect((await demo('GET', `/agents/${id}`)).status).toBe(404);
      const threads = await server.context.db.selectFrom('threads').select('id').where('agent_id', '=', id).execute();
      expect(threads).toEqual([]);
      expect(await auditOf(server.context.db, server.accountId, 'agent')).toEqual([
        ['agent.create', 'helper', 'OK'],
        ['agent.update', 'aide', 'OK'],
        ['agent.delete', 'aide', 'OK'],
      ]);
    });

    test('made at once get numbers of their own', async () => {
      const made = await Promise.all(
        Array.from({ length: 10 }, (_, index) => demo('POST', '/agents', { deploymentId: 1, name: `many-${index}` })),
      );
      expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
      expect(new Set(made.map(({ body }) => body.id)).size).toBe(10);
      const named = await allOf(demo, '/agents?sort=name&search=MANY-', 3);
      expect(named.map(({ name }) => name)).toEqual(made.map((_, index) => `many-${index}`));
      expect((await allOf(demo, '/agents?deploymentId=1')).length).toBe(11);
      expect(await allOf(demo, '/agents?deploymentId=2')).toEqual([]);
    });

    test('never get the number of an agent that is gone, whoever had made it', async () => {
      const make = async (name: string): Promise<number> =>
        (await demo('POST', '/agents', { deploymentId: 1, name })).body.id;
      const first = await make('first');
      expect((await demo('DELETE', `/agents/${first}`)).status).toBe(204);
      expect(await make('second')).toBe(first + 1);

      // An installation file chooses its numbers, and those are used from then on.
      const chosen = first + 10;
      await declare('lines', chosen);
      expect((await demo('DELETE', '/deployments/7')).status).toBe(204);
      expect((await demo('GET', `/agents/${chosen}`)).status).toBe(404);
      expect(await make('third')).toBe(chosen + 1);
    });

    test('take the lowest number never used where an installation file has used the highest', async () => {
      const { db } = server.context;
      const highest = { id: 2_147_483_647, account_id: server.accountId, deployment_id: 1, name: 'highest' };
      await db.insertInto('agents').values(highest).execute();
      await db.deleteFrom('agents').where('id', '=', highest.id).execute();
      const used = new Set((await db.selectFrom('agent_ids').select('id').execute()).map(({ id }) => id));
      const { body } = await demo('POST', '/agents', { deploymentId: 1, name: 'low' });
      expect(used).not.toContain(body.id);
      for (let id = 1; id < body.id; id++) expect(used).toContain(id);
      await db.deleteFrom('agent_ids').where('id', '=', highest.id).execute();
    });

    test.each<[string, string, string, unknown, number, string]>([
      ["another account's deployment", 'POST', '/agents', { deploymentId: 2, name: 'x' }, 404, 'NOT_FOUND'],
      ['an unknown deployment', 'POST', '/agents', { deploymentId: 99, name: 'x' }, 404, 'NOT_FOUND'],
      ['a deployment that is no number', 'POST', '/agents', { deploymentId: '1', name: 'x' }, 400, 'INVALID_REQUEST'],
      ['no name', 'POST', '/agents', { deploymentId: 1 }, 400, 'INVALID_REQUEST'],
      ["another account's agent", 'GET', '/agents/2', undefined, 404, 'NOT_FOUND'],
      ["another account's agent to rename", 'PATCH', '/agents/2', { name: 'x' }, 404, 'NOT_FOUND'],
      ["another account's agent to delete", 'DELETE', '/agents/2', undefined, 404, 'NOT_FOUND'],
    ])('%s is refused', async (_name, method, path, body, status, code) => {
      const reply = await demo(method, path, body);
      expect([reply.status, reply.body.code]).toEqual([status, code]);
    });
  });
});
