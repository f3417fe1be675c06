/** Internal users: people of the operator's own house, with their memberships and values, which are tenant-wide. */
import type {
  InternalUser,
  InternalUserBody,
  InternalUserChanges,
  InternalUserQuery,
} from '@inlay/contract/admin/internal-users.ts';
import type { Page } from '@inlay/contract/page.ts';
import type { AttributeValue } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { lockInternalUsers, takenNames } from '../users/internal-users.ts';
import { type AdminCall, change, differing, fieldsOf } from './change.ts';
import { endSessions } from './end-sessions.ts';
import { writeInternalRights } from './internal-user-rights.ts';

interface Row {
  readonly id: number;
  readonly username: string;
  readonly email: string | null;
  readonly is_active: boolean;
  readonly groups: readonly string[];
  readonly attributes: readonly { readonly name: string; readonly value: AttributeValue }[];
  readonly created_at: Date;
}

const columns = sql`u.id, u.username, u.email, u.is_active, u.created_at,
  (select coalesce(jsonb_agg(g.name order by g.name), '[]'::jsonb)
    from user_groups ug join groups g on g.id = ug.group_id where ug.user_id = u.id) as groups,
  (select coalesce(jsonb_agg(jsonb_build_object('name', a.name, 'value', v.value) order by a.name), '[]'::jsonb)
    from user_attribute_values v join user_attributes a on a.id = v.attribute_id where v.user_id = u.id) as attributes`;

const toInternalUser = (row: Row): InternalUser => ({
  id: row.id,
  username: row.username,
  email: row.email,
  isActive: row.is_active,
  groups: [...row.groups],
  userAttributes: row.attributes.map(({ name, value }) => ({ name, value })),
  createdAt: row.created_at.toISOString(),
});

/** A page of the internal users of an account. @throws InlayError INVALID_CURSOR */
export function listInternalUsers(
  db: Kysely<Schema>,
  accountId: number,
  query: InternalUserQuery,
): Promise<Page<InternalUser>> {
  return keysetPage<Row, InternalUser, 'createdAt' | 'name'>(
    db,
    {
      columns,
      from: sql`users u`,
      where: [
        sql`u.account_id = ${accountId}`,
        sql`u.kind = 'internal'`,
        ...filters(
          query.username === undefined ? undefined : sql`lower(u.username) = lower(${query.username})`,
          query.email === undefined ? undefined : sql`lower(u.email) = lower(${query.email})`,
          equals(sql`u.is_active`, query.isActive),
          query.group === undefined
            ? undefined
            : sql`exists (select 1 from groups g join user_groups ug on ug.group_id = g.id
                where ug.user_id = u.id and g.account_id = ${accountId} and g.embed_tenant_id is null
                  and g.name = ${query.group})`,
          contains([sql`u.username`, sql`coalesce(u.email, '')`], query.search),
        ),
      ],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', name: { expression: sql`lower(u.username)`, type: 'text' } },
      id: { expression: sql`u.id`, type: 'integer' },
    },
    query,
    toInternalUser,
  );
}

/** @throws InlayError NOT_FOUND */
export async function readInternalUser(db: Kysely<Schema>, accountId: number, id: number): Promise<InternalUser> {
  const { rows } = await sql<Row>`
    select ${columns} from users u
    where u.id = ${id} and u.account_id = ${accountId} and u.kind = 'internal'`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return toInternalUser(row);
}

/**
 * Makes an internal user.
 * @throws InlayError NAME_TAKEN (username or address), DUPLICATE_NAME, GROUPS_NOT_FOUND, USER_ATTRIBUTES_NOT_FOUND,
 * ATTRIBUTE_TYPE_MISMATCH
 */
export function createInternalUser(call: AdminCall, body: InternalUserBody): Promise<InternalUser> {
  const { username, email, isActive = true } = body;
  return change(call, async ({ tx, accountId, now, audit }) => {
    await lockInternalUsers(tx, accountId);
    await requireFree(tx, accountId, [username, email], null);
    const { id } = await tx
      .insertInto('users')
      .values({ account_id: accountId, kind: 'internal', username, email, is_active: isActive, created_at: now })
      .returning('id')
      .executeTakeFirstOrThrow();
    await writeInternalRights(tx, { accountId, id }, body);
    await audit('internal-user.create', { kind: 'internal-user', id, name: username }, { isActive });
    return readInternalUser(tx, accountId, id);
  });
}

/**
 * Changes an internal user: given groups replace the memberships, given values are set. One who is made inactive loses
 * every session for good.
 * @throws InlayError NOT_FOUND, and as {@link createInternalUser}
 */
export function updateInternalUser(call: AdminCall, id: number, wanted: InternalUserChanges): Promise<InternalUser> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    await lockInternalUsers(tx, accountId);
    const stored = await tx
      .selectFrom('users')
      .select(['username', 'email', 'is_active'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('kind', '=', 'internal')
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (stored === undefined) throw notFound();
    const changes = differing(stored, {
      username: wanted.username,
      email: wanted.email,
      is_active: wanted.isActive,
    });
    await requireFree(tx, accountId, [changes.username, changes.email], id);
    if (Object.keys(changes).length > 0) await tx.updateTable('users').set(changes).where('id', '=', id).execute();
    const changedRights = await writeInternalRights(tx, { accountId, id }, wanted);

    const fields = [...fieldsOf(changes), ...changedRights];
    if (fields.length > 0) {
      const object = { kind: 'internal-user', id, name: changes.username ?? stored.username };
      // On the way back too: a call for a session that came at the same instant may have missed the way out.
      const isSwitched = changes.is_active !== undefined;
      const revokedSessions = isSwitched ? await endSessions(tx, { accountId, now }, { column: 'user_id', id }) : 0;
      await audit('internal-user.update', object, { fields, ...(isSwitched ? { revokedSessions } : {}) });
      await publish(tx, { kind: 'user', id });
    }
    return readInternalUser(tx, accountId, id);
  });
}

/** @throws InlayError NAME_TAKEN, which does not say whose the name is */
async function requireFree(
  tx: Kysely<Schema>,
  accountId: number,
  names: readonly (string | null | undefined)[],
  exceptId: number | null,
): Promise<void> {
  const asked = names.filter((name) => typeof name === 'string');
  if (asked.length === 0) return;
  const taken = await takenNames(tx, accountId, asked, exceptId);
  if (taken.length > 0) {
    throw new InlayError('NAME_TAKEN', `Another internal user has the name or address ${taken.join(', ')}`);
  }
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Internal user not found');
