/**
 * The one statement that reads everything that the calls of a flight name. Its text is always the same, so that it can be
 * prepared. Each thing is looked up once however many calls name it, and always by an index: the look-ups are correlated, one
 * per name, and `offset 0` keeps the planner from joining whole tables instead.
 */
import type { AttributeValue } from '@inlay/contract/user.ts';
import { type RawBuilder, sql } from 'kysely';
import { json } from '../store/json.ts';
import type { AccountLimits } from '../store/schema.ts';
import type { StoredAttribute, StoredGroup } from './stored.ts';

/** What the calls name, each thing once. */
export interface Asked {
  readonly accounts: Map<number, { readonly id: number; readonly counts: boolean }>;
  readonly deployments: Map<string, { readonly account_id: number; readonly id: number }>;
  readonly embedTenants: Map<string, { readonly account_id: number; readonly name: string }>;
  readonly scopes: Map<string, AskedScope>;
  readonly users: Map<string, AskedUser>;
  readonly internalUsers: Map<string, { readonly account_id: number; readonly internal_id: string }>;
}

/** The named part of one scope's catalogue. */
export interface AskedScope {
  readonly account_id: number;
  /** The embed tenant; null: tenant-wide. */
  readonly tenant: string | null;
  readonly groups: Set<string>;
  readonly attributes: Set<string>;
}

/** An external user, with whether the groups are asked for, by the key of the scope. The values of named attributes always are. */
export interface AskedUser {
  readonly account_id: number;
  readonly external_id: string;
  readonly rights: Map<string, { hasGroups: boolean }>;
}

/** An external user in one scope: the values are those of the attributes that the flight names in that scope, by attribute id. */
export type UserRow = readonly [
  id: number,
  email: string | null,
  displayName: string | null,
  picture: string | null,
  isActive: boolean,
  expiresAtMs: number | null,
  groups: readonly string[] | null,
  values: readonly (readonly [attributeId: number, value: AttributeValue])[] | null,
];

/** What the statement gives: lists in the order of what was asked, null for what is not there. */
export interface FlightRow {
  readonly accounts: readonly ({
    readonly useCreatorMode: boolean;
    readonly limits: AccountLimits;
    readonly persistentUsers: number | null;
    readonly ephemeralUsers: number | null;
  } | null)[];
  readonly deployments: readonly boolean[];
  readonly embedTenants: readonly (number | null)[];
  readonly scopes: readonly {
    readonly groups: readonly ((StoredGroup & { readonly id: number }) | null)[] | null;
    readonly attributes: readonly ((StoredAttribute & { readonly id: number }) | null)[] | null;
  }[];
  /** One for each scope of each user. */
  readonly users: readonly (UserRow | null)[];
  /** The ids of those who go by the name: more than one is nobody. */
  readonly internalUsers: readonly (readonly number[] | null)[];
}

/** A list of what was asked, each with its place, so that the answer comes in the same order. */
const listOf = <Value extends object>(values: Iterable<Value>, toRecord: (value: Value) => object = (value) => value) =>
  json(Array.from(values, (value, i) => ({ i, ...toRecord(value) })));

// An embed tenant is 0 for tenant-wide, as in the indexes of groups and user_attributes, and null where it does not exist.
const scopeId = sql`case when r.tenant is null then 0 else (
  select t.id from embed_tenants t where t.account_id = r.account_id and t.name = r.tenant) end`;

