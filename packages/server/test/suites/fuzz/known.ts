/** What exists on the server that is fuzzed, so that most generated calls get past the validation. */
import { randomUUID } from 'node:crypto';
import { callHttp, type HttpReply, jsonCall } from '../http-check.ts';
import { suiteKey } from '../server-process.ts';
import { memberOf } from '../world.ts';

/** The header of a run's own key. */
export const runKey = `Api-Key ${suiteKey}`;

const rights = { groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
const definitions = {
  groupDefinitions: [{ name: 'merchant', description: 'd' }],
  userAttributeDefinitions: [
    { name: 'merchant_id', type: 'number' },
    { name: 'regions', type: 'string_array', defaultValue: '["a"]' },
  ],
};
const externalIds = Array.from({ length: 40 }, (_, index) => `fuzz-${index}`);

/** Stands for a thread of the token's user, whose id is known only when the server runs; as long as one. */
const threadPlace = '00000000-0000-4000-8000-746872656164';

/** Values for a property, by its name. */
export const knownValues: Readonly<Record<string, readonly unknown[]>> = {
  deploymentId: [1, 1, 1, 1, 4711],
  externalId: externalIds,
  internalId: ['analyst', 'support@example.com'],
  embedTenantName: ['fuzz-tenant', 'fuzz-other'],
  groups: [['merchant'], ['platform_team', 'merchant'], []],
  userAttributes: [rights.userAttributes, [{ name: 'regions', value: ['Nordics'] }], []],
  groupDefinitions: [definitions.groupDefinitions],
  userAttributeDefinitions: [definitions.userAttributeDefinitions],
  sessionSettings: [{ internalId: 'analyst' }, { externalId: 'fuzz-1', ...rights }],
  input: ['revenue by month', 'How many orders?', 'hello'],
  query: ['SELECT MEASURE(revenue) AS revenue FROM sales', 'SELECT channel, MEASURE(revenue) FROM sales GROUP BY 1'],
  chatId: [threadPlace],
  timezone: ['UTC'],
  branch: ['main'],
  activeBranchName: ['main'],
  plan: ['enterprise', 'premium'],
  // A rate that is set to a few would stop the run itself.
  keyRequestsPerMinuteMax: [null, 10_000_000],
  userRequestsPerMinuteMax: [null, 10_000_000],
};

/** Whole bodies that are right, for operations whose fields forbid each other, by operation. */
export const rightBodies: Readonly<Record<string, readonly unknown[]>> = {
  generateSession: externalIds.flatMap((externalId) => [
    { deploymentId: 1, externalId, ...rights },
    {
      deploymentId: 1,
      externalId,
      userProfile: { displayName: 'F', picture: 'https://example.com/f.png' },
      securityContext: { a: 1 },
    },
    { deploymentId: 1, externalId, creatorMode: true, embedTenantName: 'fuzz-tenant', ...definitions, ...rights },
    {
      deploymentId: 1,
      externalId,
      creatorMode: true,
      email: 'f@example.com',
      settings: { theme: 'dark', allowAi: true },
    },
    { deploymentId: 1, internalId: 'analyst', embedTenantName: 'fuzz-tenant' },
    { deploymentId: 1, externalId: `${externalId}-passing`, isEphemeral: true, ephemeralTtlSeconds: 600 },
  ]),
  compile: [{ sessionSettings: { internalId: 'analyst' }, query: 'SELECT MEASURE(revenue) FROM sales' }],
  load: [
    {
      sessionSettings: { internalId: 'analyst' },
      query: { measures: ['sales.revenue'], dimensions: ['sales.channel'] },
    },
    { sessionSettings: { externalId: 'fuzz-1', ...rights }, query: { measures: ['sales.orders_count'], total: true } },
    { query: [{ measures: ['sales.revenue'] }, { dimensions: ['sales.channel'], limit: 3 }] },
  ],
  streamChat: [
    { sessionSettings: { internalId: 'analyst' } },
    { sessionSettings: { externalId: 'fuzz-1', ...rights }, input: 'revenue by month' },
    { sessionSettings: { externalId: 'fuzz-2', isEphemeral: false }, input: 'hello', activeBranchName: 'main' },
    {},
  ],
  cubeSql: [
    { sessionSettings: { internalId: 'analyst' }, query: 'SELECT channel, MEASURE(revenue) FROM sales GROUP BY 1' },
    {
      sessionSettings: { externalId: 'fuzz-1', ...rights },
      query: 'SELECT MEASURE(revenue) FROM sales',
      timezone: 'UTC',
    },
    { query: 'SELECT MEASURE(revenue) AS revenue FROM sales' },
  ],
  abortChat: [{ chatId: threadPlace }, { chatId: threadPlace, sessionSettings: { internalId: 'analyst' } }],
  revokeSessions: [{ externalId: 'fuzz-3' }, { embedTenantName: 'fuzz-other' }, { userId: 3 }],
  createInternalUser: externalIds.map((username) => ({ username, email: `${username}@example.com`, ...rights })),
  updateInternalUser: [{ isActive: true, ...rights }, { email: 'changed@example.com' }],
  updateExternalUser: [{ isActive: true }, {}],
};

/** What the account is set back to between batches: requests change it. */
const account = {
  name: 'demo',
  plan: 'enterprise',
  useCreatorMode: true,
  allowedOrigins: [],
  frameAncestors: [],
  limits: {
    externalUsersMax: null,
    ephemeralUsersMax: null,
    keyRequestsPerMinuteMax: null,
    userRequestsPerMinuteMax: null,
  },
};

/** What the requests of a batch need of the server. */
export interface BatchWorld {
  /** A header with a token. */
  readonly token: string;
  /** A thread of the token's user. */
  readonly chatId: string;
  /** Ids by the last part of a list's path: `groups`. Never empty where the list is not. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
}

const lists = ['groups', 'user-attributes', 'agents', 'internal-users', 'external-users', 'api-keys', 'deployments'];

/** Sets the account back, and looks what there is. @throws Error when the server does not do what it is for. */
export async function prepareBatch(url: string): Promise<BatchWorld> {
  const right = async (call: ReturnType<typeof jsonCall>, may?: number): Promise<HttpReply> => {
    const reply = await callHttp(url, call);
    if (reply.status >= 300 && reply.status !== may)
      throw new Error(`${call.method} ${call.path}: ${reply.status} ${reply.text}`);
    return reply;
  };
  await right(jsonCall('PATCH', '/api/v1/account', runKey, account));
  await right(jsonCall('POST', '/api/v1/groups', runKey, { name: 'merchant' }), 409);
  await right(jsonCall('POST', '/api/v1/groups', runKey, { name: 'platform_team' }), 409);
  await right(jsonCall('POST', '/api/v1/user-attributes', runKey, { name: 'merchant_id', type: 'number' }), 409);
  const analyst = await right(jsonCall('GET', '/api/v1/internal-users?username=analyst', runKey));
  const id = /"id":(\d+)/.exec(analyst.text)?.[1];
  if (id !== undefined) await right(jsonCall('PATCH', `/api/v1/internal-users/${id}`, runKey, { isActive: true }));
  // Not one that requests name: it may have been switched off.
  const body = { deploymentId: 1, externalId: `token-${randomUUID()}`, ...rights };
  const minted = await right(jsonCall('POST', '/api/v1/embed/generate-session', runKey, body));
  const exchanged = await right(jsonCall('POST', '/api/v1/embed/session/token', undefined, minted.json));
  const token = `Bearer ${String(memberOf(exchanged.json, 'token'))}`;
  const started = await right(jsonCall('POST', '/api/v1/public/demo/agents/1/chat/stream-chat-state', token, {}));
  const chatId = /"chatId":"([^"]+)"/.exec(started.text)?.[1];
  if (chatId?.length !== threadPlace.length) throw new Error(`no thread: ${started.text}`);
  const ids = new Map<string, readonly string[]>();
  for (const list of lists) {
    const page = await right(jsonCall('GET', `/api/v1/${list}?first=50`, runKey));
    const items = memberOf(page.json, 'items');
    // The run's own key is the first one, and is left alone.
    const found = Array.isArray(items) ? items.map((item) => String(memberOf(item, 'id'))) : [];
    ids.set(list, list === 'api-keys' ? found.filter((id) => id !== '1') : found);
  }
  return { token, chatId, ids };
}

/** A path in which `~7` stands for the id of something that exists in the list before it, now. */
export function resolvePath(path: string, { ids }: BatchWorld): string {
  return path.replace(/([\w-]+)\/~(\d+)/, (_, list: string, index: string) => {
    const all = ids.get(list) ?? [];
    return `${list}/${all[Number(index) % all.length] ?? '4711'}`;
  });
}

/** A body that means the thread of this batch where it names one. */
export function resolveBody(body: Uint8Array<ArrayBuffer>, { chatId }: BatchWorld): Uint8Array<ArrayBuffer> {
  const at = Buffer.from(body.buffer).indexOf(threadPlace);
  if (at < 0) return body;
  const resolved = new Uint8Array(body);
  resolved.set(new TextEncoder().encode(chatId), at);
  return resolved;
}
