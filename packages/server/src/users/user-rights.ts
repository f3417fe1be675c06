/**
 * The groups and attributes that a call names, looked up in the tenant-wide catalogue, and the SQL that gives them to a
 * user. The look-up refuses what the catalogue does not hold before anything is written.
 */
import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Schema } from '../store/schema.ts';
import { isValueOfType } from './attribute-values.ts';

/** What a call says about rights; undefined keeps what is stored (service.md 4.1 rules 4 and 5). Names occur once. */
export interface NamedRights {
  readonly groups: readonly string[] | undefined;
  readonly userAttributes: readonly { readonly name: string; readonly value: AttributeValue }[] | undefined;
}

/** The same by id: `groupIds` null keeps the memberships, `values` are those to overwrite. */
export interface Rights {
  readonly groupIds: readonly number[] | null;
  readonly values: readonly { readonly attribute_id: number; readonly value: AttributeValue }[];
}

/** What the catalogue of an account holds of the names that a call uses. */
export interface CatalogueEntries {
  readonly groups: readonly { readonly id: number; readonly name: string }[];
  readonly attributes: readonly { readonly id: number; readonly name: string; readonly type: AttributeType }[];
}

/** A bound JSON value that both databases read as jsonb, whatever their drivers make of a string. */
export const json = (value: unknown): RawBuilder<unknown> => sql`${JSON.stringify(value)}::text::jsonb`;

/** Two columns of a select list, `groups` and `attributes`: the {@link CatalogueEntries} that `rights` names. */
export function catalogueColumns(accountId: number, rights: NamedRights): RawBuilder<unknown> {
  return sql`
    coalesce((select jsonb_agg(jsonb_build_object('id', id, 'name', name)) from groups
      where account_id = ${accountId}
        and name in (select jsonb_array_elements_text(${json(rights.groups ?? [])}))), '[]'::jsonb) as groups,
    coalesce((select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'type', type)) from user_attributes
      where account_id = ${accountId}
        and name in (select jsonb_array_elements_text(${json((rights.userAttributes ?? []).map(({ name }) => name))}))),
      '[]'::jsonb) as attributes`;
}

/**
 * The ids for the names (service.md 4.1 rules 3 and 6; http-api.md).
 * @throws InlayError USER_ATTRIBUTES_NOT_FOUND, GROUPS_NOT_FOUND or ATTRIBUTE_TYPE_MISMATCH, in this order.
 */
export function resolveRights(named: NamedRights, catalogue: CatalogueEntries): Rights {
  const attributes = new Map(catalogue.attributes.map((attribute) => [attribute.name, attribute]));
  const groups = new Map(catalogue.groups.map((group) => [group.name, group.id]));
  const unknown: { path: string; message: string }[] = [];
  const mistyped: { path: string; message: string }[] = [];
  const values: { attribute_id: number; value: AttributeValue }[] = [];
  for (const [index, { name, value }] of (named.userAttributes ?? []).entries()) {
    const attribute = attributes.get(name);
    if (attribute === undefined) unknown.push({ path: `userAttributes.${index}.name`, message: `${name} not found` });
    else if (!isValueOfType(attribute.type, value)) {
      mistyped.push({ path: `userAttributes.${index}.value`, message: `${name} takes a ${attribute.type} or null` });
    } else values.push({ attribute_id: attribute.id, value });
  }
  if (unknown.length > 0) {
    throw new InlayError('USER_ATTRIBUTES_NOT_FOUND', 'User attributes not found', { issues: unknown });
  }

  const missing = (named.groups ?? []).filter((name) => !groups.has(name));
  if (missing.length > 0) {
    throw new InlayError('GROUPS_NOT_FOUND', `Groups with names ${missing.join(', ')} not found`);
  }
  if (mistyped.length > 0) {
    throw new InlayError('ATTRIBUTE_TYPE_MISMATCH', 'User attributes do not have the type of their definition', {
      issues: mistyped,
    });
  }
  const groupIds = named.groups?.flatMap((name) => groups.get(name) ?? []) ?? null;
  return { groupIds, values };
}

/**
 * Runs one statement: `queries`, named queries of a WITH of which `subject` gives the user's `id`, and with them the
 * memberships (replaced) and values (overwritten). Nobody else may change the user's rights meanwhile: the caller holds
 * the user's lock. Gives the id, or undefined when `subject` gave no row, and then no right was written.
 */
export async function writeRights(
  tx: Transaction<Schema>,
  queries: RawBuilder<unknown>,
  rights: Rights,
): Promise<number | undefined> {
  const groupIds = sql`select value::int from jsonb_array_elements_text(${json(rights.groupIds ?? [])})`;
  const memberships =
    rights.groupIds === null
      ? sql``
      : sql`,
    left_groups as (
      delete from user_groups where user_id in (select id from subject) and group_id not in (${groupIds})),
    joined_groups as (
      insert into user_groups (user_id, group_id)
      select subject.id, named.id from subject, (${groupIds}) as named (id)
      on conflict do nothing)`;
  const values =
    rights.values.length === 0
      ? sql``
      : sql`,
    stored_values as (
      insert into user_attribute_values as stored (user_id, attribute_id, value)
      select subject.id, named.attribute_id, named.value
      from subject, jsonb_to_recordset(${json(rights.values)}) as named (attribute_id integer, value jsonb)
      on conflict (user_id, attribute_id) do update set value = excluded.value
      where stored.value is distinct from excluded.value)`;
  const { rows } = await sql<{ id: number }>`
    with ${queries}${memberships}${values}
    select id from subject`.execute(tx);
  return rows[0]?.id;
}