/** The statement for what is asked, at the instant `now`: one row. */
export function flightQuery(asked: Asked, now: Date): RawBuilder<FlightRow> {
  const accounts = listOf(asked.accounts.values());
  const deployments = listOf(asked.deployments.values());
  const embedTenants = listOf(asked.embedTenants.values());
  const scopes = listOf(asked.scopes.values(), ({ groups, attributes, ...scope }) => ({
    ...scope,
    groups: [...groups],
    attributes: [...attributes],
  }));
  const places = new Map(Array.from(asked.scopes.keys(), (key, place) => [key, place]));
  const users = listOf(
    [...asked.users.values()].flatMap(({ rights, ...user }) =>
      Array.from(rights, ([key, { hasGroups }]) => ({ ...user, scope: places.get(key), has_groups: hasGroups })),
    ),
  );
  const internalUsers = listOf(asked.internalUsers.values());
  // A deployment's id is a bigint here: a number beyond PostgreSQL's integer names none, and is no error of the database.
  return sql<FlightRow>`
    with scopes as materialized (
      select r.i, r.account_id, r.scope, r.groups, r.attributes, array(
        select a.id from jsonb_array_elements_text(r.attributes) as n(name)
        cross join lateral (
          select a.id from user_attributes a
          where a.account_id = r.account_id and coalesce(a.embed_tenant_id, 0) = r.scope and a.name = n.name
          offset 0) as a) as attribute_ids
      from (
        select r.*, ${scopeId} as scope
        from jsonb_to_recordset(${scopes}) as r(i int, account_id int, tenant text, groups jsonb, attributes jsonb)
        offset 0) as r)
    select
    coalesce((
      select jsonb_agg((
        select jsonb_build_object('useCreatorMode', a.use_creator_mode, 'limits', a.limits,
          'persistentUsers', case when r.counts then (select count(*) from users u
            where u.account_id = a.id and u.kind = 'external' and u.expires_at is null) end,
          'ephemeralUsers', case when r.counts then (select count(*) from users u
            where u.account_id = a.id and u.kind = 'external' and u.expires_at > ${now}::timestamptz) end)
        from accounts a where a.id = r.id) order by r.i)
      from jsonb_to_recordset(${accounts}) as r(i int, id int, counts boolean)), '[]') as accounts,
    coalesce((
      select jsonb_agg(exists (select 1 from deployments d where d.id = r.id and d.account_id = r.account_id) order by r.i)
      from jsonb_to_recordset(${deployments}) as r(i int, account_id int, id bigint)), '[]') as deployments,
    coalesce((
      select jsonb_agg((
        select t.id from embed_tenants t where t.account_id = r.account_id and t.name = r.name) order by r.i)
      from jsonb_to_recordset(${embedTenants}) as r(i int, account_id int, name text)), '[]') as "embedTenants",
    coalesce((
      select jsonb_agg(jsonb_build_object(
        'groups', (
          select jsonb_agg((
            select jsonb_build_object('id', g.id, 'name', g.name, 'description', g.description)
            from groups g
            where g.account_id = r.account_id and coalesce(g.embed_tenant_id, 0) = r.scope and g.name = n.name))
          from jsonb_array_elements_text(r.groups) as n(name)),
        'attributes', (
          select jsonb_agg((
            select jsonb_build_object('id', a.id, 'name', a.name, 'type', a.type, 'displayName', a.display_name,
              'defaultValue', a.default_value, 'description', a.description)
            from user_attributes a
            where a.account_id = r.account_id and coalesce(a.embed_tenant_id, 0) = r.scope and a.name = n.name))
          from jsonb_array_elements_text(r.attributes) as n(name))) order by r.i)
      from scopes r), '[]') as scopes,
    coalesce((
      select jsonb_agg((
        select jsonb_build_array(u.id, u.email, u.display_name, u.picture, u.is_active,
          extract(epoch from u.expires_at) * 1000,
          case when asked.has_groups then (
            select jsonb_agg(g.name) from user_groups ug join groups g on g.id = ug.group_id
            where ug.user_id = u.id and coalesce(g.embed_tenant_id, 0) = s.scope) end,
          (select jsonb_agg(jsonb_build_array(v.attribute_id, v.value)) from user_attribute_values v
            where v.user_id = u.id and v.attribute_id = any(s.attribute_ids)))
        from users u where u.account_id = asked.account_id and u.external_id = asked.external_id) order by asked.i)
      from jsonb_to_recordset(${users}) as asked(i int, account_id int, external_id text, scope int, has_groups boolean)
      join scopes s on s.i = asked.scope), '[]') as users,
    coalesce((
      select jsonb_agg((
        select jsonb_agg(found.id) from (
          select u.id from users u
          where u.account_id = r.account_id and u.kind = 'internal' and u.is_active and lower(u.username) = lower(r.internal_id)
          union
          select u.id from users u
          where u.account_id = r.account_id and u.kind = 'internal' and u.is_active and lower(u.email) = lower(r.internal_id)
        ) as found) order by r.i)
      from jsonb_to_recordset(${internalUsers}) as r(i int, account_id int, internal_id text)), '[]') as "internalUsers"`;
}
