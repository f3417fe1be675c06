/** The tables of the store as types. The migrations make them. */
import type { ToolCall, Usage } from '@inlay/contract/chat.ts';
import type { EmbedSessionSettings } from '@inlay/contract/embed.ts';
import type { AttributeType, AttributeValue, SecurityContextJson } from '@inlay/contract/user.ts';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { AgentStep } from '../agent/agent-step.ts';

/** A JSON column: read parsed, written as JSON text. */
type JsonColumn<T> = ColumnType<T, string, string>;
type Timestamp = ColumnType<Date, Date, Date>;

type JsonColumnWithDefault<T> = ColumnType<T, string | undefined, string>;

/** Limits of one account; what is absent is the process's (settings.md). */
export interface AccountLimits {
  readonly externalUsersMax?: number;
  readonly ephemeralUsersMax?: number;
  readonly keyRequestsPerMinuteMax?: number;
  readonly userRequestsPerMinuteMax?: number;
}

/** How a deployment reaches its data. A folder of Parquet files, each a table named as the file. */
export type WarehouseSettings =
  | { readonly type: 'duckdb'; readonly folder: string }
  | { /** A name of the operator's file. */ readonly connection: string };

/** The tables by their names; columns are named as the field is in SQL, in snake case. */
export interface Schema {
  accounts: {
    id: Generated<number>;
    name: string;
    plan: string;
    use_creator_mode: boolean;
    /** Origins, such as `https://app.example.com`, whose pages may call with an embed token. */
    allowed_origins: JsonColumnWithDefault<readonly string[]>;
    /** Sources for `frame-ancestors` of embedded pages. */
    frame_ancestors: JsonColumnWithDefault<readonly string[]>;
    /** What differs from the limits of the process. */
    limits: JsonColumnWithDefault<AccountLimits>;
    /** Threads that nobody wrote in for so many days are deleted; null: never. */
    thread_retention_days: Generated<number | null>;
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
    /** The key's text before its last rotation opens until `previous_ends_at`. */
    previous_hash: string | null;
    previous_ends_at: Timestamp | null;
    created_at: Generated<Date>;
  };
  /**
   * Ids of deployments and agents are unique in an installation. The installation file chooses them; an agent that is made by the
   * management API gets a new one.
   */
  deployments: {
    id: number;
    account_id: number;
    name: string;
    model_folder: string;
    /** Where the configuration of its agents lies; null: it has none. */
    agents_folder: Generated<string | null>;
    warehouse: JsonColumn<WarehouseSettings>;
  };
  agents: { id: number; account_id: number; deployment_id: number; name: string };
  /** Every id that an agent has or had: a trigger keeps them, and none is ever given out again. */
  agent_ids: { id: number };
  embed_tenants: { id: Generated<number>; account_id: number; name: string; created_at: Generated<Date> };
  /** `embed_tenant_id` is the scope: null is tenant-wide. Names are unique in their scope. */
  groups: {
    id: Generated<number>;
    account_id: number;
    embed_tenant_id: number | null;
    name: string;
    description: string | null;
    created_at: Generated<Date>;
  };
  /** The same scopes as groups. */
  user_attributes: {
    id: Generated<number>;
    account_id: number;
    embed_tenant_id: number | null;
    name: string;
    type: AttributeType;
    display_name: string | null;
    default_value: string | null;
    description: string | null;
    created_at: Generated<Date>;
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
    /** The embed tenant that the call named; with `is_creator_mode` it is also the scope of groups and values. */
    embed_tenant_id: number | null;
    is_creator_mode: Generated<boolean>;
    settings: JsonColumnWithDefault<EmbedSessionSettings>;
    security_context: JsonColumn<SecurityContextJson>;
    /** The IP address that asked for it. */
    created_from: string | null;
    created_at: Timestamp;
    exchange_before: Timestamp;
    exchanged_at: Timestamp | null;
    revoked_at: Timestamp | null;
    ends_at: Timestamp;
  };
  threads: {
    id: string;
    account_id: number;
    user_id: number;
    agent_id: number;
    /** The scope that the thread belongs to; null is tenant-wide. */
    embed_tenant_id: number | null;
    title: string;
    created_at: Timestamp;
    updated_at: Timestamp;
  };
  /**
   * One answer to one user message. `message_id` is the id of that message, unique per user and agent. What another node needs
   * to carry the run on is kept with it; it is null in runs of version 0.1.
   */
  runs: {
    id: string;
    thread_id: string;
    user_id: number;
    agent_id: number;
    message_id: string;
    /** The node that writes the run; null: none, it waits for one. */
    node_id: string | null;
    state: 'running' | 'completed' | 'aborted' | 'failed';
    usage: JsonColumn<Usage> | null;
    error: JsonColumn<{ code: string; message: string; requestId: string }> | null;
    created_at: Timestamp;
    ended_at: Timestamp | null;
    account_id: number | null;
    deployment_id: number | null;
    /** The branch of the data model; null: the default one. */
    branch: string | null;
    session_id: string | null;
    api_key_id: number | null;
    scope_id: number | null;
    security_context: JsonColumn<SecurityContextJson> | null;
    request_id: string | null;
    /** The user has asked on another node than the one that writes the run to stop it. */
    abort_asked_at: Generated<Date | null>;
    /**
     * How many nodes have begun or carried on the run, from 1 up. With `node_id` it says who may write: a node that carries on
     * what it gave up before has another number then.
     */
    attempts: Generated<number>;
  };
  /**
   * What a run has sent, in order, while it goes on and for a while after. `line` is a frame as JSON text; `step` (without a
   * line) is what the agent goes on from when another node carries the run on.
   */
  run_log: {
    run_id: string;
    /** From 1 up, without gaps. */
    seq: number;
    /** The sort number of the line's message; 0 for a step. */
    sort: number;
    line: string | null;
    step: JsonColumn<AgentStep> | null;
    created_at: Timestamp;
  };
  /** Whole messages; one that is still being written is in the log of its run. */
  messages: {
    thread_id: string;
    sort: number;
    id: string;
    run_id: string;
    role: 'user' | 'assistant';
    content: string;
    graph_path: JsonColumn<string[]> | null;
    tool_call: JsonColumn<ToolCall> | null;
    thinking: string | null;
    /** The text as the language model wrote it, where `content` is not that: placeholders were filled in. */
    model_text: string | null;
    /** Of version 0.1: true on messages that its nodes write at this moment. */
    is_in_process: Generated<boolean>;
    /** Of its texts, in UTF-8; null on messages of version 0.1. */
    bytes: number | null;
    created_at: Timestamp;
  };
  /** A process that runs on this store; `seen_at` is written every second. */
  nodes: { id: string; seen_at: Timestamp };
  /** Append-only: a trigger refuses changes, and deletions but those of the retention. */
  audit_log: {
    /** A bigint, as text. */
    id: Generated<string>;
    account_id: number;
    at: Timestamp;
    actor_kind: 'api-key' | 'user' | 'operator' | 'server';
    actor_id: string | null;
    actor_name: string | null;
    /** `api-key.create`: the kind of the object, and what was done. */
    action: string;
    object_kind: string | null;
    object_id: string | null;
    object_name: string | null;
    /** `OK`, or the error code with which it was refused. */
    result: string;
    address: string | null;
    request_id: string | null;
    details: JsonColumnWithDefault<Readonly<Record<string, unknown>>>;
  };
}
