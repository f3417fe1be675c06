/**
 * The common case of a call that describes a user: everything is already as it says. Then there is nothing to lock and
 * nothing to write, and one statement finds the user.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { ExternalCall } from './resolve-user.ts';
import { json } from './user-rights.ts';

/**
 * A query that gives the `id` of the external user whom the call means when the user is active, has not ended, and has
 * exactly what the call says; no row otherwise, and then resolveUser has to decide. The row is locked against deletion only.
 * A call that overlaps with one that changes the user counts as the earlier of the two.
 */
export function unchangedUser({ accountId, settings, now }: ExternalCall): RawBuilder<{ readonly id: number }> {
  const { externalId, email, userProfile, groups, userAttributes, lifetime } = settings;
  const conditions = [
    sql`u.account_id = ${accountId} and u.external_id = ${externalId} and u.is_active`,
    sql`(u.expires_at is null or u.expires_at > ${now})`,
  ];
  if (email !== undefined) conditions.push(sql`u.email is not distinct from ${email}::text`);
  if (userProfile?.displayName !== undefined) {
    conditions.push(sql`u.display_name is not distinct from ${userProfile.displayName}::text`);
  }
  if (userProfile?.picture !== undefined)
    conditions.push(sql`u.picture is not distinct from ${userProfile.picture}::text`);
  if (lifetime.kind === 'persistent') conditions.push(sql`u.expires_at is null`);
  if (lifetime.kind === 'ephemeral') {
    const end = new Date(now.getTime() + lifetime.ttlSeconds * 1000);
    conditions.push(sql`(u.expires_at is null or u.expires_at <= ${end})`);
  }
  if (groups !== undefined) {
    // As many as named, and none that is not named: names are unique in an account, and occur once in a call.
    conditions.push(sql`(
      select count(*) = ${groups.length}::int and coalesce(bool_and(g.name in (select jsonb_array_elements_text(${json(groups)}))), true)
      from user_groups ug join groups g on g.id = ug.group_id where ug.user_id = u.id)`);
  }
  if (userAttributes !== undefined && userAttributes.length > 0) {
    conditions.push(sql`(
      select count(*) = ${userAttributes.length}::int
      from jsonb_to_recordset(${json(userAttributes)}) as named (name text, value jsonb)
      join user_attributes a on a.account_id = u.account_id and a.name = named.name
      join user_attribute_values v on v.user_id = u.id and v.attribute_id = a.id
        and v.value is not distinct from named.value)`);
  }
  return sql`select u.id from users u where ${sql.join(conditions, sql` and `)} for key share of u`;
}

/** The id that {@link unchangedUser} gives, or null. */
export async function findUnchangedUser(db: Kysely<Schema>, call: ExternalCall): Promise<number | null> {
  const { rows } = await unchangedUser(call).execute(db);
  return rows[0]?.id ?? null;
}
