/** Memberships and values of one internal user, given by names of the tenant-wide catalogue. */
import type { AttributeValue } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import { refuseRights } from '../users/decide-rights.ts';
import type { StoredAttribute, StoredGroup } from '../users/stored.ts';

/** What is left out stays. */
interface GivenRights {
  readonly groups?: readonly string[] | undefined;
  readonly userAttributes?: readonly { readonly name: string; readonly value: AttributeValue }[] | undefined;
}

/**
 * Replaces the memberships where groups are given, and sets the values that are given.
 * @returns which of the two changed something: `groups`, `userAttributes`.
 * @throws InlayError DUPLICATE_NAME, USER_ATTRIBUTES_NOT_FOUND, GROUPS_NOT_FOUND, ATTRIBUTE_TYPE_MISMATCH
 */
export async function writeInternalRights(
  tx: Kysely<Schema>,
  { accountId, id }: { readonly accountId: number; readonly id: number },
  { groups, userAttributes }: GivenRights,
): Promise<readonly string[]> {
  if (groups === undefined && userAttributes === undefined) return [];
  refuseDuplicates('groups', groups ?? []);
  refuseDuplicates('userAttributes', userAttributes?.map(({ name }) => name) ?? []);
  const catalogue = await readCatalogue(tx, accountId);
  refuseRights({ groups, userAttributes }, catalogue);

  const changed: string[] = [];
  if (groups !== undefined) {
    const ids = groups.flatMap((name) => catalogue.groupIds.get(name) ?? []);
    const wanted = sql`select value::int from jsonb_array_elements_text(${json(ids)})`;
    const left = await sql`delete from user_groups where user_id = ${id} and group_id not in (${wanted})`.execute(tx);
    const joined = await sql`
      insert into user_groups (user_id, group_id) select ${id}::int, wanted.value::int
      from jsonb_array_elements_text(${json(ids)}) as wanted (value)
      on conflict do nothing`.execute(tx);
    if ((left.numAffectedRows ?? 0n) + (joined.numAffectedRows ?? 0n) > 0n) changed.push('groups');
  }
  if (userAttributes !== undefined) {
    const values = userAttributes.map(({ name, value }) => ({ attribute_id: catalogue.attributeIds.get(name), value }));
    const { numAffectedRows = 0n } = await sql`
      insert into user_attribute_values as stored (user_id, attribute_id, value)
      select ${id}::int, wanted.attribute_id, wanted.value
      from jsonb_to_recordset(${json(values)}) as wanted (attribute_id integer, value jsonb)
      on conflict (user_id, attribute_id) do update set value = excluded.value
      where stored.value is distinct from excluded.value`.execute(tx);
    if (numAffectedRows > 0n) changed.push('userAttributes');
  }
  return changed;
}

function refuseDuplicates(path: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new InlayError('DUPLICATE_NAME', `${twice} occurs twice in ${path}`, {
    issues: [{ path, message: `${twice} occurs twice` }],
  });
}

interface TenantWideCatalogue {
  readonly groups: ReadonlyMap<string, StoredGroup>;
  readonly attributes: ReadonlyMap<string, StoredAttribute>;
  readonly groupIds: ReadonlyMap<string, number>;
  readonly attributeIds: ReadonlyMap<string, number>;
}

async function readCatalogue(tx: Kysely<Schema>, accountId: number): Promise<TenantWideCatalogue> {
  const groups = await tx
    .selectFrom('groups')
    .select(['id', 'name', 'description'])
    .where('account_id', '=', accountId)
    .where('embed_tenant_id', 'is', null)
    .execute();
  const attributes = await tx
    .selectFrom('user_attributes')
    .select(['id', 'name', 'type', 'display_name as displayName', 'default_value as defaultValue', 'description'])
    .where('account_id', '=', accountId)
    .where('embed_tenant_id', 'is', null)
    .execute();
  return {
    groups: new Map(groups.map((group) => [group.name, group])),
    attributes: new Map(attributes.map((attribute) => [attribute.name, attribute])),
    groupIds: new Map(groups.map(({ name, id }) => [name, id])),
    attributeIds: new Map(attributes.map(({ name, id }) => [name, id])),
  };
}
