/** Who calls: the `Authorization` header, looked up at every request (http-api.md). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import type { AccountSettings } from '../embed/account-settings.ts';
import type { EmbedTokenKeys } from '../embed/embed-token.ts';
import { holderOfToken, type TokenHolder } from '../embed/redeem-session.ts';
import { InlayError } from '../errors.ts';
import type { Actor } from '../store/audit-log.ts';
import type { Schema } from '../store/schema.ts';
import type { ApiKeyLookup } from './api-key-lookup.ts';

/** An API key. `deploymentIds` null: every deployment of its account. */
export interface ApiKeyCaller {
  readonly kind: 'api-key';
  readonly accountId: number;
  readonly account: AccountSettings;
  readonly keyId: number;
  /** Its label, or its visible prefix. */
  readonly keyName: string;
  readonly role: 'admin' | 'member';
  readonly deploymentIds: readonly number[] | null;
}

/** The holder of an embed token: one user, on one deployment of one account. */
export interface EmbedTokenCaller extends TokenHolder {
  readonly kind: 'embed-token';
  readonly accountId: number;
}

/** Whoever has shown a valid credential. */
export type Caller = ApiKeyCaller | EmbedTokenCaller;

/**
 * What a route asks of its callers. `none` includes the exchange of a sessionId, which is a credential of its own and
 * stands in the body. `admin-key` is an API key of the role admin that is not bound to a list of deployments: the
 * management API (service.md 5.1). `admin-role key` is one that may be bound: what of the data API is not for everybody.
 */
export type CredentialRequirement = 'none' | 'api-key' | 'admin-key' | 'admin-role key' | 'api-key or embed-token';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the body is read on routes that require a credential; see {@link requireCaller}. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Every route states it: the app refuses to start with one that does not. */
    credential?: CredentialRequirement;
  }
}

/** What looking up a credential needs. */
export interface AuthenticationDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly tokenKeys: EmbedTokenKeys;
  readonly apiKeys: ApiKeyLookup;
}

/**
 * The caller of a request with this `Authorization` header.
 * @throws InlayError UNAUTHENTICATED when it is missing, malformed, unknown, expired or revoked.
 */
export async function authenticate(
  dependencies: AuthenticationDependencies,
  authorization: string | undefined,
): Promise<Caller> {
  const match = /^(Api-Key|Bearer|Embed-Token) +(\S+)$/i.exec(authorization ?? '');
  const [, scheme, credential] = match ?? [];
  if (scheme === undefined || credential === undefined) {
    throw new InlayError('UNAUTHENTICATED', 'An Authorization header with an API key or embed token is required');
  }
  return scheme.toLowerCase() === 'api-key'
    ? authenticateApiKey(dependencies, credential)
    : authenticateEmbedToken(dependencies, credential);
}

async function authenticateApiKey({ apiKeys, clock }: AuthenticationDependencies, text: string): Promise<ApiKeyCaller> {
  const key = await apiKeys.find(text, clock());
  if (key === null) throw new InlayError('UNAUTHENTICATED', 'The API key is unknown, expired or revoked');
  const { id: keyId, name: keyName, ...more } = key;
  return { kind: 'api-key', keyId, keyName, ...more };
}

async function authenticateEmbedToken(
  dependencies: AuthenticationDependencies,
  token: string,
): Promise<EmbedTokenCaller> {
  const holder = await holderOfToken(dependencies, token);
  return { kind: 'embed-token', accountId: holder.principal.accountId, ...holder };
}

/**
 * The hook that sets `request.caller` before anything of the body is read, as the order of checks demands (http-api.md).
 * @throws InlayError UNAUTHENTICATED; FORBIDDEN or ADMIN_ONLY when the route is for another kind of credential.
 */
export function authenticationHook(dependencies: AuthenticationDependencies) {
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const requirement = request.routeOptions.config.credential ?? 'none';
    if (requirement === 'none') return;
    const caller = await authenticate(dependencies, request.headers.authorization);
    request.caller = caller;
    requireKind(caller, requirement);
  };
}

/** @throws InlayError FORBIDDEN or ADMIN_ONLY when a valid credential is not one that the route is for. */
function requireKind(caller: Caller, requirement: CredentialRequirement): void {
  if (requirement === 'admin-role key') {
    if (caller.kind === 'api-key' && caller.role === 'admin') return;
    throw new InlayError('ADMIN_ONLY', 'This needs an admin API key');
  }
  if (requirement !== 'api-key' && requirement !== 'admin-key') return;
  if (caller.kind !== 'api-key') throw new InlayError('FORBIDDEN', 'This needs an API key');
  if (requirement === 'admin-key' && (caller.role !== 'admin' || caller.deploymentIds !== null)) {
    throw new InlayError('FORBIDDEN', 'This needs an admin API key that is not bound to deployments');
  }
}

/** The caller of a request on a route that requires a credential. @throws Error on any other route, which is a defect. */
export function requireCaller(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('The route requires no credential, so that there is no caller.');
  return request.caller;
}

/** The caller on a route whose `credential` is `api-key` or `admin-key`. @throws Error on any other route, which is a defect. */
export function requireApiKey(request: FastifyRequest): ApiKeyCaller {
  const caller = requireCaller(request);
  if (caller.kind !== 'api-key') throw new Error('The route is not one for API keys only.');
  return caller;
}

/** Whoever made the request, for the audit log: the key or the user, and from where. */
export function actorOf(request: FastifyRequest): Actor {
  const caller = requireCaller(request);
  const from = { address: request.ip, requestId: request.id };
  return caller.kind === 'api-key'
    ? { kind: 'api-key', id: String(caller.keyId), name: caller.keyName, ...from }
    : { kind: 'user', id: String(caller.principal.userId), name: null, ...from };
}

/**
 * Whether the caller may use a deployment that its account has.
 * @throws InlayError NOT_FOUND for an embed token of another deployment; FORBIDDEN for an API key not allowed on it.
 */
export function requireDeploymentAccess(caller: Caller, deploymentId: number): void {
  if (caller.kind === 'embed-token') {
    if (caller.deploymentId !== deploymentId) throw new InlayError('NOT_FOUND', 'Deployment not found');
  } else if (caller.deploymentIds !== null && !caller.deploymentIds.includes(deploymentId)) {
    throw new InlayError('FORBIDDEN', 'The API key may not use this deployment');
  }
}

/** @throws InlayError AI_NOT_ALLOWED for the token of a session whose settings do not allow the agent (http-api.md). */
export function requireAiAllowed(caller: Caller): void {
  if (caller.kind === 'embed-token' && caller.settings.allowAi === false) {
    throw new InlayError('AI_NOT_ALLOWED', 'The settings of the session do not allow the agent.');
  }
}
