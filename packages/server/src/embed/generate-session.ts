/** Minting an embed session: an external user made or changed, or an internal one found, and a sessionId for it. */
import { randomUUID } from 'node:crypto';
import type { GenerateSessionRequest } from '@inlay/contract/embed.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { hashSecret, newSecret } from '../store/secret.ts';
import { inUserTransaction, resolveUser, type UserLimits } from '../users/resolve-user.ts';
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
 * A new session. Only a hash of the sessionId is kept. All writes are one transaction (decisions 4).
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
  await inUserTransaction(db, async (tx) => {
    await requireDeployment(tx, accountId, deploymentId);
    const userId = await resolveUser(tx, { accountId, settings, now, limits });
    await tx
      .insertInto('sessions')
      .values({
        id: randomUUID(),
        secret_hash: hashSecret(sessionId),
        account_id: accountId,
        deployment_id: deploymentId,
        user_id: userId,
        api_key_id: keyId,
        security_context: JSON.stringify(request.securityContext ?? {}),
        created_at: now,
        exchange_before: new Date(now.getTime() + sessionExchangeMs),
        exchanged_at: null,
        ends_at: new Date(now.getTime() + sessionLifetimeMs),
      })
      .execute();
  });
  return { sessionId };
}

async function requireDeployment(db: Kysely<Schema>, accountId: number, deploymentId: number): Promise<void> {
  // As a bigint: a number beyond PostgreSQL's integer names no deployment, and is not an error of the database.
  const { rows } = await sql`
    select 1 from deployments where id = ${deploymentId}::bigint and account_id = ${accountId}`.execute(db);
  if (rows.length === 0) throw new InlayError('NOT_FOUND', 'Deployment not found');
}
