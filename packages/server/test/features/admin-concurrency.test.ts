/** Changes by the management API while calls for sessions go on: nobody fails for the other's locks, and limits stay exact. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AdminApi, adminApiOf, allOf, mint } from '../admin-api.ts';
import { openTestServer, postJson, type TestServer } from '../test-server.ts';

let server: TestServer;
let demo: AdminApi;
beforeAll(async () => {
  server = await openTestServer({ kind: 'postgres' });
  demo = adminApiOf(server, server.demo);
});
afterAll(() => server.close());

const generate = (call: object) =>
  postJson(server, '/api/v1/embed/generate-session', { deploymentId: 1, ...call }, `Api-Key ${server.apiKey}`);

test('groups are deleted while members join and leave them', async () => {
  const names = ['north', 'south', 'east', 'west'];
  const tenant = { embedTenantName: 'busy-tenant', creatorMode: true };
  let isDone = false;
  const calls = async (worker: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let round = 0; !isDone || round === 0; round++) {
      const groups = names.filter((_, index) => ((round + worker) >> (index % 3)) % 2 === 0);
      const reply = await generate({
        ...tenant,
        externalId: `joiner-${(worker + round) % 5}`,
        groupDefinitions: names.map((name) => ({ name })),
        groups: round % 2 === 0 ? groups : groups.toReversed(),
      });
      statuses.push(reply.status);
    }
    return statuses;
  };
  const deletions = async (): Promise<number[]> => {
    const statuses: number[] = [];
    try {
      for (let round = 0; round < 12; round++) {
        const { body } = await demo('GET', '/embed-tenants/busy-tenant/groups');
        for (const { id } of body.items ?? []) {
          statuses.push((await demo('DELETE', `/embed-tenants/busy-tenant/groups/${id}`)).status);
        }
        if (round % 4 === 3) statuses.push((await demo('DELETE', '/embed-tenants/busy-tenant')).status);
      }
    } finally {
      isDone = true;
    }
    return statuses;
  };
  await mint(server, server.demo, { ...tenant, externalId: 'joiner-0' });
  const [deleted, ...called] = await Promise.all([deletions(), ...[0, 1, 2, 3, 4, 5].map(calls)]);
  expect(new Set(called.flat())).toEqual(new Set([200]));
  expect([...new Set(deleted)].filter((status) => status !== 204 && status !== 404)).toEqual([]);
  expect(deleted).toContain(204);
});

test('the limit is exact when users are made, and ephemeral ones made persistent, at once', async () => {
  for (let index = 0; index < 10; index++) {
    await mint(server, server.demo, { externalId: `short-${index}`, isEphemeral: true, ephemeralTtlSeconds: 600 });
  }
  const ephemeral = await allOf(demo, '/external-users?lifetime=ephemeral');
  const before = (await allOf(demo, '/external-users?lifetime=persistent')).length;
  await demo('PATCH', '/account', { limits: { externalUsersMax: before + 8 } });
  const replies = await Promise.all([
    ...ephemeral.map(({ id }) => demo('POST', `/external-users/${id}/persist`)),
    ...Array.from({ length: 10 }, (_, index) => generate({ externalId: `long-${index}` })),
  ]);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(8).fill(200), ...Array(12).fill(429)]);
  expect((await allOf(demo, '/external-users?lifetime=persistent')).length).toBe(before + 8);
});

test('a user who is deleted while sessions are minted for them is there again, new, or gone', async () => {
  await demo('PATCH', '/account', { limits: { externalUsersMax: null } });
  const rounds = Array.from({ length: 20 }, async () => {
    const minted = await generate({ externalId: 'phoenix', groups: ['merchant'] });
    const { body } = await demo('GET', '/external-users?externalId=phoenix');
    const id = body.items[0]?.id;
    const deleted = id === undefined ? 404 : (await demo('DELETE', `/external-users/${id}`)).status;
    return [minted.status, deleted];
  });
  const statuses = await Promise.all(rounds);
  expect(new Set(statuses.map(([minted]) => minted))).toEqual(new Set([200]));
  expect(statuses.filter(([, deleted]) => deleted !== 204 && deleted !== 404)).toEqual([]);
});
