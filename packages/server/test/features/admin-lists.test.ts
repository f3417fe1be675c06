/** What all lists of the management API have in common: pages stay right while rows are added and deleted. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminApi, adminApiOf, allOf, mint } from '../admin-api.ts';
import { databaseKinds } from '../databases.ts';
import { openTestServer, type TestServer } from '../test-server.ts';

/** How a row is made, and by what the list is sorted by name. */
const lists: Readonly<Record<string, { readonly body: (name: string) => object; readonly nameOf: string }>> = {
  '/groups': { body: (name) => ({ name }), nameOf: 'name' },
  '/user-attributes': { body: (name) => ({ name, type: 'string' }), nameOf: 'name' },
  '/internal-users': { body: (username) => ({ username, email: `${username}@example.com` }), nameOf: 'username' },
  '/agents': { body: (name) => ({ name, deploymentId: 1 }), nameOf: 'name' },
};

/** Between two pages: rows to add, and which of those that are there to delete, each by a number in the list of them. */
const stepArbitrary = fc.record({
  added: fc.nat({ max: 3 }),
  deleted: fc.array(fc.nat({ max: 1000 }), { maxLength: 2 }),
});

describe.each(databaseKinds)('lists on %s', (kind) => {
  let server: TestServer;
  let demo: AdminApi;
  let made = 0;
  beforeAll(async () => {
    server = await openTestServer({ kind });
    demo = adminApiOf(server, server.demo);
  });
  afterAll(() => server.close());

  test.each(Object.keys(lists))('%s: a row that is there throughout is on one page, no row on two', async (path) => {
    const { body, nameOf } = lists[path] ?? { body: () => ({}), nameOf: '' };
    const add = async (): Promise<number> => {
      // Names that do not rise with the ids.
      const name = `row-${(made * 7919) % 1009}-${made++}`;
      return (await demo('POST', path, body(name))).body.id;
    };
    const age = path === '/agents' ? 'id' : 'createdAt';
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 10 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(age, `-${age}`, 'name', '-name'),
        fc.array(stepArbitrary, { maxLength: 6 }),
        async (count, first, sort, steps) => {
          const there = new Set<number>();
          for (let index = 0; index < count; index++) there.add(await add());
          const throughout = new Set((await allOf(demo, path)).map(({ id }) => Number(id)));
          const deletable = [...there];

          const seen: Record<string, unknown>[] = [];
          let after = '';
          for (let page = 0; ; page++) {
            const reply = await demo('GET', `${path}?sort=${sort}&first=${first}${after}`);
            expect(reply.status).toBe(200);
            expect(reply.body.items.length).toBeLessThanOrEqual(first);
            seen.push(...reply.body.items);
            if (!reply.body.pageInfo.hasNextPage) break;
            after = `&after=${reply.body.pageInfo.endCursor}`;
            const step = steps[page];
            for (let index = 0; index < (step?.added ?? 0); index++) deletable.push(await add());
            for (const number of step?.deleted ?? []) {
              const [id] = deletable.splice(number % Math.max(deletable.length, 1), 1);
              if (id === undefined) continue;
              expect((await demo('DELETE', `${path}/${id}`)).status).toBe(204);
              throughout.delete(id);
            }
          }
          const ids = seen.map(({ id }) => Number(id));
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).toEqual(expect.arrayContaining([...throughout]));
          if (sort.endsWith(age)) {
            expect(ids).toEqual(ids.toSorted((one, other) => (sort === age ? one - other : other - one)));
          } else {
            const names = seen.map((row) => String(row[nameOf]).toLowerCase());
            const sorted = (await allOf(demo, `${path}?sort=${sort}`)).map((row) => String(row[nameOf]).toLowerCase());
            const left = new Set(sorted);
            expect(names.filter((name) => left.has(name))).toEqual(sorted.filter((name) => names.includes(name)));
          }
          for (const id of deletable) await demo('DELETE', `${path}/${id}`);
        },
      ),
      { numRuns: 8 },
    );
  });

  test('a cursor of one list or sort opens no other, and a page says whether there is one before it', async () => {
    const first = await demo('GET', '/user-attributes?first=1&sort=name');
    const { endCursor } = first.body.pageInfo;
    expect(first.body.pageInfo.hasPreviousPage).toBe(false);
    const second = await demo('GET', `/user-attributes?first=1&sort=name&after=${endCursor}`);
    expect(second.body.pageInfo.hasPreviousPage).toBe(true);
    for (const query of ['', '&sort=-name', '&sort=createdAt']) {
      const reply = await demo('GET', `/user-attributes?first=1&after=${endCursor}${query}`);
      expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_CURSOR']);
    }
  });

  test('an empty page has no cursors', async () => {
    expect((await demo('GET', '/groups?search=there-is-none')).body).toEqual({
      items: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  test('external users and embed tenants are paged alike', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `paged-${index}`);
    for (const name of names) {
      await mint(server, server.demo, { externalId: name, embedTenantName: name, creatorMode: true });
    }
    const users = await allOf(demo, '/external-users?search=paged-', 2);
    expect(users.map(({ externalId }) => externalId)).toEqual(names.toReversed());
    const tenants = await allOf(demo, '/embed-tenants?search=paged-&sort=name', 3);
    expect(tenants.map(({ name }) => name)).toEqual(names);
  });
});
