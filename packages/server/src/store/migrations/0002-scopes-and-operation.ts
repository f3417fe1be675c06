import { sql } from 'kysely';
import { index, type MigrationStep, transaction, uniqueIndex } from './step.ts';

/**
 * Embed tenants and the scopes of groups and attributes; settings of accounts and sessions; revocation and rotation; ids of
 * agents; the audit log; the nodes of an installation. New columns have constant defaults, so that no table is rewritten, and those with a
 * foreign key are null everywhere, so that no row is checked.
 */
export const scopesAndOperation: readonly MigrationStep[] = [
  transaction(sql`create table if not exists embed_tenants (
    id integer generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    name text not null,
    created_at timestamptz not null default now(),
    unique (account_id, name)
  )`),

  transaction(sql`alter table accounts
    add column if not exists allowed_origins jsonb not null default '[]',
    add column if not exists frame_ancestors jsonb not null default '[]',
    add column if not exists limits jsonb not null default '{}'`),
  // While a rotation overlaps, the key opens with its earlier text as well. There are few keys: their index and check are quick.
  transaction(
    sql`alter table api_keys
      add column if not exists previous_hash text,
      add column if not exists previous_ends_at timestamptz,
      drop constraint if exists api_keys_previous_hash_key,
      drop constraint if exists api_keys_previous_check`,
    sql`alter table api_keys
      add constraint api_keys_previous_hash_key unique (previous_hash),
      add constraint api_keys_previous_check check ((previous_hash is null) = (previous_ends_at is null))`,
  ),

  // A name is unique in its scope: tenant-wide, which is written as 0 here, or one embed tenant. The earlier rule goes when
  // the new one stands.
  transaction(sql`alter table groups
    add column if not exists embed_tenant_id integer references embed_tenants on delete cascade,
    add column if not exists created_at timestamptz not null default now()`),
  uniqueIndex('groups_name', 'groups (account_id, coalesce(embed_tenant_id, 0), name)'),
  transaction(sql`alter table groups drop constraint if exists groups_account_id_name_key`),
  index('groups_embed_tenant', 'groups (embed_tenant_id) where embed_tenant_id is not null'),
  transaction(sql`alter table user_attributes
    add column if not exists embed_tenant_id integer references embed_tenants on delete cascade,
    add column if not exists created_at timestamptz not null default now()`),
  uniqueIndex('user_attributes_name', 'user_attributes (account_id, coalesce(embed_tenant_id, 0), name)'),
  transaction(sql`alter table user_attributes drop constraint if exists user_attributes_account_id_name_key`),
  index('user_attributes_embed_tenant', 'user_attributes (embed_tenant_id) where embed_tenant_id is not null'),

  // Every id that an agent ever had, whoever made it: the address of a deleted agent never becomes another's. The rows come last,
  // when new agents bring theirs.
  transaction(
    sql`create table if not exists agent_ids (id integer primary key)`,
    sql`create or replace function keep_agent_id() returns trigger language plpgsql as $$
      begin
        insert into agent_ids (id) values (new.id) on conflict do nothing;
        return null;
      end $$`,
    sql`create or replace trigger agents_keep_id after insert on agents for each row execute function keep_agent_id()`,
    sql`insert into agent_ids (id) select id from agents on conflict do nothing`,
  ),

  // Lists, the newest first.
  index('embed_tenants_account', 'embed_tenants (account_id, id)'),
  index('groups_scope', 'groups (account_id, coalesce(embed_tenant_id, 0), id)'),
  index('users_account', 'users (account_id, kind, id)'),
  index('user_attributes_scope', 'user_attributes (account_id, coalesce(embed_tenant_id, 0), id)'),
  // What goes takes along what refers to it: found by these.
  index('user_groups_group', 'user_groups (group_id)'),
  index('user_attribute_values_attribute', 'user_attribute_values (attribute_id)'),
  index('threads_agent', 'threads (agent_id)'),
  index('runs_thread', 'runs (thread_id)'),
  index('messages_run', 'messages (run_id)'),

  transaction(sql`alter table sessions
    add column if not exists embed_tenant_id integer,
    add column if not exists is_creator_mode boolean not null default false,
    add column if not exists settings jsonb not null default '{}',
    add column if not exists created_from text,
    add column if not exists revoked_at timestamptz`),
  // A session is looked at together with its account's key, deployment and embed tenant at every use, and is nothing without
  // them; foreign keys to those few rows would make all concurrent calls lock the same ones.
  transaction(sql`alter table sessions drop constraint if exists sessions_account_id_fkey`),
  transaction(sql`alter table sessions drop constraint if exists sessions_deployment_id_fkey`),
  transaction(sql`alter table sessions drop constraint if exists sessions_api_key_id_fkey`),
  index('sessions_account', 'sessions (account_id, created_at, id)'),
  index('sessions_ends', 'sessions (ends_at)'),

  transaction(
    sql`alter table threads add column if not exists embed_tenant_id integer references embed_tenants on delete cascade`,
  ),
  index('threads_embed_tenant', 'threads (embed_tenant_id) where embed_tenant_id is not null'),

  // A node writes its row every second; the runs of one that stopped doing so are nobody's.
  transaction(sql`create table if not exists nodes (id uuid primary key, seen_at timestamptz not null)`),
  transaction(sql`alter table runs add column if not exists node_id uuid`),
  // A run goes with its thread, and that with its agent.
  transaction(sql`alter table runs drop constraint if exists runs_agent_id_fkey`),

  transaction(
    sql`create table if not exists audit_log (
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
    // Each in the order of the list; and one for the retention.
    sql`create index if not exists audit_log_account on audit_log (account_id, at, id)`,
    sql`create index if not exists audit_log_actor on audit_log (account_id, actor_kind, actor_id, at, id)`,
    sql`create index if not exists audit_log_object on audit_log (account_id, object_kind, object_id, at, id)`,
    sql`create index if not exists audit_log_at on audit_log (at)`,
    // Rows are never changed, and deleted only by the retention, which says that it is that.
    sql`create or replace function audit_log_is_append_only() returns trigger language plpgsql as $$
      begin
        if tg_op = 'DELETE' and current_setting('inlay.audit_retention', true) = 'on' then return old; end if;
        raise exception 'the audit log is append-only';
      end $$`,
    sql`create or replace trigger audit_log_append_only before update or delete on audit_log
      for each row execute function audit_log_is_append_only()`,
    sql`create or replace trigger audit_log_no_truncate before truncate on audit_log
      for each statement execute function audit_log_is_append_only()`,
  ),
];
