/**
 * Plans of the store's statements on a large installation: those that the server really sends while its endpoints are used, each
 * explained by PostgreSQL. A new statement is seen as soon as an endpoint that is called here sends it.
 */
import { listOperations } from '@inlay/contract/admin/operations.ts';
import { type CompiledQuery, type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readRunLogs } from '../src/chat/run-log.ts';
import type { Schema } from '../src/store/schema.ts';
import { sweep } from '../src/store/sweep.ts';
import { adminApiOf, mint } from './admin-api.ts';
import { openSession, openTestServer, postJson, type TestServer } from './test-server.ts';

const operations = listOperations();

/** Tables with many rows in an installation. The others have a few per account: accounts, keys, deployments, agents, nodes. */
const largeTables: ReadonlySet<string> = new Set([
  'users',
  'groups',
  'user_attributes',
  'embed_tenants',
  'user_groups',
  'user_attribute_values',
  'sessions',
  'threads',
  'runs',
  'messages',
  'run_log',
  'audit_log',
]);

const usersPerAccount = 10_000;
const groupsPerAccount = 100;
const fillers = 2;

/**
 * Accounts of 10,000 users, 100 groups and 100 attributes, sessions, threads and embed tenants, set by set. Foreign keys are not
 * checked meanwhile: the rows are right.
 */
async function fill(db: Kysely<Schema>, accountId: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const run = (text: string) => sql.raw(text).execute(tx);
    await run(`set local session_replication_role = replica`);
    await run(`set local statement_timeout = 0`);
    await run(`insert into accounts (name, plan, use_creator_mode) select 'filler ' || n, 'premium', true
      from generate_series(1, ${fillers}) n`);
    const accounts = `(select id from accounts where id = ${accountId} or name like 'filler %')`;
    await run(`insert into deployments (id, account_id, name, model_folder, warehouse)
      select 1000 + id, id, 'd', '/none', '{}' from accounts where name like 'filler %'`);
    await run(`insert into embed_tenants (account_id, name) select a.id, 'tenant-' || n
      from ${accounts} a, generate_series(1, 1000) n`);
    for (const [table, more, type] of [
      ['groups', '', ''],
      ['user_attributes', ', type', `, 'string'`],
    ]) {
      await run(`insert into ${table} (account_id, name${more}) select a.id, 'name ' || n${type}
        from ${accounts} a, generate_series(1, ${groupsPerAccount}) n`);
      await run(`insert into ${table} (account_id, embed_tenant_id, name${more}) select account_id, t.id, 'name ' || n${type}
        from embed_tenants t, generate_series(1, 3) n`);
    }
    await run(`insert into users (account_id, kind, external_id, email, expires_at)
      select a.id, 'external', 'user-' || n, 'user-' || n || '@example.com', case when n % 10 = 0 then now() + interval '1 hour' end
      from ${accounts} a, generate_series(1, ${usersPerAccount}) n`);
    await run(`insert into users (account_id, kind, username, email)
      select a.id, 'internal', 'internal-' || n, 'internal-' || n || '@example.com'
      from ${accounts} a, generate_series(1, 200) n`);
    await run('analyze users, groups, user_attributes');
    for (const [table, of] of [
      ['user_groups', 'groups'],
      ['user_attribute_values', 'user_attributes'],
    ]) {
      await run(`insert into ${table} select u.id, t.id from users u cross join generate_series(1, 3) n join ${of} t
        on t.account_id = u.account_id and t.embed_tenant_id is null and t.name = 'name ' || 1 + (u.id + n * 30) % 100
        where u.kind = 'external'`);
    }
    await run(`insert into sessions (id, secret_hash, account_id, deployment_id, user_id, api_key_id, security_context,
        created_at, exchange_before, ends_at)
      select gen_random_uuid(), gen_random_uuid()::text, account_id, 1, id, 1, '{}', now() - n * interval '1 minute', now(),
        now() + interval '1 day' - n * interval '1 hour'
      from users, generate_series(1, 2) n where kind = 'external'`);
    await run(`insert into threads (id, account_id, user_id, agent_id, title, created_at, updated_at)
      select gen_random_uuid(), account_id, id, 1, 't', now(), now() from users where kind = 'external'`);
    await run(`insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at)
      select gen_random_uuid(), id, user_id, agent_id, id::text, 'completed', now() from threads`);
    await run(`insert into messages (thread_id, sort, id, run_id, role, content, is_in_process, created_at)
      select thread_id, n, n::text, id, 'user', 'text', false, now() from runs, generate_series(1, 2) n`);
    await run(`insert into run_log (run_id, seq, sort, line, created_at)
      select id, n, 2, '{}', now() from (select id from runs limit 3000) r, generate_series(1, 10) n`);
    await run(`insert into audit_log (account_id, at, actor_kind, actor_id, action, object_kind, object_id, result)
      select a.id, now() - n * interval '1 minute', 'api-key', (n % 50)::text, 'group.create', 'group', n::text, 'OK'
      from ${accounts} a, generate_series(1, 20000) n`);
  });
  await sql`vacuum analyze`.execute(db);
}

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string | undefined;
  readonly Plans?: readonly Node[] | undefined;
}

