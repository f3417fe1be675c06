/** What every request needs to know of its caller's account; it rides along with the look-up of the credential. */
import { type RawBuilder, sql } from 'kysely';
import type { AccountLimits } from '../store/schema.ts';

/** The settings of an account (management-api.md). */
export interface AccountSettings {
  readonly name: string;
  readonly plan: string;
  readonly useCreatorMode: boolean;
  readonly limits: AccountLimits;
  readonly allowedOrigins: readonly string[];
}

/** SQL: the settings of account `a`, as one column. */
export const accountSettings: RawBuilder<AccountSettings> = sql<AccountSettings>`jsonb_build_object(
  'name', a.name, 'plan', a.plan, 'useCreatorMode', a.use_creator_mode, 'limits', a.limits,
  'allowedOrigins', a.allowed_origins)`;
