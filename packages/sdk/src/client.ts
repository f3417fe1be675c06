/** The client of Inlay: one function per endpoint, typed, thin. Runs in browsers and in Node. */
import {
  type ChatRequest,
  type Frame,
  type SessionSettings,
  type ThreadPage,
  threadPageSchema,
} from '@inlay/contract/chat.ts';
import { type CubeSqlLine, cubeSqlLineSchema } from '@inlay/contract/data.ts';
import {
  type GenerateSessionRequest,
  generateSessionReplySchema,
  sessionTokenReplySchema,
} from '@inlay/contract/embed.ts';
import { errorBodySchema } from '@inlay/contract/error.ts';
import { readFrames } from './chat-stream.ts';
import { InlayClientError } from './errors.ts';
import { readLines } from './ndjson.ts';

/** Who calls: an API key stays on a server, an embed token may live in a browser. */
export type Credential =
  | { readonly kind: 'api-key'; readonly apiKey: string }
  | { readonly kind: 'embed-token'; readonly token: string }
  | { readonly kind: 'none' };

/** What a client is made of. */
export interface ClientOptions {
  /** The address of the server, with or without a trailing slash. */
  readonly baseUrl: string;
  readonly credential: Credential;
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** The agent that a chat is with, as in its Chat API URL. */
export interface AgentAddress {
  readonly accountName: string;
  readonly agentId: number | string;
}

/** With an API key `sessionSettings` say for whom; with an embed token they are not needed. */
export type ForUser<T> = Omit<T, 'sessionSettings'> & { readonly sessionSettings?: SessionSettings };

/** What may be said about one call. */
export interface CallOptions {
  /** Ends the call. A chat's run goes on; stop it with `abort`. */
  readonly signal?: AbortSignal;
}

/** All methods throw InlayClientError, and what `fetch` throws when the server is not reached. */
export interface Client {
  /** Mints a session for a user; its id goes into the embed URL. API key only. */
  generateSession(request: GenerateSessionRequest, options?: CallOptions): Promise<{ sessionId: string }>;
  /** Exchanges a session, once, for the embed token of its user. Needs no credential. */
  exchangeSession(sessionId: string, options?: CallOptions): Promise<{ token: string; expiresAt: string }>;
  /**
   * Sends a message, or reads the thread when `input` is absent; resolves when the reply begins. The frames end where the connection
   * does: `followThread` comes back by itself.
   */
  chat(agent: AgentAddress, request: ForUser<ChatRequest>, options?: CallOptions): Promise<AsyncGenerator<Frame>>;
  /** Stops what the thread's agent does. */
  abort(agent: AgentAddress, request: ForUser<{ chatId: string }>, options?: CallOptions): Promise<void>;
  /** The threads of the user with the agent, those written in last first, page by page. */
  threads(
    agent: AgentAddress,
    request?: ForUser<{ first?: number; after?: string | undefined }>,
    options?: CallOptions,
  ): Promise<ThreadPage>;
  /** Deletes a thread; what the agent does in it is stopped first. */
  deleteThread(agent: AgentAddress, request: ForUser<{ chatId: string }>, options?: CallOptions): Promise<void>;
  /** Runs semantic SQL: first the schema, then chunks of rows, as they come. A failure on the way is thrown. */
  cubeSql(
    deploymentId: number,
    request: ForUser<{ query: string }>,
    options?: CallOptions,
  ): Promise<AsyncGenerator<Exclude<CubeSqlLine, { error: string }>>>;
}

/** Makes a client; it holds no state but its options. */
export function createClient({ baseUrl, credential, fetch: send = fetch }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '');
  const authorization = authorizationOf(credential);

  async function call(
    path: string,
    request: Pick<RequestInit, 'method' | 'body'> & { readonly headers: Record<string, string> },
    { signal }: CallOptions = {},
  ): Promise<Response> {
    const reply = await send(`${base}${path}`, { ...request, ...(signal === undefined ? {} : { signal }) });
    if (!reply.ok) throw await toError(reply);
    return reply;
  }

