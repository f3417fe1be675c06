import { sql } from 'kysely';
import { type MigrationStep, transaction } from './step.ts';

/** The first tables: accounts and what they own, users and their rights, sessions, threads. */
export const firstTables: readonly MigrationStep[] = [
  transaction(
    sql`create table accounts (
      id integer generated always as identity primary key,
      name text not null unique,
      plan text not null,
      use_creator_mode boolean not null,
      created_at timestamptz not null default now()
    )`,
    sql`create table api_keys (
      id integer generated always as identity primary key,
      account_id integer not null references accounts on delete cascade,
      role text not null check (role in ('admin', 'member')),
      label text,
      prefix text not null,
      hash text not null unique,
      deployment_ids jsonb,
      expires_at timestamptz,
      revoked_at timestamptz,
      created_at timestamptz not null default now()
    )`,
    sql`create unique index api_keys_label on api_keys (account_id, label) where revoked_at is null`,
    sql`create table deployments (
      id integer primary key,
      account_id integer not null references accounts on delete cascade,
      name text not null,
      model_folder text not null,
      warehouse jsonb not null
    )`,
    sql`create table agents (
      id integer primary key,
      account_id integer not null references accounts on delete cascade,
      deployment_id integer not null references deployments on delete cascade,
      name text not null
    )`,
    sql`create table groups (
      id integer generated always as identity primary key,
      account_id integer not null references accounts on delete cascade,
      name text not null,
      description text,
      unique (account_id, name)
    )`,
    sql`create table user_attributes (
      id integer generated always as identity primary key,
      account_id integer not null references accounts on delete cascade,
      name text not null,
      type text not null check (type in ('string', 'number', 'boolean', 'string_array', 'number_array')),
      display_name text,
      default_value text,
      description text,
      unique (account_id, name)
    )`,
    sql`create table users (
      id integer generated always as identity primary key,
      account_id integer not null references accounts on delete cascade,
      kind text not null check (kind in ('external', 'internal')),
      external_id text,
      username text,
      email text,
      display_name text,
      picture text,
      is_active boolean not null default true,
      expires_at timestamptz,
      created_at timestamptz not null default now(),
      check ((kind = 'external') = (external_id is not null)),
      check ((kind = 'internal') = (username is not null)),
      unique (account_id, external_id)
    )`,
    sql`create unique index users_username on users (account_id, lower(username)) where kind = 'internal'`,
    sql`create unique index users_internal_email on users (account_id, lower(email)) where kind = 'internal'`,
    // The limits of external users are counted whenever one is made.
    sql`create index users_persistent on users (account_id) where kind = 'external' and expires_at is null`,
    sql`create index users_ephemeral on users (account_id, expires_at) where expires_at is not null`,
    sql`create table user_groups (
      user_id integer not null references users on delete cascade,
      group_id integer not null references groups on delete cascade,
      primary key (user_id, group_id)
    )`,
    sql`create table user_attribute_values (
      user_id integer not null references users on delete cascade,
      attribute_id integer not null references user_attributes on delete cascade,
      value jsonb,
      primary key (user_id, attribute_id)
    )`,
    sql`create table sessions (
      id uuid primary key,
      secret_hash text not null unique,
      account_id integer not null references accounts on delete cascade,
      deployment_id integer not null references deployments on delete cascade,
      user_id integer not null references users on delete cascade,
      api_key_id integer not null references api_keys on delete cascade,
      security_context jsonb not null,
      created_at timestamptz not null,
      exchange_before timestamptz not null,
      exchanged_at timestamptz,
      ends_at timestamptz not null
    )`,
    // A user who goes takes the sessions along.
    sql`create index sessions_user on sessions (user_id)`,
    sql`create table threads (
      id uuid primary key,
      account_id integer not null references accounts on delete cascade,
      user_id integer not null references users on delete cascade,
      agent_id integer not null references agents on delete cascade,
      title text not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
    sql`create index threads_user on threads (user_id, agent_id, updated_at)`,
    sql`create table runs (
      id uuid primary key,
      thread_id uuid not null references threads on delete cascade,
      user_id integer not null references users on delete cascade,
      agent_id integer not null references agents on delete cascade,
      message_id text not null,
      state text not null check (state in ('running', 'completed', 'aborted', 'failed')),
      usage jsonb,
      error jsonb,
      created_at timestamptz not null,
      ended_at timestamptz,
      unique (user_id, agent_id, message_id)
    )`,
    // One run at a time per thread, kept by the database itself.
    sql`create unique index runs_running on runs (thread_id) where state = 'running'`,
    sql`create table messages (
      thread_id uuid not null references threads on delete cascade,
      sort integer not null,
      id text not null,
      run_id uuid not null references runs on delete cascade,
      role text not null check (role in ('user', 'assistant')),
      content text not null,
      graph_path jsonb,
      tool_call jsonb,
      is_in_process boolean not null,
      created_at timestamptz not null,
      primary key (thread_id, sort),
      unique (thread_id, id)
    )`,
  ),
];
