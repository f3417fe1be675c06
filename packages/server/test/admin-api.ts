/** The management API in tests: calls of one account's admin key, and its audit log. */
import type { Kysely } from 'kysely';
import type { Schema } from '../src/store/schema.ts';
import { postJson, type TestAccount, type TestServer } from './test-server.ts';

/** Calls the management API with the admin key of `account`. `body` of the reply is whatever JSON came; nothing with a 204. */
export function adminApiOf(server: Pick<TestServer, 'url'>, { apiKey }: Pick<TestAccount, 'apiKey'>) {
  return async (method: string, path: string, body?: unknown) => {
    const reply = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Api-Key ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) };
  };
}

/** See {@link adminApiOf}. */
export type AdminApi = ReturnType<typeof adminApiOf>;

/** Mints a session; fails unless that works. @returns the sessionId */
export async function mint(server: TestServer, account: TestAccount, call: Record<string, unknown>): Promise<string> {
  const { status, body } = await postJson(
    server,
    '/api/v1/embed/generate-session',
    { deploymentId: account.deploymentId, ...call },
    `Api-Key ${account.apiKey}`,
  );
  if (status !== 200) throw new Error(`generate-session: ${status} ${JSON.stringify(body)}`);
  return String(body['sessionId']);
}

/** Asks for data with the token of a session. @returns 200, or the code of the error. */
export async function askData(
  server: Pick<TestServer, 'url'>,
  authorization: string,
  { deploymentId = 1, query = 'SELECT MEASURE(orders_count) FROM sales' } = {},
): Promise<unknown> {
  const reply = await fetch(`${server.url}/api/v1/deployments/${deploymentId}/cubesql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ query }),
  });
  const text = await reply.text();
  return reply.status === 200 ? 200 : JSON.parse(text).code;
}

/** What the audit log holds of one kind of action in the account, the oldest first: action, name of the object, result. */
export async function auditOf(
  db: Kysely<Schema>,
  accountId: number,
  kind: string,
): Promise<readonly (readonly [action: string, name: string | null, result: string])[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select(['action', 'object_name', 'result'])
    .where('account_id', '=', accountId)
    .where('actor_kind', '=', 'api-key')
    .where('action', 'like', `${kind}.%`)
    .orderBy('id')
    .execute();
  return rows.map(({ action, object_name, result }) => [action, object_name, result]);
}

/** Every row of a list, page by page of `first` rows. */
export async function allOf(api: AdminApi, path: string, first = 500): Promise<readonly Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let after: string | null = null;
  do {
    const query: string = `${path.includes('?') ? '&' : '?'}first=${first}${after === null ? '' : `&after=${after}`}`;
    const { status, body } = await api('GET', path + query);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    items.push(...body.items);
    after = body.pageInfo.hasNextPage ? body.pageInfo.endCursor : null;
  } while (after !== null);
  return items;
}
