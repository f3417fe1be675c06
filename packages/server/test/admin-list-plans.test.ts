/** What PostgreSQL reads for a page of each list at 10,000 rows: about as much as the page has, on the last one too. */
import type { Page } from '@inlay/contract/page.ts';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listEmbedTenants } from '../src/admin/embed-tenants.ts';
import { listExternalUsers } from '../src/admin/external-users.ts';
import { listGroups } from '../src/admin/groups.ts';
import { listInternalUsers } from '../src/admin/internal-users.ts';
import { tenantWideOf } from '../src/admin/scope.ts';
import { listUserAttributes } from '../src/admin/user-attributes.ts';
import type { Schema } from '../src/store/schema.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';

const rows = 10_000;
const first = 50;
/** Rows that the statement may touch: those of the page and the one after, and for each a handful in other tables. */
const touchedMax = 1000;

type Sort = 'createdAt' | '-createdAt' | 'name' | '-name';
type Db = Kysely<Schema>;
interface PageOf {
  readonly sort: Sort;
  readonly first: number;
  readonly after?: string | undefined;
}

const lists: Readonly<Record<string, (db: Db, accountId: number, page: PageOf) => Promise<Page<unknown>>>> = {
  groups: (db, accountId, page) => listGroups(db, tenantWideOf(accountId), page),
  'user attributes': (db, accountId, page) => listUserAttributes(db, tenantWideOf(accountId), page),
  'groups of an embed tenant': async (db, accountId, page) => {
    return listGroups(db, { accountId, embedTenant: await tenantOf(db, accountId) }, page);
  },
  'embed tenants': (db, accountId, page) => listEmbedTenants(db, accountId, page),
  'external users': (db, accountId, page) => listExternalUsers(db, { accountId, now: new Date() }, page),
  'internal users': (db, accountId, page) => listInternalUsers(db, accountId, page),
};

const tenantOf = (db: Db, accountId: number) =>
  db
    .selectFrom('embed_tenants')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where('name', '=', 'tenant-5000')
    .executeTakeFirstOrThrow();

let database: TestDatabase;
let db: Db;
let last: CompiledQuery | undefined;
let accountId: number;
beforeAll(async () => {
  database = await openTestDatabase('postgres');
  if (database.store.kind !== 'postgres') throw new Error('Plans are those of PostgreSQL.');
  db = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: new Pool({ connectionString: database.store.url, max: 2 }) }),
    log: ({ query }) => {
      last = query;
    },
  });
  // The rows of two accounts lie between each other, and only one is asked for.
  const accounts = await db
    .insertInto('accounts')
    .values(['one', 'two'].map((name) => ({ name, plan: 'premium', use_creator_mode: true })))
    .returning('id')
    .execute();
  accountId = accounts[0]?.id ?? 0;
  const each = sql`generate_series(1, ${rows}::int) n cross join accounts a`;
  await sql`insert into embed_tenants (account_id, name) select a.id, 'tenant-' || n from ${each} order by n`.execute(
    db,
  );
  await sql`insert into groups (account_id, name) select a.id, 'group-' || n from ${each} order by n`.execute(db);
  await sql`
    insert into groups (account_id, embed_tenant_id, name)
    select e.account_id, e.id, 'group-' || n from generate_series(1, ${rows}::int) n
    cross join embed_tenants e where e.name = 'tenant-5000' order by n`.execute(db);
  await sql`insert into user_attributes (account_id, name, type) select a.id, 'attribute-' || n, 'string' from ${each} order by n`.execute(
    db,
  );
  await sql`
    insert into users (account_id, kind, external_id, username, email)
    select a.id, kind, case kind when 'external' then 'user-' || n end, case kind when 'internal' then 'user-' || n end,
      'user-' || n || '@example.com'
    from ${each} cross join (values ('external'), ('internal')) as kinds (kind) order by n`.execute(db);
  await sql`analyze`.execute(db);
});
afterAll(async () => {
  await db.destroy();
  await database.close();
});

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

const touchedBy = (node: Node): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
  (node.Plans ?? []).reduce((sum, plan) => sum + touchedBy(plan), 0);

/** Rows that all nodes of the plan of the last statement gave or threw away. */
async function touchedByLast(): Promise<number> {
  if (last === undefined) throw new Error('Nothing was asked.');
  const explained = CompiledQuery.raw(`explain (analyze, format json) ${last.sql}`, [...last.parameters]);
  const { rows: plans } = await db.executeQuery<{ 'QUERY PLAN': readonly { readonly Plan: Node }[] }>(explained);
  const plan = plans[0]?.['QUERY PLAN'][0]?.Plan;
  if (plan === undefined) throw new Error('There is no plan.');
  return touchedBy(plan);
}

/** A page deep in the list: the one after the row at which a list in the opposite order is nearly at its end. */
async function deepCursor(list: (page: PageOf) => Promise<Page<unknown>>, sort: Sort): Promise<string> {
  let after: string | undefined;
  for (let page = 0; page < 18; page++) {
    const { pageInfo } = await list({ sort, first: 500, after });
    after = pageInfo.endCursor ?? undefined;
  }
  return after ?? '';
}

describe.each(Object.entries(lists))('%s', (_name, list) => {
  test.each(['-createdAt', 'name', '-name'] as const)('by %s', async (sort) => {
    const page = (request: PageOf) => list(db, accountId, request);
    expect((await page({ sort, first })).items).toHaveLength(first);
    expect(await touchedByLast()).toBeLessThan(touchedMax);
    const after = await deepCursor(page, sort);
    expect((await page({ sort, first, after })).items).toHaveLength(first);
    expect(await touchedByLast()).toBeLessThan(touchedMax);
  });
});
