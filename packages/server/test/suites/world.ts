/**
 * The world of the suites: a real server with two accounts that own things of the same names, seen from outside by HTTP, and
 * from inside only to seed what no call can make and to look at what a call has left.
 */
import { type Kysely, sql } from 'kysely';
import type { AccountLimits, Schema } from '../../src/store/schema.ts';
import { hashSecret, newSecret } from '../../src/store/secret.ts';
import type { DatabaseKind } from '../databases.ts';
import { openTestServer, type TestAccount, type TestServer, type TestServerOptions } from '../test-server.ts';
import { callHttp, type HttpReply, jsonCall } from './http-check.ts';

export const generateSessionPath = '/api/v1/embed/generate-session';
export const sessionTokenPath = '/api/v1/embed/session/token';

/** Tenant-wide attributes of both accounts, one of each type, beside those of the storefront. */
export const suiteAttributes = {
  a_string: 'string',
  a_number: 'number',
  a_boolean: 'boolean',
  a_string_array: 'string_array',
  a_number_array: 'number_array',
} as const;

/** Tenant-wide groups of both accounts, beside those of the storefront. */
export const suiteGroups = ['g-one', 'g-two', 'g-three'] as const;

/** What is seeded is named so in account `demo` only, so that a reply to another account can be searched for it. */
export const demoOnlyMark = 'only-of-demo';

/** The world of a suite. */
export interface SuiteWorld {
  readonly server: TestServer;
  readonly db: Kysely<Schema>;
  readonly demo: TestAccount;
  readonly other: TestAccount;
  /** Every secret that the world or a suite has issued, to be searched for. */
  readonly secrets: Set<string>;
  /** The instant that the server goes by; suites move it. */
  now(): Date;
  setNow(instant: Date): void;
  /** Calls with an admin key of `demo`, or with another value of the header; null: without one. */
  call(method: string, path: string, body?: unknown, authorization?: string | null): Promise<HttpReply>;
  /** generate-session on deployment 1 as `demo`, or as the account given. */
  mint(body: Record<string, unknown>, account?: TestAccount): Promise<HttpReply>;
  /** Mints and exchanges. @returns the value of an Authorization header. @throws Error when either is refused. */
  token(body: Record<string, unknown>, account?: TestAccount): Promise<string>;
  close(): Promise<void>;
}

/** Opens the world on a fresh store. `startsAt` is the server's clock, which stands still unless moved; left out: real time. */
export async function openSuiteWorld(
  kind: DatabaseKind,
  options: TestServerOptions & { readonly startsAt?: Date } = {},
): Promise<SuiteWorld> {
  const { startsAt, ...rest } = options;
  let fixed = startsAt;
  const now = (): Date => new Date(fixed ?? Date.now());
  const server = await openTestServer({ kind, clock: now, ...rest });
  const { db } = server.context;
  for (const account of [server.demo, server.other]) await seed(db, account);
  await db
    .insertInto('groups')
    .values({ account_id: server.demo.accountId, name: demoOnlyMark, description: demoOnlyMark })
    .execute();

  const { demo, other } = server;
  const secrets = new Set<string>([demo.apiKey, other.apiKey, server.signingSecret]);
  const world: SuiteWorld = {
    server,
    db,
    demo,
    other,
    secrets,
    now,
    setNow: (instant) => {
      fixed = instant;
    },
    call: (method, path, body, authorization = `Api-Key ${demo.apiKey}`) =>
      callHttp(server.url, jsonCall(method, path, authorization ?? undefined, body)),
    async mint(body, account = demo) {
      const full = { deploymentId: account.deploymentId, ...body };
      const reply = await callHttp(
        server.url,
        jsonCall('POST', generateSessionPath, `Api-Key ${account.apiKey}`, full),
      );
      const sessionId = memberOf(reply.json, 'sessionId');
      if (typeof sessionId === 'string') secrets.add(sessionId);
      return reply;
    },
    async token(body, account = demo) {
      const minted = await world.mint(body, account);
      const sessionId = memberOf(minted.json, 'sessionId');
      const reply = await callHttp(server.url, jsonCall('POST', sessionTokenPath, undefined, { sessionId }));
      const token = memberOf(reply.json, 'token');
      if (typeof token !== 'string') throw new Error(`no token: ${minted.text} ${reply.text}`);
      secrets.add(token);
      return `Bearer ${token}`;
    },
    close: () => server.close(),
  };
  return world;
}

/** A member of a parsed JSON object; undefined when it is none, or has none of that name. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(name);
}

async function seed(db: Kysely<Schema>, { accountId }: TestAccount): Promise<void> {
  await db
    .insertInto('user_attributes')
    .values(Object.entries(suiteAttributes).map(([name, type]) => ({ account_id: accountId, name, type })))
    .execute();
  await db
    .insertInto('groups')
    .values(suiteGroups.map((name) => ({ account_id: accountId, name, description: null })))
    .execute();
  await db
    .insertInto('users')
    .values({ account_id: accountId, kind: 'internal', username: 'retired', is_active: false })
    .execute();
}

/** Makes an API key as the management API would, with what only the store can say. @returns the value of the header. */
export async function makeKey(
  { db, secrets, demo }: Pick<SuiteWorld, 'db' | 'secrets' | 'demo'>,
  key: {
    readonly account?: TestAccount;
    readonly role?: 'admin' | 'member';
    readonly deploymentIds?: readonly number[];
    readonly expiresAt?: Date;
    readonly revokedAt?: Date;
  } = {},
): Promise<string> {
  const text = newSecret('sk-');
  secrets.add(text);
  await db
    .insertInto('api_keys')
    .values({
      account_id: (key.account ?? demo).accountId,
      role: key.role ?? 'admin',
      prefix: text.slice(0, 9),
      hash: hashSecret(text),
      deployment_ids: key.deploymentIds === undefined ? null : JSON.stringify(key.deploymentIds),
      expires_at: key.expiresAt ?? null,
      revoked_at: key.revokedAt ?? null,
    })
    .execute();
  return `Api-Key ${text}`;
}

