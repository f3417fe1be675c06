import type { ToolCall, Usage } from '@inlay/contract/chat.ts';
import type { AttributeType, AttributeValue, SecurityContextJson } from '@inlay/contract/user.ts';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/** A JSON column: read parsed, written as JSON text. */
type JsonColumn<T> = ColumnType<T, string, string>;
type Timestamp = ColumnType<Date, Date, Date>;

/** How a deployment reaches its data. A folder of Parquet files, each a table named as the file. */
export interface WarehouseSettings {
  readonly type: 'duckdb';
  readonly folder: string;
}

/** The tables of the store, as Kysely types. The migrations make them; names are the field's own (snake case in SQL). */
export interface Schema {
  accounts: {
    id: Generated<number>;
    name: string;
    plan: string;
    use_creator_mode: boolean;
    created_at: Generated<Date>;
  };
  /** Only the SHA-256 of a key is kept (hex), with a short visible prefix. */
  api_keys: {
    id: Generated<number>;
    account_id: number;
    role: 'admin' | 'member';
    /** What the key is for; at most one key that is not revoked per account and label. */
    label: string | null;
    prefix: string;
    hash: string;
    deployment_ids: JSONColumnType<number[]> | null;
    expires_at: Timestamp | null;
    revoked_at: Timestamp | null;
    created_at: Generated<Date>;
  };
  /** Ids of deployments and agents are unique in an installation and chosen by who installs. */
  deployments: {
    id: number;
    account_id: number;
    name: string;
    model_folder: string;
    warehouse: JsonColumn<WarehouseSettings>;
  };
  agents: { id: number; account_id: number; deployment_id: number; name: string };
  groups: { id: Generated<number>; account_id: number; name: string; description: string | null };
  user_attributes: {
    id: Generated<number>;
    account_id: number;
    name: string;
    type: AttributeType;
    display_name: string | null;
    default_value: string | null;
    description: string | null;
  };
  /** External users have `external_id`, internal ones `username`; `expires_at` is set on ephemeral users only. */
  users: {
    id: Generated<number>;
    account_id: number;
    kind: 'external' | 'internal';
    external_id: string | null;
    username: string | null;
    email: string | null;
    display_name: string | null;
    picture: string | null;
    is_active: Generated<boolean>;
    expires_at: Timestamp | null;
    created_at: Generated<Date>;
  };
  user_groups: { user_id: number; group_id: number };
  /** A row with a null value is an explicit null: the definition's default does not apply. */
  user_attribute_values: { user_id: number; attribute_id: number; value: JsonColumn<AttributeValue> | null };
  /** An embed session. `secret_hash` is the SHA-256 (hex) of the sessionId, which is not kept. */
  sessions: {
    id: string;
    secret_hash: string;
    account_id: number;
    deployment_id: number;
    user_id: number;
    api_key_id: number;
    security_context: JsonColumn<SecurityContextJson>;
    created_at: Timestamp;
    exchange_before: Timestamp;
    exchanged_at: Timestamp | null;
    ends_at: Timestamp;
  };
  threads: {
    id: string;
    account_id: number;
    user_id: number;
    agent_id: number;
    title: string;
    created_at: Timestamp;
    updated_at: Timestamp;
  };
  /** One answer to one user message. `message_id` is the id of that message, unique per user and agent. */
  runs: {
    id: string;
    thread_id: string;
    user_id: number;
    agent_id: number;
    message_id: string;
    state: 'running' | 'completed' | 'aborted' | 'failed';
    usage: JsonColumn<Usage> | null;
    error: JsonColumn<{ code: string; message: string; requestId: string }> | null;
    created_at: Timestamp;
    ended_at: Timestamp | null;
  };
  messages: {
    thread_id: string;
    sort: number;
    id: string;
    run_id: string;
    role: 'user' | 'assistant';
    content: string;
    graph_path: JsonColumn<string[]> | null;
    tool_call: JsonColumn<ToolCall> | null;
    is_in_process: boolean;
    created_at: Timestamp;
  };
}
