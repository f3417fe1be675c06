/** Sessions at work: the exchange of a sessionId for a token, the token's successor, and what a token stands for. */

import type { SecurityContextJson } from '@inlay/contract/user.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret } from '../store/secret.ts';
import type { Principal } from '../users/principal.ts';
import { type EmbedTokenKey, signEmbedToken, verifyEmbedToken } from './embed-token.ts';

/** What tokens need. `tokenLifetimeMs` is the longest that one holds. */
export interface TokenDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly key: EmbedTokenKey;
  readonly tokenLifetimeMs: number;
}

/** A token for the Authorization header, and the ISO 8601 instant at which it ends. */
export interface IssuedToken {
  readonly token: string;
  readonly expiresAt: string;
}

/** Who holds a token: the user of the session, on one deployment. */
export interface TokenHolder {
  readonly principal: Principal & { readonly sessionId: string };
  readonly deploymentId: number;
  /** No token of the session may outlive this: the session's end or the ephemeral user's. */
  readonly endsAt: Date;
}

interface SessionRow {
  readonly id: string;
  readonly account_id: number;
  readonly deployment_id: number;
  readonly user_id: number;
  readonly security_context: SecurityContextJson;
  readonly ends_at: Date;
  readonly user_ends_at: Date | null;
}

const sessionColumns = sql`s.id, s.account_id, s.deployment_id, s.user_id, s.security_context, s.ends_at,
  u.expires_at as user_ends_at`;

/** Session `s` with its user `u` and API key `k` stands at `now`: a session ends with its user and its key. */
const stands = (now: Date): RawBuilder<unknown> => sql`
  u.id = s.user_id and k.id = s.api_key_id and s.ends_at > ${now}
  and u.is_active and (u.expires_at is null or u.expires_at > ${now}) and k.revoked_at is null`;

/**
 * Exchanges a sessionId for the first token of its session: once, and within the time that the session waits for it.
 * @throws InlayError UNAUTHENTICATED when it is unknown, expired or used.
 */
export async function redeemSession(dependencies: TokenDependencies, sessionId: string): Promise<IssuedToken> {
  const { db, clock } = dependencies;
  const now = clock();
  // One statement: of several at once, the ones that waited find `exchanged_at` set.
  const { rows } = await sql<SessionRow>`
    update sessions s set exchanged_at = ${now}
    from users u, api_keys k
    where s.secret_hash = ${hashSecret(sessionId)} and s.exchanged_at is null and s.exchange_before > ${now}
      and ${stands(now)}
    returning ${sessionColumns}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The session is unknown, expired or already used');
  return issueToken(dependencies, holderOf(row), now);
}

/** The next token of the session that `holder` holds one of (http-api.md). */
export async function renewToken(dependencies: TokenDependencies, holder: TokenHolder): Promise<IssuedToken> {
  return issueToken(dependencies, holder, dependencies.clock());
}

/**
 * Who holds this token, read from the store.
 * @throws InlayError UNAUTHENTICATED when the token is not valid, or its session or user has ended.
 */
export async function holderOfToken(
  { db, clock, key }: Pick<TokenDependencies, 'db' | 'clock' | 'key'>,
  token: string,
): Promise<TokenHolder> {
  const now = clock();
  const ids = await verifyEmbedToken(key, token, now);
  const { rows } = await sql<SessionRow>`
    select ${sessionColumns} from sessions s, users u, api_keys k
    where s.id = ${ids.sessionId}::uuid and s.user_id = ${ids.userId} and s.account_id = ${ids.accountId}
      and s.deployment_id = ${ids.deploymentId} and s.exchanged_at is not null and ${stands(now)}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The user or the session has ended');
  return holderOf(row);
}

function holderOf(row: SessionRow): TokenHolder {
  return {
    principal: {
      accountId: row.account_id,
      userId: row.user_id,
      sessionId: row.id,
      securityContext: row.security_context,
    },
    deploymentId: row.deployment_id,
    endsAt: row.user_ends_at !== null && row.user_ends_at < row.ends_at ? row.user_ends_at : row.ends_at,
  };
}

async function issueToken(
  { key, tokenLifetimeMs }: TokenDependencies,
  { principal, deploymentId, endsAt }: TokenHolder,
  now: Date,
): Promise<IssuedToken> {
  const wanted = Math.min(now.getTime() + tokenLifetimeMs, endsAt.getTime());
  // A JWT counts whole seconds; the reply says what the token says.
  const expiresAt = new Date(Math.floor(wanted / 1000) * 1000);
  const { accountId, userId, sessionId } = principal;
  const token = await signEmbedToken(key, { sessionId, accountId, userId, deploymentId }, { now, expiresAt });
  return { token, expiresAt: expiresAt.toISOString() };
}
