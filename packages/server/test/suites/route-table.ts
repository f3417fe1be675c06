/**
 * What each route of the server needs to be called rightly. A route that is added has to be added here: the suites go through
 * the routes of the app and fail on one that this table does not have, and on one that it has too much.
 */
import { randomBytes } from 'node:crypto';
import { memberOf, type SuiteWorld } from './world.ts';

/** A right call of a route: for the account `demo`, on things of its own. */
export interface RightCall {
  /** Values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>;
  /** Of the URL, with its `?`; absent: none. */
  readonly search?: string;
  /** Absent: the route takes no body. */
  readonly body?: unknown;
  /** Besides the content type and the credential. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a route needs. */
export interface RouteNeeds {
  /** What an admin key gets for the right call. */
  readonly status: number;
  /**
   * Makes a right call: fresh things each time, since calls may change and delete them. `withToken`: for the holder of a token
   * of `demo`'s user `matrix`, instead of an API key.
   */
  call(world: SuiteWorld, withToken: boolean): Promise<RightCall>;
}

const fresh = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`;

/** A thing of `demo`, made by HTTP. @returns the member `id` of the reply. */
async function made(world: SuiteWorld, path: string, body: unknown): Promise<string> {
  const reply = await world.call('POST', path, body);
  if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.text}`);
  return String(memberOf(reply.json, 'id'));
}

const makers = {
  groups: (world: SuiteWorld) => made(world, '/api/v1/groups', { name: fresh('group') }),
  'user-attributes': (world: SuiteWorld) =>
    made(world, '/api/v1/user-attributes', { name: fresh('attribute'), type: 'string' }),
  'api-keys': (world: SuiteWorld) => made(world, '/api/v1/api-keys', { role: 'member', label: fresh('key') }),
  agents: (world: SuiteWorld) => made(world, '/api/v1/agents', { deploymentId: 1, name: fresh('agent') }),
  'internal-users': (world: SuiteWorld) => made(world, '/api/v1/internal-users', internalUser()),
  'external-users': async (world: SuiteWorld): Promise<string> => {
    const externalId = fresh('external');
    await world.mint({ externalId, isEphemeral: true });
    const row = await world.db
      .selectFrom('users')
      .select('id')
      .where('external_id', '=', externalId)
      .executeTakeFirstOrThrow();
    return String(row.id);
  },
  sessions: async (world: SuiteWorld): Promise<string> => {
    const externalId = fresh('external');
    await world.mint({ externalId });
    const row = await world.db
      .selectFrom('sessions as s')
      .innerJoin('users as u', 'u.id', 's.user_id')
      .select('s.id')
      .where('u.external_id', '=', externalId)
      .executeTakeFirstOrThrow();
    return row.id;
  },
  deployments: async ({ db, demo }: SuiteWorld): Promise<string> => {
    const { id } = await db
      .selectFrom('deployments')
      .select(({ fn }) => fn.max('id').as('id'))
      .executeTakeFirstOrThrow();
    const warehouse = JSON.stringify({ type: 'duckdb', folder: 'nowhere' });
    const row = {
      id: Number(id) + 1,
      account_id: demo.accountId,
      name: fresh('deployment'),
      model_folder: 'nowhere',
      warehouse,
    };
    await db.insertInto('deployments').values(row).execute();
    return String(row.id);
  },
} as const;

function internalUser() {
  const username = fresh('internal');
  return { username, email: `${username}@example.com` };
}

/** An embed tenant of `demo` with one group and one attribute, and their ids. */
async function embedTenant(world: SuiteWorld): Promise<{ name: string; groupId: string; attributeId: string }> {
  const name = fresh('tenant');
  const definition = { name: 'made', type: 'string' };
  const reply = await world.mint({
    externalId: 'matrix',
    creatorMode: true,
    embedTenantName: name,
    groupDefinitions: [definition],
    userAttributeDefinitions: [definition],
  });
  if (reply.status !== 200) throw new Error(`generate-session: ${reply.text}`);
  const { id } = await world.db
    .selectFrom('embed_tenants')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  const idIn = async (table: 'groups' | 'user_attributes') =>
    String(
      (await world.db.selectFrom(table).select('id').where('embed_tenant_id', '=', id).executeTakeFirstOrThrow()).id,
    );
  return { name, groupId: await idIn('groups'), attributeId: await idIn('user_attributes') };
}

/** A route without parameters. */
const plain = (status: number, body?: (world: SuiteWorld) => unknown): RouteNeeds => ({
  status,
  call: async (world) => ({ params: {}, ...(body === undefined ? {} : { body: await body(world) }) }),
});

/** A route whose `:id` is one of a kind. */
const withId = (kind: keyof typeof makers, status: number, body?: unknown): RouteNeeds => ({
  status,
  call: async (world) => ({ params: { id: await makers[kind](world) }, ...(body === undefined ? {} : { body }) }),
});

