/** Sessions at work: the exchange of a sessionId for a token, the token's successor, and what a token stands for. */
import type { EmbedSessionSettings } from '@inlay/contract/embed.ts';
import type { SecurityContextJson } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret } from '../store/secret.ts';
import type { Principal } from '../users/principal.ts';
import { sessionEnd, sessionScope, sessionStands } from '../users/session-stands.ts';
import { type AccountSettings, accountSettings } from './account-settings.ts';
import { type EmbedTokenKeys, signEmbedToken, verifyEmbedToken } from './embed-token.ts';

/** What tokens need. `tokenLifetimeMs` is the longest that one holds. */
export interface TokenDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly tokenKeys: EmbedTokenKeys;
  readonly tokenLifetimeMs: number;
}

/** A token for the Authorization header, and the ISO 8601 instant at which it ends. */
export interface IssuedToken {
  readonly token: string;
  readonly expiresAt: string;
}

/** The session that a token is of: one user, on one deployment. */
export interface TokenSession {
  readonly principal: Principal & { readonly sessionId: string };
  readonly deploymentId: number;
  /** No token of the session may outlive this: the session's end, or the ephemeral user's. */
  readonly endsAt: Date;
}

/** Who holds a token. */
export interface TokenHolder extends TokenSession {
  readonly settings: EmbedSessionSettings;
  readonly account: AccountSettings;
}

interface SessionRow {
  readonly id: string;
  readonly account_id: number;
  readonly deployment_id: number;
  readonly user_id: number;
  readonly scope_id: number | null;
  readonly security_context: SecurityContextJson;
  readonly ends_at: Date;
}

const sessionColumns = sql`s.id, s.account_id, s.deployment_id, s.user_id, ${sessionScope} as scope_id,
  s.security_context, ${sessionEnd} as ends_at`;

/**
 * Exchanges a sessionId for the first token of its session: once, and within the time that the session waits for it.
 * @returns the token, and the account that it is for.
 * @throws InlayError UNAUTHENTICATED when it is unknown, expired, revoked or used.
 */
export async function redeemSession(
  dependencies: TokenDependencies,
  sessionId: string,
): Promise<{ readonly issued: IssuedToken; readonly account: AccountSettings }> {
  const { db, clock } = dependencies;
  const now = clock();
  // One statement: of several at once, the ones that waited find `exchanged_at` set.
  const { rows } = await sql<SessionRow & { readonly account: AccountSettings }>`
    update sessions s set exchanged_at = ${now}
    where s.secret_hash = ${hashSecret(sessionId)} and s.exchanged_at is null and s.exchange_before > ${now}
      and ${sessionStands(now)}
    returning ${sessionColumns}, (select ${accountSettings} from accounts a where a.id = s.account_id) as account`.execute(
    db,
  );
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The session is unknown, expired or already used');
  return { issued: await issueToken(dependencies, toSession(row), now), account: row.account };
}

/**
 * The next token of the session that `session` holds one of (http-api.md): in place, the session stays the same, and its
 * absolute end with it.
 */
export async function renewToken(dependencies: TokenDependencies, session: TokenSession): Promise<IssuedToken> {
  return issueToken(dependencies, session, dependencies.clock());
}

/**
 * Who holds this token, read from the store.
 * @throws InlayError UNAUTHENTICATED when the token is not valid, or its session or user has ended.
 */
export async function holderOfToken(
  { db, clock, tokenKeys }: Pick<TokenDependencies, 'db' | 'clock' | 'tokenKeys'>,
  token: string,
): Promise<TokenHolder> {
  const now = clock();
  const ids = await verifyEmbedToken(tokenKeys, token, now);
  const { rows } = await sql<
    SessionRow & { readonly settings: EmbedSessionSettings; readonly account: AccountSettings }
  >`
    select ${sessionColumns}, s.settings, ${accountSettings} as account
    from sessions s join accounts a on a.id = s.account_id
    where s.id = ${ids.sessionId}::uuid and s.user_id = ${ids.userId}::bigint and s.account_id = ${ids.accountId}::bigint
      and s.deployment_id = ${ids.deploymentId}::bigint and ${sessionScope} is not distinct from ${ids.scopeId}::bigint
      and s.exchanged_at is not null and ${sessionStands(now)}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The user or the session has ended');
  return { ...toSession(row), settings: row.settings, account: row.account };
}

function toSession(row: SessionRow): TokenSession {
  return {
    principal: {
      accountId: row.account_id,
      userId: row.user_id,
      sessionId: row.id,
      apiKeyId: null,
      scopeId: row.scope_id,
      securityContext: row.security_context,
    },
    deploymentId: row.deployment_id,
    endsAt: row.ends_at,
  };
}

async function issueToken(
  { tokenKeys, tokenLifetimeMs }: TokenDependencies,
  { principal, deploymentId, endsAt }: TokenSession,
  now: Date,
): Promise<IssuedToken> {
  const wanted = Math.min(now.getTime() + tokenLifetimeMs, endsAt.getTime());
  // A JWT counts whole seconds; the reply says what the token says.
  const expiresAt = new Date(Math.floor(wanted / 1000) * 1000);
  const { accountId, userId, sessionId, scopeId } = principal;
  const ids = { sessionId, accountId, userId, deploymentId, scopeId };
  const token = await signEmbedToken(tokenKeys, ids, { now, expiresAt });
  return { token, expiresAt: expiresAt.toISOString() };
}
