/** Who calls: the `Authorization` header, looked up in the store at every request (http-api.md). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Kysely, sql } from 'kysely';
import { deriveEmbedTokenKey, type EmbedTokenKey } from '../embed/embed-token.ts';
import { holderOfToken, type TokenHolder } from '../embed/redeem-session.ts';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret } from '../store/secret.ts';

/** An API key. `deploymentIds` null: every deployment of its account. */
export interface ApiKeyCaller {
  readonly kind: 'api-key';
  readonly accountId: number;
  readonly keyId: number;
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
 * stands in the body.
 */
export type CredentialRequirement = 'none' | 'api-key' | 'api-key or embed-token';

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
  readonly embedTokenKey: EmbedTokenKey;
}

/** The same from the context of the process. */
export function authenticationOf(context: {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly signingSecret: string;
}): AuthenticationDependencies {
  return { db: context.db, clock: context.clock, embedTokenKey: deriveEmbedTokenKey(context.signingSecret) };
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

async function authenticateApiKey({ db, clock }: AuthenticationDependencies, key: string): Promise<ApiKeyCaller> {
  interface Row {
    readonly id: number;
    readonly account_id: number;
    readonly role: 'admin' | 'member';
    readonly deployment_ids: readonly number[] | null;
  }
  const { rows } = await sql<Row>`
    select id, account_id, role, deployment_ids from api_keys
    where hash = ${hashSecret(key)} and revoked_at is null and (expires_at is null or expires_at > ${clock()})`.execute(
    db,
  );
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The API key is unknown, expired or revoked');
  return {
    kind: 'api-key',
    accountId: row.account_id,
    keyId: row.id,
    role: row.role,
    deploymentIds: row.deployment_ids,
  };
}

async function authenticateEmbedToken(
  { db, clock, embedTokenKey }: AuthenticationDependencies,
  token: string,
): Promise<EmbedTokenCaller> {
  const holder = await holderOfToken({ db, clock, key: embedTokenKey }, token);
  return { kind: 'embed-token', accountId: holder.principal.accountId, ...holder };
}

/**
 * The hook that sets `request.caller` before anything of the body is read, as the order of checks demands (http-api.md).
 * @throws InlayError UNAUTHENTICATED; FORBIDDEN when an embed token calls a route for API keys.
 */
export function authenticationHook(dependencies: AuthenticationDependencies) {
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const requirement = request.routeOptions.config.credential ?? 'none';
    if (requirement === 'none') return;
    const caller = await authenticate(dependencies, request.headers.authorization);
    request.caller = caller;
    if (requirement === 'api-key' && caller.kind !== 'api-key') {
      throw new InlayError('FORBIDDEN', 'This needs an API key');
    }
  };
}

/** The caller of a request on a route that requires a credential. @throws Error on any other route, which is a defect. */
export function requireCaller(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('The route requires no credential, so that there is no caller.');
  return request.caller;
}

/** The caller on a route whose `credential` is `api-key`. @throws Error on any other route, which is a defect. */
export function requireApiKey(request: FastifyRequest): ApiKeyCaller {
  const caller = requireCaller(request);
  if (caller.kind !== 'api-key') throw new Error('The route is not one for API keys only.');
  return caller;
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
