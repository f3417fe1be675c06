/** Calls of the management API for tests. */
import type { TestServer } from './test-server.ts';

/** A reply: its JSON, or null without a body. */
export interface ManageReply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says; tests look at it.
  readonly body: any;
}

/** A way to call the server with one key. */
export type ManageClient = (method: string, path: string, body?: unknown) => Promise<ManageReply>;

/** @param path below `/api/v1/`. A body that is a string is sent as it is. */
export function manageClient({ url }: Pick<TestServer, 'url'>, apiKey: string): ManageClient {
  return async (method, path, body) => {
    const reply = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, body: text === '' ? null : JSON.parse(text) };
  };
}

/** All items of a list, by pages of `first`. */
export async function allPages(call: ManageClient, path: string, first = 2): Promise<ManageReply['body'][]> {
  const items: ManageReply['body'][] = [];
  let after = '';
  while (true) {
    const { status, body } = await call('GET', `${path}${path.includes('?') ? '&' : '?'}first=${first}${after}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    items.push(...body.items);
    if (!body.pageInfo.hasNextPage) return items;
    after = `&after=${encodeURIComponent(body.pageInfo.endCursor)}`;
  }
}
