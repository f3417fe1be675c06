/** When an embed session counts: one condition for everything that looks at a session, written once. */
import { type RawBuilder, sql } from 'kysely';

/**
 * The condition that the session of the row `s` (of `sessions`) stands at `now`. A session ends at its own end and with its
 * revocation, its user (deleted, inactive, ended), its deployment, its embed tenant, and the revocation of the API key that
 * minted it (http-api.md); a key that merely expires opens nothing new, and what it minted lives on. There are no foreign keys to
 * the last three, so that they are looked at here; each one by itself, which `offset 0` makes sure of: in a list the planner
 * would otherwise read all users into a table beside it.
 */
export const sessionStands = (now: Date): RawBuilder<boolean> => sql<boolean>`(
  s.revoked_at is null and s.ends_at > ${now}
  and exists (select 1 from users su where su.id = s.user_id and su.account_id = s.account_id
    and su.is_active and (su.expires_at is null or su.expires_at > ${now}) offset 0)
  and exists (select 1 from api_keys sk where sk.id = s.api_key_id and sk.account_id = s.account_id
    and sk.revoked_at is null offset 0)
  and exists (select 1 from deployments sd where sd.id = s.deployment_id and sd.account_id = s.account_id offset 0)
  and case when s.embed_tenant_id is null then not s.is_creator_mode else exists (
    select 1 from embed_tenants st where st.id = s.embed_tenant_id and st.account_id = s.account_id offset 0) end)`;

/** The instant at which the session of the row `s` ends at the latest, as far as is known: its own or its user's end. */
export const sessionEnd: RawBuilder<Date> = sql<Date>`least(
  s.ends_at,
  (select su.expires_at from users su where su.id = s.user_id))`;

/** The scope that the session of the row `s` works in: the id of its embed tenant in creator mode, else null. */
export const sessionScope: RawBuilder<number | null> = sql<
  number | null
>`case when s.is_creator_mode then s.embed_tenant_id end`;