/** A route of an embed tenant. */
const ofTenant = (status: number, id?: 'groupId' | 'attributeId'): RouteNeeds => ({
  status,
  call: async (world) => {
    const tenant = await embedTenant(world);
    return { params: { embedTenantName: tenant.name, ...(id === undefined ? {} : { id: tenant[id] }) } };
  },
});

/** For whom an API key asks; a token says so itself. */
const asUser = (withToken: boolean) =>
  withToken ? {} : { sessionSettings: { externalId: 'matrix', isEphemeral: false } };
/** The same in the header. */
const asUserInHeader = { 'x-inlay-session-settings': Buffer.from('{"internalId":"analyst"}').toString('base64url') };
const agent = { accountName: 'demo', agentId: '1' };

const chat: RouteNeeds = {
  status: 200,
  call: async (_world, withToken) => ({ params: agent, body: asUser(withToken) }),
};
const abort: RouteNeeds = {
  status: 204,
  async call(world, withToken) {
    const started = await world.call(
      'POST',
      '/api/v1/public/demo/agents/1/chat/stream-chat-state',
      asUser(withToken),
      withToken ? await world.token({ externalId: 'matrix' }) : undefined,
    );
    const chatId = /"chatId":"([^"]+)"/.exec(started.text)?.[1];
    return { params: agent, body: { chatId, ...asUser(withToken) } };
  },
};
/** A region that this server is not. */
const elsewhere: RouteNeeds = {
  status: 404,
  call: async (_world, withToken) => ({
    params: { ...agent, cloudRegion: 'eu' },
    body: { chatId: 'x', ...asUser(withToken) },
  }),
};
/** For whom an API key asks on a route without a body. */
const namingUser = (withToken: boolean) =>
  withToken
    ? {}
    : {
        headers: {
          'x-inlay-session-settings': Buffer.from(JSON.stringify({ externalId: 'matrix' })).toString('base64url'),
        },
      };
const threads: RouteNeeds = {
  status: 200,
  call: async (_world, withToken) => ({ params: agent, ...namingUser(withToken) }),
};
const thread: RouteNeeds = {
  status: 204,
  async call(world, withToken) {
    const { body } = await abort.call(world, withToken);
    return { params: { ...agent, chatId: String(memberOf(body, 'chatId')) }, ...namingUser(withToken) };
  },
};
const threadElsewhere: RouteNeeds = {
  status: 404,
  call: async (_world, withToken) => ({
    params: { ...agent, cloudRegion: 'eu', chatId: 'x' },
    ...namingUser(withToken),
  }),
};

const chatRoutes = Object.fromEntries(
  (
    [
      ['stream-chat-state', chat],
      ['stream-chat-state/abort', abort],
      ['abort', abort],
    ] as const
  ).flatMap(([end, needs]) => [
    [`POST /api/v1/public/:accountName/agents/:agentId/chat/${end}`, needs],
    [`POST /:cloudRegion/api/v1/public/:accountName/agents/:agentId/chat/${end}`, elsewhere],
  ]),
);

