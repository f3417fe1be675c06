import { type Kysely, sql } from 'kysely';

/**
 * Embed tenants and the scopes of groups and attributes; settings of accounts and sessions; revocation and rotation; the
 * audit log; the nodes of an installation. New columns have constant defaults, so that no table is rewritten.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = [
    sql`alter table accounts
      add column allowed_origins jsonb not null default '[]',
      add column frame_ancestors jsonb not null default '[]',
      add column limits jsonb not null default '{}'`,
    // While a rotation overlaps, the key opens with its earlier text as well.
    sql`alter table api_keys
      add column previous_hash text unique,
      add column previous_ends_at timestamptz,
      add check ((previous_hash is null) = (previous_ends_at is null))`,
    sql`create table embed_tenants (
      id integer generated always as identity primary key,
      account_id integer not null references accounts on delete cascade,
      name text not null,
      created_at timestamptz not null default now(),
      unique (account_id, name)
    )`,

    // A name is unique in its scope: tenant-wide, which is written as 0 here, or one embed tenant.
    sql`alter table groups
      add column embed_tenant_id integer references embed_tenants on delete cascade,
      add column created_at timestamptz not null default now(),
      drop constraint groups_account_id_name_key`,
    sql`create unique index groups_name on groups (account_id, coalesce(embed_tenant_id, 0), name)`,
    sql`create index groups_embed_tenant on groups (embed_tenant_id) where embed_tenant_id is not null`,
    sql`create index user_groups_group on user_groups (group_id)`,
    sql`alter table user_attributes
      add column embed_tenant_id integer references embed_tenants on delete cascade,
      add column created_at timestamptz not null default now(),
      drop constraint user_attributes_account_id_name_key`,
    sql`create unique index user_attributes_name on user_attributes (account_id, coalesce(embed_tenant_id, 0), name)`,
    sql`create index user_attributes_embed_tenant on user_attributes (embed_tenant_id)
      where embed_tenant_id is not null`,
    sql`create index user_attribute_values_attribute on user_attribute_values (attribute_id)`,
    sql`create index users_account on users (account_id, id)`,

    // A session is looked at together with its account's key, deployment and embed tenant at every use, and is nothing without
    // them; foreign keys to those few rows would make all concurrent calls lock the same ones.
    sql`alter table sessions
      add column embed_tenant_id integer,
      add column is_creator_mode boolean not null default false,
      add column settings jsonb not null default '{}',
      add column created_from text,
      add column revoked_at timestamptz,
      drop constraint sessions_account_id_fkey,
      drop constraint sessions_deployment_id_fkey,
      drop constraint sessions_api_key_id_fkey`,
    sql`create index sessions_account on sessions (account_id, created_at, id)`,
    sql`create index sessions_ends on sessions (ends_at)`,

    sql`alter table threads add column embed_tenant_id integer references embed_tenants on delete cascade`,
    sql`create index threads_embed_tenant on threads (embed_tenant_id) where embed_tenant_id is not null`,

    // A node writes its row every second; the runs of one that stopped doing so are nobody's.
    sql`create table nodes (id uuid primary key, seen_at timestamptz not null)`,
    sql`alter table runs add column node_id uuid`,

    sql`create table audit_log (
      id bigint generated always as identity primary key,
      account_id integer not null,
      at timestamptz not null,
      actor_kind text not null check (actor_kind in ('api-key', 'user', 'operator', 'server')),
      actor_id text,
      actor_name text,
      action text not null,
      object_kind text,
      object_id text,
      object_name text,
      result text not null,
      address text,
      request_id text,
      details jsonb not null default '{}'
    )`,
    sql`create index audit_log_account on audit_log (account_id, id)`,
    sql`create index audit_log_at on audit_log (account_id, at)`,
    sql`create index audit_log_actor on audit_log (account_id, actor_kind, actor_id, id)`,
    sql`create index audit_log_object on audit_log (account_id, object_kind, object_id, id)`,
    // Rows are never changed, and deleted only by the retention, which says that it is that.
    sql`create function audit_log_is_append_only() returns trigger language plpgsql as $$
      begin
        if tg_op = 'DELETE' and current_setting('inlay.audit_retention', true) = 'on' then return old; end if;
        raise exception 'the audit log is append-only';
      end $$`,
    sql`create trigger audit_log_append_only before update or delete on audit_log
      for each row execute function audit_log_is_append_only()`,
    sql`create trigger audit_log_no_truncate before truncate on audit_log
      for each statement execute function audit_log_is_append_only()`,
  ];
  for (const statement of statements) await statement.execute(db);
}
