/** The one statement that keeps minted sessions. */
import type { EmbedSessionSettings } from '@inlay/contract/embed.ts';
import type { SecurityContextJson } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';

/** A row of `sessions` as it is minted: waiting for its exchange. */
export interface NewSession {
  readonly id: string;
  readonly secret_hash: string;
  readonly account_id: number;
  readonly deployment_id: number;
  readonly user_id: number;
  readonly api_key_id: number;
  readonly embed_tenant_id: number | null;
  readonly is_creator_mode: boolean;
  readonly settings: EmbedSessionSettings;
  readonly security_context: SecurityContextJson;
  readonly created_from: string | null;
  readonly created_at: Date;
  readonly exchange_before: Date;
  readonly ends_at: Date;
}

/** Keeps new sessions: one statement, whose text does not depend on how many they are. */
export async function insertSessions(db: Kysely<Schema>, sessions: readonly NewSession[]): Promise<void> {
  await sql`
    insert into sessions (id, secret_hash, account_id, deployment_id, user_id, api_key_id, embed_tenant_id, is_creator_mode,
      settings, security_context, created_from, created_at, exchange_before, ends_at)
    select id, secret_hash, account_id, deployment_id, user_id, api_key_id, embed_tenant_id, is_creator_mode,
      settings, security_context, created_from, created_at, exchange_before, ends_at
    from jsonb_to_recordset(${json(sessions)}) as s(id uuid, secret_hash text, account_id int, deployment_id int, user_id int,
      api_key_id int, embed_tenant_id int, is_creator_mode boolean, settings jsonb, security_context jsonb, created_from text,
      created_at timestamptz, exchange_before timestamptz, ends_at timestamptz)`.execute(db);
}
