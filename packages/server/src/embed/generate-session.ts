/** Minting an embed session: an external user made or changed, or an internal one found, and a sessionId for it. */
import { randomUUID } from 'node:crypto';
import type { GenerateSessionRequest } from '@inlay/contract/embed.ts';
import { type Insertable, type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret, newSecret } from '../store/secret.ts';
import { type ExternalCall, inUserTransaction, resolveUser, type UserLimits } from '../users/resolve-user.ts';
import { unchangedUser } from '../users/unchanged-user.ts';
import { userOfSessionRequest } from './session-rules.ts';

/** What minting a session needs. Times in milliseconds. */
export interface GenerateSessionDependencies {
  readonly db: Kysely<Schema>;
  readonly clock: () => Date;
  readonly limits: UserLimits;
  readonly sessionExchangeMs: number;
  readonly sessionLifetimeMs: number;
}

/** The API key that mints. `deploymentIds` null: it may use every deployment of its account. */
export interface SessionMinter {
  readonly accountId: number;
  readonly keyId: number;
  readonly deploymentIds: readonly number[] | null;
}

/**
 * A new session. Only a hash of the sessionId is kept. All writes are one transaction (http-api.md).
 * @throws InlayError FORBIDDEN when the key may not use the deployment; NOT_FOUND when the account has no such deployment
 * or internal user; INVALID_REQUEST, DUPLICATE_NAME and what resolveUser throws.
 */
export async function generateSession(
  { db, clock, limits, sessionExchangeMs, sessionLifetimeMs }: GenerateSessionDependencies,
  { accountId, keyId, deploymentIds }: SessionMinter,
  request: GenerateSessionRequest,
): Promise<{ sessionId: string }> {
  const { deploymentId } = request;
  if (deploymentIds !== null && !deploymentIds.includes(deploymentId)) {
    throw new InlayError('FORBIDDEN', 'The API key may not use this deployment');
  }
  const settings = userOfSessionRequest(request);
  const now = clock();
  const sessionId = newSecret('es-');
  const call = { accountId, settings, now, limits };
  const session: NewSession = {
    id: randomUUID(),
    secret_hash: hashSecret(sessionId),
    account_id: accountId,
    deployment_id: deploymentId,
    api_key_id: keyId,
    security_context: JSON.stringify(request.securityContext ?? {}),
    created_at: now,
    exchange_before: new Date(now.getTime() + sessionExchangeMs),
    exchanged_at: null,
    ends_at: new Date(now.getTime() + sessionLifetimeMs),
  };
  if (settings.kind === 'external' && (await insertForUnchangedUser(db, session, { ...call, settings })))
    return { sessionId };
  await inUserTransaction(db, async (tx) => {
    await requireDeployment(tx, accountId, deploymentId);
    const userId = await resolveUser(tx, call);
    await tx
      .insertInto('sessions')
      .values({ ...session, user_id: userId })
      .execute();
  });
  return { sessionId };
}

type NewSession = Omit<Insertable<Schema['sessions']>, 'user_id'>;

/**
 * Keeps the session in one statement where the user is already as the call says, and the deployment is the account's.
 * @returns whether it did; if not, nothing was written
 */
async function insertForUnchangedUser(db: Kysely<Schema>, session: NewSession, call: ExternalCall): Promise<boolean> {
  const { rows } = await sql`
    insert into sessions (user_id, id, secret_hash, account_id, deployment_id, api_key_id, security_context, created_at,
      exchange_before, ends_at)
    select u.id, ${session.id}::uuid, ${session.secret_hash}, d.account_id, d.id, ${session.api_key_id}::int,
      ${session.security_context}::text::jsonb, ${session.created_at}::timestamptz,
      ${session.exchange_before}::timestamptz, ${session.ends_at}::timestamptz
    from deployments d, (${unchangedUser(call)}) u
    where d.id = ${session.deployment_id}::bigint and d.account_id = ${session.account_id}::int
    returning id`.execute(db);
  return rows.length > 0;
}

async function requireDeployment(db: Kysely<Schema>, accountId: number, deploymentId: number): Promise<void> {
  // As a bigint: a number beyond PostgreSQL's integer names no deployment, and is not an error of the database.
  const { rows } = await sql`
    select 1 from deployments where id = ${deploymentId}::bigint and account_id = ${accountId}`.execute(db);
  if (rows.length === 0) throw new InlayError('NOT_FOUND', 'Deployment not found');
}
