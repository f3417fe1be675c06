/** generate-session under concurrency, on two server processes that share a PostgreSQL. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Schema } from '../../../src/store/schema.ts';
import { openTestDatabase, type TestDatabase } from '../../databases.ts';
import { type NodeProcess, startNode } from '../../node-process.ts';
import { type SeededAccount, seedAccount } from '../../seed.ts';
import { type JsonReply, postJson } from '../../test-server.ts';

describe('two nodes on one PostgreSQL', () => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let nodes: NodeProcess[] = [];
  let account: SeededAccount;
  let number = 0;

  beforeAll(async () => {
    database = await openTestDatabase('postgres');
    db = database.db;
    if (database.store.kind !== 'postgres') throw new Error('not PostgreSQL');
    const { url } = database.store;
    nodes = await Promise.all([startNode(url), startNode(url)]);
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await database.close();
  });
  beforeEach(async () => {
    number += 1;
    account = await seedAccount(db, `account${number}`, number);
  });

  /** Sends the bodies all at once, by turns to one node and the other. */
  const mintAll = (bodies: readonly object[]): Promise<JsonReply[]> =>
    Promise.all(
      bodies.map((body, index) => {
        const node = nodes[index % nodes.length];
        if (node === undefined) throw new Error('no node');
        const whole = { deploymentId: account.deploymentId, ...body };
        return postJson(node, '/api/v1/embed/generate-session', whole, `Api-Key ${account.apiKey}`);
      }),
    );
  const statusesOf = (replies: readonly JsonReply[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { status, body } of replies) {
      const name = status === 200 ? '200' : `${status} ${String(body['code'])}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  const externalUsers = async (): Promise<number> => {
    const users = db.selectFrom('users').where('account_id', '=', account.accountId).where('kind', '=', 'external');
    return Number((await users.select(db.fn.countAll().as('count')).executeTakeFirstOrThrow()).count);
  };
  const sessions = async (): Promise<number> => {
    const rows = db.selectFrom('sessions').where('account_id', '=', account.accountId);
    return Number((await rows.select(db.fn.countAll().as('count')).executeTakeFirstOrThrow()).count);
  };
  const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

  test('200 calls at once for one new name make one user', async () => {
    const replies = await mintAll(range(200).map(() => ({ externalId: 'new', groups: ['merchant'] })));
    expect(statusesOf(replies)).toEqual({ '200': 200 });
    expect(new Set(replies.map(({ body }) => body['sessionId'])).size).toBe(200);
    expect(await externalUsers()).toBe(1);
    expect(await sessions()).toBe(200);
  });

  test('300 new users at once beside 9,900 make exactly 10,000', async () => {
    await sql`insert into users (account_id, kind, external_id)
      select ${account.accountId}, 'external', 'old-' || n from generate_series(1, 9900) n`.execute(db);
    const replies = await mintAll(range(300).map((index) => ({ externalId: `new-${index}` })));
    expect(statusesOf(replies)).toEqual({ '200': 100, '429 EXTERNAL_USER_LIMIT': 200 });
    expect(await externalUsers()).toBe(10_000);
    expect(await sessions()).toBe(100);
    // Updating is fine still, and so is an ephemeral user.
    const more = [
      { externalId: 'old-1', groups: ['merchant'] },
      { externalId: 'guest', isEphemeral: true },
    ];
    expect(statusesOf(await mintAll(more))).toEqual({ '200': 2 });
    expect(statusesOf(await mintAll([{ externalId: 'guest', isEphemeral: false }]))).toEqual({
      '429 EXTERNAL_USER_LIMIT': 1,
    });
  });

  test("the account's own limit counts before that of the process", async () => {
    const limits = JSON.stringify({ externalUsersMax: 5, ephemeralUsersMax: 3 });
    await db.updateTable('accounts').set({ limits }).where('id', '=', account.accountId).execute();
    const persistent = range(20).map((index) => ({ externalId: `p-${index}` }));
    const ephemeral = range(20).map((index) => ({ externalId: `e-${index}`, isEphemeral: true }));
    const replies = await mintAll([...persistent, ...ephemeral]);
    expect(statusesOf(replies)).toEqual({
      '200': 8,
      '429 EXTERNAL_USER_LIMIT': 15,
      '429 EPHEMERAL_USER_LIMIT': 17,
    });
    expect(await externalUsers()).toBe(8);
  });

  test('calls that define, in overlapping sets, never deadlock and never apply by half', async () => {
    const tenants = ['acme-inc', 'globex'];
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const bodies = range(240).map((index) => {
      // Another order in each call: locks are taken in one order all the same.
      const own = names.map((_, at) => names[(at * 5 + index) % names.length] ?? '').slice(0, 1 + (index % 6));
      const isWrong = index % 8 === 0;
      return {
        externalId: `user-${index % 7}`,
        embedTenantName: tenants[index % 2],
        creatorMode: true,
        groupDefinitions: own.map((name) => ({ name, description: `by ${index}` })),
        userAttributeDefinitions: [
          ...own.map((name) => ({ name, type: 'number', description: `by ${index}` })),
          // Who comes first decides on the type; the others are refused, with all that they define.
          { name: 'contested', type: isWrong ? 'string' : 'number' },
        ],
        groups: own,
        userAttributes: own.map((name) => ({ name, value: index })),
      };
    });
    const replies = await mintAll(bodies);
    const refused = replies.filter(({ status }) => status !== 200);
    for (const { body } of refused) {
      expect(body).toMatchObject({
        code: 'ATTRIBUTE_TYPE_IMMUTABLE',
        message: expect.stringContaining('cannot change type'),
      });
    }
    expect([...new Set(refused.map(({ status }) => status))]).toEqual([409]);

    // What a refused call defined is nowhere.
    const written = await sql<{ description: string | null }>`
      select description from groups where account_id = ${account.accountId} and embed_tenant_id is not null
      union select description from user_attributes where account_id = ${account.accountId} and embed_tenant_id is not null`.execute(
      db,
    );
    const indexes = written.rows.flatMap(({ description }) =>
      description === null ? [] : [Number(description.slice(3))],
    );
    expect(indexes.length).toBeGreaterThan(0);
    for (const index of indexes) expect([index, replies[index]?.status]).toEqual([index, 200]);

    // Every user has what one call gave them in each scope, whole: groups and the values of the same names.
    const { rows } = await sql<{ user_id: number; tenant: string; groups: string[]; values: Record<string, number> }>`
      select u.id as user_id, t.name as tenant,
        (select coalesce(jsonb_agg(g.name order by g.name), '[]') from user_groups ug join groups g on g.id = ug.group_id
          where ug.user_id = u.id and g.embed_tenant_id = t.id) as groups,
        (select coalesce(jsonb_object_agg(a.name, v.value), '{}') from user_attribute_values v
          join user_attributes a on a.id = v.attribute_id
          where v.user_id = u.id and a.embed_tenant_id = t.id) as values
      from users u, embed_tenants t
      where u.account_id = ${account.accountId} and u.kind = 'external' and t.account_id = u.account_id`.execute(db);
    expect(rows).toHaveLength(14);
    for (const { groups, values } of rows) {
      const last = new Set(groups.map((name) => values[name]));
      expect(last.size).toBe(1);
      const [index = -1] = last;
      expect([...(bodies[index]?.groups ?? [])].sort()).toEqual(groups);
    }
    const tenantRows = await db
      .selectFrom('embed_tenants')
      .select('name')
      .where('account_id', '=', account.accountId)
      .execute();
    expect(tenantRows.map(({ name }) => name).sort()).toEqual(tenants);
  });

  // Where the profile changes as well, the row of the user alone makes the calls wait for each other.
  test.each([true, false])('the last writer wins whole (with a profile: %s)', async (hasProfile) => {
    const groups = ['merchant', 'merchant_admin', 'platform_team'];
    await mintAll([0, 1, 2].map((index) => ({ externalId: `shared-${index}` })));
    const bodies = range(240).map((index) => ({
      externalId: `shared-${index % 3}`,
      ...(hasProfile ? { email: `by-${index}@example.com`, userProfile: { displayName: `by ${index}` } } : {}),
      groups: groups.filter((_name, bit) => (index >> bit) & 1),
      userAttributes: [
        { name: 'merchant_id', value: index },
        { name: 'region', value: `by ${index}` },
        { name: 'merchant_ids', value: [index, index + 1] },
      ],
    }));
    expect(statusesOf(await mintAll(bodies))).toEqual({ '200': 240 });
    const { rows } = await sql<{
      email: string;
      display_name: string;
      groups: string[];
      merchant_id: number;
      values: unknown;
    }>`
      select email, display_name, groups, values -> 'merchant_id' as merchant_id, values from (
        select u.email, u.display_name,
          (select coalesce(jsonb_agg(g.name order by g.name), '[]') from user_groups ug join groups g on g.id = ug.group_id
            where ug.user_id = u.id) as groups,
          (select jsonb_object_agg(a.name, v.value) from user_attribute_values v
            join user_attributes a on a.id = v.attribute_id where v.user_id = u.id) as values
        from users u where u.account_id = ${account.accountId} and u.kind = 'external') as users`.execute(db);
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const index = row.merchant_id;
      expect(row).toEqual({
        email: hasProfile ? `by-${index}@example.com` : null,
        display_name: hasProfile ? `by ${index}` : null,
        groups: bodies[index]?.groups,
        merchant_id: index,
        values: { merchant_id: index, region: `by ${index}`, merchant_ids: [index, index + 1] },
      });
    }
  });

  test('memberships are replaced whole, where nothing else of the user changes', async () => {
    const sets = [['merchant', 'merchant_admin'], ['platform_team']];
    for (const _round of range(5)) {
      await mintAll(range(60).map((index) => ({ externalId: `shared-${index % 3}`, groups: sets[(index >> 2) % 2] })));
      const { rows } = await sql<{ groups: string[] }>`
        select jsonb_agg(g.name order by g.name) as groups
        from users u join user_groups ug on ug.user_id = u.id join groups g on g.id = ug.group_id
        where u.account_id = ${account.accountId} group by u.id`.execute(db);
      expect(rows).toHaveLength(3);
      for (const { groups } of rows) expect(sets).toContainEqual(groups);
    }
  });

  test('while groups, attributes and embed tenants are deleted under them, calls succeed or are refused, and are never broken', async () => {
    const stop = new AbortController();
    const remove = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        // Slowly enough for the calls to get through now and then, as they do in life.
        await pause(5);
        for (const table of ['groups', 'user_attributes', 'embed_tenants'] as const) {
          await db
            .deleteFrom(table)
            .where('account_id', '=', account.accountId)
            .where(table === 'embed_tenants' ? 'name' : 'embed_tenant_id', 'is not', null)
            .execute()
            // The database may end this one where it waits for a call that waits for it.
            .catch((error: unknown) => {
              if (!String(error).includes('deadlock')) throw error;
            });
        }
      }
    };
    const removing = remove();
    try {
      for (const round of range(6)) {
        const replies = await mintAll(
          range(40).map((index) => ({
            externalId: `user-${index % 5}`,
            embedTenantName: 'acme-inc',
            creatorMode: true,
            groupDefinitions: [{ name: 'a' }, { name: 'b' }],
            userAttributeDefinitions: [{ name: 'x', type: 'number' }],
            groups: index % 2 === 0 ? ['a', 'b'] : ['b'],
            userAttributes: [{ name: 'x', value: round * 40 + index }],
          })),
        );
        expect(statusesOf(replies)).toEqual({ '200': 40 });
      }
    } finally {
      stop.abort();
      await removing;
    }
  });
});