/** What the store holds of a user. */
export interface StoredUser {
  readonly email: string | null;
  readonly displayName: string | null;
  readonly picture: string | null;
  readonly isEphemeral: boolean;
  /** By the name of the embed tenant, `` for tenant-wide: sorted names of groups. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** By the same: values by attribute, an explicit null too. */
  readonly values: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The external user of that id as the store holds them; null when there is none. Two of them are an error. */
export async function storedUser(
  db: Kysely<Schema>,
  { accountId }: Pick<TestAccount, 'accountId'>,
  externalId: string,
): Promise<StoredUser | null> {
  const users = await db
    .selectFrom('users')
    .select(['id', 'email', 'display_name', 'picture', 'expires_at'])
    .where('account_id', '=', accountId)
    .where('external_id', '=', externalId)
    .execute();
  if (users.length > 1) throw new Error(`${users.length} users ${externalId}`);
  const [user] = users;
  if (user === undefined) return null;
  const memberships = await sql<{ scope: string; name: string }>`
    select coalesce(t.name, '') as scope, g.name from user_groups m join groups g on g.id = m.group_id
    left join embed_tenants t on t.id = g.embed_tenant_id where m.user_id = ${user.id} order by g.name`.execute(db);
  const values = await sql<{ scope: string; name: string; value: unknown }>`
    select coalesce(t.name, '') as scope, a.name, v.value from user_attribute_values v
    join user_attributes a on a.id = v.attribute_id
    left join embed_tenants t on t.id = a.embed_tenant_id where v.user_id = ${user.id} order by a.name`.execute(db);
  const groupsByScope: Record<string, string[]> = {};
  for (const { scope, name } of memberships.rows) groupsByScope[scope] = [...(groupsByScope[scope] ?? []), name];
  const valuesByScope: Record<string, Record<string, unknown>> = {};
  for (const { scope, name, value } of values.rows) valuesByScope[scope] = { ...valuesByScope[scope], [name]: value };
  return {
    email: user.email,
    displayName: user.display_name,
    picture: user.picture,
    isEphemeral: user.expires_at !== null,
    groups: groupsByScope,
    values: valuesByScope,
  };
}

/** Names of tables whose rows change by themselves: a node says every second that it is there. */
const livingTables: readonly string[] = ['nodes'];

/** The same, and the log of refusals: what a call that fails may write to. */
export const tablesOfRefusals: readonly string[] = [...livingTables, 'audit_log'];

/**
 * Every row of every table that the store has, as text in a fixed order: equal when nothing has changed. The tables are asked
 * of the database, so that one which is added is looked at as well.
 */
export async function dumpStore(db: Kysely<Schema>, except: readonly string[] = livingTables): Promise<string> {
  const tables = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`.execute(db);
  // One statement for all: it is asked before and after every call that is to change nothing.
  const each = tables.rows
    .filter(({ name }) => !except.includes(name))
    .map(({ name }) => sql`select ${sql.lit(name)} as name, t::text as line from ${sql.table(name)} t`);
  const { rows } = await sql<{ name: string; line: string }>`${sql.join(each, sql` union all `)}`.execute(db);
  return rows
    .map(({ name, line }) => `${name} ${line}`)
    .toSorted()
    .join('\n');
}

/** The least id of deployments and agents that suites make; the test server's own are below. */
const firstOwnId = 50;

/**
 * Makes one more account with a deployment of its own and an admin key, which no call has used yet.
 * @param account.limits what differs from the limits of the process.
 */
export async function makeAccount(
  { db, secrets }: Pick<SuiteWorld, 'db' | 'secrets'>,
  account: {
    readonly name: string;
    readonly plan?: string;
    readonly useCreatorMode?: boolean;
    readonly limits?: AccountLimits;
    readonly allowedOrigins?: readonly string[];
  },
): Promise<TestAccount> {
  const { id: accountId } = await db
    .insertInto('accounts')
    .values({
      name: account.name,
      plan: account.plan ?? 'enterprise',
      use_creator_mode: account.useCreatorMode ?? true,
      limits: JSON.stringify(account.limits ?? {}),
      allowed_origins: JSON.stringify(account.allowedOrigins ?? []),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const id = firstOwnId + accountId;
  const warehouse = JSON.stringify({ type: 'duckdb', folder: 'nowhere' });
  const own = { id, account_id: accountId, name: account.name };
  await db
    .insertInto('deployments')
    .values({ ...own, model_folder: 'nowhere', warehouse })
    .execute();
  await db
    .insertInto('agents')
    .values({ ...own, deployment_id: id })
    .execute();
  const made = { accountId, deploymentId: id, agentId: id, apiKey: '' };
  const header = await makeKey({ db, secrets, demo: made });
  return { ...made, apiKey: header.slice('Api-Key '.length) };
}
