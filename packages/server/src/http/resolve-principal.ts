/** For whom a chat or data call asks: the embed token's user, or the one that `sessionSettings` describe. */
import type { SessionSettings } from '@inlay/contract/chat.ts';
import type { Shapes } from '@inlay/contract/shapes.ts';
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { checkFields, userOfSessionSettings } from '../embed/session-rules.ts';
import { InlayError } from '../errors.ts';
import { isDeeperThan, jsonDepthMax } from '../json-depth.ts';
import type { Schema } from '../store/schema.ts';
import { findExternalUser, findInternalUser } from '../users/find-user.ts';
import type { Principal } from '../users/principal.ts';
import { resolveUser } from '../users/resolve-users.ts';
import { tenantWide, type UserCall } from '../users/user-call.ts';
import type { ApiKeyCaller, Caller } from './authenticate.ts';
import { codeOfIssues, issuesOf } from './error-response.ts';
import type { Counted, RateLimits } from './rate-limits.ts';

/** What it needs of the context. */
export interface PrincipalDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly shapes: Shapes;
  readonly rateLimits: RateLimits;
  readonly config: {
    readonly externalUsersMax: number;
    readonly ephemeralUsersMax: number;
    readonly ephemeralTtlSecondsDefault: number;
  };
}

/**
 * The `sessionSettings` of a request: those of the body, else those of the header `X-Inlay-Session-Settings`, which holds
 * JSON in base64url (http-api.md); undefined when there are none, and with an embed token, which ignores them. Still to be
 * checked.
 * @throws InlayError INVALID_REQUEST when the header does not hold JSON.
 */
export function sessionSettingsOf(request: FastifyRequest, ofBody: unknown): unknown {
  if (request.caller?.kind === 'embed-token') return undefined;
  if (ofBody !== undefined && ofBody !== null) return ofBody;
  const header = request.headers['x-inlay-session-settings'];
  if (typeof header !== 'string' || header === '') return undefined;
  try {
    if (!/^[\w-]+={0,2}$/.test(header)) throw new Error('Not base64url.');
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'base64url')),
    );
    if (isDeeperThan(jsonDepthMax, value)) throw new Error('Too deep.');
    return value;
  } catch {
    throw new InlayError('INVALID_REQUEST', 'X-Inlay-Session-Settings must hold JSON in base64url');
  }
}

/** @throws InlayError SESSION_SETTINGS_REQUIRED when an API key gives none, so that nobody asks without a user. */
export function requireSessionSettings(caller: Caller, sessionSettings: unknown): void {
  if (caller.kind === 'api-key' && (sessionSettings === undefined || sessionSettings === null)) {
    throw new InlayError('SESSION_SETTINGS_REQUIRED', 'sessionSettings are required with an API key');
  }
}

/**
 * For whom the caller asks. With an API key the user of `sessionSettings` is made or changed as they say (service.md 4.3);
 * with an embed token they are ignored.
 * @throws InlayError SESSION_SETTINGS_REQUIRED as {@link requireSessionSettings}; INVALID_REQUEST or the code of a limit, FIELD_NOT_SUPPORTED, DUPLICATE_NAME and what resolveUser throws. Issues begin with
 * `sessionSettings.`. Also RATE_LIMITED, when the user asks more often than allowed; then nothing was written.
 * @param beforeWriting may ask for the id of the user as it is now, or null, and may refuse the call by throwing: then nothing was
 * written. Not called with an embed token, which writes nothing.
 */
export async function resolvePrincipal(
  { db, clock, config, shapes, rateLimits }: PrincipalDependencies,
  caller: Caller,
  sessionSettings: unknown,
  beforeWriting?: (findUserId: () => Promise<number | null>) => Promise<unknown>,
): Promise<Principal> {
  if (caller.kind === 'embed-token') return caller.principal;
  requireSessionSettings(caller, sessionSettings);
  const { accountId } = caller;
  const { parsed, settings } = await withPathPrefix(async () => {
    const checked = parseSettings(shapes, sessionSettings);
    return { parsed: checked, settings: userOfSessionSettings(checked, config.ephemeralTtlSecondsDefault) };
  });
  const call = { accountId, scope: tenantWide, definitions: null, settings, limits: config };
  const now = clock();
  await beforeWriting?.(() => findUser(db, call, now));
  const refusal = rateLimits.count(namedUser(accountId, settings), caller.account.limits);
  if (refusal !== null) throw refusal;
  const userId = await withPathPrefix(() => resolveUser(db, call, now));
  return userOfKey(caller, userId, parsed);
}

/**
 * For whom the caller asks, without writing anything: an abort identifies the user only (http-api.md). Null when an API
 * key names nobody, or a user who does not exist, is inactive or has expired.
 * @throws InlayError INVALID_REQUEST, FIELD_NOT_SUPPORTED, DUPLICATE_NAME or the code of a limit when the settings are not
 * well-formed.
 */
export async function identifyPrincipal(
  { db, clock, config, shapes }: Omit<PrincipalDependencies, 'rateLimits'>,
  caller: Caller,
  sessionSettings: unknown,
): Promise<Principal | null> {
  if (caller.kind === 'embed-token') return caller.principal;
  if (sessionSettings === undefined || sessionSettings === null) return null;
  const { accountId } = caller;
  return withPathPrefix(async () => {
    const parsed = parseSettings(shapes, sessionSettings);
    if (parsed.externalId === undefined && parsed.internalId === undefined) return null;
    const settings = userOfSessionSettings(parsed, config.ephemeralTtlSecondsDefault);
    const userId = await findUser(db, { accountId, settings }, clock());
    if (userId === null) return null;
    return userOfKey(caller, userId, parsed);
  });
}

/** The user whom an API key acts for: tenant-wide, since `sessionSettings` name no embed tenant. */
function userOfKey(
  { accountId, keyId }: ApiKeyCaller,
  userId: number,
  { securityContext = {} }: SessionSettings,
): Principal {
  return { accountId, userId, sessionId: null, apiKeyId: keyId, scopeId: null, securityContext };
}

/** By name: at this point the user may be still to be made. */
function namedUser(accountId: number, settings: UserCall['settings']): Counted {
  const name = settings.kind === 'internal' ? `internal ${settings.internalId}` : `external ${settings.externalId}`;
  return { kind: 'named-user', accountId, name };
}

/** The user whom the settings name, as they are now; null when there is none. */
function findUser(
  db: Kysely<Schema>,
  { accountId, settings }: Pick<UserCall, 'accountId' | 'settings'>,
  now: Date,
): Promise<number | null> {
  return settings.kind === 'internal'
    ? findInternalUser(db, accountId, settings.internalId)
    : findExternalUser(db, accountId, settings.externalId, now);
}

function parseSettings(shapes: Shapes, sessionSettings: unknown): SessionSettings {
  checkFields('session-settings', sessionSettings);
  const parsed = shapes.chat.sessionSettings.safeParse(sessionSettings);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  throw new InlayError(codeOfIssues(issues), 'sessionSettings do not have the required shape', {
    issues: issuesOf(issues),
  });
}

/** Issues say where in the body: the rules know the settings only. */
async function withPathPrefix<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InlayError) || error.issues === undefined) throw error;
    throw new InlayError(error.code, error.message, {
      hint: error.hint,
      cause: error,
      issues: error.issues.map(({ path, message }) => ({
        path: path === '' ? 'sessionSettings' : `sessionSettings.${path}`,
        message,
      })),
    });
  }
}
