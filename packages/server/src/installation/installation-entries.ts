/** What an installation file can declare, as it stands in the store: for saying what an apply changed. */
import type { AttributeValue } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import type { AccountLimits, Schema, WarehouseSettings } from '../store/schema.ts';

/** Kinds of things that a file declares, as the audit log names them. */
export type EntryKind = 'account' | 'user-attribute' | 'group' | 'deployment' | 'agent' | 'internal-user';

/** One thing of an account. `key` tells it apart from others of its kind; `fields` are JSON values by name. */
export interface Entry {
  readonly kind: EntryKind;
  readonly key: string;
  readonly id: number;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Named {
  readonly id: number;
  readonly name: string;
}

interface Row extends Named {
  readonly plan: string;
  readonly use_creator_mode: boolean;
  readonly allowed_origins: readonly string[];
  readonly frame_ancestors: readonly string[];
  readonly limits: AccountLimits;
  readonly attributes: readonly (Named & {
    readonly type: string;
    readonly display_name: string | null;
    readonly default_value: string | null;
    readonly description: string | null;
  })[];
  readonly groups: readonly (Named & { readonly description: string | null })[];
  readonly deployments: readonly (Named & {
    readonly model_folder: string;
    readonly agents_folder: string | null;
    readonly warehouse: WarehouseSettings;
  })[];
  readonly agents: readonly (Named & { readonly deployment_id: number })[];
  readonly users: readonly {
    readonly id: number;
    readonly username: string;
    readonly email: string | null;
    readonly groups: readonly string[];
    readonly values: readonly { readonly name: string; readonly value: AttributeValue }[];
  }[];
}

/** Everything in the account of that name that a file can declare; nothing when there is no such account. One statement. */
export async function readEntries(db: Kysely<Schema>, accountName: string): Promise<readonly Entry[]> {
  const { rows } = await sql<Row>`
    select a.id, a.name, a.plan, a.use_creator_mode, a.allowed_origins, a.frame_ancestors, a.limits,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'type', type, 'display_name', display_name,
          'default_value', default_value, 'description', description) order by id), '[]'::jsonb)
        from user_attributes where account_id = a.id and embed_tenant_id is null) as attributes,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'description', description) order by id),
          '[]'::jsonb)
        from groups where account_id = a.id and embed_tenant_id is null) as groups,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'model_folder', model_folder,
          'agents_folder', agents_folder, 'warehouse', warehouse) order by id), '[]'::jsonb)
        from deployments where account_id = a.id) as deployments,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'deployment_id', deployment_id) order by id),
          '[]'::jsonb)
        from agents where account_id = a.id) as agents,
      (select coalesce(jsonb_agg(jsonb_build_object('id', u.id, 'username', u.username, 'email', u.email,
          'groups', (select coalesce(jsonb_agg(g.name order by g.name), '[]'::jsonb)
            from user_groups ug join groups g on g.id = ug.group_id where ug.user_id = u.id),
          'values', (select coalesce(jsonb_agg(jsonb_build_object('name', d.name, 'value', v.value) order by d.name),
              '[]'::jsonb)
            from user_attribute_values v join user_attributes d on d.id = v.attribute_id where v.user_id = u.id)
          ) order by u.id), '[]'::jsonb)
        from users u where u.account_id = a.id and u.kind = 'internal') as users
    from accounts a where a.name = ${accountName}`.execute(db);
  return rows.flatMap((row) => [
    accountEntry(row),
    ...row.attributes.map(
      ({ id, name, type, display_name, default_value, description }): Entry => ({
        kind: 'user-attribute',
        key: name,
        id,
        name,
        fields: { type, displayName: display_name, defaultValue: default_value, description },
      }),
    ),
    ...row.groups.map(
      ({ id, name, description }): Entry => ({ kind: 'group', key: name, id, name, fields: { description } }),
    ),
    ...row.deployments.map(
      ({ id, name, model_folder, agents_folder, warehouse }): Entry => ({
        kind: 'deployment',
        key: String(id),
        id,
        name,
        fields: {
          name,
          model: model_folder,
          agents: agents_folder,
          'warehouse.type': 'connection' in warehouse ? null : warehouse.type,
          'warehouse.folder': 'connection' in warehouse ? null : warehouse.folder,
          'warehouse.connection': 'connection' in warehouse ? warehouse.connection : null,
        },
      }),
    ),
    ...row.agents.map(
      ({ id, name, deployment_id }): Entry => ({
        kind: 'agent',
        key: String(id),
        id,
        name,
        fields: { name, deployment: deployment_id },
      }),
    ),
    ...row.users.map(
      ({ id, username, email, groups, values }): Entry => ({
        kind: 'internal-user',
        key: username.toLowerCase(),
        id,
        name: username,
        fields: {
          username,
          email,
          groups,
          ...Object.fromEntries(values.map(({ name, value }) => [`userAttributes.${name}`, value])),
        },
      }),
    ),
  ]);
}

function accountEntry({ id, name, plan, ...settings }: Row): Entry {
  const limits = Object.entries(settings.limits).map(([limit, value]) => [`limits.${limit}`, value]);
  return {
    kind: 'account',
    key: name,
    id,
    name,
    fields: {
      plan,
      useCreatorMode: settings.use_creator_mode,
      allowedOrigins: settings.allowed_origins,
      frameAncestors: settings.frame_ancestors,
      ...Object.fromEntries(limits),
    },
  };
}