const nodeSchema: z.ZodType<Node> = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  get Plans() {
    return z.array(nodeSchema).optional();
  },
});
const explainedSchema = z.tuple([z.object({ Plan: nodeSchema })]);
type Explained = z.infer<typeof explainedSchema>;

/** The large tables that a plan reads from end to end. */
function scannedIn({ 'Node Type': type, 'Relation Name': table = '', Plans = [] }: Node): string[] {
  return [...(type === 'Seq Scan' && largeTables.has(table) ? [table] : []), ...Plans.flatMap(scannedIn)];
}

describe('on 30,000 users of 3 accounts', () => {
  const noted = new Map<string, CompiledQuery>();
  let server: TestServer;

  beforeAll(async () => {
    server = await openTestServer({
      kind: 'postgres',
      onStatement: ({ query }) => {
        if (!noted.has(query.sql)) noted.set(query.sql, query);
      },
    });
    await fill(server.context.db, server.accountId);
    noted.clear();
  }, 240_000);
  afterAll(() => server.close());

  async function explain({ sql: text, parameters }: CompiledQuery, connection: Kysely<Schema>): Promise<Explained> {
    const { rows } = await connection.executeQuery<{ 'QUERY PLAN': unknown }>({
      sql: `explain (format json) ${text}`,
      parameters,
      query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
      queryId: { queryId: 'explain' },
    });
    return explainedSchema.parse(rows[0]?.['QUERY PLAN']);
  }

  /** The statements noted since the last call that read a large table from end to end, and which. */
  async function readScans(): Promise<readonly string[]> {
    const statements = [...noted.values()].filter(({ sql: text }) =>
      /^\s*(select|insert|update|delete|with)\b/i.test(text),
    );
    expect(statements.length).toBeGreaterThan(0);
    const found: string[] = [];
    await server.context.db.connection().execute(async (connection) => {
      await sql`select set_config('enable_seqscan', 'on', false)`.execute(connection);
      // As on the disks of today, where a page out of order costs little more than the next one.
      await sql`select set_config('random_page_cost', '1.1', false)`.execute(connection);
      for (const statement of statements) {
        const [{ Plan }] = await explain(statement, connection);
        const scanned = new Set(scannedIn(Plan));
        if (scanned.size > 0) found.push(`${[...scanned].join(', ')}: ${statement.sql.replace(/\s+/g, ' ')}`);
      }
    });
    noted.clear();
    return found;
  }

  const call = (n: number | string, more: object = {}) => ({
    externalId: `user-${n}`,
    groups: ['name 1', 'name 2'],
    userAttributes: [{ name: 'name 3', value: 'v' }],
    ...more,
  });

  test('sessions: made, changed, exchanged, renewed, revoked', async () => {
    const { demo } = server;
    for (let index = 0; index < 3; index += 1) await mint(server, demo, call(7));
    await Promise.all(Array.from({ length: 20 }, (_, index) => mint(server, demo, call(`new-${index}`))));
    await mint(server, demo, call(8, { userProfile: { displayName: 'Eight' }, email: 'eight@example.com' }));
    await mint(server, demo, call('short', { isEphemeral: true, ephemeralTtlSeconds: 60 }));
    await mint(server, demo, { internalId: 'internal-7' });
    await mint(server, demo, {
      externalId: 'creator',
      creatorMode: true,
      embedTenantName: 'tenant-7',
      groupDefinitions: [{ name: 'name 1', description: 'changed' }, { name: 'added' }],
      userAttributeDefinitions: [{ name: 'added', type: 'number' }],
      groups: ['added'],
      userAttributes: [{ name: 'added', value: 7 }],
    });
    const authorization = await openSession(server, demo, call(9));
    await postJson(server, '/api/v1/embed/session/token', undefined, authorization);
    const sessionId = await mint(server, demo, call(9));
    await postJson(server, '/api/v1/embed/session/revoke', { sessionId }, `Api-Key ${demo.apiKey}`);
    await server.context.db
      .updateTable('users')
      .set({ expires_at: new Date(0) })
      .where('external_id', '=', 'user-10')
      .execute();
    await mint(server, demo, call(10));
    expect(await readScans()).toStrictEqual([]);
  });

  test('chats and queries', async () => {
    const { demo } = server;
    const chat = `/api/v1/public/demo/agents/${demo.agentId}/chat/stream-chat-state`;
    const asking = { input: 'revenue by month', sessionSettings: { ...call(11), isEphemeral: false } };
    const read = async (body: object, authorization: string) => {
      const reply = await fetch(server.url + chat, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: JSON.stringify(body),
      });
      return [reply.status, await reply.text()] as const;
    };
    const [status, text] = await read(asking, `Api-Key ${demo.apiKey}`);
    expect(status).toBe(200);
    const chatId = /"chatId":"([^"]+)"/.exec(text)?.[1];
    await read({ chatId, sessionSettings: asking.sessionSettings }, `Api-Key ${demo.apiKey}`);
    const authorization = await openSession(server, demo, call(11));
    await read({ input: 'orders by month' }, authorization);
    await postJson(server, `${chat}/abort`, { chatId }, authorization);
    const threads = chat.replace('stream-chat-state', 'threads');
    const listed = await fetch(`${server.url}${threads}?first=1`, { headers: { authorization } });
    const { endCursor } = z
      .object({ pageInfo: z.object({ endCursor: z.string() }) })
      .parse(await listed.json()).pageInfo;
    await fetch(`${server.url}${threads}?first=1&after=${endCursor}`, { headers: { authorization } });
    // As a reader does who follows a run of another node.
    const run = await server.context.db
      .selectFrom('runs')
      .select('id')
      .orderBy('id')
      .limit(1)
      .executeTakeFirstOrThrow();
    await readRunLogs(server.context.db, [{ runId: run.id, after: 0, isDue: true }]);
    const deleted = await fetch(`${server.url}${threads}/${chatId}`, { method: 'DELETE', headers: { authorization } });
    expect([listed.status, deleted.status]).toStrictEqual([200, 204]);
    await postJson(
      server,
      `/api/v1/deployments/${demo.deploymentId}/cubesql`,
      { query: 'SELECT MEASURE(orders_count) FROM sales' },
      authorization,
    );
    expect(await readScans()).toStrictEqual([]);
  });

  test('every list of the management API, by every sort, its first page and the next', async () => {
    const admin = adminApiOf(server, server.demo);
    const lists = operations.filter(({ method, query }) => method === 'GET' && 'first' in query.shape);
    expect(lists.length).toBeGreaterThanOrEqual(9);
    for (const { path, query } of lists) {
      const address = path.replace('/api/v1', '').replace(':embedTenantName', 'tenant-7');
      const sort = query.shape['sort'];
      const sorts = sort === undefined ? [''] : sortsOf(sort);
      for (const one of sorts) {
        const asked = `${address}?first=20${one === '' ? '' : `&sort=${encodeURIComponent(one)}`}`;
        const { status, body } = await admin('GET', asked);
        expect([asked, status]).toStrictEqual([asked, 200]);
        const cursor: unknown = body.pageInfo.endCursor;
        if (typeof cursor === 'string') await admin('GET', `${asked}&after=${encodeURIComponent(cursor)}`);
      }
    }
    expect(await readScans()).toStrictEqual([]);
  });

  test('filters that name one thing, single objects, and what is deleted', async () => {
    const admin = adminApiOf(server, server.demo);
    const idOf = async (list: string): Promise<number> => {
      const { status, body } = await admin('GET', list);
      expect([list, status, body.items.length > 0]).toStrictEqual([list, 200, true]);
      return body.items[0].id;
    };
    const user = await idOf('/external-users?externalId=user-12');
    await admin('GET', `/external-users?group=${encodeURIComponent('name 1')}`);
    await admin('GET', `/external-users?embedTenantName=tenant-7`);
    await admin('GET', `/external-users/${user}`);
    await admin('GET', `/sessions?userId=${user}`);
    await admin('GET', '/sessions?externalId=user-12');
    await admin('GET', '/sessions?embedTenantName=tenant-7');
    await admin('GET', '/audit-log?objectKind=group&objectId=7');
    await admin('GET', '/audit-log?actorKind=api-key&actorId=7');
    const internal = await idOf('/internal-users?search=internal-7');
    await admin('GET', `/internal-users/${internal}`);
    const group = await idOf('/groups?name=name%2050');
    const attribute = await idOf('/user-attributes?name=name%2050');
    const scoped = await idOf('/embed-tenants/tenant-8/groups');
    await admin('POST', '/sessions/revoke', { externalId: 'user-13' });
    await admin('PATCH', `/external-users/${user}`, { isActive: false });
    await admin('POST', `/external-users/${await idOf('/external-users?externalId=user-20')}/persist`);
    for (const path of [
      `/external-users/${user}`,
      `/internal-users/${internal}`,
      `/groups/${group}`,
      `/user-attributes/${attribute}`,
      `/embed-tenants/tenant-8/groups/${scoped}`,
      '/embed-tenants/tenant-9',
    ]) {
      expect([path, (await admin('DELETE', path)).status]).toStrictEqual([path, 204]);
    }
    expect(await readScans()).toStrictEqual([]);
  });

  test('the sweep', async () => {
    const { db } = server.context;
    await db.updateTable('accounts').set({ thread_retention_days: 7 }).where('id', '=', server.accountId).execute();
    // Nothing has ended: every statement is sent.
    const signal = new AbortController().signal;
    await sweep(db, new Date(), { auditRetentionDays: 500 }, { removed: () => undefined, signal });
    const now = new Date(Date.now() + 2 * 3_600_000);
    const stopped = new AbortController();
    await sweep(
      server.context.db,
      now,
      { auditRetentionDays: 5 },
      { removed: () => stopped.abort(), signal: stopped.signal },
    );
    expect(await readScans()).toStrictEqual([]);
  });

  test('every foreign key of a large table has an index that begins with it, so that deletions find what hangs on them', async () => {
    const { rows } = await sql<{ name: string }>`
      select conrelid::regclass || ' ' || conname as name from pg_constraint c
      where contype = 'f' and conrelid::regclass::text = any(${[...largeTables]})
        and not exists (
          select 1 from pg_index i
          where i.indrelid = c.conrelid and i.indisvalid
            and (i.indkey::int2[])[0:array_length(c.conkey, 1) - 1] = c.conkey)
      order by 1`.execute(server.context.db);
    // An account is deleted by hand at most, and all its rows with it.
    expect(rows.map(({ name }) => name).filter((name) => !name.endsWith('_account_id_fkey'))).toStrictEqual([]);
  });
});

/** The values that the query parameter `sort` takes. */
function sortsOf(schema: z.ZodType): readonly string[] {
  const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return z.array(z.string()).catch([]).parse(described.enum);
}