  const post = (path: string, body: object, options?: CallOptions, headers = authorization): Promise<Response> =>
    call(
      path,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) },
      options,
    );

  /** A call without a body, which says in a header for whom it is. */
  const bare = (
    method: 'GET' | 'DELETE',
    path: string,
    sessionSettings: SessionSettings | undefined,
    options?: CallOptions,
  ): Promise<Response> =>
    call(path, { method, headers: { ...authorization, ...settingsHeader(sessionSettings) } }, options);

  return {
    async generateSession(request, options) {
      return parseReply(generateSessionReplySchema, await post('/api/v1/embed/generate-session', request, options));
    },
    async exchangeSession(sessionId, options) {
      // A credential beside the session would ask for something else: the next token of the credential's own session.
      return parseReply(sessionTokenReplySchema, await post('/api/v1/embed/session/token', { sessionId }, options, {}));
    },
    async chat(agent, request, options) {
      return readFrames(bodyOf(await post(`${chatPath(agent)}/stream-chat-state`, request, options)));
    },
    async abort(agent, request, options) {
      await post(`${chatPath(agent)}/stream-chat-state/abort`, request, options);
    },
    async threads(agent, { first, after, sessionSettings } = {}, options) {
      const query = new URLSearchParams();
      if (first !== undefined) query.set('first', String(first));
      if (after !== undefined) query.set('after', after);
      const path = `${chatPath(agent)}/threads${query.size === 0 ? '' : `?${query}`}`;
      return parseReply(threadPageSchema, await bare('GET', path, sessionSettings, options));
    },
    async deleteThread(agent, { chatId, sessionSettings }, options) {
      await bare('DELETE', `${chatPath(agent)}/threads/${encodeURIComponent(chatId)}`, sessionSettings, options);
    },
    async cubeSql(deploymentId, request, options) {
      return readRows(await post(`/api/v1/deployments/${deploymentId}/cubesql`, request, options));
    },
  };
}

function authorizationOf(credential: Credential): Record<string, string> {
  switch (credential.kind) {
    case 'api-key':
      return { authorization: `Api-Key ${credential.apiKey}` };
    case 'embed-token':
      return { authorization: `Bearer ${credential.token}` };
    case 'none':
      return {};
  }
}

/** Base64url of JSON in UTF-8. */
function settingsHeader(settings: SessionSettings | undefined): Record<string, string> {
  if (settings === undefined) return {};
  const bytes = new TextEncoder().encode(JSON.stringify(settings));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return { 'x-inlay-session-settings': text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') };
}

function chatPath({ accountName, agentId }: AgentAddress): string {
  return `/api/v1/public/${encodeURIComponent(accountName)}/agents/${encodeURIComponent(agentId)}/chat`;
}

async function* readRows(reply: Response): AsyncGenerator<Exclude<CubeSqlLine, { error: string }>> {
  for await (const line of readLines(bodyOf(reply))) {
    const parsed = cubeSqlLineSchema.safeParse(line);
    if (!parsed.success) {
      throw new InlayClientError('A line of the reply is not known.', { code: 'STREAM_INVALID', cause: parsed.error });
    }
    if ('error' in parsed.data) throw new InlayClientError(parsed.data.error, { code: 'QUERY_FAILED' });
    yield parsed.data;
  }
}

function bodyOf(reply: Response): ReadableStream<Uint8Array> {
  if (reply.body === null) throw new InlayClientError('The reply has no body.', { code: 'REPLY_INVALID' });
  return reply.body;
}

/** What of a schema a reply needs. */
interface Parser<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: Error };
}

async function parseReply<T>(schema: Parser<T>, reply: Response): Promise<T> {
  const parsed = schema.safeParse(await reply.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  throw new InlayClientError('The reply is not what this client knows.', {
    code: 'REPLY_INVALID',
    cause: parsed.error,
  });
}

async function toError(reply: Response): Promise<InlayClientError> {
  const retryAfterSeconds = Number.parseInt(reply.headers.get('retry-after') ?? '', 10);
  const more = {
    statusCode: reply.status,
    ...(Number.isNaN(retryAfterSeconds) ? {} : { retryAfterSeconds }),
  };
  const parsed = errorBodySchema.safeParse(await reply.json().catch(() => undefined));
  if (!parsed.success)
    return new InlayClientError(`The server replied ${reply.status}.`, { code: 'REPLY_INVALID', ...more });
  const { message, code, requestId, issues = [] } = parsed.data;
  return new InlayClientError(message, { code, requestId, issues, ...more });
}
