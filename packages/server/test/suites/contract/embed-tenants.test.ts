/** service.md 4.2 and decisions 5: the groups and attributes of embed tenants, and the tenant-wide ones alike. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { databaseKinds } from '../../databases.ts';
import { problemsOf } from '../http-check.ts';
import { makeKey, memberOf, openSuiteWorld, type SuiteWorld, storedUser } from '../world.ts';

const cursor = z.string().min(1).nullable();
const pageInfo = z.strictObject({
  hasNextPage: z.boolean(),
  hasPreviousPage: z.boolean(),
  startCursor: cursor,
  endCursor: cursor,
});
const createdAt = z.iso.datetime({ offset: true });
const group = z.strictObject({
  id: z.int(),
  name: z.string(),
  description: z.string().nullable(),
  userCount: z.int(),
  createdAt,
});
const attribute = z.strictObject({
  id: z.int(),
  name: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'string_array', 'number_array']),
  displayName: z.string().nullable(),
  defaultValue: z.string().nullable(),
  description: z.string().nullable(),
  createdAt,
});
const page = z.strictObject({ items: z.array(z.union([group, attribute])), pageInfo });
type Page = z.infer<typeof page>;

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe.each(databaseKinds)('embed-tenant admin on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  const lists = ['groups', 'user-attributes'] as const;
  const address = (tenant: string, list: string, rest = ''): string => `/api/v1/embed-tenants/${tenant}/${list}${rest}`;
  /** Defines so many of a list in an embed tenant, one after the other, so that they have an order. */
  const define = async (
    tenant: string,
    list: (typeof lists)[number],
    names: readonly string[],
    account = world.demo,
  ) => {
    const field = list === 'groups' ? 'groupDefinitions' : 'userAttributeDefinitions';
    for (const name of names) {
      const definition = list === 'groups' ? { name, description: `of ${name}` } : { name, type: 'string' };
      const body = { externalId: 'definer', creatorMode: true, embedTenantName: tenant, [field]: [definition] };
      expect((await world.mint(body, account)).status).toBe(200);
    }
  };
  const read = async (path: string): Promise<Page> => {
    const reply = await world.call('GET', path);
    expect([reply.status, problemsOf(reply)], reply.text).toEqual([200, []]);
    return page.parse(reply.json);
  };
  const namesOf = ({ items }: Page): string[] => items.map(({ name }) => name);
  const idOf = async (tenant: string, list: string, name: string): Promise<number> => {
    const found = (await read(address(tenant, list))).items.find((item) => item.name === name);
    if (found === undefined) throw new Error(`no ${name} in ${tenant}`);
    return found.id;
  };

  describe.each(lists)('%s', (list) => {
    const tenant = `pages-of-${list}`;
    const all = named('n', 7);

    test('are listed newest first, in the shapes of the contract, to the last page', async () => {
      await define(tenant, list, all);
      const whole = await read(address(tenant, list));
      expect(namesOf(whole)).toEqual(all.toReversed());
      expect(whole.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false });
      const shape = list === 'groups' ? group : attribute;
      for (const item of whole.items) expect(shape.safeParse(item).error).toBeUndefined();

      const seen: string[] = [];
      let after: string | null = null;
      for (const [index, expected] of [3, 3, 1].entries()) {
        const query: string = after === null ? '' : `&after=${encodeURIComponent(after)}`;
        const one = await read(address(tenant, list, `?first=3${query}`));
        expect(one.items).toHaveLength(expected);
        expect(one.pageInfo).toMatchObject({ hasNextPage: index < 2, hasPreviousPage: index > 0 });
        seen.push(...namesOf(one));
        after = one.pageInfo.endCursor;
      }
      expect(seen).toEqual(all.toReversed());
    });

    test('pages stay right while rows come and go', async () => {
      const own = `moving-${list}`;
      await define(own, list, all);
      const first = await read(address(own, list, '?first=3'));
      expect(namesOf(first)).toEqual(['n6', 'n5', 'n4']);
      await define(own, list, ['newer']);
      // The row that the cursor stands on, one before it and one after.
      for (const name of ['n4', 'n6', 'n2']) {
        const gone = await world.call('DELETE', address(own, list, `/${await idOf(own, list, name)}`));
        expect(gone.status).toBe(204);
      }
      const after = encodeURIComponent(String(first.pageInfo.endCursor));
      expect(namesOf(await read(address(own, list, `?first=3&after=${after}`)))).toEqual(['n3', 'n1', 'n0']);
    });

    test('are fifty on a page unless said otherwise, 500 at most', async () => {
      const own = `fifty-${list}`;
      const field = list === 'groups' ? 'groupDefinitions' : 'userAttributeDefinitions';
      const definitions = named('n', 51).map((name) => ({ name, type: 'string' }));
      const body = { externalId: 'definer', creatorMode: true, embedTenantName: own, [field]: definitions };
      expect((await world.mint(body)).status).toBe(200);
      const page = await read(address(own, list));
      expect(page.items).toHaveLength(50);
      expect(page.pageInfo.hasNextPage).toBe(true);
      expect((await read(address(own, list, '?first=500'))).items).toHaveLength(51);
      expect((await read(address(own, list, '?first=1'))).items).toHaveLength(1);
    });

    test.each(
      ['first=0', 'first=501', 'first=-1', 'first=x', 'first=1.5', 'first=', 'first=1e2x'].concat([
        'after=garbage',
        'after=%7B%7D',
        'after=',
        'after=eyJhIjoxfQ',
        `after=${'A'.repeat(3000)}`,
      ]),
    )('?%s is 400', async (query) => {
      await define(`queries-${list}`, list, ['one']);
      const reply = await world.call('GET', address(`queries-${list}`, list, `?${query}`));
      expect([reply.status, problemsOf(reply)]).toEqual([400, []]);
    });

    test('are deleted with what hangs on them, once', async () => {
      const own = `deleted-${list}`;
      await define(own, list, ['stays', 'goes']);
      const rights =
        list === 'groups'
          ? { groups: ['stays', 'goes'] }
          : { userAttributes: ['stays', 'goes'].map((name) => ({ name, value: 'v' })) };
      const user = { externalId: `of-${own}`, creatorMode: true, embedTenantName: own };
      expect((await world.mint({ ...user, ...rights })).status).toBe(200);
      if (list === 'groups')
        expect((await read(address(own, list))).items).toMatchObject([{ userCount: 1 }, { userCount: 1 }]);
      const id = await idOf(own, list, 'goes');
      const gone = await world.call('DELETE', address(own, list, `/${id}`));
      expect([gone.status, gone.text]).toEqual([204, '']);
      expect((await world.call('DELETE', address(own, list, `/${id}`))).status).toBe(404);
      expect(namesOf(await read(address(own, list)))).toEqual(['stays']);
      expect(await storedUser(world.db, world.demo, user.externalId)).toMatchObject(
        list === 'groups' ? { groups: { [own]: ['stays'] } } : { values: { [own]: { stays: 'v' } } },
      );
    });

    test('what is not in this embed tenant of this account is 404, and stays', async () => {
      const [mine, next, shared] = [`mine-${list}`, `next-${list}`, `both-${list}`];
      await define(mine, list, ['one']);
      await define(next, list, ['one']);
      await define(shared, list, ['one']);
      await define(shared, list, ['one'], world.other);
      const ofNext = await idOf(next, list, 'one');
      const table = list === 'groups' ? 'groups' : 'user_attributes';
      const foreign = await world.db
        .selectFrom(table)
        .select('id')
        .where('account_id', '=', world.other.accountId)
        .where('name', '=', 'one')
        .executeTakeFirstOrThrow();
      const wide = await world.db
        .selectFrom(table)
        .select('id')
        .where('account_id', '=', world.demo.accountId)
        .where('embed_tenant_id', 'is', null)
        .orderBy('id')
        .executeTakeFirstOrThrow();
      const ids = [ofNext, foreign.id, wide.id, 0, -1, 2_147_483_648, '99999999999999999999', 'x', '1.5', 'null'];
      for (const id of ids) {
        const reply = await world.call('DELETE', address(mine, list, `/${id}`));
        expect([id, reply.status, problemsOf(reply)]).toEqual([id, 404, []]);
      }
      expect((await world.call('DELETE', address(shared, list, `/${foreign.id}`))).status).toBe(404);
      for (const unknown of ['no-such-tenant', 'x', 'UPPER-CASE', '%20', `only-${'a'.repeat(60)}`]) {
        expect((await world.call('GET', address(unknown, list))).status).toBe(404);
        expect((await world.call('DELETE', address(unknown, list, `/${ofNext}`))).status).toBe(404);
      }
      const kept = await world.db
        .selectFrom(table)
        .select('id')
        .where('id', 'in', [ofNext, foreign.id, wide.id])
        .execute();
      expect(kept).toHaveLength(3);
      const theirs = await world.call('GET', address(mine, list), undefined, `Api-Key ${world.other.apiKey}`);
      expect(theirs.status).toBe(404);
    });

    test('admin keys only: 401 without, 403 for others, whatever the path names', async () => {
      const own = `guarded-${list}`;
      await define(own, list, ['one']);
      const id = await idOf(own, list, 'one');
      const member = await makeKey(world, { role: 'member' });
      const token = await world.token({ externalId: 'visitor' });
      for (const tenantName of [own, 'no-such-tenant']) {
        for (const [method, rest] of [
          ['GET', ''],
          ['DELETE', `/${id}`],
        ] as const) {
          const path = address(tenantName, list, rest);
          expect((await world.call(method, path, undefined, null)).status).toBe(401);
          expect((await world.call(method, path, undefined, member)).status).toBe(403);
          expect((await world.call(method, path, undefined, token)).status).toBe(403);
        }
      }
      expect(namesOf(await read(address(own, list)))).toEqual(['one']);
    });
  });

  describe.each([
    { list: 'groups', made: { name: 'c-made', description: 'd' }, change: { description: 'e' }, shape: group },
    {
      list: 'user-attributes',
      made: { name: 'c_made', type: 'number', displayName: 'Made', defaultValue: '3', description: 'd' },
      change: { displayName: 'N', description: 'e' },
      shape: attribute,
    },
  ])('the tenant-wide catalogue: $list', ({ list, made, change, shape }) => {
    const path = `/api/v1/${list}`;

    test('create, read, list, update, delete', async () => {
      const created = await world.call('POST', path, made);
      expect([created.status, problemsOf(created)], created.text).toEqual([201, []]);
      expect(shape.parse(created.json)).toMatchObject(made);
      const one = `${path}/${memberOf(created.json, 'id')}`;
      expect((await world.call('GET', one)).json).toEqual(created.json);
      expect(namesOf(await read(`${path}?first=1`))).toEqual([made.name]);
      const changed = await world.call('PATCH', one, change);
      expect([changed.status, shape.parse(changed.json)]).toMatchObject([200, { ...made, ...change }]);
      expect((await world.call('POST', path, made)).status, 'the name is taken').toBe(409);
      expect((await world.call('GET', one, undefined, `Api-Key ${world.other.apiKey}`)).status).toBe(404);
      expect((await world.call('PATCH', one, change, `Api-Key ${world.other.apiKey}`)).status).toBe(404);
      expect((await world.call('DELETE', one, undefined, `Api-Key ${world.other.apiKey}`)).status).toBe(404);
      expect((await world.call('DELETE', one)).status).toBe(204);
      for (const method of ['GET', 'DELETE']) expect((await world.call(method, one)).status).toBe(404);
      expect((await world.call('PATCH', one, change)).status).toBe(404);
    });

    test('holds nothing of embed tenants', async () => {
      await define('apart-tenant', list === 'groups' ? 'groups' : 'user-attributes', ['scoped']);
      expect(namesOf(await read(`${path}?first=500`))).not.toContain('scoped');
    });

    test('admin keys only', async () => {
      const member = await makeKey(world, { role: 'member' });
      for (const authorization of [member, await world.token({ externalId: 'visitor' })]) {
        expect((await world.call('GET', path, undefined, authorization)).status).toBe(403);
        expect((await world.call('POST', path, made, authorization)).status).toBe(403);
      }
    });
  });
});