/** Every route, as `METHOD /path`. */
export const routeTable: Readonly<Record<string, RouteNeeds>> = {
  'GET /livez': plain(200),
  'GET /readyz': plain(200),
  'GET /api/openapi.json': plain(200),

  'POST /api/v1/embed/generate-session': plain(200, () => ({ deploymentId: 1, externalId: 'matrix' })),
  'POST /api/v1/embed/session/token': plain(200, async (world) => ({
    sessionId: memberOf((await world.mint({ externalId: 'matrix' })).json, 'sessionId'),
  })),
  'POST /api/v1/embed/session/revoke': plain(204, async (world) => ({
    sessionId: memberOf((await world.mint({ externalId: 'matrix' })).json, 'sessionId'),
  })),
  ...chatRoutes,
  'GET /api/v1/public/:accountName/agents/:agentId/chat/threads': threads,
  'GET /:cloudRegion/api/v1/public/:accountName/agents/:agentId/chat/threads': threadElsewhere,
  'DELETE /api/v1/public/:accountName/agents/:agentId/chat/threads/:chatId': thread,
  'DELETE /:cloudRegion/api/v1/public/:accountName/agents/:agentId/chat/threads/:chatId': threadElsewhere,
  'POST /api/v1/deployments/:deploymentId/cubesql': {
    status: 200,
    call: async (_world, withToken) => ({
      params: { deploymentId: '1' },
      body: {
        query: 'SELECT MEASURE(revenue) AS revenue FROM sales',
        ...(withToken ? {} : { sessionSettings: { internalId: 'analyst' } }),
      },
    }),
  },
  ...Object.fromEntries(
    ['meta', 'load', 'sql'].flatMap((end) => {
      const path = `/api/v1/deployments/:deploymentId/${end}`;
      const query = { measures: ['sales.revenue'] };
      const settings = { sessionSettings: { internalId: 'analyst' } };
      const body = { ...(end === 'meta' ? {} : { query }) };
      const search = end === 'meta' ? '' : `?query=${encodeURIComponent(JSON.stringify(query))}`;
      const params = { deploymentId: '1' };
      return [
        [
          `POST ${path}`,
          {
            status: 200,
            call: async (_world: SuiteWorld, withToken: boolean) => ({
              params,
              body: { ...body, ...(withToken ? {} : settings) },
            }),
          },
        ],
        [`GET ${path}`, { status: 200, call: async () => ({ params, search, headers: asUserInHeader }) }],
      ] as const;
    }),
  ),
  'POST /api/v1/deployments/:deploymentId/mcp': {
    status: 200,
    call: async () => ({
      params: { deploymentId: '1' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      headers: asUserInHeader,
    }),
  },
  ...Object.fromEntries(
    ['GET', 'DELETE'].map((method) => [
      `${method} /api/v1/deployments/:deploymentId/mcp`,
      { status: 405, call: async () => ({ params: { deploymentId: '1' } }) },
    ]),
  ),

  'GET /api/v1/account': plain(200),
  'PATCH /api/v1/account': plain(200, () => ({ useCreatorMode: true })),
  'GET /api/v1/api-keys': plain(200),
  'POST /api/v1/api-keys': plain(201, () => ({ role: 'member', label: fresh('key') })),
  'GET /api/v1/api-keys/:id': withId('api-keys', 200),
  'PATCH /api/v1/api-keys/:id': withId('api-keys', 200, { label: null }),
  'POST /api/v1/api-keys/:id/rotate': withId('api-keys', 200, { overlapSeconds: 60 }),
  'DELETE /api/v1/api-keys/:id': withId('api-keys', 204),
  'GET /api/v1/deployments': plain(200),
  'GET /api/v1/deployments/:id': withId('deployments', 200),
  'PATCH /api/v1/deployments/:id': withId('deployments', 200, { name: 'renamed' }),
  'DELETE /api/v1/deployments/:id': withId('deployments', 204),
  'GET /api/v1/agents': plain(200),
  'POST /api/v1/agents': plain(201, () => ({ deploymentId: 1, name: fresh('agent') })),
  'GET /api/v1/agents/:id': withId('agents', 200),
  'PATCH /api/v1/agents/:id': withId('agents', 200, { name: 'renamed' }),
  'DELETE /api/v1/agents/:id': withId('agents', 204),
  'GET /api/v1/groups': plain(200),
  'POST /api/v1/groups': plain(201, () => ({ name: fresh('group') })),
  'GET /api/v1/groups/:id': withId('groups', 200),
  'PATCH /api/v1/groups/:id': withId('groups', 200, { description: 'changed' }),
  'DELETE /api/v1/groups/:id': withId('groups', 204),
  'GET /api/v1/user-attributes': plain(200),
  'POST /api/v1/user-attributes': plain(201, () => ({ name: fresh('attribute'), type: 'number' })),
  'GET /api/v1/user-attributes/:id': withId('user-attributes', 200),
  'PATCH /api/v1/user-attributes/:id': withId('user-attributes', 200, { description: 'changed' }),
  'DELETE /api/v1/user-attributes/:id': withId('user-attributes', 204),
  'GET /api/v1/internal-users': plain(200),
  'POST /api/v1/internal-users': plain(201, internalUser),
  'GET /api/v1/internal-users/:id': withId('internal-users', 200),
  'PATCH /api/v1/internal-users/:id': withId('internal-users', 200, { isActive: false }),
  'DELETE /api/v1/internal-users/:id': withId('internal-users', 204),
  'GET /api/v1/external-users': plain(200),
  'GET /api/v1/external-users/:id': withId('external-users', 200),
  'PATCH /api/v1/external-users/:id': withId('external-users', 200, { isActive: false }),
  'POST /api/v1/external-users/:id/persist': withId('external-users', 200),
  'DELETE /api/v1/external-users/:id': withId('external-users', 204),
  'GET /api/v1/embed-tenants': plain(200),
  'GET /api/v1/embed-tenants/:embedTenantName': ofTenant(200),
  'DELETE /api/v1/embed-tenants/:embedTenantName': ofTenant(204),
  'GET /api/v1/embed-tenants/:embedTenantName/groups': ofTenant(200),
  'DELETE /api/v1/embed-tenants/:embedTenantName/groups/:id': ofTenant(204, 'groupId'),
  'GET /api/v1/embed-tenants/:embedTenantName/user-attributes': ofTenant(200),
  'DELETE /api/v1/embed-tenants/:embedTenantName/user-attributes/:id': ofTenant(204, 'attributeId'),
  'GET /api/v1/sessions': plain(200),
  'GET /api/v1/sessions/:id': withId('sessions', 200),
  'DELETE /api/v1/sessions/:id': withId('sessions', 204),
  'POST /api/v1/sessions/revoke': plain(200, async (world) => {
    const externalId = fresh('external');
    await world.mint({ externalId });
    return { externalId };
  }),
  'GET /api/v1/audit-log': plain(200),
};
